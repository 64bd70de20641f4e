package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Problem is something wrong in a catalog file, shown as rustc would: what, where, the
// line and a caret under the place.
type Problem struct {
	Pos   Pos
	Field string // path of the field, "triggers[0].signal"
	Msg   string
	Line  string // the source line
}

// Error is the short form: file, line, column, message.
func (p *Problem) Error() string {
	at := p.Pos.File
	if p.Pos.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", p.Pos.File, p.Pos.Line, max(p.Pos.Col, 1))
	}
	if p.Field != "" {
		return fmt.Sprintf("%s: %s: %s", at, p.Field, p.Msg)
	}
	return at + ": " + p.Msg
}

// Show is the long form with the line and a caret.
func (p *Problem) Show() string {
	if p.Line == "" {
		return p.Error()
	}
	num := fmt.Sprint(p.Pos.Line)
	gap := strings.Repeat(" ", len(num))
	col := min(max(p.Pos.Col-1, 0), len(p.Line))
	lead := strings.Map(func(r rune) rune {
		if r == '\t' {
			return '\t'
		}
		return ' '
	}, p.Line[:col])
	return fmt.Sprintf("%s\n%s |\n%s | %s\n%s | %s^", p.Error(), gap, num, p.Line, gap, lead)
}

// Problems are all that is wrong in one or more files.
type Problems []*Problem

func (p Problems) Error() string {
	parts := make([]string, len(p))
	for i := range p {
		parts[i] = p[i].Show()
	}
	return strings.Join(parts, "\n")
}

// located turns the loader's errors into problems with places.
func located(file string, src []byte, err error) error {
	if err == nil {
		return nil
	}
	var many *yaml.LoadErrors
	var one *yaml.LoadError
	var out Problems
	switch {
	case errors.As(err, &many):
		for _, e := range many.Errors {
			out = append(out, problemAt(file, src, e))
		}
	case errors.As(err, &one):
		out = append(out, problemAt(file, src, one))
	default:
		return fmt.Errorf("read %s: %w", file, err)
	}
	return out
}

func problemAt(file string, src []byte, e *yaml.LoadError) *Problem {
	p := &Problem{Pos: Pos{File: file, Line: e.Mark.Line, Col: e.Mark.Column}, Msg: e.Message}
	p.Line = sourceLine(src, p.Pos.Line)
	if name, ok := strings.CutPrefix(e.Message, "field "); ok {
		if f, rest, ok := strings.Cut(name, " not found in type "); ok {
			p.Field, p.Msg = f, "unknown field of a "+strings.ToLower(strings.TrimPrefix(rest, "catalog."))
		}
	}
	return p
}

func sourceLine(src []byte, n int) string {
	for i, l := range bytes.Split(src, []byte("\n")) {
		if i+1 == n {
			return string(l)
		}
	}
	return ""
}
