package show

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/golden"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/layout"
)

var t0 = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// story is a node's days: a GPU lost in a storm, repaired and lost again; a program that
// crashes; heat that comes and goes; a signal nobody knows.
type story struct {
	book   *incident.Book
	events []incident.Event
	checks []incident.Verification
	rows   []incident.HistoryRow
	now    time.Time
}

func (s *story) do(after time.Duration, f func(*incident.Step) error) {
	s.now = s.now.Add(after)
	st := s.book.Begin(incident.DefaultPolicy(), s.now)
	if err := f(st); err != nil {
		panic(err) // the story is fixed
	}
	s.book = st.Book()
	s.events, s.checks, s.rows = append(s.events, st.Events...), append(s.checks, st.Checks...), append(s.rows, st.History...)
}

func tell() *story {
	s := &story{book: incident.NewBook(7), now: t0}
	card := incident.Card{GPU: gpumedic.GPU{PCI: "0000:3b:00.0", UUID: "GPU-7d1c0f6e-52aa-4f0e-9a39-1f6a7c2b9d10", Serial: "1650123400017"}, Name: "NVIDIA H200", Driver: "580.159.04", VBIOS: "96.00.A5.00.01"}
	s.do(0, func(st *incident.Step) error { st.Inventory("node1", []incident.Card{card}, true); return nil })
	lost := gpumedic.Finding{
		Fault: "gpu-fell-off-bus", Role: gpumedic.RoleRoot, Layer: "hardware", Class: "interconnect", Severity: gpumedic.SeverityCritical, Scope: "gpu",
		Action: "reset_gpu", Count: 800000, FirstSeen: t0.Format(time.RFC3339), LastSeen: t0.Add(time.Minute).Format(time.RFC3339),
		Subject: gpumedic.Subject{Node: "node1", GPU: gpumedic.GPU{PCI: "0000:3b:00.0"}, Process: gpumedic.Process{PID: 7194, Name: "pt_main_thread"}},
		Evidence: []gpumedic.EvidenceOut{
			{Input: "kmsg", Line: 690, Signal: "xid.79", Text: "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", Count: 800000},
			{Input: "kmsg", Line: 691, Signal: "nvrm.fallen_off_bus", Text: "\x1b[31mNVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.", Count: 1},
		},
	}
	crash := gpumedic.Finding{
		Fault: "illegal-address", Role: gpumedic.RoleRoot, Layer: "software", Class: "application", Severity: gpumedic.SeverityError, Scope: "process", Action: "fix_app", Count: 1, FirstSeen: t0.Add(2 * time.Second).Format(time.RFC3339),
		Subject: gpumedic.Subject{Node: "node1", GPU: gpumedic.GPU{PCI: "0000:5d:00.0"}, Process: gpumedic.Process{PID: 530, Name: "oob"}},
	}
	hot := gpumedic.Finding{
		Fault: "thermal-slowdown", Role: gpumedic.RoleRoot, Layer: "hardware", Class: "thermal", Severity: gpumedic.SeverityWarning, Scope: "gpu", Action: "check_power_cooling", Count: 1, FirstSeen: t0.Add(3 * time.Second).Format(time.RFC3339),
		Subject:  gpumedic.Subject{Node: "node1", GPU: gpumedic.GPU{PCI: "0000:9d:00.0"}},
		Evidence: []gpumedic.EvidenceOut{{Input: "nvml", Line: 3, Signal: "smi.hw_thermal"}},
	}
	see := func(after time.Duration, f ...gpumedic.Finding) {
		s.do(after, func(st *incident.Step) error {
			st.Observe(incident.Observation{Node: "node1", Run: "r", Boot: "b", Findings: f,
				Who:         []incident.Attribution{{Node: "node1", PID: 7194, Job: "4711", User: "wang", Pod: "ml/train-0"}},
				Unexplained: []gpumedic.Unexplained{{Signal: "xid.999", Input: "kmsg", Line: 12, Text: "NVRM: Xid (PCI:0000:3b:00): 999, something new", Count: 1}}})
			return nil
		})
	}
	see(time.Minute, lost, crash, hot)
	see(2*time.Minute, lost, crash, hot)
	s.do(time.Minute, func(st *incident.Step) error { return st.Ack(8, "li", "on it") })
	s.do(time.Minute, func(st *incident.Step) error { return st.Act(8, "reset_gpu", "li", "") })
	s.do(time.Minute, func(st *incident.Step) error {
		st.Observe(incident.Observation{Node: "node1", Run: "r", Boot: "b2", Partial: true})
		return nil
	})
	s.do(time.Minute, func(st *incident.Step) error { return st.Acted(8, true, "li", "") })
	s.do(30*time.Minute, func(st *incident.Step) error {
		return st.Verify(8, incident.Verification{Checks: []incident.CheckResult{{Check: "link width", Result: incident.Passed, Before: map[string]string{"width": "8"}, After: map[string]string{"width": "16"}}}}, "gpumedic")
	})
	s.do(0, func(st *incident.Step) error { return st.Close(8, false, "li", "") })
	lost.Count++
	lost.LastSeen = s.now.Add(2 * time.Hour).Format(time.RFC3339)
	see(2*time.Hour, lost, crash, hot)
	s.do(0, func(st *incident.Step) error {
		_, err := st.Silence(incident.Silence{GPU: "5d:00.0", Until: s.now.Add(time.Hour), Who: "li", Why: "his own program"})
		return err
	})
	card.GPU.PCI = "0000:9d:00.0"
	s.do(time.Hour, func(st *incident.Step) error {
		st.Test("node1", card.GPU, "memtest", "passed", "", nil)
		st.Inventory("node1", []incident.Card{card}, true)
		return nil
	})
	s.rows = slices.DeleteFunc(s.rows, func(r incident.HistoryRow) bool { return r.GPU.Serial != card.GPU.Serial })
	return s
}

