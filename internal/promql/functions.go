package promql

import (
	"math"
	"time"
)

// function is one that expressions may call.
type function struct {
	args   int
	ranged bool // its argument is a span of samples
	of     func(from, to int64, samples []run) float64
}

// functions that the rules need. Those without of are in eval.
var functions = map[string]function{
	"time":              {},
	"absent":            {args: 1},
	"increase":          {1, true, increase},
	"max_over_time":     {1, true, func(_, _ int64, s []run) float64 { return best(s, func(a, b float64) bool { return a > b }) }},
	"min_over_time":     {1, true, func(_, _ int64, s []run) float64 { return best(s, func(a, b float64) bool { return a < b }) }},
	"present_over_time": {1, true, func(int64, int64, []run) float64 { return 1 }},
}

func (f *call) eval(c *context) (value, error) {
	switch f.name {
	case "time":
		return value{scalar: true, number: float64(c.ms) / 1000}, nil
	case "absent":
		return f.absent(c)
	}
	s := f.args[0].(*Selector) // the parser saw to it
	to := c.ms - s.Offset.Milliseconds()
	from := to - s.Range.Milliseconds()
	var out value
	for _, x := range c.chosen(s) {
		w := x.window(from, to)
		if len(w) == 0 {
			continue
		}
		if v := f.f.of(from, to, w); !math.IsNaN(v) || f.name != "increase" {
			out.vector = append(out.vector, Sample{Labels: x.labels, Value: v})
		}
	}
	return out, nil
}

// absent is 1 when there is nothing, with the labels that the selector wants.
func (f *call) absent(c *context) (out value, err error) {
	v, err := f.args[0].eval(c)
	if err != nil || v.scalar || len(v.vector) > 0 {
		return out, err
	}
	var labels []Label
	if s, ok := f.args[0].(*Selector); ok {
		for _, m := range s.Matchers {
			if m.Op == "=" {
				labels = append(labels, Label{m.Name, m.Value})
			}
		}
	}
	out.vector = []Sample{{Labels: MakeLabels(labels), Value: 1}}
	return out, nil
}

func best(s []run, better func(a, b float64) bool) float64 {
	v := s[0].v
	for _, r := range s[1:] {
		if better(r.v, v) || math.IsNaN(v) {
			v = r.v
		}
	}
	return v
}

// increase is how much a counter rose within a span, resets left out, extrapolated to
// the edges of the span as Prometheus does it; NaN when there are not two samples.
func increase(from, to int64, s []run) float64 {
	n, rose := 0, s[len(s)-1].v-s[0].v
	for i, r := range s {
		n += r.n
		if i > 0 && r.v < s[i-1].v {
			rose += s[i-1].v
		}
	}
	if n < 2 {
		return math.NaN()
	}
	first, last := s[0].first, s[len(s)-1].last
	sampled := seconds(last - first)
	average := sampled / float64(n-1)
	head, tail := seconds(first-from), seconds(to-last)
	// So near to an edge it may well have gone on to it; farther away it began or ended.
	near := average * 1.1
	if head >= near {
		head = average / 2
	}
	if rose > 0 && s[0].v >= 0 { // a counter is never below zero
		head = min(head, sampled*(s[0].v/rose))
	}
	if tail >= near {
		tail = average / 2
	}
	return rose * ((sampled + head + tail) / sampled)
}

func seconds(ms int64) float64 { return (time.Duration(ms) * time.Millisecond).Seconds() }
