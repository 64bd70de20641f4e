package diagnose

import (
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
)

// explainSignals marks the signals that the catalog lists as consequences.
func (w *world) explainSignals(h *hypothesis) {
	for n := range h.rule.explains {
		e := &h.rule.explains[n]
		if e.Signal == "" {
			continue
		}
		for _, i := range w.consequencesOf(h, e) {
			if !h.triggeredBy(i) && !h.explains(i) {
				h.why[i] = e.Why.In(w.lang)
			}
		}
	}
	w.explainByDriver(h)
}

// consequencesOf are the signals that one entry of `explains` covers.
func (w *world) consequencesOf(h *hypothesis, e *explain) []int {
	var out []int
	for _, i := range w.candidatesFor(h, e.kinds, e.Relation) {
		if fits(&w.signals[i], e.where) && w.related(h, i, e.Relation) &&
			w.within(h, i, e.Before, e.After, defaultSlack, defaultAfter) {
			out = append(out, i)
		}
	}
	return out
}

// explainByDriver uses what newer drivers say themselves: a signal with a field
// caused_by names the Xid behind it, and a recovery verdict (field recovery) sums up
// whatever fault hit that GPU.
func (w *world) explainByDriver(h *hypothesis) {
	if h.rule.Layer == "software" && h.rule.Scope == "node" {
		return
	}
	for _, v := range w.verdict {
		i := v.i
		if v.causedBy == "" && v.recovery != "drain_p2p" && w.where[i].gpu != h.at.gpu || h.owned[i] || h.explains(i) {
			continue
		}
		if by := v.causedBy; by != "" && w.related(h, i, "same_gpu") && w.holdsXid(h, by) {
			h.why[i] = text(w.lang, "the driver names Xid "+by+" as its cause", "驱动指明由 Xid "+by+" 引起")
			continue
		}
		if v.recovery == "" || h.at.gpu == "" ||
			!w.within(h, i, noDuration, noDuration, defaultSlack, 10*time.Minute) {
			continue
		}
		switch {
		case w.where[i].gpu == h.at.gpu:
			h.why[i] = text(w.lang, "the driver's verdict on this fault", "驱动对该故障给出的恢复建议")
		case v.recovery == "drain_p2p" && sameNode(w.where[i].node, h.at.node):
			h.why[i] = text(w.lang, "a peer stops its peer-to-peer traffic with the failed GPU", "与故障 GPU 有 P2P 通信的对端被要求停止 P2P")
		}
	}
}

func (w *world) holdsXid(h *hypothesis, code string) bool {
	for _, i := range w.byKind["xid."+code] {
		if h.owned[i] || h.explains(i) {
			return true
		}
	}
	return false
}

// explainFaults marks the triggers of other hypotheses that the catalog calls
// consequences of this fault as a whole.
func (w *world) explainFaults(h *hypothesis, byFault map[string][]*hypothesis) {
	for n := range h.rule.explains {
		e := &h.rule.explains[n]
		if e.Fault == "" {
			continue
		}
		for _, o := range byFault[e.Fault] {
			if o == h {
				continue
			}
			for _, i := range o.triggers {
				if h.triggeredBy(i) || h.explains(i) || !w.related(h, i, e.Relation) ||
					!w.within(h, i, e.Before, e.After, defaultSlack, defaultAfter) {
					continue
				}
				h.why[i] = e.Why.In(w.lang)
			}
		}
	}
}

func text(lang, en, zh string) string { return catalog.Text{EN: en, ZH: zh}.In(lang) }

// level is the highest level among a hypothesis's triggers.
func (w *world) level(h *hypothesis) gpumedic.Level {
	l := gpumedic.LevelFact
	for _, i := range h.triggers {
		l = max(l, w.signals[i].Level)
	}
	return l
}
