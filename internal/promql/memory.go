package promql

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"
)

// lookBack is how old the last sample of a series may be, as in Prometheus.
const lookBack = 5 * time.Minute

// Memory are the series that some expressions need, as long as they need them. Only
// their metrics are taken in.
type Memory struct {
	families map[string]*family
	now      int64 // of the last sample, milliseconds
}

type family struct {
	keep   int64 // milliseconds, 0: the last sample is enough
	series map[string]*series
}

type series struct {
	labels Labels
	runs   []run
}

// run are equal samples in a row, at equal distances.
type run struct {
	first, last int64 // milliseconds
	n           int
	v           float64
	stale       bool // not a sample: from here on the series is gone
}

// NewMemory makes a memory for expressions.
func NewMemory(list ...Expr) *Memory {
	m := &Memory{families: map[string]*family{}}
	for _, e := range list {
		for _, s := range Selectors(e) {
			f := m.families[s.Name]
			if f == nil {
				f = &family{series: map[string]*series{}}
				m.families[s.Name] = f
			}
			f.keep = max(f.keep, (s.Range + s.Offset).Milliseconds())
		}
	}
	return m
}

// Wants reports whether any expression asks for a metric.
func (m *Memory) Wants(name string) bool { return m.families[name] != nil }

// Names are the metrics that the expressions ask for, sorted.
func (m *Memory) Names() []string {
	var out []string
	for name := range m.families {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Add takes a sample. Samples of a series come in the order of time; one that is not
// later than the one before is dropped, as Prometheus does.
func (m *Memory) Add(name string, labels Labels, at time.Time, v float64) {
	f := m.families[name]
	if f == nil {
		return
	}
	ms := at.UnixMilli()
	m.now = max(m.now, ms)
	key := labels.Key()
	s := f.series[key]
	if s == nil {
		s = &series{labels: labels}
		f.series[key] = s
	}
	s.add(ms, v)
	s.trim(ms - f.keep)
}

// End marks what had no sample at a moment as gone from then on, and forgets what is too
// old for any expression.
func (m *Memory) End(at time.Time) { m.EndOf(at, func(string, Labels) bool { return true }) }

// EndOf is End for some of the series.
func (m *Memory) EndOf(at time.Time, which func(name string, l Labels) bool) {
	ms := at.UnixMilli()
	m.now = max(m.now, ms)
	for name, f := range m.families {
		for key, s := range f.series {
			last := &s.runs[len(s.runs)-1]
			switch {
			case last.last >= ms || !which(name, s.labels):
			case !last.stale:
				s.runs = append(s.runs, run{first: ms, last: ms, n: 1, stale: true})
				s.trim(ms - f.keep)
			case last.last < ms-f.keep:
				delete(f.series, key)
			}
		}
	}
}

// Back tells that the clock was set back by so much: all samples move along, so that
// spans stay spans.
func (m *Memory) Back(by time.Duration) {
	ms := by.Milliseconds()
	m.now -= ms
	for _, f := range m.families {
		for _, s := range f.series {
			for i := range s.runs {
				s.runs[i].first -= ms
				s.runs[i].last -= ms
			}
		}
	}
}

// Value is the last value of a series of a metric that is not gone; with several that
// fit, of any of them. fits may be nil.
func (m *Memory) Value(name string, fits func(Labels) bool) (float64, bool) {
	f := m.families[name]
	if f == nil {
		return 0, false
	}
	for _, s := range f.series {
		if fits == nil || fits(s.labels) {
			if v, ok := s.at(m.now); ok {
				return v, true
			}
		}
	}
	return 0, false
}

// Last is when the newest sample was taken, zero without any.
func (m *Memory) Last() time.Time {
	if m.now == 0 {
		return time.Time{}
	}
	return time.UnixMilli(m.now)
}

func (s *series) add(ms int64, v float64) {
	if len(s.runs) == 0 {
		s.runs = append(s.runs, run{first: ms, last: ms, n: 1, v: v})
		return
	}
	r := &s.runs[len(s.runs)-1]
	if ms <= r.last {
		return
	}
	same := !r.stale && (r.v == v || math.IsNaN(r.v) && math.IsNaN(v))
	if same && r.n > 1 { // a sample that was late must not change when the others were
		step := (r.last - r.first) / int64(r.n-1)
		same = (ms-r.last-step)*5 <= step && (r.last+step-ms)*5 <= step
	}
	if same {
		r.last, r.n = ms, r.n+1
		return
	}
	s.runs = append(s.runs, run{first: ms, last: ms, n: 1, v: v})
}

// trim drops what ended before a moment, but for the last run.
func (s *series) trim(before int64) {
	n := 0
	for n < len(s.runs)-1 && s.runs[n+1].first <= before {
		n++
	}
	if n > 0 {
		s.runs = append(s.runs[:0], s.runs[n:]...)
	}
}

// time is when the nth sample of a run was taken.
func (r *run) time(n int) int64 {
	if r.n < 2 {
		return r.first
	}
	return r.first + (r.last-r.first)*int64(n)/int64(r.n-1)
}

// upTo is how many samples of a run were taken until a moment.
func (r *run) upTo(ms int64) int {
	switch {
	case ms < r.first:
		return 0
	case ms >= r.last:
		return r.n
	}
	n := int((ms-r.first)*int64(r.n-1)/(r.last-r.first)) + 1
	for n < r.n && r.time(n) <= ms {
		n++
	}
	for n > 0 && r.time(n-1) > ms {
		n--
	}
	return n
}

// at is the value of a series at a moment: its last sample, unless that is too old.
func (s *series) at(ms int64) (float64, bool) {
	for i := len(s.runs) - 1; i >= 0; i-- {
		r := &s.runs[i]
		if n := r.upTo(ms); n > 0 {
			return r.v, !r.stale && ms-r.time(n-1) < lookBack.Milliseconds()
		}
	}
	return 0, false
}

// window are the samples of a series within a span, without its left edge.
func (s *series) window(from, to int64) (out []run) {
	for i := range s.runs {
		r := &s.runs[i]
		a, b := r.upTo(from), r.upTo(to)
		if a < b && !r.stale {
			out = append(out, run{first: r.time(a), last: r.time(b - 1), n: b - a, v: r.v})
		}
	}
	return out
}

// savedSeries is a series as it is kept on disk.
type savedSeries struct {
	Name   string       `json:"m"`
	Labels Labels       `json:"l"`
	Runs   [][4]float64 `json:"r"` // first, distance to last, count, value
	Gone   []int64      `json:"g,omitempty"`
}

// Save gives the series of those metrics whose past matters.
func (m *Memory) Save() ([]byte, error) {
	list := []savedSeries{}
	for name, f := range m.families {
		if f.keep == 0 {
			continue
		}
		for _, s := range f.series {
			x := savedSeries{Name: name, Labels: s.labels}
			for _, r := range s.runs {
				if r.stale {
					x.Gone = append(x.Gone, r.first)
				} else if !math.IsNaN(r.v) && !math.IsInf(r.v, 0) {
					x.Runs = append(x.Runs, [4]float64{float64(r.first), float64(r.last - r.first), float64(r.n), r.v})
				}
			}
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b savedSeries) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Labels.Key(), b.Labels.Key()))
	})
	return json.Marshal(list)
}

