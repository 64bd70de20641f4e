package diagnose

import (
	"math"
	"sort"
	"time"
)

// loss records why a hypothesis is not a root.
type loss struct {
	h      *hypothesis
	winner *hypothesis
	mutual bool // both explain each other: the score decided
}

// choose splits the hypotheses into roots, best first, and those that a root beats.
func (w *world) choose(all []*hypothesis) (roots []*hypothesis, beaten []loss) {
	ranked := append([]*hypothesis(nil), all...)
	sort.SliceStable(ranked, func(i, j int) bool { return w.outranks(ranked[i], ranked[j]) })
	lost := map[*hypothesis]bool{}
	covers := coverOf(ranked)
	for _, h := range ranked {
		if win, mutual := w.winnerOver(h, covers[h.triggers[0]]); win != nil {
			beaten = append(beaten, loss{h, win, mutual})
			lost[h] = true
		}
	}
	for _, h := range ranked {
		if !lost[h] {
			roots = append(roots, h)
		}
	}
	if len(roots) == 0 && len(ranked) > 0 { // a circle of explanations: the best one stands
		roots = ranked[:1]
		kept := beaten[:0]
		for _, l := range beaten {
			if l.h != ranked[0] {
				kept = append(kept, l)
			}
		}
		beaten = kept
	}
	inheritChains(roots, beaten)
	roots, beaten = revive(roots, beaten)
	roots, covered := w.dropCovered(roots)
	beaten = append(beaten, covered...)
	roots = w.mergePeers(roots)
	w.markStale(roots)
	value := make(map[*hypothesis]float64, len(roots))
	for _, h := range roots {
		value[h] = w.value(h, roots)
	}
	sort.SliceStable(roots, func(i, j int) bool {
		a, b := value[roots[i]], value[roots[j]]
		if math.Abs(a-b) > 1e-9 {
			return a > b
		}
		return w.outranks(roots[i], roots[j])
	})
	return roots, beaten
}

// inheritChains gives a root the consequences of the faults that are themselves its
// consequences: the lost GPU stopped its firmware from answering, and that ended the
// job. A rival that merely read the same lines otherwise passes nothing on.
func inheritChains(roots []*hypothesis, beaten []loss) {
	isRoot := map[*hypothesis]bool{}
	for _, h := range roots {
		isRoot[h] = true
	}
	winner := map[*hypothesis]*hypothesis{}
	for _, l := range beaten {
		if !l.mutual && consequence(l.winner, l.h) {
			winner[l.h] = l.winner
		}
	}
	for _, l := range beaten {
		top, steps := winner[l.h], 0
		for top != nil && !isRoot[top] && steps < len(beaten) {
			top, steps = winner[top], steps+1
		}
		if top == nil || !isRoot[top] {
			continue
		}
		for i, why := range l.h.why {
			if !top.triggeredBy(i) && !top.explains(i) {
				top.why[i] = why
			}
		}
	}
}

// consequence says whether every trigger of b is a declared consequence of a.
func consequence(a, b *hypothesis) bool {
	for _, i := range b.triggers {
		if !a.explains(i) {
			return false
		}
	}
	return true
}

// revive lets a beaten hypothesis stand again when, in the end, no root accounts for
// its triggers: what beat it was beaten too.
func revive(roots []*hypothesis, beaten []loss) ([]*hypothesis, []loss) {
	var still []loss
	covers := coverOf(roots)
	for _, l := range beaten {
		alone := false
		for _, i := range l.h.triggers {
			alone = alone || len(covers[i]) == 0
		}
		if alone {
			roots = append(roots, l.h)
			covers.add(l.h)
			continue
		}
		still = append(still, l)
	}
	return roots, still
}

