package gpu_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/offline"
	"github.com/gpumedic/gpumedic/internal/source"
)

// TestFindings: a document, given to diagnose like any file, names the fault and its GPU.
func TestFindings(t *testing.T) {
	cat, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	d, err := offline.New(cat)
	if err != nil {
		t.Fatal(err)
	}
	f := func(scenario, want string) {
		t.Helper()
		var r child.Runner
		c := check(t, &r, "now", scenario, "full", 2*time.Second)
		in := source.FromBytes(scenario, []byte(c.doc))
		rep, err := d.Run(t.Context(), []source.Input{in}, offline.Options{Lang: "en"})
		if err != nil {
			t.Fatal(err)
		}
		got := string(rep.Verdict)
		if len(rep.Findings) > 0 {
			g := rep.Findings[0].Subject.GPU
			got = rep.Findings[0].Fault
			if g.Index != nil {
				got += fmt.Sprintf(" GPU %d", *g.Index)
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", scenario, got, want)
		}
	}
	f("healthy", "no_fault")
	f("one", "no_fault")
	f("sixteen", "no_fault")
	f("mig", "no_fault")
	f("hidden", "no_fault")
	f("gen-degraded", "pcie-link-degraded GPU 3")
	f("width-degraded", "pcie-link-degraded GPU 5")
	f("remap-pending", "row-remap-pending GPU 2")
	f("remap-failed", "row-remap-failure GPU 2")
	f("ecc", "ecc-uncorrectable GPU 6")
	f("sram-threshold", "sram-threshold-exceeded GPU 1")
	f("thermal", "thermal-slowdown GPU 4")
	f("power-brake", "power-brake-slowdown GPU 0")
	f("recovery", "gpu-reset-required GPU 7")
	f("lost", "gpu-fell-off-bus GPU 3")
	f("lost-handle", "gpu-fell-off-bus GPU 3")
	f("reset-required", "gpu-reset-required GPU 3")
	f("unreadable", "unknown")
	f("link-down", "nvlink-link-down GPU 1")
	f("link-errors", "nvlink-degrading GPU 1")
	f("not-loaded", "driver-not-loaded")
	f("mismatch", "driver-library-mismatch")
	f("hang-memory", "nvml-hang GPU 2")
	f("hang-init", "nvml-hang")
}

// TestNothingGrows runs many checks, every fourth of which hangs and is given up on.
// GPUMEDIC_TEST_CHECKS=1000 makes it a long run.
func TestNothingGrows(t *testing.T) {
	checks := 24
	if n, err := strconv.Atoi(os.Getenv("GPUMEDIC_TEST_CHECKS")); err == nil {
		checks = n
	}
	var r child.Runner
	one := func(i int) {
		scenario, deadline := "one", patient
		if i%4 == 0 {
			scenario, deadline = "hang-init", 100*time.Millisecond
		}
		c := check(t, &r, "now", scenario, "quick", deadline)
		for c.stuck != nil && c.stuck.Unkillable { // a busy machine has not reaped the one before yet
			time.Sleep(50 * time.Millisecond)
			c = check(t, &r, "now", scenario, "quick", deadline)
		}
		if (c.stuck != nil) != (scenario == "hang-init") {
			t.Fatalf("check %d: %v", i, c.err)
		}
	}
	for i := range 8 { // caches fill, the allocator takes its first pages
		one(i)
	}
	goroutines, files, heap := runtime.NumGoroutine(), openFiles(t), liveHeap()
	for i := range checks {
		one(i)
	}
	if n := runtime.NumGoroutine(); n > goroutines+2 {
		t.Errorf("%d goroutines after %d checks, before %d", n, checks, goroutines)
	}
	if n := openFiles(t); n > files {
		t.Errorf("%d open files, before %d", n, files)
	}
	const slack = 1 << 20
	if n := liveHeap(); n > heap+slack {
		t.Errorf("%d bytes live, before %d", n, heap)
	} else {
		t.Logf("after %d checks: heap %d KiB (before %d), %d goroutines (%d)", checks, n>>10, heap>>10, runtime.NumGoroutine(), goroutines)
	}
}

func openFiles(t *testing.T) int {
	e, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(e)
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
