// Package verify decides whether a fault is gone: by what is read of the node now, by how
// long the logs have been quiet, and by the active tests that the fault's catalog entry
// names. It judges; the verb reads and runs.
//
// A check that could not be made is unknown, and unknown is never passed.
package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/report"
)

// Tests are the program's own active tests.
var Tests = []string{"memtest", "bandwidth", "stress"}

// A Test is one that a fault's entry names.
type Test struct {
	Verb string
	Why  string // the entry's words
}

// TestsFor are the active tests for an incident: those in the commands of the fault's
// verification, and for faults of memory or of links the test of those, named or not.
func TestsFor(f *catalog.Fault, i *incident.Incident, lang string) []Test {
	var out []Test
	add := func(verb, why string) {
		if !slices.ContainsFunc(out, func(t Test) bool { return t.Verb == verb }) {
			out = append(out, Test{verb, why})
		}
	}
	if f != nil {
		for _, c := range f.Verify {
			for _, verb := range Tests {
				if strings.Contains(c.Command, "gpumedic "+verb) {
					add(verb, c.Check.In(lang))
				}
			}
		}
	}
	if i.Layer == "software" || i.Subject.GPU.IsZero() {
		return out
	}
	switch c := i.Component; {
	case strings.Contains(c, "memory"):
		add("memtest", "")
	case strings.Contains(c, "pcie"), strings.Contains(c, "nvlink"):
		add("bandwidth", "")
	}
	return out
}

// Readings holds the incident against what is read of the node now.
func Readings(i *incident.Incident, n *report.Node, since time.Time) incident.CheckResult {
	c := incident.CheckResult{Check: "readings", Command: "gpumedic check", Result: incident.Passed, Before: before(i), After: map[string]string{"verdict": n.Verdict}}
	for k := range n.Findings {
		f := &n.Findings[k]
		if f.Role == gpumedic.RoleIncidental || !SameFault(i, f) || outdated(f, since) {
			continue
		}
		c.Result = incident.Failed
		c.Detail = f.Title
		for _, e := range f.Evidence[:min(len(f.Evidence), 3)] {
			c.After[e.Signal] = e.Text
		}
		return c
	}
	for _, u := range n.Unread {
		if i.Subject.GPU.IsZero() || u.Subject.GPU.IsZero() || inPlace(i.Subject.GPU, u.Subject.GPU) {
			c.Result, c.Detail = incident.Unknown, u.Reading+": "+u.Why
			return c
		}
	}
	if g := i.Subject.GPU; !g.IsZero() {
		switch now, ok := found(n, g); {
		case !ok:
			c.Result, c.Detail = incident.Unknown, fmt.Sprintf("%s was not seen", g.String())
		case !incident.SameGPU(g, now):
			c.Before["card"], c.After["card"] = cmp.Or(g.Serial, g.UUID), cmp.Or(now.Serial, now.UUID)
			c.Detail = fmt.Sprintf("another card is at %s", now.PCI)
		}
	}
	return c
}

func before(i *incident.Incident) map[string]string {
	out := map[string]string{"seen": fmt.Sprint(i.Count)}
	for _, e := range i.Evidence[:min(len(i.Evidence), 3)] {
		out[e.Signal] = e.Text
	}
	return out
}

// outdated: log lines from before the repair say nothing of what is after it. What a
// reading says, it says now.
func outdated(f *gpumedic.Finding, since time.Time) bool {
	for _, e := range f.Evidence {
		if incident.IsReading(e.Signal) {
			return false
		}
	}
	last, err := time.Parse(time.RFC3339Nano, f.LastSeen)
	return err == nil && !since.IsZero() && last.Before(since)
}

// SameFault reports whether a finding is the incident's fault, or shows that it is not
// over: the same on the same subject.
func SameFault(i *incident.Incident, f *gpumedic.Finding) bool {
	if f.Fault != i.Fault || f.Case != i.Case {
		return false
	}
	if i.Subject.GPU.IsZero() {
		return true
	}
	for _, s := range append([]gpumedic.Subject{f.Subject}, f.Also...) {
		if s.GPU.IsZero() || inPlace(i.Subject.GPU, s.GPU) {
			return true
		}
	}
	return false
}

// inPlace reports whether b is the GPU of an incident, or the one in its slot now. An
// exchanged card is a repair: what is in the slot must be well, and the same fault there
// may be the slot's.
func inPlace(a, b gpumedic.GPU) bool {
	return incident.SameGPU(a, b) || a.PCI != "" && a.PCI == b.PCI
}

// found is the GPU of an incident among those that were read, before the one that is in
// its slot.
func found(n *report.Node, g gpumedic.GPU) (gpumedic.GPU, bool) {
	for _, same := range []func(a, b gpumedic.GPU) bool{incident.SameGPU, inPlace} {
		for _, r := range n.GPUs {
			if b := (gpumedic.GPU{PCI: r.PCI, UUID: r.UUID, Serial: r.Serial, Index: r.Index}); same(g, b) {
				return b, true
			}
		}
	}
	return gpumedic.GPU{}, false
}

// Since is from when on log lines count against a repair: after it, or after what is
// known of the incident already.
func Since(i *incident.Incident) time.Time {
	if i.Acted.After(i.Last) {
		return i.Acted
	}
	return i.Last.Add(time.Microsecond)
}

// Last is when the fault was last told, by the incident and by what is read now.
func Last(i *incident.Incident, n *report.Node) time.Time {
	last := i.Last
	if last.IsZero() {
		last = i.Active
	}
	for k := range n.Findings {
		if f := &n.Findings[k]; SameFault(i, f) {
			if t, err := time.Parse(time.RFC3339Nano, f.LastSeen); err == nil && t.After(last) {
				last = t
			}
		}
	}
	return last
}

// Quiet holds the time since the fault was last told against a span.
func Quiet(i *incident.Incident, last, now time.Time, span time.Duration, kernelRead bool) incident.CheckResult {
	c := incident.CheckResult{Check: fmt.Sprintf("quiet for %s", span), Result: incident.Passed,
		Before: map[string]string{"last": stamp(i.Last)}, After: map[string]string{"last": stamp(last), "now": stamp(now)}}
	switch quiet := now.Sub(last); {
	case !kernelRead:
		c.Result, c.Detail = incident.Unknown, "the kernel log could not be read"
	case quiet < 0:
		c.Result, c.Detail = incident.Unknown, "the clock went back"
	case quiet < span:
		c.Result, c.Detail = incident.Unknown, fmt.Sprintf("quiet for %s only", quiet.Round(time.Second))
	}
	return c
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}

// Ran is the result of an active test by its exit status.
func Ran(t Test, command string, status int, detail string) incident.CheckResult {
	c := incident.CheckResult{Check: t.Verb, Command: command, Detail: detail, Result: incident.Unknown, After: map[string]string{"exit_status": fmt.Sprint(status)}}
	switch status {
	case gpumedic.ExitHealthy:
		c.Result = incident.Passed
	case gpumedic.ExitFault, gpumedic.ExitWarning:
		c.Result = incident.Failed
	}
	return c
}

// Result is that of all checks together.
func Result(list []incident.CheckResult) string {
	out := incident.Passed
	for _, c := range list {
		switch c.Result {
		case incident.Failed:
			return incident.Failed
		case incident.Unknown:
			out = incident.Unknown
		}
	}
	if len(list) == 0 {
		return incident.Unknown
	}
	return out
}
