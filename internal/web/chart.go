package web

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/report"
)

// Chart is one small line chart, drawn in the units of its view box. The script draws on
// with the same rules (static/app.js).
type Chart struct {
	GPU, Measure string  // which series
	Label        string  // "memory"
	Unit         string  // "GiB"
	Value        string  // as of now
	Of           string  // "/ 80" where there is a limit
	Top          float64 // value at the upper edge
	TopText      string
	Scale        float64 // from the reading to the unit
	Grow         bool    // a counter: what it grew by is drawn
	Path         string
	Alt          string // what the line shows, in words
}

// Size of the view box.
const (
	chartW = 240.0
	chartH = 40.0
)

// measure is how a measure is shown.
type measure struct {
	index        int
	en, zh, unit string
	scale        float64
	value, limit func(*report.GPU) *float64
	top          float64 // least upper edge
	grow         bool
}

var shown = []measure{
	{MemoryUsed, "memory", "显存", "GiB", 1.0 / 1024, func(g *report.GPU) *float64 { return g.MemoryUsed }, func(g *report.GPU) *float64 { return g.MemoryTotal }, 1, false},
	{Utilization, "busy", "利用率", "%", 1, func(g *report.GPU) *float64 { return g.Utilization }, nil, 100, false},
	{Power, "power", "功耗", "W", 1, func(g *report.GPU) *float64 { return g.Power }, func(g *report.GPU) *float64 { return g.PowerLimit }, 50, false},
	{Temperature, "temperature", "温度", "°C", 1, func(g *report.GPU) *float64 { return g.Temperature }, nil, 100, false},
	{Corrected, "corrected", "已纠正错误", "", 1, func(g *report.GPU) *float64 { return g.Corrected }, nil, 4, true},
	{Uncorrected, "uncorrected", "不可纠正错误", "", 1, func(g *report.GPU) *float64 { return g.Uncorrected }, nil, 4, true},
}

// charts are those of one GPU, in the order of shown.
func charts(l string, g *report.GPU, s *Series, now time.Time) []Chart {
	out := make([]Chart, len(shown))
	for n, m := range shown {
		c := &out[n]
		*c = Chart{GPU: gpuName(g), Measure: MeasureNames[m.index], Label: lang.Pick(l, m.en, m.zh), Unit: m.unit, Scale: m.scale, Grow: m.grow, Top: m.top}
		c.Value = figure(m.value(g), m.scale)
		if m.limit != nil {
			if v := m.limit(g); v != nil {
				c.Top, c.Of = *v*m.scale, figure(v, m.scale)
			}
		}
		if s != nil {
			c.draw(l, s.AtMS, s.Values[m.index], now)
		} else {
			c.Alt = lang.Pick(l, "no readings yet", "尚无读数")
		}
		c.TopText = figure(&c.Top, 1)
	}
	return out
}

// draw makes the line: gaps where nothing was read, and the text that says the same.
func (c *Chart) draw(l string, at []int64, values []float32, now time.Time) {
	lo, hi, last := math.Inf(1), math.Inf(-1), math.NaN()
	base := 0.0
	if c.Grow {
		base = first(values)
	}
	for _, v := range values {
		if f := float64(v)*c.Scale - base; !math.IsNaN(f) {
			lo, hi, last = min(lo, f), max(hi, f), f
		}
	}
	if math.IsNaN(last) {
		c.Alt = lang.Pick(l, "no readings", "无读数")
		return
	}
	c.Top = max(c.Top, hi)
	if c.Grow {
		c.Alt = fmt.Sprintf(lang.Pick(l, "%s more in the last hour", "最近一小时增加 %s"), figure(&hi, 1))
	} else {
		c.Alt = fmt.Sprintf(lang.Pick(l, "last hour: lowest %s, highest %s %s", "最近一小时：最低 %s，最高 %s %s"), figure(&lo, 1), figure(&hi, 1), c.Unit)
	}
	if c.Grow && hi <= 0 {
		return // the base line alone: nothing happened
	}
	c.Path = drawn(at, values, c.Scale, base, c.Top, now)
}

func first(values []float32) float64 {
	for _, v := range values {
		if !math.IsNaN(float64(v)) {
			return float64(v)
		}
	}
	return 0
}

// drawn is the line in SVG. Steps that lie far apart are not joined.
func drawn(at []int64, values []float32, scale, base, top float64, now time.Time) string {
	var b strings.Builder
	begin := now.Add(-shownSpan).UnixMilli()
	before, pen := int64(0), false
	for i, v := range values {
		f := float64(v)*scale - base
		if math.IsNaN(f) {
			pen = false
			continue
		}
		x := float64(at[i]-begin) / float64(shownSpan.Milliseconds()) * chartW
		y := chartH - 1 - f/top*(chartH-2)
		if pen && at[i]-before > 3*shownStep.Milliseconds() {
			pen = false
		}
		command := "L"
		if !pen {
			command = "M"
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", command, x, y)
		if !pen {
			b.WriteString("h0.1") // one point alone is a dot
		}
		before, pen = at[i], true
	}
	return b.String()
}

// figure is a number as short as it stays useful; "–" where nothing was read.
func figure(v *float64, scale float64) string {
	if v == nil || math.IsNaN(*v) {
		return "–"
	}
	f := *v * scale
	if math.Abs(f) < 10 && f != math.Trunc(f) {
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 0, 64)
}
