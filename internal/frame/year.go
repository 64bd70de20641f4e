package frame

import (
	"sort"
	"time"

	"github.com/gpumedic/gpumedic"
)

// yearline finds the years of stamps that state none. The stamps of an input form
// eras: month and day only grow within one, and December followed by January (or
// any fall by half a year and more) begins the next. Full stamps of the same input
// say which year an era is.
type yearline struct {
	eras    []era
	anchors []anchor
	era     int       // number of the current era, relative to the first
	last    time.Time // the last stamp without a year
	line    int       // of it
	any     bool      // there was one
	first   int       // year of the first era, when known
	settled bool      // first is computed
}

// era begins at a line; n is its year relative to the first era's.
type era struct{ line, n int }

// anchor is a full stamp beside the stamp without a year that came last before it
// (or first after it).
type anchor struct {
	at, beside time.Time
	n          int
	paired     bool
}

const (
	maxAnchors = 1024
	maxEras    = 4096
)

func (y *yearline) observe(line int, s gpumedic.Stamp) {
	y.settled = false
	if s.Time.Year() > 1 {
		y.anchor(s.Time)
		return
	}
	if y.any && line < y.line {
		return // a sample of what was seen, or will be seen in order
	}
	m, last := int(s.Time.Month()), int(y.last.Month())
	switch {
	case !y.any:
		y.any = true
		y.eras = append(y.eras, era{line: line})
		for i := range y.anchors {
			y.anchors[i].beside, y.anchors[i].paired = s.Time, true
		}
	case len(y.eras) >= maxEras: // shuffled beyond use
	case last-m >= 6: // December, then January
		y.era++
		y.eras = append(y.eras, era{line, y.era})
	case m-last >= 6 && y.era > 0 || m-last >= 9: // January, then December: an older part follows
		y.era--
		y.eras = append(y.eras, era{line, y.era})
	}
	y.last, y.line = s.Time, line
}

// anchor keeps the full stamps that tell something new: the first, and those of
// another day than the one before.
func (y *yearline) anchor(t time.Time) {
	if k := len(y.anchors); k > 0 && (t.Sub(y.anchors[k-1].at).Abs() < 24*time.Hour || k >= maxAnchors) {
		return
	}
	y.anchors = append(y.anchors, anchor{at: t, beside: y.last, n: y.era, paired: y.any})
}

// resolve gives a stamp its year; without any anchor it stays in year 0, moved by
// its era so that January comes after the December before it.
func (y *yearline) resolve(line int, s gpumedic.Stamp) gpumedic.Stamp {
	if s.Assumed&gpumedic.AssumedYear == 0 || s.Time.Year() > 1 {
		return s
	}
	n := y.eraAt(line)
	first, ok := y.firstYear()
	if !ok {
		s.Time = withYear(s.Time, n-y.lastEra()) // year 0 for the newest, the others before it
		return s
	}
	s.Time = withYear(s.Time, first+n)
	return s
}

func (y *yearline) eraAt(line int) int {
	i := sort.Search(len(y.eras), func(i int) bool { return y.eras[i].line > line })
	if i == 0 {
		return 0
	}
	return y.eras[i-1].n
}

func (y *yearline) lastEra() int {
	last := 0
	for _, e := range y.eras {
		last = max(last, e.n)
	}
	return last
}

// firstYear is the year of the first era: the one in which the stamps without a
// year lie closest to the full stamps beside them, by majority of those.
func (y *yearline) firstYear() (int, bool) {
	if len(y.anchors) == 0 {
		return 0, false
	}
	if y.settled {
		return y.first, true
	}
	votes := map[int]int{}
	y.first = 0
	for _, a := range y.anchors {
		year := a.at.Year()
		if a.paired {
			year = nearestYear(a.beside, a.at).Year() - a.n
		}
		votes[year]++
		if y.first == 0 || votes[year] > votes[y.first] || votes[year] == votes[y.first] && year > y.first {
			y.first = year
		}
	}
	y.settled = true
	return y.first, true
}
