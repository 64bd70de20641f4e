package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpumedic/gpumedic/internal/act/notify"
	"github.com/gpumedic/gpumedic/internal/follow"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/store"
)

// week is a daemon inside a bubble of simulated time: loop, store, page, pump and workers
// of notifications, the follower of job logs and the probe of the machine run as they are,
// on their own timers. Three things cannot be in a bubble, since whoever waits for the
// network, a program or a device stops its clock for ever: the listener, the child that
// reads NVML, and the follower of /dev/kmsg. Documents and lines are given in their place.
type week struct {
	t      *testing.T
	d      *Daemon
	kernel chan follow.Chunk
	begun  time.Time
	lines  int // kernel lines of programs' faults
	jobs   *os.File
	crash  int // lines of job logs
}

// TestWeek lets a week pass: faults that come and go on changing GPUs, programs that crash
// with ever new pids, readings that move, incidents that people acknowledge and close. At
// the end the memory and the goroutines are those of the first day.
func TestWeek(t *testing.T) {
	hours := 7 * 24
	if testing.Short() {
		hours = 4 // of which nothing about leaks follows
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // levelNow collects; in between it only costs time
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		c := testConfig(dir)
		c.Window, c.Web.Listen = 6*time.Hour, nil
		c.Kernel.Enabled = false
		c.JobLogs = JobLogs{Paths: []string{filepath.Join(dir, "job-*.out")}, Max: 8, Every: 30 * time.Second}
		c.Host.Enabled, c.Host.Interval, c.Host.FullEvery = true, 6*time.Hour, 12*time.Hour
		told := filepath.Join(dir, "told")
		c.Notify = notify.Config{Channels: []notify.Channel{{Name: "hook", Type: "exec", Command: []string{"/bin/sh", "-c", "{ cat; echo; } >>" + told}}}}
		w := &week{t: t, kernel: make(chan follow.Chunk), begun: time.Now()}
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		w.start(ctx, c, &wg)
		var err error
		if w.jobs, err = os.Create(filepath.Join(dir, "job-1.out")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		var first, last level
		for hour := range hours {
			if w.hour(hour); hour == 23 {
				first = levelNow()
			}
		}
		last = levelNow()
		w.sums(told)
		t.Logf("after a day %+v, at the end %+v, %d events in the window", first, last, len(w.d.loop.core.window.events))
		if hours > 24 && last.heap > first.heap+first.heap/4+2<<20 {
			t.Errorf("the heap grew from %d to %d", first.heap, last.heap)
		}
		if hours > 24 && last.routines > first.routines {
			buf := make([]byte, 1<<16)
			t.Errorf("%d goroutines, after the first day %d\n%s", last.routines, first.routines, buf[:runtime.Stack(buf, true)])
		}
		if n := len(w.d.loop.core.window.events); n > 3*8 {
			t.Errorf("%d events are kept of six hours", n)
		}
		stop()
		wg.Wait()
		w.jobs.Close()
		w.d.close() // a goroutine that is left lets the bubble fail
	})
}

// start wires the daemon as Run does, without what a bubble cannot hold.
func (w *week) start(ctx context.Context, c *Config, wg *sync.WaitGroup) {
	w.t.Helper()
	w.d = &Daemon{o: Options{Config: c, Catalog: embedded(w.t), Log: slog.New(slog.NewTextHandler(w.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})), Now: time.Now, Root: "/"},
		health: newHealth(time.Now), started: time.Now(), sources: ctx, ends: map[string]context.CancelFunc{}}
	w.d.conf.Store(c)
	if err := w.d.prepare(ctx); err != nil {
		w.t.Fatal(err)
	}
	w.d.loop.lean = func() {} // it would collect garbage 20,000 times
	w.d.loop.logs[sourceKernel] = w.kernel
	w.d.health.source(sourceKernel, 0)
	w.d.health.source(sourceGPUs, time.Minute)
	w.d.follow()
	w.d.poll()
	if err := w.d.outlets.run(ctx); err != nil {
		w.t.Fatal(err)
	}
	wg.Go(func() { w.d.loop.run(ctx) })
}

