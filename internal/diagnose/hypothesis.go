package diagnose

import (
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/topo"
)

// hypothesis is one fault on one subject.
type hypothesis struct {
	rule *faultRule
	key  string // fault id and subject: unique
	at   place
	// alsoGPU are further GPUs hit by the same fault in the same moment.
	alsoGPU map[string]bool
	merged  []*hypothesis

	triggers []int // signal numbers, earliest first
	strength map[int]clueHit
	supports []clueHit
	against  []clueHit
	owned    map[int]bool
	why      map[int]string // explained signal -> reason
	score    float64
	stale    bool // of an earlier life of the machine
}

type clueHit struct {
	clue    *clue
	signals []int
	odds    float64
}

func (h *hypothesis) owns(i int) bool { return h.owned[i] }

func (h *hypothesis) triggeredBy(i int) bool { _, ok := h.strength[i]; return ok }

func (h *hypothesis) explains(i int) bool { _, ok := h.why[i]; return ok }

// hypotheses makes and scores every hypothesis that some trigger suggests.
func (w *world) hypotheses() []*hypothesis {
	byKey := map[string]*hypothesis{}
	for _, f := range w.rules.faults {
		for t := range f.triggers {
			c := &f.triggers[t]
			for _, i := range w.candidates(c.kinds) {
				if fits(&w.signals[i], c.where) {
					w.suggest(byKey, f, c, i)
				}
			}
		}
	}
	all := make([]*hypothesis, 0, len(byKey))
	for _, k := range slices.Sorted(maps.Keys(byKey)) {
		all = append(all, byKey[k])
	}
	all = w.absorbUnplaced(all)
	out := all[:0]
	for _, h := range all {
		if w.prepare(h) {
			out = append(out, h)
		}
	}
	byFault := map[string][]*hypothesis{}
	for _, h := range out {
		byFault[h.rule.ID] = append(byFault[h.rule.ID], h)
	}
	for _, h := range out {
		w.explainFaults(h, byFault)
	}
	return out
}

// candidates are the signals whose kind can match one of the patterns, in order.
func (w *world) candidates(kinds []string) []int {
	var out []int
	for kind, list := range w.byKind {
		if matchesAny(kinds, kind) {
			out = append(out, list...)
		}
	}
	sort.Ints(out)
	return out
}

