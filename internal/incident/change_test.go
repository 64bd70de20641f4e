package incident

import (
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
)

func TestRevision(t *testing.T) {
	w := newWorld(t)
	first := lost(t0, 1)
	first.Fault, first.Evidence[0].Signal = "gpu-stopped-processing", "xid.8"
	w.see(first)
	// More lines: the engine finds the root, and the first line is its consequence.
	root := lost(t0, 1)
	root.Consequences = []gpumedic.Consequence{{Input: "kmsg", Line: 10, Signal: "xid.8"}}
	root.Evidence[0].Line = 11
	w.after(50 * time.Millisecond).see(root)
	w.want("opened revised")
	if len(w.b.Incidents) != 1 || w.b.Incidents[1].Fault != "gpu-fell-off-bus" {
		t.Fatalf("%+v", w.b.Incidents)
	}
	// And back, with nothing new.
	w.after(time.Second).see(root)
	w.want("")
}

func TestExplainedByAnIncidentThatIsThere(t *testing.T) {
	w := newWorld(t)
	other := lost(t0, 1)
	other.Fault, other.Evidence[0].Signal, other.Evidence[0].Line = "pcie-link-errors", "pcie.aer.corrected", 3
	w.see(lost(t0, 1), other)
	root := lost(t0, 1)
	root.Alternatives = []gpumedic.Alternative{{Fault: "pcie-link-errors"}}
	w.after(time.Second).see(root)
	w.want("opened opened closed")
	if i := w.find("pcie-link-errors"); i.MergedInto == 0 || i.State != Closed {
		t.Errorf("%+v", i)
	}
	w.after(time.Second).see(lost(t0, 1), other) // the engine changes its mind: no news
	w.want("")
}

func TestUnexplainedBecomesAFault(t *testing.T) {
	w := newWorld(t)
	w.must(func(s *Step) error {
		s.Observe(Observation{Node: "n1", Run: "r1", Unexplained: []gpumedic.Unexplained{{Signal: "xid.999", Input: "kmsg", Line: 10, Text: "x", Count: 2}}})
		return nil
	})
	if i := w.b.Incidents[1]; i.Fault != Unexplained || i.Case != "xid.999" || !i.Visible || i.Count != 2 {
		t.Fatalf("%+v", i)
	}
	f := lost(t0, 1)
	f.Consequences = []gpumedic.Consequence{{Input: "kmsg", Line: 10, Signal: "xid.999"}}
	w.see(f)
	w.want("opened revised")
}

func TestNamesOfOneGPU(t *testing.T) {
	w := newWorld(t)
	byUUID := lost(t0, 1)
	byUUID.Subject.GPU = gpumedic.GPU{UUID: "GPU-aa"}
	byUUID.Evidence[0].Line = 99
	w.see(lost(t0, 1), byUUID) // not known to be one
	both := lost(t0, 2)
	both.Subject.GPU.UUID = "gpu-AA"
	w.after(time.Second).see(both)
	w.want("opened opened closed")
	live := w.b.Incidents[1]
	if live.State == Closed {
		live = w.b.Incidents[2]
	}
	if live.Subject.GPU.UUID == "" || live.Subject.GPU.PCI != pci {
		t.Errorf("names %+v", live.Subject.GPU)
	}
	// Another card in the same slot is another incident.
	other := lost(t0.Add(time.Hour), 1)
	other.Subject.GPU.UUID = "GPU-bb"
	other.Evidence[0].Line = 500
	w.after(time.Hour).see(both, other)
	w.want("opened")
}

