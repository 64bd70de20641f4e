package diagnose

import (
	"fmt"
	"math"
	"sort"

	"github.com/gpumedic/gpumedic"
)

// alternatives are the hypotheses that this root beat, best first, with the reason.
func (w *world) alternatives(h *hypothesis, lost []loss) ([]gpumedic.Alternative, []float64) {
	out := []gpumedic.Alternative{}
	var rivals []float64
	seen := map[string]bool{h.rule.ID: true}
	for _, l := range lost {
		if seen[l.h.rule.ID] {
			continue
		}
		seen[l.h.rule.ID] = true
		a := gpumedic.Alternative{Fault: l.h.rule.ID, Confidence: confidence(l.h.score-2, []float64{h.score}), WhyNot: w.whyNot(l)}
		if l.mutual {
			rivals = append(rivals, l.h.score)
			a.Confidence = confidence(l.h.score, []float64{h.score, h.score, h.score, h.score})
		}
		out = append(out, a)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Confidence > out[j].Confidence })
	if len(out) > 5 {
		out = out[:5]
	}
	return out, rivals
}

func (w *world) whyNot(l loss) string {
	i := l.h.triggers[0]
	s := &w.signals[i]
	at := fmt.Sprintf("%s (%s:%d)", s.Kind, s.Evidence.Input, s.Evidence.Line)
	if len(l.h.against) > 0 {
		c := l.h.against[0]
		t := &w.signals[c.signals[0]]
		if why := c.clue.Why.In(w.lang); why != "" {
			return fmt.Sprintf(text(w.lang, "%s:%d speaks against it: %s", "%s:%d 与之矛盾：%s"), t.Evidence.Input, t.Evidence.Line, why)
		}
	}
	if why := l.winner.why[i]; why != "" {
		return fmt.Sprintf(text(w.lang, "its evidence %s follows from the root cause: %s", "其证据 %s 是根因的连带现象：%s"), at, why)
	}
	if l.mutual || l.winner.owns(i) {
		return fmt.Sprintf(text(w.lang, "%s fits the root cause better", "%s 用根因解释更合理"), at)
	}
	return fmt.Sprintf(text(w.lang, "its evidence %s follows from the root cause", "其证据 %s 是根因的连带现象"), at)
}

// reasons says how the score came about.
func (w *world) reasons(h *hypothesis) []string {
	var out []string
	add := func(o float64, i int, more int) {
		s := &w.signals[i]
		tail := ""
		if more > 0 {
			tail = fmt.Sprintf(" (+%d)", more)
		}
		out = append(out, fmt.Sprintf("%+.1f %s %s:%d%s", o, s.Kind, s.Evidence.Input, s.Evidence.Line, tail))
	}
	best := h.triggers[0]
	for _, i := range h.triggers {
		if h.strength[i].odds > h.strength[best].odds {
			best = i
		}
	}
	add(h.strength[best].odds, best, len(h.triggers)-1)
	for _, c := range h.supports {
		add(c.odds, c.signals[0], len(c.signals)-1)
	}
	for _, c := range h.against {
		add(c.odds, c.signals[0], len(c.signals)-1)
	}
	if h.rule.Prior > 0 && h.rule.Prior != 1 {
		out = append(out, fmt.Sprintf("%+.1f prior %g", 0.25*math.Log(h.rule.Prior), h.rule.Prior))
	}
	return out
}
