package frame

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonValue is a value as it stands in the text: the inside of a string, or the
// raw characters of anything else.
type jsonValue struct {
	raw     string
	at      int // offset of raw in the scanned text
	kind    byte
	escaped bool // raw is not the text: a string with escapes, an array of bytes, null
	cut     bool // the text ends inside of it
}

// Kinds of jsonValue.
const (
	jsonString = '"'
	jsonArray  = '['
	jsonObject = '{'
	jsonOther  = '0'
)

// text is the value decoded: strings unescaped, an array of numbers as bytes (the
// journal writes texts that are not UTF-8 so), null as "".
func (v jsonValue) text() string {
	switch {
	case v.kind == jsonString && v.escaped:
		return unescapeJSON(v.raw)
	case v.kind == jsonArray:
		return byteArray(v.raw, 0)
	case v.kind == jsonOther && v.raw == "null":
		return ""
	}
	return v.raw
}

// scanPairs calls fn for each "key": value from offset n of s on. It is lenient:
// a text cut off anywhere gives what is there.
func scanPairs(s string, n int, fn func(key string, v jsonValue)) {
	for {
		for n < len(s) && (s[n] == ' ' || s[n] == ',' || s[n] == '\t' || s[n] == '{') {
			n++
		}
		if n >= len(s) || s[n] != '"' {
			return
		}
		key, k := scanValue(s, n)
		n = k + spaces(s[k:])
		if n >= len(s) || s[n] != ':' {
			return
		}
		n++
		n += spaces(s[n:])
		if n >= len(s) {
			return
		}
		v, k := scanValue(s, n)
		if k == n {
			return
		}
		fn(key.raw, v)
		n = k
	}
}

// scanValue reads one value at s[n:] and returns the offset behind it.
func scanValue(s string, n int) (jsonValue, int) {
	switch s[n] {
	case '"':
		v := jsonValue{at: n + 1, kind: jsonString}
		i := n + 1
		for i < len(s) && s[i] != '"' {
			if s[i] == '\\' {
				v.escaped = true
				i++
			}
			i++
		}
		v.cut = i >= len(s)
		i = min(i, len(s))
		v.raw = s[n+1 : i]
		return v, min(i+1, len(s))
	case '[', '{':
		depth, i := 0, n
		for ; i < len(s); i++ {
			switch s[i] {
			case '[', '{':
				depth++
			case ']', '}':
				depth--
			case '"':
				_, i = scanValue(s, i)
				i--
			}
			if depth == 0 {
				i++
				break
			}
		}
		i = min(i, len(s))
		return jsonValue{raw: s[n:i], at: n, kind: s[n], escaped: s[n] == '['}, i
	}
	i := n
	for i < len(s) && s[i] != ',' && s[i] != '}' && s[i] != ']' && s[i] != ' ' {
		i++
	}
	return jsonValue{raw: s[n:i], at: n, kind: jsonOther, escaped: s[n:i] == "null"}, i
}

func unescapeJSON(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'b', 'f':
			b.WriteByte(' ')
		case 'u':
			r, ok := hex4(s, i+1)
			if !ok {
				b.WriteString(`\u`)
				continue
			}
			i += 4
			if utf16.IsSurrogate(r) && strings.HasPrefix(s[i+1:], `\u`) {
				if low, ok := hex4(s, i+3); ok {
					if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
						r = full
						i += 6
					}
				}
			}
			b.WriteRune(r)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func hex4(s string, n int) (rune, bool) {
	if n+4 > len(s) {
		return 0, false
	}
	var r rune
	for i := n; i < n+4; i++ {
		v, ok := hexVal(s[i])
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(v)
	}
	return r, true
}

// byteArray decodes "[78,86,82,77]"; an array of several values (a field that came
// twice) gives the first.
func byteArray(s string, depth int) string {
	var b strings.Builder
	for i := 1; i < len(s); {
		switch c := s[i]; {
		case isDigit(c):
			v := 0
			for ; i < len(s) && isDigit(s[i]); i++ {
				if v < 1000 {
					v = v*10 + int(s[i]-'0')
				}
			}
			if v > 255 {
				return s
			}
			b.WriteByte(byte(v))
		case c == '"' || c == '[':
			if b.Len() > 0 {
				return b.String()
			}
			v, _ := scanValue(s, i)
			if v.kind != jsonArray {
				return v.text()
			}
			if depth > 0 {
				return v.raw
			}
			return byteArray(v.raw, depth+1)
		default:
			i++
		}
	}
	return b.String()
}
