package report

import (
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lang"
)

// DiffSchema names the JSON form of a Diff. Fields are only ever added.
const DiffSchema = "gpumedic.diff/v1"

// Diff is what changed between two recordings of a node.
type Diff struct {
	Schema   string             `json:"schema"`
	Old      string             `json:"old"`
	New      string             `json:"new"`
	Status   int                `json:"status"` // exit status: that of the findings that appeared
	Appeared []gpumedic.Finding `json:"appeared"`
	Gone     []gpumedic.Finding `json:"gone"`
	Changes  []Change           `json:"changes"`
}

// Change is one reading that is not what it was, or a whole subject that came or went.
type Change struct {
	Subject string   `json:"subject"`
	Reading string   `json:"reading,omitempty"`
	What    string   `json:"what"` // changed, new, gone
	Old     string   `json:"old,omitempty"`
	New     string   `json:"new,omitempty"`
	Delta   *float64 `json:"delta,omitempty"`
}

// DiffFormats are the forms of WriteDiff.
var DiffFormats = []string{"text", "json"}

// WriteDiff writes a diff in one of [DiffFormats].
func WriteDiff(w io.Writer, d *Diff, format string, o Options) error {
	switch format {
	case "json":
		return gpumedic.WriteJSON(w, d)
	case "text", "":
	default:
		return fmt.Errorf("write diff: unknown format %q", format)
	}
	if o.Width == 0 {
		o.Width = 80
	}
	c := *d
	c.Appeared = cleaned(reflect.ValueOf(d.Appeared)).Interface().([]gpumedic.Finding)
	c.Gone = cleaned(reflect.ValueOf(d.Gone)).Interface().([]gpumedic.Finding)
	c.Changes = cleaned(reflect.ValueOf(d.Changes)).Interface().([]Change)
	p := newPrinter(w, &gpumedic.Report{Findings: append(c.Appeared, c.Gone...)}, o)
	p.diff(&c)
	return p.Flush()
}

func (p *printer) diff(d *Diff) {
	l := p.Lang
	if len(d.Changes)+len(d.Appeared)+len(d.Gone) == 0 {
		fmt.Fprintln(p, lang.Pick(l, "no difference that matters", "没有值得关注的差异"))
		return
	}
	for _, f := range d.Appeared {
		p.hanging(lang.Pick(l, "new    ", "新出现  "), "", f.Headline+where(&f))
	}
	for _, f := range d.Gone {
		p.hanging(lang.Pick(l, "gone   ", "已消失  "), "", f.Headline+where(&f))
	}
	subject := ""
	for _, c := range d.Changes {
		if c.Subject != subject {
			subject = c.Subject
			fmt.Fprintln(p)
			fmt.Fprintln(p, "  "+p.paint("1", subject))
		}
		switch c.What {
		case "new":
			fmt.Fprintln(p, "    "+lang.Pick(l, "only in the new recording", "仅见于新记录"))
		case "gone":
			fmt.Fprintln(p, "    "+lang.Pick(l, "only in the old recording", "仅见于旧记录"))
		default:
			text := dash(c.Old) + " -> " + dash(c.New)
			if c.Delta != nil {
				sign := ""
				if *c.Delta > 0 {
					sign = "+"
				}
				text += "  (" + sign + strconv.FormatFloat(*c.Delta, 'f', -1, 64) + ")"
			}
			p.hanging("    ", c.Reading+"  ", text)
		}
	}
}
