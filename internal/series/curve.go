package series

import (
	"math"
	"slices"
)

// maxPoints bounds a curve. When it is full every other point goes and only every
// second one is taken from then on.
const maxPoints = 512

// curve is one metric of one rank.
type curve struct {
	steps, values []float64
	lines         []int
	stride, skip  int

	n            int // points seen, finite or not
	first, last  mark
	firstBad     mark // first of the run of non-finite values that is still going on
	badRun       int
	lowest, peak float64 // of the finite values
	lastFinite   float64
	falls        int
}

// mark is a point that stays whatever is thinned out.
type mark struct {
	step, value float64
	line        int
	text        string
	ok          bool
}

func (c *curve) add(step, v float64, line int, text string) {
	m := mark{step, v, line, text, true}
	if c.n == 0 {
		c.first = m
	}
	c.n++
	c.last = m
	if math.IsNaN(v) || math.IsInf(v, 0) {
		if c.badRun == 0 {
			c.firstBad = m
		}
		c.badRun++
		return
	}
	c.badRun = 0
	if len(c.values) == 0 {
		c.lowest, c.peak = v, v
	}
	if len(c.values) > 0 && v < c.lastFinite {
		c.falls++
	}
	c.lowest, c.peak = min(c.lowest, v), max(c.peak, v)
	c.lastFinite = v
	c.keep(step, v, line)
}

func (c *curve) keep(step, v float64, line int) {
	if c.stride == 0 {
		c.stride = 1
	}
	if c.skip++; c.skip < c.stride {
		return
	}
	c.skip = 0
	if len(c.values) == maxPoints {
		half := 0
		for i := 0; i < len(c.values); i += 2 {
			c.steps[half], c.values[half], c.lines[half] = c.steps[i], c.values[i], c.lines[i]
			half++
		}
		c.steps, c.values, c.lines = c.steps[:half], c.values[:half], c.lines[:half]
		c.stride *= 2
	}
	c.steps, c.values, c.lines = append(c.steps, step), append(c.values, v), append(c.lines, line)
}

// theilSen is the median of the slopes between all pairs, and of the intercepts: up to
// a quarter of the points may be anything.
func theilSen(x, y []float64) (slope, intercept float64) {
	const most = 160 // points that are paired: 12,720 pairs
	if len(x) > most {
		x, y = thin(x, most), thin(y, most)
	}
	slopes := make([]float64, 0, len(x)*(len(x)-1)/2)
	for i := range x {
		for j := i + 1; j < len(x); j++ {
			if dx := x[j] - x[i]; dx != 0 {
				slopes = append(slopes, (y[j]-y[i])/dx)
			}
		}
	}
	if len(slopes) == 0 {
		return 0, 0
	}
	slope = median(slopes)
	rest := make([]float64, len(x))
	for i := range x {
		rest[i] = y[i] - slope*x[i]
	}
	return slope, median(rest)
}

// thin takes n of the values, evenly, first and last among them.
func thin(v []float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v[i*(len(v)-1)/(n-1)]
	}
	return out
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Clone(v)
	slices.Sort(s)
	if n := len(s); n%2 == 0 {
		return s[n/2-1]/2 + s[n/2]/2
	}
	return s[len(s)/2]
}

// correlation is Pearson's r, 0 where a side does not vary.
func correlation(x, y []float64) float64 {
	n := float64(len(x))
	if n < 2 {
		return 0
	}
	mx, my := 0.0, 0.0
	for i := range x {
		mx += x[i] / n
		my += y[i] / n
	}
	var sxy, sxx, syy float64
	for i := range x {
		sxy += (x[i] - mx) * (y[i] - my)
		sxx += (x[i] - mx) * (x[i] - mx)
		syy += (y[i] - my) * (y[i] - my)
	}
	r := sxy / math.Sqrt(sxx*syy)
	if math.IsNaN(r) {
		return 0
	}
	return max(-1, min(1, r))
}
