package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"

	"github.com/gpumedic/gpumedic/internal/lean"
)

// How large the heap may grow before it is collected, by what of it is in use. To collect
// a heap of a few MiB again and again costs a small log more than anything else; a large
// log with many faults is to stay below 64 MiB in all.
var heapSteps = []struct {
	live    uint64 // up to this much
	limit   int64
	percent int
}{
	{10 << 20, 32 << 20, -1},
	{20 << 20, 44 << 20, 100},
	{40 << 20, math.MaxInt64, 50},
	{math.MaxUint64, math.MaxInt64, 20}, // mostly the window of xz -9, which costs the collector nothing
}

// tuneMemory sets the collector so. Who sets GOGC or GOMEMLIMIT knows better.
func tuneMemory() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		watchHeap(0, -1)
	}
}

// watchHeap sets the step for what is in use when it changes, and looks again after each
// cycle.
func watchHeap(live uint64, was int) {
	if stays.Load() {
		return
	}
	step := 0
	for live > heapSteps[step].live {
		step++
	}
	if step != was {
		debug.SetGCPercent(heapSteps[step].percent)
		debug.SetMemoryLimit(heapSteps[step].limit)
	}
	heapStep.Store(int32(step))
	if step > was && was >= 0 {
		giveBack()
	}
	runtime.AddCleanup(&struct{ _ [16]byte }{}, func(struct{}) {
		now := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		if metrics.Read(now); now[0].Value.Kind() == metrics.KindUint64 {
			live = now[0].Value.Uint64()
		}
		watchHeap(live, step)
	}, struct{}{})
}

// heapStep is the step of the last look.
var heapStep atomic.Int32

// giveBack gives back the pages of the program that were needed so far, where more memory
// is in use than a small log takes: else they are a third of it.
func giveBack() {
	if heapStep.Load() > 0 {
		lean.Release()
	}
}

// stays is set when the process is one that runs for weeks.
var stays atomic.Bool

// stayGC: at 25 the heap would be 2 MiB smaller and a quarter of all time the collection.
const stayGC = 75

// stayLean sets a process up that runs for weeks and mostly waits, in place of one that is
// to be done soon. One processor: with more of them each event wakes threads that look for
// work in vain, which costs more than the work, and every processor keeps memory of its
// own. A storm of a million lines is read as fast.
func stayLean() {
	stays.Store(true)
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(math.MaxInt64)
		debug.SetGCPercent(stayGC)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	lean.Settle()
}
