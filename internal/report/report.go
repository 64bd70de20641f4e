// Package report turns a finished Report into the forms people and programs read:
// text for a terminal, JSON for scripts, Markdown for tickets. One file a form. It
// decides nothing: what is a fault, and which comes first, was settled before.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/layout"
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
		return Text(w, printable(r), o)
	case "json":
		return JSON(w, r)
	case "markdown", "md":
		return Markdown(w, printable(r), o)
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

// printable is a copy of a report in which nothing that a log, a file name or a
// process name holds can act on a terminal.
func printable(r *gpumedic.Report) *gpumedic.Report {
	b, err := json.Marshal(r)
	if err != nil {
		return r // no field of a report fails to marshal
	}
	var c gpumedic.Report
	if err := json.Unmarshal(b, &c); err != nil {
		return r
	}
	clean(reflect.ValueOf(&c).Elem())
	return &c
}

func clean(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(layout.Printable(v.String()))
	case reflect.Struct:
		for i := range v.NumField() {
			clean(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			clean(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			if x := v.MapIndex(k); x.Kind() == reflect.String {
				v.SetMapIndex(k, reflect.ValueOf(layout.Printable(x.String())))
			}
		}
	}
}
