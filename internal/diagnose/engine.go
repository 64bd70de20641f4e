package diagnose

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/node"
	"github.com/gpumedic/gpumedic/internal/ranks"
	"github.com/gpumedic/gpumedic/internal/topo"
)

// Engine collects signals and concludes from them. It is not safe for concurrent use.
type Engine struct {
	rules *rules
	byKey map[string]*gpumedic.Signal
}

// New makes an engine for a catalog.
func New(cat *catalog.Catalog) *Engine {
	return &Engine{rules: compileRules(cat), byKey: map[string]*gpumedic.Signal{}}
}

// Empty is an engine for the same catalog without signals. It shares what was compiled.
func (e *Engine) Empty() *Engine {
	return &Engine{rules: e.rules, byKey: map[string]*gpumedic.Signal{}}
}

// Signature tells equal signals: kind, subject and fields.
func Signature(s *gpumedic.Signal) string { return signature(s) }

// Merge folds an equal signal into a.
func Merge(a, b *gpumedic.Signal) { merge(a, b) }

// Add takes one signal (or one collapsed run of equal signals). Equal signals merge.
func (e *Engine) Add(s gpumedic.Signal) {
	if s.Count < 1 {
		s.Count = 1
	}
	k := signature(&s)
	old, ok := e.byKey[k]
	if !ok {
		e.byKey[k] = &s
		return
	}
	merge(old, &s)
}

// merge folds b into a. Evidence is the occurrence that stands first in the inputs;
// the times are the earliest and the latest stated. Both are independent of the order
// of merging.
func merge(a, b *gpumedic.Signal) {
	first, last, n := outer(a.First, b.First, false), outer(a.Last, b.Last, true), a.Count+b.Count
	if b.Order.Before(a.Order) {
		*a = *b
	}
	a.First, a.Last, a.Count = first, last, n
}

// outer picks the earlier of two stamps, or the later. A full date outranks a date
// without year, that outranks time since boot, that outranks nothing.
func outer(a, b gpumedic.Stamp, later bool) gpumedic.Stamp {
	if ca, cb := class(a), class(b); ca != cb {
		if ca > cb {
			return a
		}
		return b
	}
	d, _ := a.Sub(b)
	if d == 0 { // equal times, perhaps stated differently: the more precise
		if b.HasMono && !a.HasMono || b.HasMono == a.HasMono && b.Precision < a.Precision {
			return b
		}
		return a
	}
	if (d > 0) == later {
		return a
	}
	return b
}

func class(s gpumedic.Stamp) int {
	switch {
	case s.Dated():
		return 3
	case s.Known():
		return 2
	case s.HasMono:
		return 1
	}
	return 0
}

// signature tells equal signals: kind, subject and fields.
func signature(s *gpumedic.Signal) string {
	var b strings.Builder
	b.WriteString(s.Kind)
	for _, p := range []string{s.Subject.Node, s.Subject.GPU.String(), s.Subject.GPU.MIG, s.Subject.Port,
		s.Subject.NVSwitch, s.Subject.Link, s.Subject.Process.Name, s.Subject.Container, s.Subject.Unit} {
		b.WriteByte(0)
		b.WriteString(p)
	}
	b.WriteByte(0)
	b.WriteString(strconv.Itoa(s.Subject.Process.PID))
	if s.Subject.Rank != nil {
		b.WriteString("r" + strconv.Itoa(*s.Subject.Rank))
	}
	for _, k := range slices.Sorted(maps.Keys(s.Fields)) {
		b.WriteByte(0)
		b.WriteString(k)
		b.WriteByte('=')
		b.WriteString(s.Fields[k])
	}
	return b.String()
}

// Conclusion is what the engine makes of its signals.
type Conclusion struct {
	Verdict     string
	Findings    []gpumedic.Finding
	Unexplained []gpumedic.Unexplained
	Notes       []string
}

// world is one evaluation: the signals in canonical order and what is known about
// their subjects.
type world struct {
	rules   *rules
	signals []gpumedic.Signal
	where   []place // by signal
	topo    *topo.Map
	rank    []int // by signal: its place in the order of events
	step    []int // the same counted in abnormal signals only: how near two are
	byKind  map[string][]int
	byNode  map[string]map[string][]int // the same by kind and node: a fleet's log has thousands
	byGPU   map[string]map[string][]int // by GPU and kind, those that name one
	noGPU   map[string]map[string][]int // by kind and node, those that name none
	ranked  []int                       // signals of a known rank
	trouble []int                       // abnormal signals of a GPU with an address
	verdict []said                      // signals in which the driver itself names a cause or a recovery
	lang    string
	ahead   map[string]time.Duration // clocks that differ, by host
	notes   []string
}