// hour lets an hour pass.
func (w *week) hour(hour int) {
	for step := range 12 {
		if step%6 == 0 {
			w.lines++
			text := fmt.Sprintf("%s n1 kernel: NVRM: Xid (PCI:0000:%02x:00): 31, pid=%d, name=train%d, MMU Fault: ENGINE GRAPHICS GPC0 faulted @ 0x7f_0000. Fault is of type FAULT_PDE ACCESS_TYPE_READ\n",
				time.Now().Format("2006-01-02T15:04:05.000000-07:00"), 0x10+hour%8, 1000+w.lines, hour%2)
			w.kernel <- follow.Chunk{Input: follow.KernelInput, Text: []byte(text), First: w.lines, Lines: 1, Position: fmt.Sprint(w.lines), At: time.Now()}
		}
		if step == 3 && hour%4 == 0 {
			w.crash++
			fmt.Fprintf(w.jobs, "%s rank 0: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %d.00 GiB. GPU 0 has a total capacity of 79.33 GiB of which 1.00 GiB is free.\n",
				time.Now().Format("2006-01-02 15:04:05"), 2+hour%7)
		}
		pending := "no"
		if hour%24 == 3 {
			pending = "yes"
		}
		for n := range 10 { // a document each half minute
			doc := fmt.Sprintf("# gpumedic readings 1\n[gpu 0000:10:00.0]\npci: 0000:10:00.0\nuuid: GPU-aa\ntemperature.gpu.celsius: %d\nremapped_rows.pending: %s\n", 40+step+n, pending)
			w.d.loop.readings <- reading{source: sourceGPUs, doc: []byte(doc), how: whole, took: time.Millisecond}
			time.Sleep(30 * time.Second)
		}
	}
	if hour%24 == 20 { // somebody looks once a day, and closes what is there
		w.person()
	}
}

func (w *week) person() {
	s := w.d.store
	list, err := s.List(w.t.Context(), store.Filter{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, i := range list {
		if i.Fault != "row-remap-pending" {
			continue
		}
		if _, err := s.Do(w.t.Context(), time.Now(), []int64{i.ID}, func(s *incident.Step) error {
			err := s.Verify(i.ID, incident.Verification{Checks: []incident.CheckResult{{Check: "readings", Result: incident.Passed}}}, "li")
			if err == nil {
				err = s.Close(i.ID, false, "li", "")
			}
			return err
		}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// level is what must not rise.
type level struct {
	heap     uint64
	routines int
}

func levelNow() level {
	synctest.Wait()
	return level{heap(), runtime.NumGoroutine()}
}

// sums: every line was counted, and every incident was told by its number once.
func (w *week) sums(told string) {
	w.t.Helper()
	time.Sleep(2 * time.Minute) // for the last ones
	list, err := w.d.store.List(w.t.Context(), store.Filter{Closed: true, Hidden: true})
	if err != nil {
		w.t.Fatal(err)
	}
	xids, remaps := 0, 0
	for _, i := range list {
		switch {
		case i.Fault == "illegal-address":
			xids += i.Count
		case i.Fault == "row-remap-pending":
			remaps++
		}
	}
	if xids != w.lines {
		w.t.Errorf("%d lines counted, want %d:\n%s", xids, w.lines, incidentText(list))
	}
	if remaps == 0 {
		w.t.Errorf("no condition of readings became an incident:\n%s", incidentText(list))
	}
	b, err := os.ReadFile(told)
	if err != nil {
		w.t.Fatal(err)
	}
	opened := map[int64]int{}
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		var m notify.Delivery
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			w.t.Fatalf("%v: %s", err, line)
		}
		for _, n := range m.Notices {
			if n.Kind == notify.Opened {
				opened[n.Incident]++
			}
		}
	}
	for _, i := range list {
		if i.Visible && opened[i.ID] != 1 {
			w.t.Errorf("incident %d %s was told %d times", i.ID, i.Fault, opened[i.ID])
		}
	}
	w.t.Logf("%d kernel lines, %d lines of jobs, %d incidents, %d told", w.lines, w.crash, len(list), len(opened))
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
