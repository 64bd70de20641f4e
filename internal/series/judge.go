package series

import (
	"math"
	"slices"
	"strconv"

	"github.com/gpumedic/gpumedic"
)

const (
	leastGrowthPoints = 10
	// fewGrowthPoints are enough where the card ran full in the end and every point lies
	// on the line.
	fewGrowthPoints = 5
	straightR       = 0.99
	// growthShare is by how much of its beginning memory must grow.
	growthShare = 0.25
	leastGrowth = 256 << 20
	// risingShare is the part of the points that must lie above the one before.
	risingShare = 0.8
	leastR      = 0.9
	// A loss scale that lost this factor and ends at one or below has collapsed.
	scaleFall = 256
	// diverged is how far above its best and its beginning a loss must end.
	divergedBest, divergedStart = 4, 1.3
	leastDiverged               = 12
	// How far loss and norm must end above their best and their middle in a shorter log.
	shotLoss, shotNorm = 10, 20
)

func (r *run) judge(e events) []gpumedic.Signal {
	var out []gpumedic.Signal
	if s, ok := r.growth(e); ok {
		out = append(out, s)
	}
	out = append(out, r.nonFinite()...)
	if s, ok := r.scaleCollapse(); ok {
		out = append(out, s)
	}
	if s, ok := r.divergence(); ok {
		out = append(out, s)
	}
	if s, ok := r.batchFit(e); ok {
		out = append(out, s)
	}
	return append(out, r.phase(e)...)
}

// growth looks for memory that rises with the steps. A maximum so far rises by nature,
// so it is used only where no plain figure is logged, and under the same conditions:
// it rises at most steps only when the memory itself does.
func (r *run) growth(e events) (gpumedic.Signal, bool) {
	c := &r.memory
	if c.n == 0 {
		c = &r.peak
	}
	x, y := c.steps, c.values
	if skip := len(x) / 10; len(x) >= 2*leastGrowthPoints { // the warm-up
		x, y = x[skip:], y[skip:]
	}
	full := e.oom.ok && e.oom.line > c.first.line
	if few := len(x) < leastGrowthPoints; few && (!full || len(x) < fewGrowthPoints || rising(y) < 1 || correlation(x, y) < straightR) {
		return gpumedic.Signal{}, false
	}
	first, last := edge(y, true), edge(y, false)
	slope, intercept := theilSen(x, y)
	rise := last - first
	if slope <= 0 || rise < leastGrowth || rise < growthShare*first || correlation(x, y) < leastR ||
		rising(y) < risingShare || flattens(x, y) {
		return gpumedic.Signal{}, false
	}
	oom := "no"
	if full {
		oom = "yes"
	}
	f := map[string]string{
		"slope_bytes_per_step": strconv.FormatFloat(slope, 'f', 0, 64), "slope_bytes": integer(slope), "slope_text": sizeText(slope),
		"first_bytes": integer(c.first.value), "first_text": sizeText(c.first.value),
		"last_bytes": integer(c.last.value), "last_text": sizeText(c.last.value),
		"steps": integer(c.last.step - c.first.step), "points": strconv.Itoa(c.n),
		"r": figure(correlation(x, y)), "onset_step": integer(onset(x, y, slope, intercept)), "onset_line": strconv.Itoa(c.first.line), "oom": oom,
	}
	if e.total > 0 {
		f["total_bytes"], f["total_text"] = integer(e.total), sizeText(e.total)
		if full := (e.total - intercept) / slope; full > 0 && full < 1e12 {
			f["full_step"] = integer(full)
		}
	}
	level := gpumedic.LevelNotice
	if oom == "yes" {
		level = gpumedic.LevelAbnormal
	}
	return signal("series.memory_growth", level, c.last, f), true
}

// edge is the median of the first or last tenth of a curve.
func edge(y []float64, start bool) float64 {
	n := max(1, min(len(y)/10, 10))
	if start {
		return median(y[:n])
	}
	return median(y[len(y)-n:])
}

// rising is the part of the points above the one before.
func rising(y []float64) float64 {
	up := 0
	for i := 1; i < len(y); i++ {
		if y[i] > y[i-1] {
			up++
		}
	}
	return float64(up) / float64(max(1, len(y)-1))
}

