// Package report turns a finished Report into the forms people and programs read:
// text for a terminal, JSON for scripts, Markdown for tickets. One file a form. It
// decides nothing: what is a fault, and which comes first, was settled before.
package report

import (
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

// Formats are the forms of Write.
var Formats = []string{"text", "json", "markdown"}

// Write writes a report in one of [Formats].
func Write(w io.Writer, r *gpumedic.Report, format string, o Options) error {
	switch format {
	case "text", "":
		return Text(w, printable(r), o)
	case "json":
		return gpumedic.WriteJSON(w, r)
	case "markdown":
		return Markdown(w, printable(r), o)
	}
	return fmt.Errorf("write report: unknown format %q", format)
}

// printable is a copy of a report in which nothing that a log, a file name or a
// process name holds can act on a terminal.
func printable(r *gpumedic.Report) *gpumedic.Report {
	c := cleaned(reflect.ValueOf(*r)).Interface().(gpumedic.Report)
	return &c
}

// cleaned is a copy of a value with all its strings made printable.
func cleaned(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		if s := layout.Printable(v.String()); s != v.String() {
			return reflect.ValueOf(s).Convert(v.Type())
		}
	case reflect.Struct:
		c := reflect.New(v.Type()).Elem()
		c.Set(v)
		for i := range v.NumField() {
			if f := v.Field(i); f.CanInterface() && !f.IsZero() {
				c.Field(i).Set(cleaned(f))
			}
		}
		return c
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			c.Index(i).Set(cleaned(v.Index(i)))
		}
		return c
	case reflect.Map:
		if v.IsNil() || v.Type().Elem().Kind() != reflect.String {
			return v
		}
		c := reflect.MakeMapWithSize(v.Type(), v.Len())
		for k, x := range v.Seq2() {
			c.SetMapIndex(k, cleaned(x))
		}
		return c
	}
	return v
}
