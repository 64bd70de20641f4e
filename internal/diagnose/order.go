package diagnose

import (
	"sort"
	"time"

	"github.com/gpumedic/gpumedic"
)

// order places signals, given in order of inputs and lines, on one line of events and
// returns each one's place. It must be a total order although some signals have wall
// times, some only time since boot and some none: a signal without time takes the time
// of the one before it in its input (the one after it, at the start). Inputs that
// have no wall time at all come first, by time since boot, then by position. step counts
// abnormal signals only: a measure of nearness that facts do not stretch.
func order(signals []gpumedic.Signal) (rank, step []int) {
	wall := make([]time.Time, len(signals))
	mono := make([]time.Duration, len(signals))
	for lo := 0; lo < len(signals); {
		hi := lo
		for hi < len(signals) && signals[hi].Order.Input == signals[lo].Order.Input {
			hi++
		}
		inherit(signals[lo:hi], wall[lo:hi], mono[lo:hi])
		lo = hi
	}
	list := make([]int, len(signals))
	for i := range list {
		list[i] = i
	}
	sort.SliceStable(list, func(a, b int) bool {
		i, j := list[a], list[b]
		if !wall[i].Equal(wall[j]) {
			return wall[i].Before(wall[j])
		}
		if wall[i].IsZero() && mono[i] != mono[j] {
			return mono[i] < mono[j]
		}
		return i < j
	})
	rank, step = make([]int, len(signals)), make([]int, len(signals))
	n := 0
	for place, i := range list {
		rank[i], step[i] = place, n
		if signals[i].Level == gpumedic.LevelAbnormal {
			n++
		}
	}
	return rank, step
}

// inherit fills the times of one input's signals.
func inherit(signals []gpumedic.Signal, wall []time.Time, mono []time.Duration) {
	fill := func(i int, t *time.Time, m *time.Duration) {
		if s := signals[i].First; s.Known() {
			wall[i] = s.Time
		}
		if s := signals[i].First; s.HasMono {
			mono[i] = s.Mono
		}
		if signals[i].Level == gpumedic.LevelAbnormal { // facts come and go with the noise around
			if s := signals[i].First; s.Known() {
				*t = s.Time
			}
			if s := signals[i].First; s.HasMono {
				*m = s.Mono
			}
		}
		if wall[i].IsZero() {
			wall[i] = *t
		}
		if mono[i] == 0 {
			mono[i] = *m
		}
	}
	var t time.Time
	var m time.Duration
	for i := range signals {
		fill(i, &t, &m)
	}
	for i := len(signals) - 1; i >= 0; i-- {
		fill(i, &t, &m)
	}
}