// said is what the driver states in a signal.
type said struct {
	i                  int
	causedBy, recovery string
}

// Conclude evaluates all signals added so far. It may be called again after more.
// Texts are in lang ("en" or "zh").
func (e *Engine) Conclude(lang string) Conclusion {
	w := e.world(lang)
	hyps := w.hypotheses()
	roots, beaten := w.choose(hyps)
	c := Conclusion{Findings: w.findings(roots, beaten)}
	c.Unexplained = w.unexplained(roots)
	c.Verdict = verdict(c)
	c.Notes = w.notes
	return c
}

func verdict(c Conclusion) string {
	for _, f := range c.Findings {
		if f.Role == gpumedic.RoleRoot {
			return gpumedic.VerdictFault
		}
	}
	if len(c.Unexplained) > 0 {
		return gpumedic.VerdictUnknown
	}
	return gpumedic.VerdictNoFault
}

func (e *Engine) world(lang string) *world {
	w := &world{rules: e.rules, lang: lang, byKind: map[string][]int{}, byNode: map[string]map[string][]int{},
		byGPU: map[string]map[string][]int{}, noGPU: map[string]map[string][]int{}}
	keys := slices.SortedFunc(maps.Keys(e.byKey), func(a, b string) int {
		return cmp.Or(e.byKey[a].Order.Compare(e.byKey[b].Order), cmp.Compare(a, b))
	})
	for _, k := range keys {
		w.signals = append(w.signals, *e.byKey[k])
	}
	w.alignClocks()
	ranks.Name(w.signals)
	w.signals = append(w.signals, ranks.Compare(w.signals)...)
	w.signals = append(w.signals, node.Compare(w.signals)...)
	w.rank, w.step = order(w.signals)
	w.topo = topo.Learn(w.signals)
	w.where = make([]place, len(w.signals))
	for i := range w.signals {
		w.where[i] = w.locate(&w.signals[i])
		w.index(i)
	}
	return w
}

// index notes where a signal is to be looked for.
func (w *world) index(i int) {
	s, at := &w.signals[i], &w.where[i]
	add := func(m map[string]map[string][]int, first, second string) {
		if m[first] == nil {
			m[first] = map[string][]int{}
		}
		m[first][second] = append(m[first][second], i)
	}
	w.byKind[s.Kind] = append(w.byKind[s.Kind], i)
	add(w.byNode, s.Kind, at.node)
	if at.gpu != "" {
		add(w.byGPU, at.gpu, s.Kind)
	} else {
		add(w.noGPU, s.Kind, at.node)
	}
	if s.Subject.Rank != nil {
		w.ranked = append(w.ranked, i)
	}
	if at.pci != "" && s.Level == gpumedic.LevelAbnormal {
		w.trouble = append(w.trouble, i)
	}
	if v := (said{i, s.Field("caused_by"), s.Field("recovery")}); v.causedBy != "" || v.recovery != "" {
		w.verdict = append(w.verdict, v)
	}
}

// unexplained lists abnormal signals that no root owns or explains.
func (w *world) unexplained(roots []*hypothesis) []gpumedic.Unexplained {
	out := []gpumedic.Unexplained{}
	var firm []*hypothesis // what is only incidental explains nothing away
	for _, h := range roots {
		if !w.incidental(h) {
			firm = append(firm, h)
		}
	}
	told := coverOf(firm)
	for i := range w.signals {
		s := &w.signals[i]
		if s.Level != gpumedic.LevelAbnormal || len(told[i]) > 0 {
			continue
		}
		out = append(out, gpumedic.Unexplained{Signal: s.Kind, Input: s.Evidence.Input, Line: s.Evidence.Line, Section: s.Evidence.Section,
			Text: s.Evidence.Text, Count: s.Count})
	}
	return out
}

// coverage lists, by signal, the hypotheses that own or explain it, in their order.
type coverage map[int][]*hypothesis

func coverOf(all []*hypothesis) coverage {
	c := coverage{}
	for _, h := range all {
		c.add(h)
	}
	return c
}

func (c coverage) add(h *hypothesis) {
	for i := range h.owned {
		c[i] = append(c[i], h)
	}
	for i := range h.why {
		if !h.owns(i) {
			c[i] = append(c[i], h)
		}
	}
}
