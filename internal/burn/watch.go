package burn

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic/internal/probe"
)

// A Watch is what the driver's counters and sensors said of a GPU around its test, by the
// names of docs/readings.md. Without NVML it is empty, and the test says so.
type Watch struct {
	Before  map[string]string `json:"before,omitempty"`
	After   map[string]string `json:"after,omitempty"`
	Samples []probe.Sample    `json:"samples,omitempty"`
}

// counters are readings that only ever grow: what they grew by belongs to the test.
var counters = []string{"ecc.", "remapped_rows.", "retired_pages.", "pcie.replays", "nvlink.errors."}

// Delta is what the driver's counters grew by during the test.
func (w *Watch) Delta() map[string]int64 {
	out := map[string]int64{}
	for key, before := range w.Before {
		counts := slices.ContainsFunc(counters, func(p string) bool { return strings.HasPrefix(key, p) })
		b, err1 := strconv.ParseInt(before, 10, 64)
		a, err2 := strconv.ParseInt(w.After[key], 10, 64)
		if counts && err1 == nil && err2 == nil && a > b && !strings.Contains(key, "histogram") {
			out[key] = a - b
		}
	}
	return out
}

// total is the growth of all counters whose name fits.
func total(delta map[string]int64, prefix, span string) int64 {
	if n, ok := delta[prefix+span+".total"]; ok {
		return n
	}
	var best int64 // the parts overlap: the largest is at least right
	for key, n := range delta {
		if strings.HasPrefix(key, prefix+span+".") {
			best = max(best, n)
		}
	}
	return best
}

// A Load sums the samples that were taken while the GPU worked.
type Load struct {
	Samples              int
	Power, PowerMax      float64
	SMClock, MemoryClock int
	Temperature          int
	MemoryTemp           int
	Reasons              []string // active in a tenth of the samples or more, at least two
	LinkGen, LinkWidth   int      // the best that was seen
}

// Between is the load from one moment to another.
func (w *Watch) Between(from, to time.Time) Load {
	part := Watch{Samples: slices.DeleteFunc(slices.Clone(w.Samples), func(s probe.Sample) bool { return s.At.Before(from) || s.At.After(to) })}
	return part.Load()
}

// Load sums up; the first and the last half second are left out, in which a GPU speeds up
// and slows down.
func (w *Watch) Load() Load {
	var l Load
	list := w.Samples
	if len(list) > 0 {
		from, to := list[0].At.Add(500*time.Millisecond), list[len(list)-1].At.Add(-500*time.Millisecond)
		inner := slices.DeleteFunc(slices.Clone(list), func(s probe.Sample) bool { return s.At.Before(from) || s.At.After(to) })
		if len(inner) > 0 {
			list = inner
		}
	}
	reasons := map[string]int{}
	var power float64
	var clock, memory int
	for _, s := range list {
		l.Samples++
		power += s.Power
		clock += s.SMClock
		memory += s.MemoryClock
		l.PowerMax, l.Temperature, l.MemoryTemp = max(l.PowerMax, s.Power), max(l.Temperature, s.Temperature), max(l.MemoryTemp, s.MemoryTemp)
		l.LinkGen, l.LinkWidth = max(l.LinkGen, s.LinkGen), max(l.LinkWidth, s.LinkWidth)
		for _, r := range s.Reasons {
			reasons[r]++
		}
	}
	if l.Samples == 0 {
		return l
	}
	l.Power, l.SMClock, l.MemoryClock = power/float64(l.Samples), clock/l.Samples, memory/l.Samples
	for _, r := range slices.Sorted(maps.Keys(reasons)) {
		if n := reasons[r]; n >= 2 && 10*n >= l.Samples {
			l.Reasons = append(l.Reasons, r)
		}
	}
	return l
}

// laneGTs is the rate of one PCIe lane by generation, in GB/s after coding.
var laneGBs = [...]float64{0, 2.5 * 8 / 10 / 8, 5.0 * 8 / 10 / 8, 8.0 * 128 / 130 / 8, 16.0 * 128 / 130 / 8, 32.0 * 128 / 130 / 8, 64.0 * 242 / 256 / 8}

// LinkRate is what a PCIe link can carry in each direction at most, in GB/s, without the
// packets' own overhead; 0 for a generation that is not known.
func LinkRate(gen, width int) float64 {
	if gen < 1 || gen >= len(laneGBs) || width < 1 {
		return 0
	}
	return laneGBs[gen] * float64(width)
}
