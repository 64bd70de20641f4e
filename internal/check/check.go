// Package check answers "is this node fit for work?" It gathers readings (live, from the
// probes; offline, from recorded output), adds what the user expects of the node, and
// hands all to the engine that diagnose uses. Nothing here knows what a fault is; what is
// added is the view: a table of the GPUs, what could not be read, and the status of the
// node. Unknown is never healthy.
package check

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/offline"
	"github.com/gpumedic/gpumedic/internal/probe"
	"github.com/gpumedic/gpumedic/internal/report"
	"github.com/gpumedic/gpumedic/internal/scan/section"
	"github.com/gpumedic/gpumedic/internal/source"
)

// Options of a judgement.
type Options struct {
	Lang string
	// ExpectGPUs is how many GPUs the node should have; negative when nobody said.
	ExpectGPUs int
	// Live says that the inputs are a snapshot of this node: the expectation is in it.
	Live bool
	// Only is the one GPU that was asked about; the zero value means the whole node.
	Only gpumedic.GPU
	// Window is how far back a line of the kernel log still speaks about the node as it
	// is now: what a GPU did last week is history unless a reading of today says the same.
	// Zero means the whole log. Now is the time of the readings.
	Window time.Duration
	Now    time.Time
	// Thresholds replace figures of the catalog's reading rules, by their names.
	Thresholds map[string]float64
}

// Judge judges inputs as the state of one node.
func Judge(ctx context.Context, cat *catalog.Catalog, inputs []source.Input, o Options) (*report.Node, error) {
	if len(o.Thresholds) > 0 {
		own := *cat
		own.Readings = section.Override(cat.Readings, o.Thresholds)
		cat = &own
	}
	d, err := offline.New(cat)
	if err != nil {
		return nil, err
	}
	read := offline.Options{Lang: o.Lang}
	if o.Window > 0 && !o.Now.IsZero() {
		read.Since = o.Now.Add(-o.Window)
	}
	if o.ExpectGPUs >= 0 && !o.Live {
		read.Then = func(readings [][]section.Readings) []source.Input {
			return []source.Input{source.FromBytes("expected", counted(o.ExpectGPUs, len(table(readings))))}
		}
	}
	x, err := d.Examine(ctx, inputs, read)
	if err != nil {
		return nil, err
	}
	n := view(x)
	seen := o.Only.IsZero() || only(n, o.Only)
	conclude(n, o)
	if !seen {
		n.Status = max(n.Status, gpumedic.ExitUnknown)
		n.Verdict = verdict(n.Status)
		n.Notes = append(n.Notes, fmt.Sprintf(lang.Pick(o.Lang, "%s was not seen: this is the whole node", "未见 %s：以下是整个节点的结果"), o.Only))
	}
	return n, nil
}

// conclude fills in what follows from the findings: the status, the state of each row, and
// which findings leave the node fit.
func conclude(n *report.Node, o Options) {
	n.Status = status(n, o)
	n.Verdict = verdict(n.Status)
	mark(n, o.Live)
	n.Mild = map[int]bool{}
	for i := range n.Findings {
		n.Mild[i] = Weight(&n.Findings[i], o.Live) != gpumedic.ExitFault
	}
}

// view is the report with the table and what could not be read.
func view(x *offline.Examination) *report.Node {
	n := &report.Node{Report: x.Report, Outputs: x.Signals, GPUs: table(x.Readings), Unread: []report.Unread{}}
	for _, in := range x.Report.Inputs {
		switch in.Kind { // a log of these kinds that tells of no fault is an answer
		case source.KindKernlog, source.KindJournal, source.KindBugreport, source.KindFlight:
			n.Outputs += in.Lines
		}
	}
	for i, sets := range x.Readings {
		for j := range sets {
			n.Outputs++
			if v := sets[j].Values["nvml.status"].Value; v != "" && v != "ok" {
				n.Notes = append(n.Notes, "NVML: "+v)
			}
			if r, ok := sets[j].Values["kernel.log"]; ok {
				_, why, _ := strings.Cut(r.Text, "  # ")
				n.Notes = append(n.Notes, why)
			}
			n.Readings += len(sets[j].Values)
			n.Unread = append(n.Unread, unread(x.Report.Inputs[i].Name, &sets[j])...)
		}
	}
	return n
}

// counted is a document that sets the GPUs seen in recorded output beside those expected.
func counted(expected, seen int) []byte {
	var b bytes.Buffer
	w := probe.NewWriter(&b)
	w.Subject("node", "")
	w.Value("expected.gpus", expected)
	w.Noted("attached_gpus", seen, fmt.Sprintf("counted in the recorded output, %d expected", expected))
	return b.Bytes()
}

// status is the node's: a fault of the node outweighs what is unknown, which outweighs a
// warning.
func status(n *report.Node, o Options) int {
	worst := gpumedic.ExitHealthy
	for i := range n.Findings {
		switch s := Weight(&n.Findings[i], o.Live); {
		case s == gpumedic.ExitFault:
			return s
		case s == gpumedic.ExitWarning:
			worst = s
		}
	}
	switch {
	case len(n.Unread) > 0, len(n.Unexplained) > 0, incomplete(n.Inputs):
		return gpumedic.ExitUnknown
	case o.Live && len(n.GPUs) == 0 && o.ExpectGPUs != 0 && worst == gpumedic.ExitHealthy:
		return gpumedic.ExitUnknown // a node without GPUs is fit for GPU work only if someone says so
	case n.Outputs == 0 && worst == gpumedic.ExitHealthy:
		return gpumedic.ExitUnknown // nothing was read that speaks of health
	}
	return worst
}

// Weight is what one finding means for the fitness of the node: fault, warning, or
// nothing. On a live node a program's own fault leaves the node fit for the next program;
// in a recording the program may be what was asked about, unless the kernel's log tells.
func Weight(f *gpumedic.Finding, live bool) int {
	switch {
	case f.Role == gpumedic.RoleIncidental || f.Severity == gpumedic.SeverityInfo:
		return gpumedic.ExitHealthy
	case f.Severity == gpumedic.SeverityWarning, f.OnlyNotices, ofProgram(f) && (live || fromKernel(f)):
		return gpumedic.ExitWarning
	}
	return gpumedic.ExitFault
}

func fromKernel(f *gpumedic.Finding) bool {
	return len(f.Evidence) > 0 && strings.HasPrefix(f.Evidence[0].Signal, "xid.")
}

// ofProgram reports a fault that ends with the program that had it.
func ofProgram(f *gpumedic.Finding) bool {
	if f.Layer != "software" {
		return false
	}
	switch f.Class {
	case "application", "numerical", "resource":
		return true
	}
	return f.Subject.Process.PID != 0 || f.Subject.Process.Name != ""
}

func incomplete(inputs []gpumedic.InputInfo) bool {
	for _, in := range inputs {
		if in.Incomplete || in.Lines == 0 && len(in.Problems) > 0 {
			return true
		}
	}
	return len(inputs) == 0
}

func verdict(status int) string {
	switch status {
	case gpumedic.ExitHealthy:
		return gpumedic.VerdictNoFault
	case gpumedic.ExitUnknown:
		return gpumedic.VerdictUnknown
	}
	return gpumedic.VerdictFault
}
