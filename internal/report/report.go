// Package report turns a finished Report into the forms people and programs read:
// text for a terminal, JSON for scripts, Markdown for tickets. One file a form. It
// decides nothing: what is a fault, and which comes first, was settled before.
package report

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/gpumedic/gpumedic"
)

// Options say how a report is written.
type Options struct {
	Lang  string // en or zh
	Color bool
	Width int  // columns; 0 means 80
	All   bool // incidental findings and details too
	Quiet bool // the verdict line only
}

// Write writes a report in a format: text, json or markdown.
func Write(w io.Writer, r *gpumedic.Report, format string, o Options) error {
	switch format {
	case "text", "":
		return Text(w, r, o)
	case "json":
		return JSON(w, r)
	case "markdown", "md":
		return Markdown(w, r, o)
	}
	return fmt.Errorf("write report: unknown format %q (text, json or markdown)", format)
}

// JSON writes the contract's form: one object, indented, never escaping < and >.
func JSON(w io.Writer, r *gpumedic.Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}