// flattens reports whether the second half rises much less than the first.
func flattens(x, y []float64) bool {
	h := len(x) / 2
	a, _ := theilSen(x[:h], y[:h])
	b, _ := theilSen(x[h:], y[h:])
	return b < 0.4*a
}

// onset is the first step from which on the curve follows its line.
func onset(x, y []float64, slope, intercept float64) float64 {
	rise := slope * (x[len(x)-1] - x[0])
	for i := range x {
		if math.Abs(y[i]-intercept-slope*x[i]) < rise/10 {
			return x[i]
		}
	}
	return x[0]
}

// nonFinite looks for curves that end in NaN or infinity. The gradient norm may be so
// at single steps, which mixed precision skips.
func (r *run) nonFinite() []gpumedic.Signal {
	for _, m := range []struct {
		name  string
		c     *curve
		least int
	}{{"loss", &r.loss, 2}, {"val_loss", &r.valLoss, 1}, {"grad_norm", &r.norm, 4}} {
		if m.c.badRun < m.least && !(m.name == "loss" && m.c.badRun == 1 && m.c.n >= 3 && r.norm.badRun > 0) &&
			!(m.name == "grad_norm" && m.c.badRun > 0 && (r.zeroed() || r.normless())) {
			continue
		}
		f := map[string]string{"step": integer(m.c.firstBad.step), "metric": m.name, "value": kindOf(m.c.firstBad.value),
			"count": strconv.Itoa(m.c.badRun), "points": strconv.Itoa(m.c.n)}
		if len(m.c.values) > 0 {
			f["last_finite"] = figure(m.c.lastFinite)
		}
		if n := &r.norm; len(n.values) > 0 {
			f["norm_peak"] = figure(n.peak)
		}
		if s := &r.scale; s.n > 0 && s.last.ok {
			f["scale_last"] = figure(s.last.value)
		}
		f["onset"] = r.onsetOf(m.c)
		return []gpumedic.Signal{signal("series.loss_nan", gpumedic.LevelAbnormal, m.c.firstBad, f)}
	}
	return nil
}

// zeroed: some trainers log a loss that is not finite as exactly 0.
func (r *run) zeroed() bool { return r.loss.n >= 3 && r.loss.last.value == 0 && r.loss.peak > 0 }

// normless: no step of a short log has a norm, and no falling loss scale says that the
// steps are skipped while it finds its size.
func (r *run) normless() bool {
	y := r.scale.values
	return r.norm.badRun >= 3 && len(r.norm.values) == 0 && math.IsNaN(r.norm.firstBad.value) &&
		len(y) >= 2 && y[0] == y[len(y)-1]
}

// onsetOf tells whether the value ran away before or was sound up to the last point.
func (r *run) onsetOf(c *curve) string {
	y := c.values
	switch {
	case len(y) == 0:
		return "first_step"
	case len(y) >= 2 && y[len(y)-2] > 0 && y[len(y)-1] >= 10*y[len(y)-2] && y[len(y)-1] > 1:
		return "runaway" // a short log tells it too: ten times as much in one step
	case len(y) >= 5 && y[len(y)-1] > 3*median(y[:len(y)-1]) && y[len(y)-1] > 1:
		return "runaway"
	case len(r.norm.values) >= 5 && r.norm.lastFinite > 20*median(r.norm.values):
		return "runaway"
	case leaps(r.norm.values) || leaps(y):
		return "runaway"
	}
	return "sudden"
}

// leaps: the last two values are each at least five times the one before. One spike is
// not enough: mixed precision has those in sound runs.
func leaps(y []float64) bool {
	n := len(y)
	if n < 3 || y[n-1] <= 1 {
		return false
	}
	return y[n-3] > 0 && y[n-2] >= 5*y[n-3] && y[n-1] >= 5*y[n-2]
}

func kindOf(v float64) string {
	if math.IsNaN(v) {
		return "nan"
	}
	return "inf"
}