// Restore takes up what Save gave. Metrics that nobody asks for any more are left out.
func (m *Memory) Restore(text []byte) error {
	var list []savedSeries
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("read series: %w", err)
	}
	for _, x := range list {
		f := m.families[x.Name]
		if f == nil {
			continue
		}
		s := &series{labels: MakeLabels(x.Labels)}
		for _, r := range x.Runs {
			n := run{first: int64(r[0]), last: int64(r[0] + r[1]), n: int(r[2]), v: r[3]}
			if n.n < 1 || n.n > 1<<24 || n.last < n.first || n.n > 1 && n.last-n.first < int64(n.n-1) {
				return fmt.Errorf("read series: a run of %s is damaged", x.Name)
			}
			s.runs = append(s.runs, n)
		}
		for _, at := range x.Gone {
			s.runs = append(s.runs, run{first: at, last: at, n: 1, stale: true})
		}
		slices.SortStableFunc(s.runs, func(a, b run) int { return cmp.Compare(a.first, b.first) })
		for i := 1; i < len(s.runs); i++ {
			if s.runs[i].first <= s.runs[i-1].last {
				return fmt.Errorf("read series: the runs of %s overlap", x.Name)
			}
		}
		if len(s.runs) > 0 {
			f.series[s.labels.Key()] = s
			m.now = max(m.now, s.runs[len(s.runs)-1].last)
		}
	}
	return nil
}
