// Package show writes incidents and the history of cards for people and programs: text
// for a terminal in two languages, JSON for scripts. Texts about faults come from the
// catalog, so that an incident reads in the language of whoever asks.
package show

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/layout"
)

// Options say how to write.
type Options struct {
	Lang    string
	Format  string // text or json
	Color   bool
	Width   int // 0 is 80
	Catalog *catalog.Catalog
	Zone    *time.Location // of times for people; nil is UTC
}

// Formats are the forms of all functions here.
const Formats = "text or json"

type printer struct {
	*bufio.Writer
	Options
}

func newPrinter(w io.Writer, o Options) *printer {
	if o.Width == 0 {
		o.Width = 80
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	return &printer{Writer: bufio.NewWriter(w), Options: o}
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func (o Options) pick(en, zh string) string { return lang.Pick(o.Lang, en, zh) }

func (p *printer) paint(code, s string) string {
	if !p.Color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// hang writes a label and a text that may take several lines, all under its first.
func (p *printer) hang(label, text string) {
	indent := layout.Cells(label)
	for n, line := range layout.Wrap(layout.Printable(text), p.Width-indent) {
		if n > 0 {
			label = strings.Repeat(" ", indent)
		}
		fmt.Fprintln(p, strings.TrimRight(label+line, " "))
	}
}

// dots joins parts with " · " and breaks lines between parts, not within one.
func (p *printer) dots(label string, parts []string) {
	indent := layout.Cells(label)
	line, first := "", true
	flush := func() {
		if !first {
			label = strings.Repeat(" ", indent)
		}
		first = false
		p.hang(label, line)
	}
	for _, part := range parts {
		next := part
		if line != "" {
			next = line + " · " + part
		}
		if line != "" && layout.Cells(layout.Printable(next)) > p.Width-indent {
			flush()
			next = part
		}
		line = next
	}
	if line != "" {
		flush()
	}
}

// command stands on a line of its own, unbroken, so that it can be pasted.
func (p *printer) command(indent int, s string) {
	fmt.Fprintf(p, "%s%s\n", strings.Repeat(" ", indent), layout.Printable(s))
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}
