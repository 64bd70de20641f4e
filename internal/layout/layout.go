// Package layout fits text into terminal columns: Chinese characters are two cells
// wide and lines may break between them, and nothing that a log holds may act on the
// terminal.
package layout

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// Cells is the width of a text on a terminal: a Chinese character takes two cells.
func Cells(s string) int { return runewidth.StringWidth(s) }

// Wrap breaks a text into lines of at most width cells: at spaces, and between
// Chinese characters. A word longer than a line is cut.
func Wrap(s string, width int) []string {
	if width < 8 {
		width = 8
	}
	var lines []string
	var line strings.Builder
	used := 0
	flush := func() {
		lines = append(lines, strings.TrimRight(line.String(), " "))
		line.Reset()
		used = 0
	}
	for _, tok := range tokens(s) {
		n := Cells(tok)
		if used > 0 && used+n > width && !closing(tok) {
			flush()
			if tok == " " {
				continue
			}
		}
		for n > width {
			cut := cutCells(tok, width-used)
			if cut == 0 {
				flush()
				continue
			}
			line.WriteString(tok[:cut])
			flush()
			tok = tok[cut:]
			n = Cells(tok)
		}
		if used == 0 && tok == " " && len(lines) > 0 {
			continue
		}
		line.WriteString(tok)
		used += n
	}
	if used > 0 || len(lines) == 0 {
		flush()
	}
	return lines
}

// tokens splits into words, single spaces and wide characters, which may be parted;
// closing punctuation stays with what it closes.
func tokens(s string) []string {
	var out []string
	start := 0
	cut := func(i int) {
		switch last := len(out) - 1; {
		case start >= i:
		case last >= 0 && opening(out[last]):
			out[last] += s[start:i]
		default:
			out = append(out, s[start:i])
		}
	}
	for i, r := range s {
		if r != ' ' && r != '\n' && runewidth.RuneWidth(r) < 2 {
			continue
		}
		cut(i)
		n := utf8.RuneLen(r)
		tok := s[i : i+n]
		if r == '\n' {
			tok = " "
		}
		switch last := len(out) - 1; {
		case last >= 0 && (closing(tok) && out[last] != " " || opening(out[last])):
			out[last] += tok
		default:
			out = append(out, tok)
		}
		start = i + n
	}
	cut(len(s))
	return out
}

// opening punctuation never ends a line.
func opening(tok string) bool {
	r, _ := utf8.DecodeLastRuneInString(tok)
	return strings.ContainsRune("（“《", r)
}

// closing punctuation never begins a line.
func closing(tok string) bool {
	switch tok {
	case "，", "。", "；", "：", "、", "）", "”", "》", "！", "？":
		return true
	}
	return false
}

// cutCells is the byte length of the longest prefix of at most n cells.
func cutCells(s string, n int) int {
	used := 0
	for i, r := range s {
		w := runewidth.RuneWidth(r)
		if used+w > n {
			return i
		}
		used += w
	}
	return len(s)
}

// Shorten fits a text into n cells by cutting its middle, marked with "…".
func Shorten(s string, n int) string {
	if Cells(s) <= n || n < 8 {
		return s
	}
	head := cutCells(s, n*2/3)
	tail := len(s)
	for used := 0; tail > head; {
		r, size := utf8.DecodeLastRuneInString(s[:tail])
		used += runewidth.RuneWidth(r)
		if used > n-n*2/3-1 {
			break
		}
		tail -= size
	}
	return s[:head] + "…" + s[tail:]
}

// ShortenKeeping fits a text into n cells like Shorten, but leaves the part keep whole
// where it fits: it cuts behind it, and before it as far as that must be.
func ShortenKeeping(s, keep string, n int) string {
	at := strings.Index(s, keep)
	short := Shorten(s, n)
	if keep == "" || at < 0 || strings.Contains(short, keep) || Cells(keep) > n-16 {
		return short
	}
	end := at + len(keep)
	if Cells(s[:end]) < n {
		return s[:cutCells(s, n-1)] + "…"
	}
	head := cutCells(s, min(20, n-Cells(keep)-2))
	tail := s[at:]
	room := n - Cells(s[:head]) - 1
	if Cells(tail) > room {
		tail = tail[:cutCells(tail, room-1)] + "…"
	}
	return s[:head] + "…" + tail
}

// Printable replaces control characters and invalid UTF-8, which logs are full of and
// terminals obey, and characters that turn the direction of the text behind them: a process
// can choose its own name.
func Printable(s string) string {
	if !strings.ContainsFunc(s, acts) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r == '\n':
			return r // wrapping turns it into a space
		case acts(r):
			return '·'
		}
		return r
	}, s)
}

// acts reports whether a terminal does something else with a character than show it.
func acts(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0, r == utf8.RuneError:
		return true
	case r < 0x061c:
		return false // most texts: not one look-up more
	}
	return r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

// Pad fills a text with spaces to n cells.
func Pad(s string, n int) string {
	if w := Cells(s); w < n {
		return s + strings.Repeat(" ", n-w)
	}
	return s
}

// Head is the longest start of a text that fits n cells.
func Head(s string, n int) string { return s[:cutCells(s, n)] }

// Thousands writes 800000 as 800,000.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	digits := strings.TrimPrefix(s, "-")
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return s[:len(s)-len(strings.TrimPrefix(s, "-"))] + digits
}

// Paint puts a colour code around a text; a form without colour leaves it as it is.
func Paint(color bool, code, s string) string {
	if !color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
