package incident

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
)

var t0 = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// world is a book with a clock that a test turns.
type world struct {
	t      *testing.T
	b      *Book
	p      Policy
	now    time.Time
	events []Event
	checks []Verification
	told   []Change
	rows   []HistoryRow
}

func newWorld(t *testing.T) *world {
	return &world{t: t, b: NewBook(1), p: DefaultPolicy(), now: t0}
}

func (w *world) do(f func(*Step) error) error {
	s := w.b.Begin(w.p, w.now)
	if err := f(s); err != nil {
		return err
	}
	w.b = s.Book()
	w.events = append(w.events, s.Events...)
	w.told = append(w.told, s.Changes...)
	w.checks = append(w.checks, s.Checks...)
	w.rows = append(w.rows, s.History...)
	return nil
}

func (w *world) must(f func(*Step) error) {
	w.t.Helper()
	if err := w.do(f); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) see(findings ...gpumedic.Finding) {
	w.must(func(s *Step) error {
		s.Observe(Observation{Node: "n1", Run: "r1", Boot: "b1", Findings: findings})
		return nil
	})
}

func (w *world) after(d time.Duration) *world { w.now = w.now.Add(d); return w }

func (w *world) kinds() string {
	var out []string
	for _, e := range w.events {
		out = append(out, e.Kind)
	}
	w.events = nil
	return strings.Join(out, " ")
}

func (w *world) want(kinds string) {
	w.t.Helper()
	if got := w.kinds(); got != kinds {
		w.t.Fatalf("events %q, want %q", got, kinds)
	}
}

const pci = "0000:3b:00.0"

func lost(at time.Time, count int) gpumedic.Finding {
	return gpumedic.Finding{
		Fault: "gpu-fell-off-bus", Title: "GPU fell off the PCIe bus", Role: gpumedic.RoleRoot, Layer: "hardware", Scope: "gpu",
		Severity: gpumedic.SeverityCritical, Action: "reset_gpu", Count: count,
		Subject:   gpumedic.Subject{Node: "n1", GPU: gpumedic.GPU{PCI: pci}, Process: gpumedic.Process{PID: 7, Name: "train"}},
		FirstSeen: t0.Format(time.RFC3339), LastSeen: at.Format(time.RFC3339),
		Evidence: []gpumedic.EvidenceOut{{Input: "kmsg", Line: 10, Signal: "xid.79", Text: "fell off", Count: count}},
	}
}

func hot(at time.Time) gpumedic.Finding {
	f := lost(at, 1)
	f.Fault, f.Severity, f.Title, f.Action = "thermal-slowdown", gpumedic.SeverityWarning, "thermal slowdown", "check_power_cooling"
	f.Evidence = []gpumedic.EvidenceOut{{Input: "nvml", Line: 1, Signal: "smi.hw_thermal", Count: 1}}
	return f
}

func passed(names ...string) Verification {
	v := Verification{}
	for _, n := range names {
		v.Checks = append(v.Checks, CheckResult{Check: n, Result: Passed, Before: map[string]string{"ecc": "4"}, After: map[string]string{"ecc": "0"}})
	}
	return v
}

func TestLife(t *testing.T) {
	w := newWorld(t)
	w.see(lost(t0, 1))
	w.want("opened")
	w.after(time.Second).see(lost(t0, 1))
	w.want("")
	w.must(func(s *Step) error { return s.Ack(1, "li", "on it") })
	w.must(func(s *Step) error { return s.Act(1, "reset_gpu", "li", "") })
	w.after(time.Minute).see(lost(w.now, 3)) // the reset makes noise
	w.must(func(s *Step) error { return s.Acted(1, true, "li", "") })
	w.want("acknowledged acting acted")
	if err := w.do(func(s *Step) error { return s.Close(1, false, "li", "") }); !errors.Is(err, ErrNotVerified) {
		t.Fatalf("closed without verification: %v", err)
	}
	v := passed("link width")
	v.Checks = append(v.Checks, CheckResult{Check: "quiet", Result: Unknown})
	w.must(func(s *Step) error { return s.Verify(1, v, "li") })
	w.want("verify_failed") // unknown is not passed
	v.Checks[1].Result = Failed
	w.must(func(s *Step) error { return s.Verify(1, v, "li") })
	w.want("verify_failed escalated") // the reset did not do
	if i := w.b.Incidents[1]; i.Action != "drain_and_diagnose" || i.State != Open || i.Count != 3 {
		t.Fatalf("action %s state %s count %d", i.Action, i.State, i.Count)
	}
	w.must(func(s *Step) error { return s.Verify(1, passed("link width", "quiet"), "li") })
	w.must(func(s *Step) error { return s.Close(1, false, "li", "") })
	w.want("verified closed")
	if w.b.Incidents[1].Forced {
		t.Error("a verified close is not forced")
	}
	w.after(time.Minute).see(lost(t0.Add(61*time.Second), 3)) // the engine still knows it
	w.want("")
}

