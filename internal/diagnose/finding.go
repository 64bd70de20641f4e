package diagnose

import (
	"sort"
	"strings"

	"github.com/gpumedic/gpumedic"
)

// findings turns roots into the report's form, best first.
func (w *world) findings(roots []*hypothesis, beaten []loss) []gpumedic.Finding {
	out := make([]gpumedic.Finding, 0, len(roots))
	lost := map[*hypothesis][]loss{}
	for _, l := range beaten {
		lost[l.winner] = append(lost[l.winner], l)
	}
	for n, h := range roots {
		f := w.finding(h, lost[h])
		f.Role = w.role(n, h, roots)
		out = append(out, f)
	}
	for _, h := range w.lasting(beaten) {
		f := w.finding(h, nil)
		f.Role = gpumedic.RoleContributing
		out = append(out, f)
	}
	sort.SliceStable(out, func(i, j int) bool { return rank(out[i].Role) < rank(out[j].Role) })
	return out
}

// lasting are the pending repairs that a root explains and that a tool reads off the GPU
// as its state now: they go on until their own action is taken, whatever becomes of the
// root.
func (w *world) lasting(beaten []loss) []*hypothesis {
	var out []*hypothesis
	for _, l := range beaten {
		if !l.h.rule.Persistent || l.h.rule.Severity != gpumedic.SeverityWarning || !consequence(l.winner, l.h) {
			continue
		}
		for _, i := range l.h.triggers {
			if strings.HasPrefix(w.signals[i].Kind, "smi.") {
				out = append(out, l.h)
				break
			}
		}
	}
	return out
}

func rank(role string) int {
	switch role {
	case gpumedic.RoleRoot:
		return 0
	case gpumedic.RoleContributing:
		return 1
	}
	return 2
}

// role: the best is the root cause; others are further root causes when they stand on
// abnormal signals, contributing when they are warnings on the same subject, and
// incidental when nothing abnormal carries them.
func (w *world) role(n int, h *hypothesis, roots []*hypothesis) string {
	if w.incidental(h) || h.stale {
		return gpumedic.RoleIncidental
	}
	if n == 0 {
		return gpumedic.RoleRoot
	}
	top := roots[0]
	if h.rule.Severity == gpumedic.SeverityWarning || h.rule.Severity == gpumedic.SeverityInfo {
		if h.at.gpu == top.at.gpu && h.at.gpu != "" {
			return gpumedic.RoleContributing
		}
	}
	return gpumedic.RoleRoot
}

// incidental: nothing abnormal triggers it and it is not likely, or it is improbable.
func (w *world) incidental(h *hypothesis) bool {
	return w.level(h) < gpumedic.LevelAbnormal && h.score < triggerOdds["moderate"] || h.score < -1
}

// finding reports a root that lost to nobody and was preferred to what lost to it.
func (w *world) finding(h *hypothesis, lost []loss) gpumedic.Finding {
	r := h.rule
	s := w.subject(h)
	vars := w.vars(h, s)
	f := gpumedic.Finding{
		Fault: r.ID, Title: r.Title.In(w.lang), Summary: fillIn(r.Summary.In(w.lang), vars),
		Layer: r.Layer, Class: r.Class, Component: r.Component, Severity: r.Severity, Scope: r.Scope,
		Subject: s, Figures: w.figures(h), Count: w.count(h), OnlyNotices: w.level(h) < gpumedic.LevelAbnormal,
		Sources: append([]string{}, r.Sources...), Myths: []string{}, Alternatives: []gpumedic.Alternative{},
	}
	if r.Key != "" {
		f.Case = fieldOf(&w.signals[h.triggers[0]], r.Key)
	}
	f.Headline = expand(r.Headline.In(w.lang), vars)
	if f.Headline == "" || strings.Contains(f.Headline, "{") {
		f.Headline = f.Title
	}
	for _, m := range h.merged {
		f.Also = append(f.Also, w.subject(m))
	}
	if hit := w.gpusHit(h); len(hit) > 1 {
		for _, pci := range hit[1:] {
			f.Also = append(f.Also, gpumedic.Subject{Node: h.at.node, GPU: w.topo.Full(h.at.node, gpumedic.GPU{PCI: pci})})
		}
	}
	sort.Slice(f.Also, func(i, j int) bool { return f.Also[i].GPU.String() < f.Also[j].GPU.String() })
	f.FirstSeen, f.LastSeen = w.span(h)
	f.At = clockText(w.stated(w.anchor(h), w.anchor(h).First))
	f.Evidence = w.evidence(h)
	f.Consequences = w.consequences(h)
	f.Action, f.ActionWhy = w.action(h, lost)
	f.Causes = w.causes(h)
	f.Remedies = remedies(r.Fault, f.Action, w.lang, vars)
	f.Verify = checks(r.Fault, w.lang, vars)
	f.NotThis = w.notThis(h, vars)
	for _, m := range r.Myths {
		f.Myths = append(f.Myths, m.In(w.lang))
	}
	var rivals []float64
	f.Alternatives, rivals = w.alternatives(h, lost)
	f.Confidence = confidence(h.score, rivals)
	f.Reasons = w.reasons(h)
	return f
}
