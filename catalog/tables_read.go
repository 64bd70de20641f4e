package catalog

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// A table is a TSV file: "#" starts a comment line, "#@ KEY URL" shortens a source,
// the first other line names the columns, "-" is an empty field. That form loads in
// well under a millisecond, shows one row a line in a diff, and sorts with sort(1).

// tableReader reads one table and keeps the first error: rows then read as
// straight-line code.
type tableReader struct {
	file  string
	cols  map[string]int
	src   map[string]string
	lines []tableLine
	err   error
}

type tableLine struct {
	n    int
	vals []string
}

// tableRow is one row with its reader.
type tableRow struct {
	*tableReader
	tableLine
}

func readTable(fsys fs.FS, name string, cols ...string) *tableReader {
	t := &tableReader{file: "tables/" + name, cols: map[string]int{}, src: map[string]string{}}
	b, err := fs.ReadFile(fsys, t.file)
	if err != nil {
		t.err = fmt.Errorf("read table: %w", err)
		return t
	}
	n := 0
	for line := range strings.SplitSeq(string(b), "\n") {
		n++
		line = strings.TrimSuffix(line, "\r")
		switch {
		case strings.HasPrefix(line, "#@ "):
			if k, url, ok := strings.Cut(line[3:], " "); ok {
				t.src[k] = url
			}
		case line == "" || line[0] == '#':
		case len(t.cols) == 0:
			for i, c := range strings.Split(line, "\t") {
				t.cols[c] = i
			}
		default:
			t.lines = append(t.lines, tableLine{n, strings.Split(line, "\t")})
		}
	}
	for _, c := range cols {
		if _, ok := t.cols[c]; !ok && t.err == nil {
			t.err = fmt.Errorf("read %s: column %q is missing", t.file, c)
		}
	}
	return t
}

// rows calls f for every row until the first error.
func (t *tableReader) rows(f func(tableRow)) error {
	for _, l := range t.lines {
		if t.err != nil {
			break
		}
		if len(l.vals) != len(t.cols) {
			t.err = fmt.Errorf("read %s:%d: row has %d fields, the header names %d", t.file, l.n, len(l.vals), len(t.cols))
			break
		}
		f(tableRow{t, l})
	}
	return t.err
}

func (r tableRow) fail(col, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("read %s:%d: field %s: %s", r.file, r.n, col, fmt.Sprintf(format, args...))
	}
}

// opt returns a field, "" for "-".
func (r tableRow) opt(col string) string {
	i, ok := r.cols[col]
	if !ok || r.vals[i] == "-" {
		return ""
	}
	return r.vals[i]
}

func (r tableRow) need(col string) string {
	s := r.opt(col)
	if s == "" {
		r.fail(col, "is empty")
	}
	return s
}

func (r tableRow) list(col, sep string) []string {
	s := r.opt(col)
	if s == "" {
		return nil
	}
	return strings.Split(s, sep)
}

func (r tableRow) num(col string) int {
	n, err := strconv.Atoi(r.need(col))
	if err != nil {
		r.fail(col, "%q is no number", r.opt(col))
	}
	return n
}

func (r tableRow) word(col string) uint32 {
	n, err := strconv.ParseUint(r.need(col), 0, 32)
	if err != nil {
		r.fail(col, "%q is no 32-bit word", r.opt(col))
	}
	return uint32(n)
}

func (r tableRow) oneOf(col string, words ...string) string {
	s := r.opt(col)
	if !slices.Contains(words, s) {
		r.fail(col, "%q is none of %s", s, strings.Join(words, " "))
	}
	return s
}

// text reads the columns <name>_en and <name>_zh; both or none must be there.
func (r tableRow) text(name string) Text {
	t := Text{EN: r.opt(name + "_en"), ZH: r.opt(name + "_zh")}
	if (t.EN == "") != (t.ZH == "") {
		r.fail(name, "has one language only")
	}
	return t
}

func (r tableRow) mustText(name string) Text {
	r.need(name + "_en")
	r.need(name + "_zh")
	return r.text(name)
}

func (r tableRow) sources() []string {
	keys := r.list("sources", ";")
	if len(keys) == 0 {
		r.fail("sources", "is empty")
	}
	for i, k := range keys {
		url, ok := r.src[k]
		if !ok {
			r.fail("sources", "%q has no \"#@\" line", k)
		}
		keys[i] = url
	}
	return keys
}

// action reads an id of the action ladder; empty is allowed.
func (r tableRow) action(col string) string {
	s := r.opt(col)
	if s != "" && !slices.Contains(Actions, s) {
		r.fail(col, "unknown action %q", s)
	}
	return s
}