func TestVerificationIsVoidWhenItComesBack(t *testing.T) {
	w := newWorld(t)
	w.see(lost(t0, 1))
	w.must(func(s *Step) error { return s.Verify(1, passed("a"), "li") })
	w.after(time.Minute).see(lost(w.now, 2))
	w.want("opened verified recurred escalated")
	if err := w.do(func(s *Step) error { return s.Close(1, false, "li", "") }); !errors.Is(err, ErrNotVerified) {
		t.Fatalf("close: %v", err)
	}
}

func TestAttemptsAreCapped(t *testing.T) {
	w := newWorld(t)
	w.see(lost(t0, 1))
	bad := Verification{Checks: []CheckResult{{Check: "a", Result: Failed}}}
	for range w.p.MaxAttempts {
		w.must(func(s *Step) error { return s.Verify(1, bad, "li") })
	}
	if err := w.do(func(s *Step) error { return s.Verify(1, passed("a"), "li") }); !errors.Is(err, ErrAttempts) {
		t.Fatalf("attempt %d: %v", w.p.MaxAttempts+1, err)
	}
	w.must(func(s *Step) error { return s.Act(1, "reset_gpu", "li", "") })
	w.must(func(s *Step) error { return s.Acted(1, true, "li", "") })
	w.must(func(s *Step) error { return s.Verify(1, passed("a"), "li") }) // a repair gives new ones
}

func TestForceNeedsAReason(t *testing.T) {
	w := newWorld(t)
	w.see(lost(t0, 1))
	if err := w.do(func(s *Step) error { return s.Close(1, true, "li", "  ") }); !errors.Is(err, ErrNoReason) {
		t.Fatal(err)
	}
	w.must(func(s *Step) error { return s.Close(1, true, "li", "card returned to the vendor") })
	e := w.events[len(w.events)-1]
	if e.Kind != KindClosed || e.Why != "card returned to the vendor" || e.Who != "li" || e.Detail["forced"] != true || !w.b.Incidents[1].Forced {
		t.Errorf("event %+v", e)
	}
}

func TestReopenAndLink(t *testing.T) {
	w := newWorld(t)
	w.see(lost(t0, 1))
	w.must(func(s *Step) error { return s.Verify(1, passed("a"), "li") })
	w.must(func(s *Step) error { return s.Close(1, false, "li", "") })
	w.kinds()
	w.after(time.Hour).see(lost(w.now, 2))
	w.want("reopened escalated")
	i := w.b.Incidents[1]
	if i.Reopens != 1 || i.Occurrences != 2 || i.Action != "drain_and_diagnose" || !i.Verified.IsZero() || !i.Closed.IsZero() {
		t.Fatalf("%+v", i)
	}
	w.must(func(s *Step) error { return s.Close(1, true, "li", "enough") })
	w.kinds()
	// The same answer after the window is no news, and a new occurrence is a new incident.
	w.after(48 * time.Hour).see(lost(t0.Add(time.Hour), 2))
	w.after(time.Minute).see(lost(t0.Add(time.Hour), 2))
	w.want("")
	if len(w.b.Incidents) != 0 || len(w.b.Tombs) != 1 {
		t.Fatalf("%d incidents, %d tombs", len(w.b.Incidents), len(w.b.Tombs))
	}
	w.after(time.Hour).see(lost(w.now, 3))
	w.want("opened")
	if n := w.b.Incidents[2]; n == nil || n.Previous != 1 || n.Level != 0 {
		t.Fatalf("%+v", n)
	}
}

