package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// heapFloor is how large the heap may grow before it is collected at all: collecting a
// heap of a few MiB again and again costs a small log more than anything else.
const heapFloor = 32 << 20

// tuneMemory sets the collector to leave a heap below heapFloor alone, and to work as it
// does by default once more than half of that is in use. Who sets GOGC or GOMEMLIMIT
// knows better.
func tuneMemory() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(heapFloor)
	watchHeap(new(sentinel))
}

// sentinel is collected, and with it told of, in every cycle.
type sentinel struct{ _ [16]byte }

func watchHeap(s *sentinel) {
	runtime.AddCleanup(s, func(struct{}) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if live[0].Value.Kind() == metrics.KindUint64 && live[0].Value.Uint64() > heapFloor/2 {
			debug.SetGCPercent(100)
			debug.SetMemoryLimit(math.MaxInt64)
			return
		}
		watchHeap(new(sentinel))
	}, struct{}{})
}
