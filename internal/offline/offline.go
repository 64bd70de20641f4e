// Package offline wires the flow for recorded input: sources to signals to a report.
// `gpumedic diagnose` and the catalog's own tests both call it, so that a case that
// passes in a test passes on the command line.
package offline

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/decode"
	"github.com/gpumedic/gpumedic/internal/diagnose"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/scan"
	"github.com/gpumedic/gpumedic/internal/scan/section"
	"github.com/gpumedic/gpumedic/internal/source"
)

// Options of one run.
type Options struct {
	Lang         string
	Since, Until time.Time
	Progress     func(scan.Progress)
	// Then gives further inputs that only the readings of the first tell, before anything
	// is concluded: a stream is read once.
	Then func([][]section.Readings) []source.Input
	// Read is called when all is read, before anything is concluded. May be nil.
	Read func()
}

// Diagnoser reads inputs and concludes. It may be used for many runs, one at a time.
type Diagnoser struct {
	cat     *catalog.Catalog
	tables  *catalog.TableSet
	scanner *scan.Scanner
}

// New prepares a catalog for use.
func New(cat *catalog.Catalog) (*Diagnoser, error) {
	t := cat.Tables()
	s, err := scan.New(cat, decode.New(t))
	if err != nil {
		return nil, err
	}
	return &Diagnoser{cat: cat, tables: t, scanner: s}, nil
}

// Run reads all inputs as one incident. When ctx ends early the report is of what was
// read so far.
func (d *Diagnoser) Run(ctx context.Context, inputs []source.Input, o Options) (*gpumedic.Report, error) {
	x, err := d.Examine(ctx, inputs, o)
	if err != nil {
		return nil, err
	}
	return x.Report, nil
}

// Examination is a report with the readings that it came from, input by input.
type Examination struct {
	Report   *gpumedic.Report
	Signals  int // how many different ones were read, facts too
	Readings [][]section.Readings
}

// Examine is Run for a caller that shows the readings too.
func (d *Diagnoser) Examine(ctx context.Context, inputs []source.Input, o Options) (*Examination, error) {
	engine := make(chan *diagnose.Engine, 1)
	go func() { engine <- diagnose.New(d.cat) }() // its rules are made ready while the inputs are read
	read := scan.Options{Since: o.Since, Until: o.Until, Progress: o.Progress}
	res, err := d.scanner.Scan(ctx, inputs, read)
	if err == nil && o.Then != nil {
		var more scan.Result
		more, err = d.scanner.Scan(ctx, o.Then(res.Readings), read)
		res = joined(res, more)
	}
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	if o.Read != nil {
		o.Read()
	}
	fillYears(res.Signals)
	e, signals := <-engine, len(res.Signals)
	for _, s := range res.Signals {
		e.Add(s)
	}
	res.Signals = nil // the engine has its own
	c := e.Conclude(o.Lang)
	d.tellMeanings(c.Unexplained, o.Lang)
	r := &gpumedic.Report{
		Schema:  gpumedic.Schema,
		Tool:    gpumedic.Tool{Version: Version(), Catalog: catalogName(d.cat)},
		Verdict: c.Verdict, Inputs: res.Inputs, Findings: c.Findings, Unexplained: c.Unexplained,
		Notes: slices.Concat(d.cat.Notes, c.Notes),
	}
	if r.Verdict == gpumedic.VerdictNoFault { // unknown is not healthy
		switch {
		case unreadable(res.Inputs):
			r.Verdict = gpumedic.VerdictUnknown
		case outside(res.Inputs, o.Since, o.Until):
			r.Verdict = gpumedic.VerdictUnknown
			r.Notes = append(r.Notes, lang.Pick(o.Lang, "all that was read is of another time than the one asked for", "读到的内容都不在所指定的时间范围内"))
		}
	}
	return &Examination{r, signals, res.Readings}, nil
}

// joined sets the inputs of b behind those of a.
func joined(a, b scan.Result) scan.Result {
	for i := range b.Signals {
		b.Signals[i].Order.Input += len(a.Inputs)
	}
	return scan.Result{
		Inputs: append(a.Inputs, b.Inputs...), Signals: append(a.Signals, b.Signals...), Readings: append(a.Readings, b.Readings...),
	}
}

// unreadable reports whether something of the inputs could not be read.
func unreadable(inputs []gpumedic.InputInfo) bool {
	for _, in := range inputs {
		if in.Incomplete || in.Lines == 0 && len(in.Problems) > 0 {
			return true
		}
	}
	return len(inputs) == 0
}

// outside reports whether all inputs state their time, and none a part of the window.
func outside(inputs []gpumedic.InputInfo, since, until time.Time) bool {
	for _, in := range inputs {
		first, err1 := time.Parse(time.RFC3339, in.First)
		last, err2 := time.Parse(time.RFC3339, in.Last)
		before, after := !since.IsZero() && last.Before(since), !until.IsZero() && first.After(until)
		if err1 != nil || err2 != nil || !before && !after {
			return false
		}
	}
	return len(inputs) > 0
}

// CatalogVersion names a catalog in a report.
func CatalogVersion(cat *catalog.Catalog) string { return catalogName(cat) }

func catalogName(c *catalog.Catalog) string {
	return fmt.Sprintf("%d faults, %d matchers", len(c.Faults), len(c.Matchers))
}

// Version is the module's version from the build, "devel" with the commit otherwise.
func Version() string {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := b.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range b.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}
