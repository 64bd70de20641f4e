package offline

import (
	"time"

	"github.com/gpumedic/gpumedic"
)

// fillYears dates the signals of inputs that never state a year (classic syslog) from
// the other inputs of the same incident, so that their windows can be compared. Each
// takes the year that brings it nearest to the middle of what is dated.
func fillYears(sigs []gpumedic.Signal) {
	var dated []time.Time
	undated := false
	for i := range sigs {
		for _, st := range []gpumedic.Stamp{sigs[i].First, sigs[i].Near[0], sigs[i].Near[1]} {
			if st.Dated() {
				dated = append(dated, st.Time)
			} else if st.Known() {
				undated = true
			}
		}
	}
	if !undated || len(dated) == 0 {
		return
	}
	first, last := dated[0], dated[0]
	for _, t := range dated {
		if t.Before(first) {
			first = t
		}
		if t.After(last) {
			last = t
		}
	}
	middle := first.Add(last.Sub(first) / 2)
	for i := range sigs {
		sigs[i].First = inYear(sigs[i].First, middle)
		sigs[i].Last = inYear(sigs[i].Last, middle)
		for n := range sigs[i].Near {
			sigs[i].Near[n] = inYear(sigs[i].Near[n], middle)
		}
	}
}

// inYear moves an undated stamp to the year nearest to a moment. Years around 0 are
// counted from 0 (a roll-over before the log's main year stands in −1).
func inYear(s gpumedic.Stamp, near time.Time) gpumedic.Stamp {
	if !s.Known() || s.Dated() {
		return s
	}
	best := s.Time
	for n, y := range []int{near.Year() - 1, near.Year(), near.Year() + 1} {
		t := s.Time.AddDate(y, 0, 0)
		if n == 0 || t.Sub(near).Abs() < best.Sub(near).Abs() {
			best = t
		}
	}
	s.Time = best
	return s
}