func TestCasesAndProgramsAreToldApart(t *testing.T) {
	a, b, c := lost(t0, 1), lost(t0, 1), lost(t0, 1)
	a.Fault, b.Fault, a.Case, b.Case = "xid-catalogued", "xid-catalogued", "110", "111"
	w := newWorld(t)
	w.see(a, b, c)
	w.want("opened opened opened")
	w = newWorld(t)
	var crashes []gpumedic.Finding
	for pid := range 1000 { // a program that is started again and again
		f := lost(t0, 1)
		f.Fault, f.Scope, f.Layer = "illegal-address", "process", "software"
		f.Subject.Process = gpumedic.Process{PID: pid + 1, Name: "train"}
		f.Evidence[0].Line = pid
		crashes = append(crashes, f)
	}
	other := crashes[0]
	other.Subject.Process.Name = "serve"
	w.see(append(crashes, other)...)
	w.want("opened opened")
	i := w.b.Incidents[2]
	if i.Count != 1000 || len(i.Victims) != maxVictims || len(i.Evidence) != maxEvidence {
		t.Errorf("count %d, %d victims, %d lines", i.Count, len(i.Victims), len(i.Evidence))
	}
}

func TestIncidentalIsNoIncident(t *testing.T) {
	f := lost(t0, 1)
	f.Role = gpumedic.RoleIncidental
	w := newWorld(t)
	w.see(f)
	w.want("")
}

