package traceback

import "strings"

// Line is one message of the log, its framing taken off.
type Line struct {
	Stream string // whose: equal for lines of one writer
	Text   string
	Indent int // white space before Text
	No     int // number of the line in the input
	From   any // the caller's own record of the line
}

// Literals are texts of which one is in every line that a reader must see first.
func Literals() []string {
	return []string{headText, "Fatal Python error: ", "Exception in thread ", "Exception ignored in", spawnText}
}

const (
	headText  = "Traceback (most recent call last)"
	spawnText = " terminated with the following error"
)

// starts reports whether a line opens something.
func starts(text string) bool {
	for _, l := range Literals() {
		if strings.Contains(text, l) {
			return true
		}
	}
	return false
}

// prefixes are what a logger may have put before each line of a traceback, learned
// from its first line: all before the word "Traceback", and shorter parts of it that
// end like headers do.
func prefixes(head string) []string {
	at := strings.Index(head, headText)
	if at <= 0 {
		return nil
	}
	all := head[:at]
	var out []string
	if len(all) >= 3 {
		out = append(out, all)
	}
	for i := len(all) - 1; i > 2 && len(out) < 12; i-- {
		if all[i] == ' ' && strings.IndexByte("]|:-)}", all[i-1]) >= 0 && i+1 < len(all) {
			out = append(out, all[:i+1])
		}
	}
	return out
}

// cutPrefix takes a learned prefix off a line. Numbers may differ between lines
// (times, process ids), and so may the width of blanks.
func cutPrefix(prefix, s string) (string, bool) {
	i, j := 0, 0
	for i < len(prefix) {
		switch {
		case isDigit(prefix[i]):
			if j >= len(s) || !isDigit(s[j]) {
				return s, false
			}
			i, j = skip(prefix, i, isDigit), skip(s, j, isDigit)
		case prefix[i] == ' ' && i == len(prefix)-1: // what follows is indentation
			if j == len(s) {
				return "", true // an empty line, its blanks trimmed
			}
			if s[j] != ' ' {
				return s, false
			}
			i, j = i+1, j+1
		case isBlank(prefix[i]):
			if j >= len(s) || !isBlank(s[j]) {
				return s, false
			}
			i, j = skip(prefix, i, isBlank), skip(s, j, isBlank)
		default:
			if j >= len(s) || s[j] != prefix[i] {
				return s, false
			}
			i, j = i+1, j+1
		}
	}
	return s[j:], true
}

func skip(s string, i int, is func(byte) bool) int {
	for i < len(s) && is(s[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// dedent splits indentation and text.
func dedent(s string) (int, string) {
	t := strings.TrimLeft(s, " \t")
	return len(s) - len(t), strings.TrimRight(t, " \t\r")
}

// cutGutter takes the bars of an exception group off: "  | File …", "  +-+--- 1 ---".
// rule says that the line was such a separator.
func cutGutter(s string) (rest string, rule bool) {
	t := strings.TrimLeft(s, " ")
	if strings.HasPrefix(t, "+-") && strings.Contains(t, "----") {
		return "", true
	}
	for strings.HasPrefix(t, "| ") || strings.HasPrefix(t, "+ ") {
		t = t[2:]
		if next := strings.TrimLeft(t, " "); strings.HasPrefix(next, "| ") {
			t = next
			continue
		}
		return t, false
	}
	return strings.TrimPrefix(t, "|"), false
}
