package watch

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/internal/follow"
	"github.com/gpumedic/gpumedic/internal/incident/store"
)

// TestWeek lets a week of simulated time pass over the loop: faults that come and go on
// changing GPUs, programs that crash with ever new pids, readings that move. At the end
// the memory is that of the first day.
func TestWeek(t *testing.T) {
	days := 7
	if testing.Short() {
		days = 1
	}
	c := testConfig(t.TempDir())
	c.Window = 6 * time.Hour
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "incidents.db"), store.Options{Create: true, Policy: c.policy()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	core, err := newCore(embedded(t), "n1", "en", c.Window)
	if err != nil {
		t.Fatal(err)
	}
	core.run = "run-1"
	now, changes := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), 0
	clock := func() time.Time { return now }
	l := &loop{conf: c, log: slog.New(slog.DiscardHandler), now: clock, core: core, store: s, health: newHealth(clock),
		holders: newHolders("n1", t.TempDir(), 30*time.Second), boot: "b", positions: map[string]string{}, waiting: map[string]bool{},
		told: func(r store.Result) { changes += len(r.Changes) }, show: func() {}, lean: func() {}}
	l.health.source(sourceStore, 0)
	ctx := t.Context()
	var first, last uint64
	line, begin := 0, now
	for hour := range 24 * days {
		for step := range 12 {
			minute := 5 * step
			now = begin.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
			if minute%30 == 0 {
				line++
				text := fmt.Sprintf("%s n1 kernel: NVRM: Xid (PCI:0000:%02x:00): 31, pid=%d, name=train%d, MMU Fault: ENGINE GRAPHICS GPC0 faulted @ 0x7f_0000. Fault is of type FAULT_PDE ACCESS_TYPE_READ\n",
					now.Format("2006-01-02T15:04:05.000000-07:00"), 0x10+hour%8, 1000+line, hour%5)
				l.take(ctx, sourceKernel, follow.Chunk{Input: follow.KernelInput, Text: []byte(text), First: line, Lines: 1, Position: fmt.Sprint(line), At: time.Now()})
			}
			pending := "no"
			if hour%24 == 3 {
				pending = "yes"
			}
			doc := fmt.Sprintf("# gpumedic readings 1\n[gpu 0000:10:00.0]\npci: 0000:10:00.0\nuuid: GPU-aa\ntemperature.gpu.celsius: %d\nremapped_rows.pending: %s\n", 40+minute, pending)
			l.read(reading{source: sourceGPUs, doc: []byte(doc), how: whole})
			for range 2 { // what the loop does meanwhile
				if l.wait() <= 0 {
					l.answer(ctx)
				}
				l.tick(ctx)
				now = now.Add(2 * time.Minute)
			}
		}
		if hour == 23 || hour == 24*days-1 {
			last = heap()
			if first == 0 {
				first = last
			}
		}
	}
	list, err := s.List(ctx, store.Filter{Closed: true, Hidden: true})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, i := range list {
		if i.Layer == "software" {
			total += i.Count
		}
	}
	if total != line {
		t.Errorf("%d lines counted, want %d:\n%s", total, line, incidentText(list))
	}
	t.Logf("%d incidents, %d changes, heap %d KiB after a day, %d KiB at the end, %d events in the window", len(list), changes, first>>10, last>>10, len(core.window.events))
	if last > first+first/2+4<<20 {
		t.Errorf("the heap grew from %d to %d", first, last)
	}
	if n := len(core.window.events); n > 2*8 {
		t.Errorf("%d events are kept of six hours", n)
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