// candidatesFor leaves out those on other nodes, which no relation but the widest ties to
// a hypothesis.
func (w *world) candidatesFor(h *hypothesis, kinds []string, relation string) []int {
	if relation == "" {
		relation = defaultRelation(h.rule.Scope)
	}
	if h.at.node == "" || relation == "any" || relation == "same_rank" {
		return w.candidates(kinds)
	}
	var out []int
	byNode := w.byNode
	if relation == "same_gpu" && h.at.gpu != "" { // of this GPU, or of none
		byNode = w.noGPU
		out = w.ofGPU(out, h.at.gpu, kinds)
		for gpu := range h.alsoGPU {
			out = w.ofGPU(out, gpu, kinds)
		}
	}
	for kind, on := range byNode {
		if matchesAny(kinds, kind) {
			out = append(append(out, on[h.at.node]...), on[""]...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (w *world) ofGPU(out []int, gpu string, kinds []string) []int {
	for kind, list := range w.byGPU[gpu] {
		if matchesAny(kinds, kind) {
			out = append(out, list...)
		}
	}
	return out
}

func (w *world) suggest(byKey map[string]*hypothesis, f *faultRule, c *clue, i int) {
	at := w.scopePlace(f.Scope, i)
	key := f.ID + "@" + scopeKey(f.Scope, at)
	if f.Key != "" {
		key += "#" + fieldOf(&w.signals[i], f.Key)
	}
	h := byKey[key]
	if h == nil {
		h = &hypothesis{rule: f, key: key, at: at, strength: map[int]clueHit{}}
		byKey[key] = h
	}
	o := odds(triggerOdds, c.Strength)
	if old, ok := h.strength[i]; !ok {
		h.triggers = append(h.triggers, i)
	} else if old.odds >= o {
		return
	}
	h.strength[i] = clueHit{c, []int{i}, o}
}

// scopePlace is the subject of a hypothesis that a signal suggests. A port's error
// is about the GPU below it when the input tells which.
func (w *world) scopePlace(scope string, i int) place {
	a := w.where[i]
	if scope == "gpu" && a.gpu == "" && a.port != "" {
		if g := w.gpuBelow(a.node, a.port, i); g != "" {
			a.gpu, a.pci = w.topo.ID(a.node, gpumedic.GPU{PCI: g}), g
		}
	}
	return a
}

// gpuBelow finds the GPU below a port: stated by the input, or the only GPU that has
// trouble at that moment.
func (w *world) gpuBelow(node, port string, i int) string {
	if below := w.topo.GPUsBelow(node, port); len(below) == 1 {
		return below[0]
	} else if len(below) > 1 {
		return w.onlyTroubled(node, below, i)
	}
	return w.onlyTroubled(node, nil, i)
}

func (w *world) onlyTroubled(node string, among []string, i int) string {
	found := ""
	for _, j := range w.trouble {
		p := w.where[j].pci
		if p == found || !sameNode(w.where[j].node, node) ||
			!topo.Near(&w.signals[j], &w.signals[i], closeBy) {
			continue
		}
		if among != nil {
			if !slices.Contains(among, p) {
				continue
			}
		} else if w.where[i].port != "" && w.topo.Above(node, w.where[i].port, p) == topo.No {
			continue
		}
		if found != "" {
			return ""
		}
		found = p
	}
	return found
}

func scopeKey(scope string, p place) string {
	switch scope {
	case "gpu":
		if p.gpu != "" {
			return p.gpu
		}
		if p.port != "" {
			return p.node + "|port:" + p.port
		}
		return p.node + "|?"
	case "process":
		if p.pid != 0 {
			return p.node + "|pid:" + strconv.Itoa(p.pid)
		}
		if p.gpu != "" {
			return p.gpu
		}
		return p.node + "|?"
	case "port":
		return p.node + "|" + p.port
	case "rank":
		if p.rank != nil {
			return strconv.Itoa(*p.rank)
		}
		return p.node + "|pid:" + strconv.Itoa(p.pid)
	case "job":
		return ""
	}
	return p.node // node, nic, nvswitch: one per node
}

// absorbUnplaced folds a hypothesis whose GPU (or process) is unknown into the one of
// the same fault whose subject is known and that is nearest in time: a job's
// "uncorrectable ECC error" belongs to the GPU that the kernel names.
func (w *world) absorbUnplaced(all []*hypothesis) []*hypothesis {
	var out []*hypothesis
	for _, h := range all {
		if !h.unplaced() {
			out = append(out, h)
			continue
		}
		var stay []int
		for _, i := range h.triggers {
			home := w.nearest(all, h, i)
			if home == nil {
				stay = append(stay, i)
				continue
			}
			if _, ok := home.strength[i]; !ok {
				home.triggers = append(home.triggers, i)
				home.strength[i] = h.strength[i]
			}
			delete(h.strength, i)
		}
		if h.triggers = stay; len(stay) > 0 {
			out = append(out, h)
		}
	}
	return out
}

// nearest finds the placed hypothesis of the same fault that a trigger belongs to.
func (w *world) nearest(all []*hypothesis, h *hypothesis, i int) *hypothesis {
	var best *hypothesis
	var bestGap int
	for _, o := range all {
		if o == h || o.rule != h.rule || o.unplaced() || !sameNode(o.at.node, h.at.node) {
			continue
		}
		if a := w.where[i].gpu; a != "" && o.at.gpu != "" && a != o.at.gpu {
			continue
		}
		gap := w.gap(o, i)
		if best == nil || gap < bestGap {
			best, bestGap = o, gap
		}
	}
	return best
}

// gap is how far a signal is from a hypothesis, in abnormal signals between.
func (w *world) gap(h *hypothesis, i int) int {
	least := len(w.signals)
	for _, j := range h.triggers {
		d := w.step[i] - w.step[j]
		if d < 0 {
			d = -d
		}
		least = min(least, d)
	}
	return least
}

func (h *hypothesis) unplaced() bool {
	switch h.rule.Scope {
	case "gpu":
		return h.at.gpu == "" && h.at.port == ""
	case "process":
		return h.at.pid == 0
	}
	return false
}

// prepare orders the triggers, checks what must be there and weighs the evidence. It
// reports whether the hypothesis stands at all.
func (w *world) prepare(h *hypothesis) bool {
	sort.Slice(h.triggers, func(a, b int) bool { return w.before(h.triggers[a], h.triggers[b]) })
	h.completePlace(w)
	if !w.enoughTriggers(h) {
		return false
	}
	w.adoptGPU(h)
	h.owned, h.why = map[int]bool{}, map[int]string{}
	for n := range h.rule.needs {
		hit := w.hits(h, &h.rule.needs[n])
		if len(hit) == 0 {
			return false
		}
		for _, i := range hit {
			h.owned[i] = true
		}
	}
	for _, i := range h.triggers {
		h.owned[i] = true
	}
	h.supports = w.weigh(h, h.rule.supports, supportOdds)
	h.against = w.weigh(h, h.rule.against, againstOdds)
	for _, c := range h.supports {
		for _, i := range c.signals {
			h.owned[i] = true
		}
	}
	w.setScore(h)
	w.explainSignals(h)
	return true
}

// completePlace takes what the first trigger leaves open from the later ones.
func (h *hypothesis) completePlace(w *world) {
	for _, i := range h.triggers {
		p := w.where[i]
		if h.at.node == "" {
			h.at.node = p.node
		}
		if h.at.pid == 0 && p.pid != 0 {
			h.at.pid, h.at.proc = p.pid, p.proc
		}
		if h.at.port == "" {
			h.at.port = p.port
		}
		if h.at.gpu == "" {
			h.at.gpu, h.at.pci = p.gpu, p.pci
		}
		if h.at.rank == nil {
			h.at.rank = p.rank
		}
		if h.at.nvsw == "" {
			h.at.nvsw = p.nvsw
		}
	}
}

// adoptGPU gives a hypothesis whose triggers name no GPU the one GPU that its
// supports and consequences name, when there is just one: "GSP heartbeat lost" says
// GPU0 in the driver's own numbering, the Xids after it give the address.
func (w *world) adoptGPU(h *hypothesis) {
	if h.rule.Scope != "gpu" || h.at.gpu != "" || h.at.port != "" {
		return
	}
	found := -1
	try := func(list []int) bool {
		for _, i := range list {
			if g := w.where[i].gpu; g != "" {
				if found >= 0 && w.where[found].gpu != g {
					return false
				}
				found = i
			}
		}
		return true
	}
	for n := range h.rule.supports {
		if !try(w.hits(h, &h.rule.supports[n])) {
			return
		}
	}
	for n := range h.rule.explains {
		e := &h.rule.explains[n]
		if e.Signal != "" && !try(w.consequencesOf(h, e)) {
			return
		}
	}
	if found >= 0 {
		h.at.gpu, h.at.pci = w.where[found].gpu, w.where[found].pci
	}
}

// enoughTriggers drops triggers whose min_count is not reached.
func (w *world) enoughTriggers(h *hypothesis) bool {
	total := map[*clue]int{}
	for _, i := range h.triggers {
		total[h.strength[i].clue] += w.signals[i].Count
	}
	kept := h.triggers[:0]
	for _, i := range h.triggers {
		if c := h.strength[i].clue; total[c] >= c.MinCount {
			kept = append(kept, i)
		} else {
			delete(h.strength, i)
		}
	}
	h.triggers = kept
	return len(kept) > 0
}

// hits are the signals that satisfy a clue for a hypothesis, nil when min_count is
// not reached.
func (w *world) hits(h *hypothesis, c *clue) []int {
	var out []int
	n := 0
	for _, i := range w.candidatesFor(h, c.kinds, c.Relation) {
		if !fits(&w.signals[i], c.where) || !w.related(h, i, c.Relation) ||
			!w.within(h, i, c.Before, c.After, defaultBefore, defaultAfter) {
			continue
		}
		out = append(out, i)
		n += w.signals[i].Count
	}
	if n < c.MinCount {
		return nil
	}
	return out
}

func (w *world) weigh(h *hypothesis, list []clue, table map[string]float64) []clueHit {
	var out []clueHit
	for n := range list {
		c := &list[n]
		if hit := w.hits(h, c); len(hit) > 0 {
			out = append(out, clueHit{c, hit, odds(table, c.Strength)})
		}
	}
	return out
}

// setScore sums the evidence. Further kinds of triggers add a little: they are rarely
// independent of the first.
func (w *world) setScore(h *hypothesis) {
	best := math.Inf(-1)
	kinds := map[string]bool{}
	for _, i := range h.triggers {
		best = math.Max(best, h.strength[i].odds)
		kinds[w.signals[i].Kind] = true
	}
	h.score = best + 0.3*math.Min(float64(len(kinds)-1), 3)
	for _, c := range h.supports {
		h.score += c.odds
	}
	for _, c := range h.against {
		h.score += c.odds
	}
	if h.rule.Prior > 0 {
		h.score += 0.25 * math.Log(h.rule.Prior)
	}
}
