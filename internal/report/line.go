package report

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/layout"
)

// place names a line: by number when there is one input, else "file:number"; and the
// section, when the input has any.
func (p *printer) place(input, section string, no int) string {
	if section != "" {
		return p.place(input, "", no) + " [" + layout.Shorten(section, 18) + "]"
	}
	switch {
	case no > 0 && p.oneInput:
		return fmt.Sprintf(lang.Pick(p.Lang, "line %d", "第 %d 行"), no)
	case no > 0:
		return fmt.Sprintf("%s:%d", layout.Shorten(filepath.Base(input), 18), no)
	}
	return layout.Shorten(filepath.Base(input), 24)
}

// count says how often a line came: "(6x)", "(214x in 37 min)".
func count(p *printer, n int, span string) string {
	switch {
	case n < 2:
		return ""
	case span == "":
		return p.aside(fmt.Sprintf(lang.Pick(p.Lang, "%dx", "%d 次"), n))
	case p.Lang == "zh":
		return p.aside(fmt.Sprintf("%s内 %d 次", unitsZH.Replace(span), n))
	}
	return p.aside(fmt.Sprintf("%dx in %s", n, span))
}

var unitsZH = strings.NewReplacer(" min", " 分钟", " h", " 小时", "ms", " 毫秒", "s", " 秒")

func (p *printer) colon() string { return lang.Pick(p.Lang, ": ", "：") }

// aside puts a remark behind a text, in the brackets of its language.
func (p *printer) aside(s string) string {
	return lang.Pick(p.Lang, " (", "（") + s + lang.Pick(p.Lang, ")", "）")
}

// line prints one line of an input: place, time, text of at most three lines, a mark
// under the decisive part, a note. keep is what a shortened text must still hold.
func (p *printer) line(input, section string, no int, at, body, times, note, mark, keep string) {
	col := "    " + layout.Pad(p.place(input, section, no), p.placeCol) + "  "
	if at != "" {
		col += layout.Pad(clock(at), 8) + "  "
	}
	in := layout.Cells(col)
	if p.Width-in < 44 { // a long name: the text goes below it
		fmt.Fprintln(p, p.paint("2", strings.TrimRight(col, " ")))
		in = 8
		col = strings.Repeat(" ", in)
	}
	width, rest := p.Width-in, strings.Repeat(" ", in)
	body = layout.ShortenKeeping(body, keep, 3*width-layout.Cells(times)-4) + times
	lines := layout.Wrap(body, width)
	marked, part := markIn(lines, mark)
	for i, l := range lines {
		lead := rest
		if i == 0 {
			lead = p.paint("2", col)
		}
		fmt.Fprintf(p, "%s%s\n", lead, l)
		if i == marked && note != "" {
			note = p.caret(rest, l, part, note, width, i == len(lines)-1)
		}
	}
	if note != "" {
		p.paintWrapped(rest, "= ", note, "36")
	}
}

// caret underlines the decisive part. The note follows on the same line where it
// fits and nothing of the text comes after; else it is returned.
func (p *printer) caret(rest, line, part, note string, width int, last bool) string {
	at := layout.Cells(line[:strings.Index(line, part)])
	n := layout.Cells(part)
	fmt.Fprintf(p, "%s%s%s", rest, strings.Repeat(" ", at), p.paint("31", strings.Repeat("^", n)))
	if last && at+n+1+layout.Cells(note) <= width {
		fmt.Fprintf(p, " %s", p.paint("36", note))
		note = ""
	}
	fmt.Fprintln(p)
	return note
}

// markIn finds the line that holds the decisive text, or the longest start of it.
func markIn(lines []string, mark string) (line int, part string) {
	mark = strings.TrimSpace(mark)
	if mark == "" {
		return -1, ""
	}
	for i, l := range lines {
		if strings.Contains(l, mark) {
			return i, mark
		}
	}
	words := strings.Fields(mark)
	for n := len(words) - 1; n > 1; n-- { // at least two words: one alone may stand elsewhere
		head := strings.Join(words[:n], " ")
		for i, l := range lines {
			if strings.HasSuffix(l, head) {
				return i, head
			}
		}
	}
	return -1, ""
}

func (p *printer) paintWrapped(indent, head, s, code string) {
	for i, l := range layout.Wrap(s, p.Width-layout.Cells(indent)-layout.Cells(head)) {
		if i > 0 {
			head = strings.Repeat(" ", layout.Cells(head))
		}
		fmt.Fprintf(p, "%s%s\n", indent, p.paint(code, head+l))
	}
}