func (s *story) of(id int64) *One {
	one := &One{Incident: s.book.Incidents[id], Events: []incident.Event{}, Verifications: []incident.Verification{}}
	for _, e := range s.events {
		if e.Incident == id {
			one.Events = append(one.Events, e)
		}
	}
	for _, v := range s.checks {
		if v.Incident == id {
			one.Verifications = append(one.Verifications, v)
		}
	}
	return one
}

func (s *story) list() []*incident.Incident {
	var out []*incident.Incident
	for id := int64(10); id >= 7; id-- {
		out = append(out, s.book.Incidents[id])
	}
	return out
}

func TestGolden(t *testing.T) {
	cat, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	s := tell()
	var wanted []string
	for name, write := range map[string]func(io.Writer, Options) error{
		"list":     func(w io.Writer, o Options) error { return WriteList(w, NewList(s.list(), true, 0), false, o) },
		"show":     func(w io.Writer, o Options) error { return WriteOne(w, s.of(8), o) },
		"program":  func(w io.Writer, o Options) error { return WriteOne(w, s.of(9), o) },
		"silences": func(w io.Writer, o Options) error { return WriteSilences(w, s.book.Silences, o) },
		"history": func(w io.Writer, o Options) error {
			return WriteHistory(w, &History{Name: "1650123400017", Cards: s.book.Cards, Rows: s.rows}, o)
		},
	} {
		for _, l := range []string{"en", "zh"} {
			var b bytes.Buffer
			if err := write(&b, Options{Lang: l, Format: "text", Catalog: cat}); err != nil {
				t.Fatal(err)
			}
			checkLines(t, name, b.String())
			golden.Check(t, filepath.Join("testdata", name+"."+l+".txt"), b.Bytes())
		}
		wanted = append(wanted, name+".en.txt", name+".zh.txt")
		var b bytes.Buffer
		if err := write(&b, Options{Format: "json"}); err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := json.Unmarshal(b.Bytes(), &v); err != nil || !strings.HasPrefix(v["schema"].(string), "gpumedic.") {
			t.Errorf("%s: %v %v", name, v["schema"], err)
		}
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !slices.Contains(wanted, f.Name()) {
			t.Errorf("testdata/%s belongs to no test", f.Name())
		}
	}
}

// checkLines: 80 columns, but for commands, which are not broken; nothing that acts on a
// terminal.
func checkLines(t *testing.T, name, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if layout.Cells(line) > 80 && !strings.HasPrefix(line, "       ") {
			t.Errorf("%s: %d columns: %s", name, layout.Cells(line), line)
		}
		if strings.ContainsRune(line, 0x1b) {
			t.Errorf("%s: a control byte of the log: %q", name, line)
		}
	}
}

func TestLimitKeepsTheStatus(t *testing.T) {
	l := NewList(tell().list(), false, 1)
	if len(l.Incidents) != 1 || l.Incidents[0].Severity != gpumedic.SeverityCritical || l.More != 3 || l.Open["warning"] != 2 || l.Status != gpumedic.ExitFault {
		t.Errorf("%+v", l)
	}
}