// dropCovered removes a root whose triggers are all owned or explained by better
// roots together, though by no single one.
func (w *world) dropCovered(roots []*hypothesis) ([]*hypothesis, []loss) {
	var out []*hypothesis
	var dropped []loss
	covers := coverOf(roots)
	for _, h := range roots {
		var by *hypothesis
		all := true
		for _, i := range h.triggers {
			hit := false
			for _, o := range covers[i] {
				if o != h && w.outranks(o, h) {
					hit, by = true, o
					break
				}
			}
			if !hit {
				all = false
				break
			}
		}
		if all && by != nil {
			dropped = append(dropped, loss{h, by, false})
			continue
		}
		out = append(out, h)
	}
	return out, dropped
}

// winnerOver finds the best hypothesis that beats h, among those that cover its first
// trigger.
func (w *world) winnerOver(h *hypothesis, covering []*hypothesis) (*hypothesis, bool) {
	for _, o := range covering {
		if o == h || !coversTriggers(o, h) {
			continue
		}
		better := w.outranks(o, h)
		if !accountsFor(o, h) && !better {
			continue // a signal that merely supports o is no reason to prefer o
		}
		if !coversTriggers(h, o) || !accountsFor(h, o) && better {
			return o, false
		}
		if better {
			return o, true
		}
	}
	return nil, false
}

// coversTriggers says whether a owns or explains every trigger of b.
func coversTriggers(a, b *hypothesis) bool {
	for _, i := range b.triggers {
		if !a.owns(i) && !a.explains(i) {
			return false
		}
	}
	return true
}

// accountsFor says whether every trigger of b is a trigger or a declared consequence of
// a, rather than just a support.
func accountsFor(a, b *hypothesis) bool {
	for _, i := range b.triggers {
		if !a.triggeredBy(i) && !a.explains(i) {
			return false
		}
	}
	return true
}

// outranks orders hypotheses: by score, then the earlier, then by name.
func (w *world) outranks(a, b *hypothesis) bool {
	if math.Abs(a.score-b.score) > 1e-9 {
		return a.score > b.score
	}
	if x, y := a.triggers[0], b.triggers[0]; x != y {
		return w.before(x, y)
	}
	return a.key < b.key
}

// mergePeers makes one root of the same fault on several GPUs of a node in the same
// moment: independent failures do not line up.
func (w *world) mergePeers(roots []*hypothesis) []*hypothesis {
	var out []*hypothesis
	for _, h := range roots {
		var home *hypothesis
		for _, o := range out {
			if o.rule == h.rule && h.rule.Scope == "gpu" && w.sameKey(o, h) && h.at.gpu != "" && o.at.gpu != "" &&
				sameNode(o.at.node, h.at.node) && w.together(o, h) {
				home = o
				break
			}
		}
		if home == nil {
			out = append(out, h)
			continue
		}
		if h.at.gpu < home.at.gpu && w.sameMoment(home, h) || w.before(h.triggers[0], home.triggers[0]) && !w.sameMoment(home, h) {
			*home, *h = *h, *home
			home.merged, h.merged = append(home.merged, h.merged...), nil
			home.alsoGPU, h.alsoGPU = h.alsoGPU, nil
		}
		home.merged = append(home.merged, h)
		if home.alsoGPU == nil {
			home.alsoGPU = map[string]bool{}
		}
		home.alsoGPU[h.at.gpu] = true
		for i := range h.owned {
			home.owned[i] = true
		}
		for i, why := range h.why {
			if !home.owned[i] {
				home.why[i] = why
			}
		}
	}
	return out
}

func (w *world) sameKey(a, b *hypothesis) bool {
	k := a.rule.Key
	return k == "" || fieldOf(w.anchor(a), k) == fieldOf(w.anchor(b), k)
}

// together: within ten seconds, or in one input without times.
func (w *world) together(a, b *hypothesis) bool {
	x, y := w.anchor(a), w.anchor(b)
	if d, ok := x.First.Sub(y.First); ok {
		return d.Abs() <= 10*time.Second
	}
	return x.Order.Input == y.Order.Input
}

// sameMoment: too close to say which came first.
func (w *world) sameMoment(a, b *hypothesis) bool {
	x, y := w.anchor(a), w.anchor(b)
	if d, ok := x.First.Sub(y.First); ok {
		return d.Abs() <= 10*time.Millisecond
	}
	return false
}
