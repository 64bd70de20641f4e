package diagnose

import (
	"math"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
)

// value ranks roots: how sure, how much it explains, how bad, and the earlier one of
// two that may belong together.
func (w *world) value(h *hypothesis, roots []*hypothesis) float64 {
	kinds := map[string]bool{}
	for i := range h.why {
		kinds[w.signals[i].Kind] = true
	}
	v := h.score + 0.3*math.Min(float64(len(kinds)), 5) + 0.1*math.Min(float64(len(h.merged)), 4)
	if h.stale {
		v -= 10
	} else if w.longBefore(h, roots) {
		v -= 4 // it wants its repair, but is no answer to what failed today
	}
	if h.rule.Layer == "software" && w.hardwareFirst(h, roots) {
		v -= 2 // no verdict on a program against a witness of hardware
	}
	switch h.rule.Severity {
	case "critical":
		v += 1.2
	case "error":
		v += 0.4
	case "warning":
		v -= 0.8
	case "info":
		v -= 1.5
	}
	return v
}

// hardwareFirst reports whether a grave fault of the hardware hit the same GPU (or, where
// the program's GPU is unknown, its node) in the hour before.
func (w *world) hardwareFirst(h *hypothesis, roots []*hypothesis) bool {
	for _, r := range roots {
		if r.rule.Layer != "hardware" || r.stale || r.score < triggerOdds["moderate"] ||
			r.rule.Severity != gpumedic.SeverityCritical && r.rule.Severity != gpumedic.SeverityError ||
			!sameNode(r.at.node, h.at.node) || h.at.gpu != "" && r.at.gpu != "" && h.at.gpu != r.at.gpu {
			continue
		}
		d, ok := w.anchor(h).First.Sub(w.anchor(r).First)
		if !ok {
			d, ok = gpumedic.DayApart(w.anchor(h), w.anchor(r))
		}
		if !ok || d > -10*time.Second && d < time.Hour {
			return true
		}
	}
	return false
}

// markStale finds roots of an earlier life of the machine: it was started again since,
// and what fails today failed more than a day later. A lost GPU of last month does not
// explain this morning's job.
func (w *world) markStale(roots []*hypothesis) {
	if len(w.byKind["kernel.reboot"]) == 0 {
		return
	}
	for _, h := range roots {
		last := w.lastOf(h)
		for _, r := range roots {
			if r == h || !sameNode(r.at.node, h.at.node) || w.incidental(r) {
				continue
			}
			gap, ok := w.anchor(r).First.Sub(last)
			if ok && gap > 24*time.Hour && w.startedBetween(h.at.node, last, w.anchor(r).First) {
				h.stale = true
				break
			}
		}
	}
}

// longBefore reports whether a job failed, by its own log, more than a day after the last
// sign of a fault that does not last by its nature. Times computed from that since boot
// are not trusted over days: the kernel's clock stands still in sleep.
func (w *world) longBefore(h *hypothesis, roots []*hypothesis) bool {
	if h.rule.Persistent || h.rule.Layer == "software" {
		return false
	}
	for _, r := range roots {
		if r == h || r.rule.Layer != "software" || w.incidental(r) || !sameNode(r.at.node, h.at.node) ||
			strings.HasPrefix(w.anchor(r).Kind, "xid.") || w.lastOf(h).Assumed&gpumedic.AssumedBoot != 0 ||
			r.rule.Severity != gpumedic.SeverityCritical && r.rule.Severity != gpumedic.SeverityError {
			continue
		}
		gap, ok := w.anchor(r).First.Sub(w.lastOf(h))
		if !ok {
			gap, ok = gpumedic.DayApart(w.anchor(r), w.anchor(h))
		}
		if ok && gap > 24*time.Hour {
			return true
		}
	}
	return false
}

// lastOf is the time of the last trigger of a hypothesis.
func (w *world) lastOf(h *hypothesis) gpumedic.Stamp {
	last := w.anchor(h).Last
	for _, i := range h.triggers {
		if d, ok := w.signals[i].Last.Sub(last); ok && d > 0 {
			last = w.signals[i].Last
		}
	}
	return last
}

// startedBetween reports whether the node booted after a and before b.
func (w *world) startedBetween(node string, a, b gpumedic.Stamp) bool {
	for _, i := range w.byKind["kernel.reboot"] {
		if !sameNode(w.where[i].node, node) {
			continue
		}
		for _, t := range []gpumedic.Stamp{w.signals[i].First, w.signals[i].Last} {
			after, ok1 := t.Sub(a)
			before, ok2 := b.Sub(t)
			if ok1 && ok2 && after > 0 && before >= 0 {
				return true
			}
		}
	}
	return false
}