// clock drops the date, which the head line has, and cuts seconds since boot.
func clock(at string) string {
	if strings.HasPrefix(at, "+") || strings.HasPrefix(at, "-") {
		return at // a distance, not a time
	}
	if i := strings.LastIndexByte(at, ' '); i > 0 && strings.Count(at, ":") == 2 {
		return at[i+1:]
	}
	if s, ok := strings.CutSuffix(at, " s"); ok {
		if i := strings.IndexByte(s, '.'); i > 0 && len(s) > i+4 {
			s = s[:i+4]
		}
		return s
	}
	return at
}

// decisive is the message of a line, without time, host and the like; underline is the
// part of it that the matcher found, "" when that is all of it.
func decisive(text string, mark [2]int, msg int) (body, underline string) {
	if mark[0] < 0 || mark[1] > len(text) || mark[0] >= mark[1] {
		return message(text), ""
	}
	from := mark[0]
	if msg > 0 && msg < from {
		from = msg
	}
	if from > 0 {
		body = strings.TrimSpace(inString(text, from, mark[1]))
	} else {
		body = message(text)
	}
	body = strings.TrimLeft(body, "]> \t") // what is left of a logger's own head
	if name := readingName(text[:from]); name != "" {
		body = name + ": " + body // a value alone says nothing
	}
	if part := strings.TrimSpace(text[mark[0]:mark[1]]); layout.Cells(part) < layout.Cells(body)*3/4 {
		underline = part
	}
	return body, underline
}

// inString is the text from an offset on, without what closes the JSON record around it:
// up to the end of the string that the offset is in, not before upTo.
func inString(text string, from, upTo int) string {
	head := strings.TrimLeft(text, " \t")
	if head == "" || strings.IndexByte("[{\"", head[0]) < 0 {
		return text[from:]
	}
	inside := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] != '"':
		case i < from:
			inside = !inside
		case inside && i >= upTo:
			return text[from:i]
		}
	}
	return text[from:]
}

// readingName is the name before the value of a tool's "Name    : value" line, "" where
// the text before is something else.
func readingName(before string) string {
	before, ok := strings.CutSuffix(before, ": ")
	before = strings.TrimRight(before, " \t")
	if !ok || strings.ContainsAny(before, "[]{}\"=") {
		return ""
	}
	if i := strings.LastIndexAny(before, "|>"); i >= 0 {
		before = before[i+1:]
	}
	if i := strings.LastIndex(before, "  "); i >= 0 {
		before = before[i:]
	}
	name := strings.TrimSpace(before)
	if strings.Contains(name, ".") && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789._") == "" {
		return name // of a document of live readings
	}
	if len(name) > 48 || name == "" || name[0] < 'A' || name[0] > 'Z' || strings.Contains(name, ":") {
		return ""
	}
	return name
}

// message drops the framing of a consequence's line, as far as a known word marks
// where the message begins.
func message(s string) string {
	for _, start := range []string{"NVRM: ", "nvidia-nvswitch", "kernel: ", "pcieport "} {
		if i := strings.Index(s, start); i > 0 && i < 160 {
			if start == "kernel: " {
				i += len(start)
			}
			return s[i:]
		}
	}
	return strings.TrimSpace(s)
}

func (p *printer) section(w lang.Word) { fmt.Fprintf(p, "  %s\n", p.paint("1", p.say(w))) }

// lines prints a wrapped paragraph.
func (p *printer) lines(indent, s string) {
	for _, l := range layout.Wrap(s, p.Width-layout.Cells(indent)) {
		fmt.Fprintf(p, "%s%s\n", indent, l)
	}
}

// hanging prints a wrapped paragraph whose first line starts with a head.
func (p *printer) hanging(indent, head, s string) {
	in := layout.Cells(indent) + layout.Cells(unpainted(head))
	for i, l := range layout.Wrap(s, p.Width-in) {
		if i == 0 {
			fmt.Fprintf(p, "%s%s%s\n", indent, head, l)
			continue
		}
		fmt.Fprintf(p, "%s%s\n", strings.Repeat(" ", in), l)
	}
}

// unpainted drops colour codes, which take no cells.
func unpainted(s string) string {
	for {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			return s
		}
		j := strings.IndexByte(s[i:], 'm')
		if j < 0 {
			return s
		}
		s = s[:i] + s[i+j+1:]
	}
}

func (p *printer) paint(code, s string) string { return layout.Paint(p.Color, code, s) }
