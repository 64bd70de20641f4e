package scan

import (
	"strings"

	"github.com/gpumedic/gpumedic/internal/frame"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

// gapRows is how many lines around one are asked whether a collector puts a blank
// between its prefix and the line.
const gapRows = 24

// toolLines are the lines of a tool's report behind the prefixes of a collector.
type toolLines struct {
	x    *input
	row  int
	off  int64
	head frame.Tool
	gap  bool // a blank parts prefix and line
	seen map[int]toolLine
}

type toolLine struct {
	frame.Tool
	ok bool
}

func (l *toolLines) at(i int) toolLine {
	if t, ok := l.seen[i]; ok {
		return t
	}
	var t toolLine
	if r, ok := l.x.t.row(l.row+i, l.off, sectionAhead); ok && l.row+i >= 0 && len(r.text) <= longRow {
		t.Tool, t.ok = l.x.fr.fr.Tool(&view{t: l.x.t, row: l.row + i, off: r.off, own: r.text})
		if len(r.text) == 0 {
			t.From, t.ok = l.head.From, true
		}
	}
	l.seen[i] = t
	return t
}

// Line implements section.Lines.
func (l *toolLines) Line(i int) (string, bool) {
	if i < -sectionRows || i > sectionRows {
		return "", false
	}
	t := l.at(i)
	if !t.ok || !t.SameWriter(&l.head) || strings.IndexByte(t.Text, '\n') >= 0 {
		return "", false
	}
	if l.gap {
		return strings.TrimPrefix(t.Text, " "), true
	}
	return t.Text, true
}

// findGap looks whether all lines around begin with a blank: then it is the collector's.
func (l *toolLines) findGap() {
	l.gap = true
	for _, step := range [...]int{1, -1} {
		for i := step; i*step <= gapRows && l.gap; i += step {
			t := l.at(i)
			if !t.ok || !t.SameWriter(&l.head) {
				break
			}
			l.gap = strings.TrimSpace(t.Text) == "" || t.Text[0] == ' '
		}
	}
	l.gap = l.gap && strings.HasPrefix(l.head.Text, " ")
}

// tool tries the parsers of tool output on what stands behind a collector's prefix; on
// request only behind that of a search, which is easily taken for a launcher's.
func (x *input) tool(row int, off int64, ofSearch bool) (sets []section.Readings, n int, searched bool) {
	l := &toolLines{x: x, row: row, off: off, seen: map[int]toolLine{}}
	head := l.at(0)
	if !head.ok || ofSearch && !head.Searched || !section.MayStart(head.Text) {
		return nil, 0, false
	}
	l.head = head.Tool
	if strings.IndexByte(head.Text, '\n') >= 0 {
		sets = parseFolded(head.Text)
		x.asWritten(sets, row, off)
		return sets, min(len(sets), 1), false
	}
	l.findGap()
	sets, n = section.Parse(l)
	x.asWritten(sets, row, off)
	return sets, n, n > 0 && head.Searched
}

// parseFolded reads the report that one record holds whole.
func parseFolded(text string) []section.Readings {
	all := strings.Split(text, "\n")
	var out []section.Readings
	for i := 0; i < len(all); {
		n := 0
		if section.MayStart(all[i]) {
			var sets []section.Readings
			sets, n = section.Parse(foldedLines{all, i})
			for k := range sets {
				for key, v := range sets[k].Values {
					v.Line = 0
					sets[k].Values[key] = v
				}
			}
			out = append(out, sets...)
		}
		i += max(n, 1)
	}
	return out
}

type foldedLines struct {
	all []string
	at  int
}

// Line implements section.Lines.
func (f foldedLines) Line(i int) (string, bool) {
	if f.at+i < 0 || f.at+i >= len(f.all) {
		return "", false
	}
	return f.all[f.at+i], true
}

// asWritten gives readings the lines of the input for evidence.
func (x *input) asWritten(sets []section.Readings, row int, off int64) {
	for i := range sets {
		for key, v := range sets[i].Values {
			if r, ok := x.t.row(row+v.Line, off, sectionAhead); ok {
				v.Text = string(r.text)
				sets[i].Values[key] = v
			}
		}
	}
}
