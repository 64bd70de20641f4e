package promql

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Sample is one series of an answer.
type Sample struct {
	Name   string // of the metric, "" where an operation took it away
	Labels Labels
	Value  float64
}

// context is what an evaluation sees.
type context struct {
	m  *Memory
	ms int64
}

// value is a number, or series with a number each.
type value struct {
	scalar bool
	number float64
	vector []Sample
}

// Eval answers an expression at a moment: the series with their values, sorted by their
// labels. A number is a series without labels.
func Eval(m *Memory, e Expr, at time.Time) ([]Sample, error) {
	v, err := e.eval(&context{m, at.UnixMilli()})
	if err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	if v.scalar {
		return []Sample{{Value: v.number}}, nil
	}
	slices.SortFunc(v.vector, func(a, b Sample) int { return strings.Compare(a.Labels.Key(), b.Labels.Key()) })
	return v.vector, nil
}

func (n number) eval(*context) (value, error) { return value{scalar: true, number: float64(n)}, nil }

func (s *Selector) eval(c *context) (value, error) {
	var out value
	for _, x := range c.chosen(s) {
		if v, ok := x.at(c.ms - s.Offset.Milliseconds()); ok {
			out.vector = append(out.vector, Sample{s.Name, x.labels, v})
		}
	}
	return out, nil
}

// chosen are the series that a selector's matchers let through.
func (c *context) chosen(s *Selector) (out []*series) {
	f := c.m.families[s.Name]
	if f == nil {
		return nil
	}
next:
	for _, x := range f.series {
		for i := range s.Matchers {
			if !s.Matchers[i].Matches(x.labels.Get(s.Matchers[i].Name)) {
				continue next
			}
		}
		out = append(out, x)
	}
	return out
}

func (n *negative) eval(c *context) (value, error) {
	v, err := n.of.eval(c)
	v.number = -v.number
	for i := range v.vector {
		v.vector[i].Value *= -1
		v.vector[i].Name = ""
	}
	return v, err
}

// aggregations by name; a count of samples comes with the figures.
var aggregations = map[string]func(sum, greatest, least float64, n int) float64{
	"sum":   func(sum, _, _ float64, _ int) float64 { return sum },
	"max":   func(_, greatest, _ float64, _ int) float64 { return greatest },
	"min":   func(_, _, least float64, _ int) float64 { return least },
	"count": func(_, _, _ float64, n int) float64 { return float64(n) },
	"group": func(_, _, _ float64, _ int) float64 { return 1 },
}

func (a *aggregate) eval(c *context) (value, error) {
	in, err := a.of.eval(c)
	if err != nil {
		return in, err
	}
	if in.scalar {
		return in, fmt.Errorf("%s of a number", a.op)
	}
	type group struct {
		labels               Labels
		sum, greatest, least float64
		n                    int
	}
	groups, order := map[string]*group{}, []*group{}
	for _, s := range in.vector {
		l := s.Labels.only(a.by)
		g := groups[l.Key()]
		if g == nil {
			g = &group{labels: l, greatest: s.Value, least: s.Value}
			groups[l.Key()] = g
			order = append(order, g)
		}
		g.sum += s.Value
		if s.Value > g.greatest || math.IsNaN(g.greatest) {
			g.greatest = s.Value
		}
		if s.Value < g.least || math.IsNaN(g.least) {
			g.least = s.Value
		}
		g.n++
	}
	var out value
	for _, g := range order {
		out.vector = append(out.vector, Sample{Labels: g.labels, Value: aggregations[a.op](g.sum, g.greatest, g.least, g.n)})
	}
	return out, nil
}
