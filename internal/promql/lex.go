package promql

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// token is a word of an expression.
type token struct {
	kind tokenKind
	text string // of a string: its value
	at   int
}

type tokenKind int

const (
	tokEnd tokenKind = iota
	tokName
	tokNumber
	tokDuration
	tokString
	tokSign // operators and brackets
)

// signs in the order in which they are tried: longer ones first.
var signs = []string{"==", "!=", "<=", ">=", "=~", "!~", "<", ">", "=", "+", "-", "*", "/", "(", ")", "{", "}", "[", "]", ","}

// lex cuts an expression into tokens.
func lex(s string) ([]token, error) {
	var out []token
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '#':
			for i < len(s) && s[i] != '\n' {
				i++
			}
		case nameByte(c, false):
			n := span(s[i:], func(c byte) bool { return nameByte(c, true) })
			out = append(out, token{tokName, s[i : i+n], i})
			i += n
		case c >= '0' && c <= '9' || c == '.':
			n := span(s[i:], func(c byte) bool { return c == '.' || nameByte(c, true) && c != ':' && c != '_' })
			kind := tokNumber
			if last := s[i+n-1]; last >= 'a' && last <= 'z' {
				kind = tokDuration
			}
			out = append(out, token{kind, s[i : i+n], i})
			i += n
		case c == '"' || c == '\'':
			text, n, err := quoted(s[i:])
			if err != nil {
				return nil, fmt.Errorf("byte %d: %w", i, err)
			}
			out = append(out, token{tokString, text, i})
			i += n
		default:
			sign := ""
			for _, x := range signs {
				if strings.HasPrefix(s[i:], x) {
					sign = x
					break
				}
			}
			if sign == "" {
				return nil, fmt.Errorf("byte %d: %q is not understood", i, s[i:min(len(s), i+8)])
			}
			out = append(out, token{tokSign, sign, i})
			i += len(sign)
		}
	}
	return append(out, token{tokEnd, "", len(s)}), nil
}

func nameByte(c byte, inside bool) bool {
	return c == '_' || c == ':' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || inside && c >= '0' && c <= '9'
}

func span(s string, in func(byte) bool) int {
	n := 0
	for n < len(s) && in(s[n]) {
		n++
	}
	return n
}

// quoted reads a string and says how long it stands there.
func quoted(s string) (string, int, error) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			text := s[:i+1]
			if s[0] == '\'' { // as in Go, but for the quotes
				text = `"` + strings.ReplaceAll(strings.ReplaceAll(s[1:i], `\'`, `'`), `"`, `\"`) + `"`
			}
			v, err := strconv.Unquote(text)
			return v, i + 1, err
		}
	}
	return "", 0, fmt.Errorf("a string does not end")
}

// units of durations, in the order in which they may follow each other.
var units = []struct {
	name string
	is   time.Duration
}{{"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}, {"w", 7 * 24 * time.Hour}, {"y", 365 * 24 * time.Hour}}

// ParseDuration reads a duration as Prometheus writes it: 15m, 1h30m, 1d.
func ParseDuration(s string) (time.Duration, error) {
	var sum time.Duration
	for rest := s; rest != "" || sum == 0; {
		n := span(rest, func(c byte) bool { return c >= '0' && c <= '9' })
		v, err := strconv.ParseInt(rest[:n], 10, 32)
		u := span(rest[n:], func(c byte) bool { return c >= 'a' && c <= 'z' })
		var unit time.Duration
		for _, x := range units {
			if x.name == rest[n:n+u] {
				unit = x.is
			}
		}
		if err != nil || unit == 0 && !(s == "0" && u == 0) || sum < 0 {
			return 0, fmt.Errorf("read duration %q: want as 15m, 1h30m, 1d", s)
		}
		if s == "0" {
			return 0, nil
		}
		sum += time.Duration(v) * unit
		rest = rest[n+u:]
		if rest == "" {
			break
		}
	}
	if sum < 0 || sum > 10*365*24*time.Hour {
		return 0, fmt.Errorf("read duration %q: out of range", s)
	}
	return sum, nil
}
