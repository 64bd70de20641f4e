package verify

import (
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/report"
)

var t0 = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func remap() *incident.Incident {
	return &incident.Incident{ID: 1, Fault: "row-remap-pending", Layer: "hardware", Component: "memory", Count: 3, Last: t0,
		Subject: gpumedic.Subject{GPU: gpumedic.GPU{PCI: "0000:3b:00.0"}}}
}

func nodeWith(gpus ...string) *report.Node {
	n := &report.Node{Report: &gpumedic.Report{Verdict: gpumedic.VerdictNoFault}}
	for _, g := range gpus {
		n.GPUs = append(n.GPUs, report.GPU{PCI: g})
	}
	return n
}

func TestReadings(t *testing.T) {
	here := nodeWith("0000:3b:00.0")
	f := gpumedic.Finding{Fault: "row-remap-pending", Role: gpumedic.RoleRoot, Subject: remap().Subject, LastSeen: t0.Add(time.Hour).Format(time.RFC3339)}
	still := nodeWith("0000:3b:00.0")
	still.Findings = []gpumedic.Finding{f}
	other := nodeWith("0000:3b:00.0", "0000:5d:00.0")
	f.Subject.GPU.PCI = "0000:5d:00.0"
	other.Findings = []gpumedic.Finding{f}
	unread := nodeWith("0000:3b:00.0")
	unread.Unread = []report.Unread{{Subject: remap().Subject, Reading: "remapped_rows.pending", Why: "no permission"}}
	for name, c := range map[string]struct {
		node *report.Node
		want string
	}{
		"gone": {here, incident.Passed}, "still there": {still, incident.Failed}, "on another GPU": {other, incident.Passed},
		"not readable": {unread, incident.Unknown}, "the card is not there": {nodeWith(), incident.Unknown},
	} {
		if got := Readings(remap(), c.node, t0.Add(time.Minute)); got.Result != c.want {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
	// A line from before the repair is none of what is after it.
	if got := Readings(remap(), still, t0.Add(2*time.Hour)); got.Result != incident.Passed {
		t.Errorf("old line: %+v", got)
	}
}

// TestExchangedCard: a card that was exchanged is a repair; what is in its slot counts.
func TestExchangedCard(t *testing.T) {
	i := remap()
	i.Subject.GPU.UUID, i.Subject.GPU.Serial = "GPU-old", "1650000000001"
	n := nodeWith("0000:5d:00.0", "0000:3b:00.0")
	n.GPUs[1].UUID, n.GPUs[1].Serial = "GPU-new", "1659999999999"
	got := Readings(i, n, t0.Add(time.Minute))
	if got.Result != incident.Passed || got.Before["card"] != "1650000000001" || got.After["card"] != "1659999999999" || got.Detail == "" {
		t.Errorf("%+v", got)
	}
	f := gpumedic.Finding{Fault: "row-remap-pending", Role: gpumedic.RoleRoot, LastSeen: t0.Add(time.Hour).Format(time.RFC3339)}
	f.Subject.GPU = gpumedic.GPU{PCI: "0000:3b:00.0", UUID: "GPU-new"}
	n.Findings = []gpumedic.Finding{f}
	if got := Readings(i, n, t0.Add(time.Minute)); got.Result != incident.Failed {
		t.Errorf("the card in its place has the fault too: %+v", got)
	}
	n.Findings[0].Subject.GPU = gpumedic.GPU{PCI: "0000:5d:00.0", UUID: "GPU-other"}
	if got := Readings(i, n, t0.Add(time.Minute)); got.Result != incident.Passed {
		t.Errorf("the fault of another slot: %+v", got)
	}
}

func TestQuiet(t *testing.T) {
	for _, c := range []struct {
		now  time.Time
		read bool
		want string
	}{
		{t0.Add(5 * time.Minute), true, incident.Passed}, {t0.Add(4 * time.Minute), true, incident.Unknown},
		{t0.Add(time.Hour), false, incident.Unknown}, {t0.Add(-time.Hour), true, incident.Unknown},
	} {
		if got := Quiet(remap(), t0, c.now, 5*time.Minute, c.read); got.Result != c.want {
			t.Errorf("at %s: %+v, want %s", c.now, got, c.want)
		}
	}
}

func TestTestsFor(t *testing.T) {
	f := &catalog.Fault{Verify: []catalog.CheckText{{Command: "gpumedic stress --gpu {gpu} && gpumedic memtest --gpu {gpu}"}}}
	got := TestsFor(f, remap(), "en")
	if len(got) != 2 || got[0].Verb != "memtest" || got[1].Verb != "stress" {
		t.Errorf("%+v", got)
	}
	if got := TestsFor(nil, remap(), "en"); len(got) != 1 || got[0].Verb != "memtest" {
		t.Errorf("a fault of memory is tested: %+v", got)
	}
	app := remap()
	app.Layer = "software"
	if got := TestsFor(nil, app, "en"); len(got) != 0 {
		t.Errorf("a program's fault is not tested: %+v", got)
	}
}

func TestResult(t *testing.T) {
	ok, bad, open := Ran(Test{Verb: "memtest"}, "", 0, ""), Ran(Test{Verb: "memtest"}, "", 2, ""), Ran(Test{Verb: "memtest"}, "", 3, "")
	for _, c := range []struct {
		list []incident.CheckResult
		want string
	}{
		{nil, incident.Unknown}, {[]incident.CheckResult{ok}, incident.Passed},
		{[]incident.CheckResult{ok, open}, incident.Unknown}, {[]incident.CheckResult{open, bad}, incident.Failed},
	} {
		if got := Result(c.list); got != c.want {
			t.Errorf("%+v gives %s, want %s", c.list, got, c.want)
		}
	}
}