// scaleCollapse looks for a loss scale that was halved down to its floor.
func (r *run) scaleCollapse() (gpumedic.Signal, bool) {
	c := &r.scale
	if c.n < 3 || c.badRun > 0 || c.last.value > 1 || c.last.value != c.lowest || c.peak < scaleFall*math.Max(c.last.value, 0) || c.peak < 16 {
		return gpumedic.Signal{}, false
	}
	f := map[string]string{"from": figure(c.peak), "to": figure(c.last.value), "minimum": figure(c.lowest),
		"step": integer(c.last.step), "falls": strconv.Itoa(c.falls)}
	return signal("series.scale_collapse", gpumedic.LevelAbnormal, c.last, f), true
}

// divergence looks for a loss that ends far above its best and its beginning, and
// stays there.
func (r *run) divergence() (gpumedic.Signal, bool) {
	c := &r.loss
	y := c.values
	if len(y) < leastDiverged && r.shoots() {
		f := map[string]string{"step": integer(c.last.step), "onset_line": strconv.Itoa(c.first.line), "best": figure(c.lowest), "last": figure(c.last.value), "metric": "loss",
			"norm_median": figure(median(r.norm.values)), "norm_peak": figure(r.norm.peak)}
		return signal("series.divergence", gpumedic.LevelAbnormal, c.last, f), true
	}
	if len(y) < leastDiverged || c.badRun > 0 || c.lowest <= 0 {
		return gpumedic.Signal{}, false
	}
	tail := max(3, len(y)/10)
	head := y[:len(y)-tail]
	best := math.Inf(1)
	for i := 0; i+5 <= len(head); i += 2 {
		best = math.Min(best, median(head[i:i+5]))
	}
	start, end := median(y[:min(5, len(head))]), slices.Min(y[len(y)-tail:])
	if end < divergedBest*best || end < divergedStart*start {
		return gpumedic.Signal{}, false
	}
	at := len(y) - tail
	for at > 0 && y[at-1] > 2*best && y[at-1] > start {
		at--
	}
	f := map[string]string{"step": integer(c.steps[at]), "onset_line": strconv.Itoa(c.lines[at]), "best": figure(best), "last": figure(c.last.value), "metric": "loss"}
	if n := &r.norm; len(n.values) >= 5 {
		f["norm_median"], f["norm_peak"] = figure(median(n.values)), figure(n.peak)
	}
	return signal("series.divergence", gpumedic.LevelAbnormal, c.last, f), true
}

// shoots: in a short log the loss ends at ten times its best, still rising, and the
// gradient norm ran far ahead of it.
func (r *run) shoots() bool {
	y, n := r.loss.values, r.norm.values
	k := len(y)
	return k >= 4 && r.loss.badRun == 0 && r.loss.lowest > 0 && y[k-1] > y[k-2] && y[k-2] > y[k-3] && y[k-1] >= shotLoss*r.loss.lowest &&
		len(n) >= 4 && r.norm.lastFinite >= shotNorm*median(n)
}

// phase tells what the program had just done when memory ran out, and how far it came.
func (r *run) phase(e events) []gpumedic.Signal {
	var out []gpumedic.Signal
	if r.oom.ok && r.oom.line == e.oom.line {
		steps := integer(e.stepsAtOOM)
		switch {
		case e.resumed.ok && e.resumed.line < e.oom.line && e.stepsAtOOM <= 2:
			out = append(out, signal("series.oom_on_resume", gpumedic.LevelAbnormal, e.resumed, map[string]string{
				"steps": steps, "oom_line": strconv.Itoa(e.oom.line), "after_what": "the resume from a checkpoint", "after_what_zh": "从检查点恢复"}))
		case e.evalAtOOM.ok && e.stepsAtOOM >= 3:
			out = append(out, signal("series.oom_in_eval", gpumedic.LevelAbnormal, e.evalAtOOM, map[string]string{
				"steps": steps, "oom_line": strconv.Itoa(e.oom.line), "after_what": "the start of the evaluation", "after_what_zh": "开始评估"}))
		}
	}
	progress := func(steps float64, resumed, oom bool) {
		if steps >= 1 && r.loss.n > 0 {
			out = append(out, signal("series.progress", gpumedic.LevelFact, r.loss.last, map[string]string{
				"steps": integer(steps), "resumed": gpumedic.YesNo(resumed), "oom": gpumedic.YesNo(oom)}))
		}
	}
	progress(r.counted, e.resumed.ok && !r.fresh, e.oom.ok && !r.fresh)
	progress(r.earlier, false, false)
	return out
}
