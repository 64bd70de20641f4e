package maintenance

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/store"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func after(days int) time.Time { return t0.Add(time.Duration(days) * day) }

func state(items []Item, id string) Item {
	for _, i := range items {
		if i.ID == id {
			return i
		}
	}
	return Item{}
}

func TestStand(t *testing.T) {
	tasks, err := Calendar()
	if err != nil {
		t.Fatal(err)
	}
	ran := func(d int) incident.HistoryRow {
		return incident.HistoryRow{At: after(d), Kind: incident.KindTest, Detail: map[string]any{"test": "memtest"}}
	}
	both := [][]incident.HistoryRow{{ran(10), ran(40)}, {ran(20)}}
	one := [][]incident.HistoryRow{{ran(40)}, {}}
	driver := [][]incident.HistoryRow{{{At: after(50), Kind: incident.KindDriver, Text: "1 → 2"}}}
	for _, c := range []struct {
		id        string
		done      []Done
		histories [][]incident.HistoryRow
		now, due  int
		state     string
	}{
		{"memory-test", nil, nil, 1, 30, Never},
		{"memory-test", nil, nil, 31, 30, Overdue},
		{"memory-test", nil, both, 41, 50, OK}, // the card that waits longest
		{"memory-test", nil, both, 48, 50, Soon},
		{"memory-test", nil, one, 31, 30, Overdue}, // not all cards
		{"memory-test", []Done{{Task: "memory-test", At: after(60)}, {Task: "cooling", At: after(70)}}, both, 61, 90, OK},
		{"driver-review", nil, driver, 60, 141, OK},
		{"cooling", []Done{{Task: "cooling", At: after(0)}}, nil, 92, 91, Overdue},
	} {
		i := state(Stand(tasks, c.done, c.histories, t0, after(c.now)), c.id)
		if i.State != c.state || !i.Due.Equal(after(c.due)) {
			t.Errorf("%s on day %d: %s, due %s, want %s, due %s", c.id, c.now, i.State, i.Due, c.state, after(c.due))
		}
	}
	items := Stand(tasks, nil, nil, t0, t0)
	for n := range items[1:] {
		if items[n].Due.After(items[n+1].Due) {
			t.Error("the next one due is not first")
		}
	}
}

func TestParse(t *testing.T) {
	for _, bad := range []string{
		"- {id: a, every: 0, title: {en: x, zh: y}}", "- {id: a, every: 1, title: {en: x}}", "- {every: 1, title: {en: x, zh: y}}",
		"- {id: a, every: 1, detect: smell, title: {en: x, zh: y}}", "- {id: a, evry: 1}", "{", "- {id: a, every: 1, detect: test, title: {en: x, zh: y}}",
	} {
		if _, err := Parse([]byte(bad)); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
}

func TestStoreAndCalendar(t *testing.T) {
	ctx := t.Context()
	s, err := store.Open(ctx, filepath.Join(t.TempDir(), "i.db"), store.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tasks, err := Calendar()
	if err != nil {
		t.Fatal(err)
	}
	g := gpumedic.GPU{PCI: "0000:3b:00.0", UUID: "GPU-aa", Serial: "165"}
	_, err = s.Do(ctx, t0, nil, func(st *incident.Step) error {
		st.Inventory("n1", []incident.Card{{GPU: g}}, true)
		st.Test("n1", g, "memtest", "passed", "", nil)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := Record(ctx, s, Done{Task: "cooling", At: after(3), Who: "li", Why: "filters"}); err != nil {
		t.Fatal(err)
	}
	items, err := Read(ctx, s, tasks, after(4))
	if err != nil {
		t.Fatal(err)
	}
	if i := state(items, "memory-test"); !i.Last.Equal(t0) || i.Who != incident.Self {
		t.Errorf("memory test %+v", i)
	}
	if i := state(items, "cooling"); !i.Last.Equal(after(3)) || i.Who != "li" || i.State != OK {
		t.Errorf("cooling %+v", i)
	}
	for _, l := range []string{"en", "zh"} {
		text := ICal(items, "n1", l, t0)
		for line := range strings.SplitSeq(text, "\r\n") {
			if len(line) > 75 {
				t.Errorf("a line of %d bytes: %q", len(line), line)
			}
		}
		if strings.Count(text, "BEGIN:VEVENT") != len(items) || !strings.HasSuffix(text, "END:VCALENDAR\r\n") || !strings.Contains(text, "RRULE:FREQ=DAILY;INTERVAL=30") {
			t.Errorf("calendar:\n%s", text)
		}
	}
}

// TestUntested: the GPUs of one board have its serial in common, and each its own tests.
func TestUntested(t *testing.T) {
	ctx := t.Context()
	s, err := store.Open(ctx, filepath.Join(t.TempDir(), "i.db"), store.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a := gpumedic.GPU{PCI: "0000:3b:00.0", UUID: "GPU-aa", Serial: "165"}
	b := gpumedic.GPU{PCI: "0000:3c:00.0", UUID: "GPU-bb", Serial: "165"}
	do := func(at time.Time, f func(*incident.Step)) {
		t.Helper()
		if _, err := s.Do(ctx, at, nil, func(st *incident.Step) error { f(st); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	want := func(since time.Time, pci ...string) {
		t.Helper()
		list, err := Untested(ctx, s, "memtest", since)
		var got []string
		for _, g := range list {
			got = append(got, g.PCI)
		}
		if err != nil || strings.Join(got, " ") != strings.Join(pci, " ") {
			t.Errorf("since %s: %v %v, want %v", since, got, err, pci)
		}
	}
	do(t0, func(st *incident.Step) { st.Inventory("n1", []incident.Card{{GPU: a}, {GPU: b}}, true) })
	want(t0, a.PCI, b.PCI)
	do(after(2), func(st *incident.Step) {
		st.Test("n1", a, "memtest", "pass", "", nil)
		st.Test("n1", b, "stress", "pass", "", nil)
	})
	want(after(1), b.PCI)
	do(after(3), func(st *incident.Step) { st.Test("n1", b, "memtest", "pass", "", nil) })
	want(after(1))
	want(after(4), a.PCI, b.PCI) // the one first that waits longer
	do(after(5), func(st *incident.Step) { st.Inventory("n1", []incident.Card{{GPU: b}}, true) })
	want(after(6), b.PCI)
}

func FuzzParse(f *testing.F) {
	f.Add(embedded)
	f.Fuzz(func(t *testing.T, text []byte) {
		if tasks, err := Parse(text); err == nil {
			ICal(Stand(tasks, nil, nil, t0, t0), "n", "en", t0)
		}
	})
}