func TestSilences(t *testing.T) {
	w := newWorld(t)
	for name, x := range map[string]Silence{
		"nothing to match": {Until: t0.Add(time.Hour), Why: "x"},
		"no reason":        {Fault: "a", Until: t0.Add(time.Hour)},
		"over":             {Fault: "a", Until: t0, Why: "x"},
		"bad pattern":      {Fault: "a[", Until: t0.Add(time.Hour), Why: "x"},
	} {
		if err := w.do(func(s *Step) error { _, err := s.Silence(x); return err }); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	w.must(func(s *Step) error {
		_, err := s.Silence(Silence{Fault: "gpu-*", GPU: "3b:00.0", Node: "n1", Until: t0.Add(time.Hour), Who: "li", Why: "swap today"})
		return err
	})
	w.see(lost(t0, 1))
	if len(w.told) != 1 || !w.told[0].Silenced {
		t.Fatalf("told %+v", w.told)
	}
	w.after(time.Hour).see(lost(t0, 1))
	w.want("opened unsilenced")
	if last := w.told[len(w.told)-1]; last.Silenced || last.Kind != KindUnsilenced {
		t.Errorf("%+v", last)
	}
	w.must(func(s *Step) error {
		_, err := s.Silence(Silence{Node: "n*", Until: w.now.Add(time.Hour), Why: "x"})
		return err
	})
	w.must(func(s *Step) error { return s.EndSilence(2, "li", "done") })
	w.want("silenced unsilenced")
}

func TestAttribution(t *testing.T) {
	w := newWorld(t)
	record := Attribution{Node: "n1", PID: 7, Pod: "ml/train-0", Job: "4711", User: "wang"}
	other := Attribution{Node: "n1", PID: 8, Process: "serve", GPU: gpumedic.GPU{PCI: pci}}
	elsewhere := Attribution{Node: "n1", PID: 9, GPU: gpumedic.GPU{PCI: "0000:5d:00.0"}}
	w.must(func(s *Step) error {
		s.Observe(Observation{Node: "n1", Run: "r1", Findings: []gpumedic.Finding{lost(t0, 1)}, Who: []Attribution{record, other, elsewhere}})
		return nil
	})
	got := w.b.Incidents[1].Victims
	if len(got) != 2 || got[0].PID != 7 || got[0].Process != "train" || got[0].Job != "4711" || got[0].User != "wang" || got[1].PID != 8 {
		t.Errorf("victims %+v", got)
	}
}

func TestRestartIsAConfounder(t *testing.T) {
	w := newWorld(t)
	w.see(lost(t0, 1))
	w.must(func(s *Step) error {
		s.Observe(Observation{Node: "n1", Run: "r2", Boot: "b2", Partial: true})
		return nil
	})
	w.must(func(s *Step) error { return s.Verify(1, passed("a"), "li") })
	w.want("opened confounder verified")
	if c := w.checks[0].Confounders; len(c) != 1 || !strings.Contains(c[0].What, "restarted") {
		t.Errorf("confounders %v", c)
	}
}

func TestClockGoesBack(t *testing.T) {
	w := newWorld(t)
	w.now = t0.AddDate(70, 0, 0)
	f := hot(w.now)
	f.FirstSeen, f.LastSeen = "", ""
	w.see(f)
	w.now = t0
	w.see(f)
	w.want("opened clock")
	w.after(time.Minute).see(f)
	w.want("visible") // the span began anew, it did not stop for seventy years
	w.now = t0.AddDate(70, 0, 0)
	w.must(func(s *Step) error { return s.Close(1, true, "li", "x") })
	w.now = t0.Add(time.Hour)
	w.see()
	w.after(25 * time.Hour).see()
	if len(w.b.Tombs) != 1 {
		t.Error("the reopen window never ends")
	}
}

func TestCountsOverRuns(t *testing.T) {
	for name, c := range map[string]struct {
		first     time.Time
		continues bool
		want      int
	}{
		"continues in the same second": {t0, true, 15},
		"later lines":                  {t0.Add(time.Hour), false, 15},
		"the same log again":           {t0, false, 10},
	} {
		w := newWorld(t)
		w.see(lost(t0, 10))
		f := lost(c.first, 5)
		f.FirstSeen = c.first.Format(time.RFC3339)
		w.must(func(s *Step) error {
			s.Observe(Observation{Node: "n1", Run: "r2", Continues: c.continues, Boot: "b1", Findings: []gpumedic.Finding{f}})
			return nil
		})
		if got := w.b.Incidents[1].Count; got != c.want {
			t.Errorf("%s: count %d, want %d", name, got, c.want)
		}
	}
}

func TestInventory(t *testing.T) {
	w := newWorld(t)
	card := Card{GPU: gpumedic.GPU{PCI: pci, UUID: "GPU-aa", Serial: "165"}, Name: "H200", Driver: "580.1"}
	list := func(complete bool, cards ...Card) string {
		w.rows = nil
		w.must(func(s *Step) error { s.Inventory("n1", cards, complete); return nil })
		var out []string
		for _, r := range w.rows {
			out = append(out, r.Kind)
		}
		return strings.Join(out, " ")
	}
	moved, driver, flashed := card, card, card
	moved.GPU.PCI = "0000:5d:00.0"
	driver.GPU.PCI, driver.Driver = moved.GPU.PCI, "590.2"
	flashed.GPU.PCI, flashed.Driver, flashed.VBIOS = moved.GPU.PCI, "", "96.00"
	f := lost(t0, 1)
	f.Subject.GPU.UUID = "GPU-aa"
	for _, c := range []struct {
		name, want string
		complete   bool
		cards      []Card
	}{
		{"first", "inserted", true, []Card{card}},
		{"same", "", true, []Card{card}},
		{"an incomplete list takes nothing away", "", false, nil},
		{"moved", "moved", true, []Card{moved}},
		{"driver", "driver", true, []Card{driver}},
		{"less is known", "", true, []Card{flashed}},
		{"gone", "removed", true, nil},
		{"still gone", "", true, nil},
		{"back", "inserted", true, []Card{driver}},
		{"no identity", "", true, []Card{driver, {GPU: gpumedic.GPU{PCI: "0000:9d:00.0"}}}},
	} {
		if c.name == "driver" {
			w.see(f)
		}
		if got := list(c.complete, c.cards...); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if n := len(w.find("gpu-fell-off-bus").Confounders); n != 3 { // driver, removed, back
		t.Errorf("%d confounders", n)
	}
}

// TestARunThatForgets: an engine that drops old events counts anew; its counts go on.
func TestARunThatForgets(t *testing.T) {
	w := newWorld(t)
	f := lost(t0, 10)
	f.FirstSeen = t0.Format(time.RFC3339)
	w.see(f)
	w.after(48 * time.Hour).see()
	f = lost(t0.Add(48*time.Hour), 3)
	f.FirstSeen = f.LastSeen
	w.see(f)
	w.see(f)
	if i := w.find("gpu-fell-off-bus"); i.Count != 13 {
		t.Errorf("count %d, want 13", i.Count)
	}
}
