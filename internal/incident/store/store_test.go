package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
)

var t0 = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func open(t *testing.T, path string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func create(t *testing.T) *Store {
	return open(t, filepath.Join(t.TempDir(), "sub", "incidents.db"), Options{Create: true})
}

func fault(gpu, count int, at time.Time) gpumedic.Finding {
	return gpumedic.Finding{
		Fault: "gpu-fell-off-bus", Title: "GPU fell off the PCIe bus", Role: gpumedic.RoleRoot, Layer: "hardware", Scope: "gpu",
		Severity: gpumedic.SeverityCritical, Action: "reset_gpu", Count: count,
		Subject:   gpumedic.Subject{Node: "n1", GPU: gpumedic.GPU{PCI: fmt.Sprintf("0000:%02x:00.0", gpu), Serial: fmt.Sprint(1000 + gpu)}},
		FirstSeen: t0.Format(time.RFC3339), LastSeen: at.Format(time.RFC3339),
		Evidence: []gpumedic.EvidenceOut{{Input: "kmsg", Line: gpu, Signal: "xid.79", Text: "fell off", Count: count}},
	}
}

func see(t *testing.T, s *Store, now time.Time, f ...gpumedic.Finding) Result {
	t.Helper()
	r, err := s.Observe(t.Context(), now, incident.Observation{Node: "n1", Run: "r", Boot: "b", Findings: f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestKeepsAll(t *testing.T) {
	ctx := t.Context()
	s := create(t)
	see(t, s, t0, fault(1, 1, t0), fault(2, 1, t0))
	do := func(f func(*incident.Step) error) {
		t.Helper()
		if _, err := s.Do(ctx, t0.Add(time.Minute), nil, f); err != nil {
			t.Fatal(err)
		}
	}
	do(func(st *incident.Step) error { return st.Ack(1, "li", "mine") })
	do(func(st *incident.Step) error {
		return st.Verify(1, incident.Verification{Checks: []incident.CheckResult{{Check: "width", Result: incident.Passed, After: map[string]string{"width": "16"}}}}, "li")
	})
	do(func(st *incident.Step) error { return st.Close(1, false, "li", "") })
	do(func(st *incident.Step) error {
		_, err := st.Silence(incident.Silence{Fault: "gpu-*", Until: t0.Add(time.Hour), Why: "x"})
		return err
	})
	do(func(st *incident.Step) error {
		st.Inventory("n1", []incident.Card{{GPU: gpumedic.GPU{PCI: "0000:01:00.0", Serial: "1001", UUID: "GPU-Aa"}}}, true)
		return nil
	})
	memory := s.book
	s.Close()
	s = open(t, s.Path(), Options{})
	if err := s.fresh(ctx, t0.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(memory, s.book) {
		t.Errorf("read again:\n%+v\nwas\n%+v", s.book, memory)
	}
	list, err := s.List(ctx, Filter{})
	if err != nil || len(list) != 1 || list[0].ID != 2 || list[0].SilencedBy != 1 {
		t.Errorf("list %+v %v", list, err)
	}
	list, _ = s.List(ctx, Filter{Closed: true, GPU: "01:00.0"})
	if len(list) != 1 || list[0].ID != 1 {
		t.Errorf("list of one GPU %+v", list)
	}
	events, _ := s.Events(ctx, 1)
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	if got := strings.Join(kinds, " "); got != "opened acknowledged verified closed" {
		t.Errorf("events %q", got)
	}
	v, _ := s.Verifications(ctx, 1)
	if len(v) != 1 || !v[0].Passed || v[0].ID != 1 || v[0].Checks[0].After["width"] != "16" {
		t.Errorf("verifications %+v", v)
	}
	h, err := s.History(ctx, "1001")
	if err != nil || len(h) != 4 || h[3].Kind != incident.KindInserted || h[0].Kind != incident.KindOpened || h[0].Incident != 1 {
		t.Errorf("history %+v %v", h, err)
	}
	for _, name := range []string{"gpu-aA", "01:00.0"} {
		if h, _ := s.History(ctx, name); len(h) == 0 {
			t.Errorf("no history of %s", name)
		}
	}
	c, err := s.Changes(ctx, 2, 2)
	if err != nil || len(c) != 2 || c[0].Seq != 3 || c[0].Kind != incident.KindAcknowledged || c[0].Incident.ID != 1 {
		t.Errorf("changes %+v %v", c, err)
	}
	if n, _ := s.LastChange(ctx); n != 7 { // 2 opened, acknowledged, verified, closed, silenced, inserted
		t.Errorf("last change %d", n)
	}
}

// TestCountsWait: counts are written together with the positions of the sources, and no
// more often than asked.
func TestCountsWait(t *testing.T) {
	ctx := t.Context()
	s := create(t)
	at := func(n int, d time.Duration) Result {
		r, err := s.Observe(ctx, t0.Add(d), incident.Observation{Node: "n1", Run: "r", Findings: []gpumedic.Finding{fault(1, n, t0.Add(d))}}, map[string]string{"kmsg": fmt.Sprint(n)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	onDisk := func() string {
		i, err := s.Incident(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		c, _ := s.Cursor(ctx, "kmsg")
		return fmt.Sprint(i.Count, " ", c)
	}
	if r := at(1, 0); !r.Written || onDisk() != "1 1" {
		t.Fatal("a transition waits")
	}
	if r := at(500, time.Second); r.Written || onDisk() != "1 1" || s.Snapshot()[0].Count != 500 {
		t.Errorf("written %v, on disk %s", r.Written, onDisk())
	}
	if r := at(900, 6*time.Second); !r.Written || onDisk() != "900 900" {
		t.Errorf("after 6 s on disk %s", onDisk())
	}
	at(901, 7*time.Second)
	if err := s.Flush(ctx, t0.Add(7*time.Second)); err != nil || onDisk() != "901 901" {
		t.Errorf("flushed %s %v", onDisk(), err)
	}
	at(902, 8*time.Second)
	path := s.Path()
	s.Close()
	s = open(t, path, Options{})
	if got := onDisk(); got != "902 902" {
		t.Errorf("after closing: %s", got)
	}
}

// TestTwoProcesses: a person's command between two answers of the daemon is kept, and
// what waited in the daemon is not lost by it.
func TestTwoProcesses(t *testing.T) {
	ctx := t.Context()
	daemon := create(t)
	see(t, daemon, t0, fault(1, 1, t0))
	see(t, daemon, t0.Add(time.Second), fault(1, 500, t0.Add(time.Second))) // waits
	person := open(t, daemon.Path(), Options{})
	if _, err := person.Do(ctx, t0.Add(2*time.Second), []int64{1}, func(st *incident.Step) error { return st.Ack(1, "li", "") }); err != nil {
		t.Fatal(err)
	}
	see(t, daemon, t0.Add(10*time.Second), fault(1, 700, t0.Add(10*time.Second)), fault(2, 1, t0))
	i, err := person.Incident(ctx, 1)
	if err != nil || i.State != incident.Acknowledged || i.Count != 700 {
		t.Errorf("%+v %v", i, err)
	}
	if e, _ := person.Events(ctx, 1); len(e) != 2 || e[0].Seq >= e[1].Seq {
		t.Errorf("events %+v", e)
	}
}

func TestManyWriters(t *testing.T) {
	ctx := t.Context()
	s := create(t)
	var all []gpumedic.Finding
	for n := range 20 {
		all = append(all, fault(n+1, 1, t0))
	}
	see(t, s, t0, all...)
	done := make(chan error)
	for w := range 4 {
		p := open(t, s.Path(), Options{Busy: 20 * time.Second})
		go func() {
			var err error
			for id := int64(1 + w*5); id <= int64(5+w*5) && err == nil; id++ {
				_, err = p.Do(ctx, t0.Add(time.Minute), []int64{id}, func(st *incident.Step) error { return st.Ack(id, "li", "") })
			}
			done <- err
		}()
	}
	for n := range 10 {
		see(t, s, t0.Add(time.Duration(n)*10*time.Second), all...)
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	list, _ := s.List(ctx, Filter{})
	for _, i := range list {
		if i.State != incident.Acknowledged {
			t.Errorf("incident %d is %s", i.ID, i.State)
		}
	}
}

func TestReopenOfOld(t *testing.T) {
	ctx := t.Context()
	s := create(t)
	see(t, s, t0, fault(1, 1, t0))
	if _, err := s.Do(ctx, t0, []int64{1}, func(st *incident.Step) error { return st.Close(1, true, "li", "x") }); err != nil {
		t.Fatal(err)
	}
	late := t0.AddDate(0, 2, 0)
	see(t, s, late)
	see(t, s, late)
	reopen := func(st *incident.Step) error { return st.Reopen(1, "li", "it was not the riser") }
	if _, err := s.Do(ctx, late, []int64{1}, reopen); err != nil {
		t.Fatal(err)
	}
	if i, _ := s.Incident(ctx, 1); i.State != incident.Open || i.Reopens != 1 {
		t.Errorf("%+v", i)
	}
	if _, err := s.Do(ctx, late, []int64{9}, func(st *incident.Step) error { return st.Ack(9, "li", "") }); !errors.Is(err, incident.ErrNotFound) {
		t.Errorf("unknown incident: %v", err)
	}
}

func TestPrune(t *testing.T) {
	ctx := t.Context()
	s := create(t)
	for n := range 30 {
		now := t0.AddDate(0, n, 0)
		f := fault(1, n+1, now)
		f.Evidence[0].Text = strings.Repeat("x", 400)
		see(t, s, now, f)
		if n < 29 {
			id := s.Snapshot()[0].ID
			for _, i := range s.Snapshot() {
				id = max(id, i.ID)
			}
			if _, err := s.Do(ctx, now, nil, func(st *incident.Step) error { return st.Close(id, true, "li", "x") }); err != nil {
				t.Fatal(err)
			}
		}
	}
	last := t0.AddDate(0, 29, 0)
	l := DefaultLimits
	l.Newest, l.Changes = 3, 10
	if err := s.Prune(ctx, last, l); err != nil {
		t.Fatal(err)
	}
	list, _ := s.List(ctx, Filter{Closed: true})
	if len(list) != 14 || list[0].ID != 30 || list[13].ID != 17 {
		t.Errorf("%d incidents left", len(list))
	}
	if c, _ := s.Changes(ctx, 0, 1000); len(c) > 10 || len(c) == 0 {
		t.Errorf("%d changes left", len(c))
	}
	var free int
	s.read.QueryRow("PRAGMA freelist_count").Scan(&free)
	if free != 0 {
		t.Errorf("%d free pages left", free)
	}
	// Numbers go on; a clock far ahead leaves the newest.
	see(t, s, last.Add(time.Minute), fault(1, 30, last), fault(2, 1, last))
	if i, err := s.Incident(ctx, 31); err != nil || i.Fault == "" {
		t.Errorf("number after pruning: %v", err)
	}
	if err := s.Prune(ctx, last.AddDate(50, 0, 0), l); err != nil {
		t.Fatal(err)
	}
	if list, _ := s.List(ctx, Filter{Closed: true}); len(list) != 5 { // two live, three closed
		t.Errorf("%d incidents left by a clock ahead", len(list))
	}
}

func TestOwnTables(t *testing.T) {
	ctx := t.Context()
	s := create(t)
	see(t, s, t0, fault(1, 1, t0))
	insert := func(fail error) error {
		return s.Update(ctx, func(ctx context.Context, c *sql.Conn) error {
			if _, err := c.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS notify(seq INTEGER); INSERT INTO notify VALUES(1)"); err != nil {
				return err
			}
			return fail
		})
	}
	stop := errors.New("stop")
	if err := errors.Join(insert(nil), insert(nil)); err != nil {
		t.Fatal(err)
	}
	if err := insert(stop); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	var n int
	if err := s.Reader().QueryRow("SELECT count(*) FROM notify").Scan(&n); err != nil || n != 2 {
		t.Errorf("%d rows, %v", n, err)
	}
	see(t, s, t0.Add(time.Minute), fault(1, 1, t0), fault(2, 1, t0))
}

func TestMissingAndForeign(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	if _, err := Open(ctx, filepath.Join(dir, "no.db"), Options{ReadOnly: true}); !errors.Is(err, ErrMissing) {
		t.Errorf("missing: %v", err)
	}
	if _, err := Open(ctx, dir, Options{Create: true}); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("folder: %v", err)
	}
	s := create(t)
	if _, err := s.w.ExecContext(ctx, "PRAGMA user_version=99"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, s.Path(), Options{Create: true}); !errors.Is(err, ErrNewer) {
		t.Errorf("newer: %v", err)
	}
	if _, err := s.w.ExecContext(ctx, "PRAGMA application_id=7"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, s.Path(), Options{Create: true}); !errors.Is(err, errForeign) {
		t.Errorf("another program's: %v", err)
	}
	if m, _ := filepath.Glob(s.Path() + ".damaged*"); len(m) != 0 {
		t.Error("the database of another program was moved")
	}
	empty := filepath.Join(dir, "empty.db")
	os.WriteFile(empty, nil, 0o644)
	if _, err := Open(ctx, empty, Options{}); !errors.Is(err, ErrMissing) {
		t.Errorf("empty: %v", err)
	}
}

// TestCancelled: a caller who gives up leaves a store that goes on.
func TestCancelled(t *testing.T) {
	s := create(t)
	see(t, s, t0, fault(1, 1, t0))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Do(ctx, t0, nil, func(st *incident.Step) error {
		cancel() // between reading and writing
		return st.Ack(1, "li", "")
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if r := see(t, s, t0.Add(time.Minute), fault(1, 1, t0), fault(2, 1, t0)); !r.Written {
		t.Error("nothing is written any more")
	}
	if i, err := s.Incident(t.Context(), 1); err != nil || i.State != incident.Open {
		t.Errorf("%+v %v", i, err)
	}
}

// TestReloads: who follows the changes hears that another process has written.
func TestReloads(t *testing.T) {
	s := create(t)
	tick := func(s *Store) {
		t.Helper()
		if _, err := s.Do(t.Context(), t0, nil, func(st *incident.Step) error { st.Tick(); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	tick(s)
	before := s.Reloads()
	tick(s)
	if n := s.Reloads(); n != before {
		t.Errorf("%d reloads without a reason", n-before)
	}
	other := open(t, s.Path(), Options{})
	if _, err := other.Observe(t.Context(), t0, incident.Observation{Node: "n1", Run: "r", Findings: []gpumedic.Finding{fault(1, 1, t0)}}, nil); err != nil {
		t.Fatal(err)
	}
	s.Shrink()
	tick(s)
	if n := s.Reloads(); n != before+1 {
		t.Errorf("%d reloads after another process wrote, want 1", n-before)
	}
}
