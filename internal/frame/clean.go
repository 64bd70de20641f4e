package frame

import (
	"bytes"
	"strings"
)

// cut says that removed bytes of the raw line are missing from cleaned[at:].
type cut struct{ at, removed int }

// cleaned is a line without colours, NUL bytes and line ends, and where its bytes
// stood in the raw line.
type cleaned struct {
	text string
	cuts []cut
}

// noBreak is the blank that web pages and chat programs put for a plain one.
const noBreak = "\u00a0"

// clean removes terminal control from a line. Lines without any (nearly all)
// become a string and nothing more happens.
func clean(line []byte) cleaned {
	line = bytes.TrimRight(line, "\r\n")
	if bytes.IndexByte(line, 0x1b) < 0 && bytes.IndexByte(line, 0) < 0 && !bytes.Contains(line, []byte("^[[")) && !bytes.Contains(line, []byte(noBreak)) {
		return cleaned{text: string(line)}
	}
	return cleanString(string(line))
}

func cleanString(s string) cleaned {
	var b strings.Builder
	b.Grow(len(s))
	c := cleaned{}
	removed := 0
	for i := 0; i < len(s); {
		if strings.HasPrefix(s[i:], noBreak) {
			removed += len(noBreak) - 1
			b.WriteByte(' ')
			i += len(noBreak)
			c.cuts = append(c.cuts, cut{b.Len(), removed})
			continue
		}
		n := controlLen(s[i:])
		if n == 0 {
			b.WriteByte(s[i])
			i++
			continue
		}
		removed += n
		if k := len(c.cuts); k > 0 && c.cuts[k-1].at == b.Len() {
			c.cuts[k-1].removed = removed
		} else {
			c.cuts = append(c.cuts, cut{b.Len(), removed})
		}
		i += n
	}
	c.text = b.String()
	return c
}

// raw maps an offset in the cleaned text to the raw line.
func (c cleaned) raw(at int) int {
	lo, hi := 0, len(c.cuts)
	for lo < hi {
		mid := (lo + hi) / 2
		if c.cuts[mid].at <= at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return at
	}
	return at + c.cuts[lo-1].removed
}

// longestOSC bounds the search for the end of a window title or link, so that a line
// full of beginnings costs no more than its length.
const longestOSC = 4096

// controlLen is the length of the terminal control sequence at the start of s, 0
// when there is none: CSI ("ESC [ 1;31 m"), OSC (window titles), two-byte escapes,
// "^[[31m" as cat -v shows them, and NUL bytes.
func controlLen(s string) int {
	switch s[0] {
	case 0:
		return 1
	case '^':
		if !strings.HasPrefix(s, "^[[") {
			return 0
		}
		if n := csiLen(s[3:]); n > 0 {
			return 3 + n
		}
		return 0
	case 0x1b:
	default:
		return 0
	}
	if len(s) == 1 {
		return 1
	}
	switch s[1] {
	case '[':
		if n := csiLen(s[2:]); n > 0 {
			return 2 + n
		}
		return 2
	case ']':
		for i := 2; i < min(len(s), longestOSC); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
		}
		return 2
	case '(', ')', '#', '%':
		return min(3, len(s))
	}
	return 2
}

// csiLen is the length of parameters and final byte after "ESC [".
func csiLen(s string) int {
	for i := 0; i < len(s) && i < 32; i++ {
		switch c := s[i]; {
		case c >= 0x20 && c <= 0x3f: // parameters and intermediates
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// bareColour is the length of a colour sequence that lost its escape byte on the
// way ("[31m", "[0;33m"), as copies from terminals have it.
func bareColour(s string) int {
	if len(s) < 3 || s[0] != '[' {
		return 0
	}
	for i := 1; i < len(s) && i < 12; i++ {
		switch c := s[i]; {
		case isDigit(c) || c == ';':
		case c == 'm' && i+1 < len(s) && s[i+1] != ']':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// unescapeOctal decodes the "#012" form in which rsyslog writes control bytes.
// Only control bytes and DEL come that way, so "#101" stays.
func unescapeOctal(s string) (string, bool) {
	if !strings.Contains(s, "#0") && !strings.Contains(s, "#177") {
		return s, false
	}
	var b strings.Builder
	found := false
	for i := 0; i < len(s); i++ {
		if s[i] == '#' && i+3 < len(s) && octal(s[i+1]) && octal(s[i+2]) && octal(s[i+3]) {
			v := int(s[i+1]-'0')<<6 | int(s[i+2]-'0')<<3 | int(s[i+3]-'0')
			if v < 0x20 || v == 0x7f {
				if v == 0 {
					v = ' '
				}
				b.WriteByte(byte(v))
				i += 3
				found = true
				continue
			}
		}
		b.WriteByte(s[i])
	}
	if !found {
		return s, false
	}
	return b.String(), true
}

func octal(c byte) bool { return c >= '0' && c <= '7' }

// unescapeHex decodes "\x0a" as /dev/kmsg writes bytes that are not printable, and
// "\x5c" for the backslash.
func unescapeHex(s string) (string, bool) {
	if !strings.Contains(s, `\x`) {
		return s, false
	}
	var b strings.Builder
	found := false
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && s[i+1] == 'x' {
			hi, ok1 := hexVal(s[i+2])
			lo, ok2 := hexVal(s[i+3])
			if ok1 && ok2 {
				b.WriteByte(hi<<4 | lo)
				i += 3
				found = true
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String(), found
}

func hexVal(c byte) (byte, bool) {
	switch {
	case isDigit(c):
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}
