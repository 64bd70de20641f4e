package scan

import (
	"bytes"
	"html"
	"sort"
)

// asPlain is a text as the search for literals must see it: blanks that do not break are
// blanks, and what web pages escape stands as it is. Framing does the same to each line.
type asPlain struct {
	data []byte
	cuts []plainCut
}

// plainCut says that removed bytes of the raw text are missing from data[at:].
type plainCut struct{ at, removed int }

var pageEscapes = [][]byte{[]byte("&gt;"), []byte("&lt;"), []byte("&quot;"), []byte("&#39;"), []byte("&#34;"), []byte("&#x27;"), []byte("&#x22;"), []byte("&apos;"), []byte("&nbsp;"), []byte("&amp;")}

// plainLen is the length of an escaped sign at the start of b, 0 for none.
func plainLen(b []byte) (sign byte, n int) {
	if b[0] == 0xC2 {
		if len(b) > 1 && b[1] == 0xA0 {
			return ' ', 2
		}
		return 0, 0
	}
	for _, e := range pageEscapes {
		if bytes.HasPrefix(b, e) {
			s := html.UnescapeString(string(e))
			if len(s) > 1 {
				s = " " // &nbsp;
			}
			return s[0], len(e)
		}
	}
	return 0, 0
}

// plainText makes the plain form of a text; of nearly all texts that is the text.
func plainText(raw []byte) asPlain {
	p := asPlain{data: raw}
	var out []byte
	done, removed := 0, 0
	amp, nbsp := nextByte(raw, 0, '&'), nextByte(raw, 0, 0xC2)
	for amp < len(raw) || nbsp < len(raw) {
		at := min(amp, nbsp)
		if sign, n := plainLen(raw[at:]); n > 0 {
			out = append(append(out, raw[done:at]...), sign)
			done = at + n
			removed += n - 1
			p.cuts = append(p.cuts, plainCut{len(out), removed})
		}
		if at == amp {
			amp = nextByte(raw, at+1, '&')
		} else {
			nbsp = nextByte(raw, at+1, 0xC2)
		}
	}
	if done > 0 {
		p.data = append(out, raw[done:]...)
	}
	return p
}

// nextByte is the place of the next c from an offset on, the length for none.
func nextByte(b []byte, from int, c byte) int {
	if i := bytes.IndexByte(b[from:], c); i >= 0 {
		return from + i
	}
	return len(b)
}

// raw is the place in the raw text of an offset in the plain one.
func (p *asPlain) raw(at int) int {
	i := sort.Search(len(p.cuts), func(i int) bool { return p.cuts[i].at > at })
	if i == 0 {
		return at
	}
	return at + p.cuts[i-1].removed
}