func TestSecondOccurrenceEscalatesOnce(t *testing.T) {
	w := newWorld(t)
	w.see(lost(t0, 1))
	w.after(5 * time.Minute).see(lost(w.now, 2)) // the same burst
	w.want("opened")
	w.after(11 * time.Minute).see(lost(w.now, 3))
	w.want("recurred escalated")
	w.after(11 * time.Minute).see(lost(w.now, 4))
	w.want("recurred")
	if i := w.b.Incidents[1]; i.Occurrences != 3 || i.Action != "drain_and_diagnose" {
		t.Errorf("%d occurrences, action %s", i.Occurrences, i.Action)
	}
	program := lost(t0, 1)
	program.Fault, program.Layer, program.Scope, program.Action = "illegal-address", "software", "process", "fix_app"
	w = newWorld(t)
	w.see(program)
	program.Count, program.LastSeen = 2, t0.Add(time.Hour).Format(time.RFC3339)
	program.Subject.Process.PID = 8
	w.after(time.Hour).see(program)
	w.want("opened recurred")
	if i := w.b.Incidents[1]; i.Action != "fix_app" || len(i.Victims) != 2 {
		t.Errorf("action %s, victims %v", i.Action, i.Victims)
	}
}

func TestDamping(t *testing.T) {
	w := newWorld(t)
	w.see(hot(w.now))
	if w.b.Incidents[1].Visible || len(w.told) != 0 {
		t.Fatal("a warning of a reading is told at once")
	}
	w.after(30 * time.Second).see() // passed
	w.after(30 * time.Second).see(hot(w.now))
	w.want("opened")
	w.after(time.Minute).see(hot(w.now))
	w.want("visible")
	w.after(time.Minute).see()
	w.want("cleared")
	w.after(2 * time.Hour).see()
	if !w.b.Incidents[1].Live() {
		t.Error("a visible incident closed by itself")
	}
}

func TestPassesUnseen(t *testing.T) {
	w := newWorld(t)
	w.see(hot(w.now))
	w.after(10 * time.Second).see()
	w.after(2 * time.Hour).see()
	w.want("opened closed")
	if len(w.told) != 0 {
		t.Errorf("told: %v", w.told)
	}
}

func TestFlapping(t *testing.T) {
	w := newWorld(t)
	for range 40 {
		w.see(hot(w.now))
		w.after(20 * time.Second).see()
		w.after(20 * time.Second)
	}
	w.want("opened flapping")
	if len(w.told) != 1 || w.told[0].Kind != KindFlapping {
		t.Errorf("told %d times", len(w.told))
	}
}

func TestForcedWhileItLasts(t *testing.T) {
	w := newWorld(t)
	w.see(hot(w.now))
	w.must(func(s *Step) error { return s.Close(1, true, "li", "the fan comes on Monday") })
	w.kinds()
	w.after(time.Minute).see(hot(w.now))
	w.after(time.Minute).see(hot(w.now))
	w.want("")
	w.after(time.Minute).see()
	w.after(time.Minute).see(hot(w.now))
	w.want("reopened")
}

func TestPartialAnswerTakesNothingAway(t *testing.T) {
	w := newWorld(t)
	w.see(hot(w.now))
	w.after(2 * time.Minute).see(hot(w.now))
	w.must(func(s *Step) error {
		s.Observe(Observation{Node: "n1", Run: "r1", Boot: "b1", Partial: true})
		return nil
	})
	w.want("opened visible")
	if !w.b.Incidents[1].Present {
		t.Error("gone by an answer that did not look")
	}
}

func TestQuietClosesPrograms(t *testing.T) {
	w := newWorld(t)
	f := lost(t0, 1)
	f.Fault, f.Layer, f.Scope, f.Severity = "illegal-address", "software", "process", gpumedic.SeverityError
	w.see(f, lost(t0, 1))
	w.after(25*time.Hour).see(f, lost(t0, 1))
	w.want("opened opened verified closed")
	if len(w.checks) != 1 || !w.checks[0].Passed || !strings.Contains(w.checks[0].Checks[0].Check, "quiet for 25 h") {
		t.Errorf("%+v", w.checks)
	}
	if slices.ContainsFunc(w.checks, func(v Verification) bool { return v.Incident == w.find("gpu-fell-off-bus").ID }) {
		t.Error("a lost GPU closed by quiet")
	}
}

func (w *world) find(fault string) *Incident {
	for _, i := range w.b.Incidents {
		if i.Fault == fault {
			return i
		}
	}
	w.t.Fatalf("no incident of %s", fault)
	return nil
}
