package diagnose

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// findings turns roots into the report's form, best first.
func (w *world) findings(roots []*hypothesis, beaten []loss) []gpumedic.Finding {
	out := make([]gpumedic.Finding, 0, len(roots))
	for n, h := range roots {
		f := w.finding(h, beaten)
		f.Role = w.role(n, h, roots)
		out = append(out, f)
	}
	sort.SliceStable(out, func(i, j int) bool { return rank(out[i].Role) < rank(out[j].Role) })
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

func (w *world) finding(h *hypothesis, beaten []loss) gpumedic.Finding {
	r := h.rule
	vars := w.vars(h)
	f := gpumedic.Finding{
		Fault: r.ID, Title: r.Title.In(w.lang), Summary: fillIn(r.Summary.In(w.lang), vars),
		Layer: r.Layer, Class: r.Class, Component: r.Component, Severity: r.Severity,
		Subject: w.subject(h), Figures: w.figures(h), Count: w.count(h),
		Sources: append([]string{}, r.Sources...), Myths: []string{}, Alternatives: []gpumedic.Alternative{},
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
	f.At = ClockText(w.anchor(h).First)
	f.Evidence = w.evidence(h)
	f.Consequences = w.consequences(h)
	f.Action, f.ActionWhy = w.action(h, beaten)
	f.Causes = w.causes(h)
	f.Remedies = remedies(r.Fault, f.Action, w.lang, vars)
	f.Verify = checks(r.Fault, w.lang, vars)
	f.NotThis = w.notThis(h, vars)
	for _, m := range r.Myths {
		f.Myths = append(f.Myths, m.In(w.lang))
	}
	var rivals []float64
	f.Alternatives, rivals = w.alternatives(h, beaten)
	f.Confidence = confidence(h.score, rivals)
	f.Reasons = w.reasons(h)
	return f
}

// subject gathers all names that the triggers give.
func (w *world) subject(h *hypothesis) gpumedic.Subject {
	s := gpumedic.Subject{Node: h.at.node}
	for _, i := range h.triggers {
		t := w.signals[i].Subject
		if s.GPU.IsZero() && !t.GPU.IsZero() {
			s.GPU = w.topo.Full(h.at.node, t.GPU)
		}
		pick(&s.Port, t.Port)
		pick(&s.NVSwitch, t.NVSwitch)
		pick(&s.Link, t.Link)
		pick(&s.Container, t.Container)
		pick(&s.Unit, t.Unit)
		pick(&s.Location, t.Location)
		if s.Process.PID == 0 && s.Process.Name == "" {
			s.Process = t.Process
		}
		if s.Rank == nil && w.signals[i].Field("reporter") != "victim" {
			s.Rank = t.Rank
		}
	}
	if s.Rank == nil {
		s.Rank = w.namedRank(h)
	}
	if s.GPU.PCI == "" && h.at.pci != "" {
		s.GPU = w.topo.Full(h.at.node, gpumedic.GPU{PCI: h.at.pci})
	}
	if hit := w.gpusHit(h); s.GPU.PCI == "" && s.Port != "" && len(hit) > 0 {
		s.GPU = w.topo.Full(h.at.node, gpumedic.GPU{PCI: hit[0]})
	}
	// Where the input names no GPU at all, the fault of a link is found by the address
	// below the port, or by the port's own, that of a fabric by the switch's.
	if s.GPU.PCI == "" && s.Port != "" {
		if below := w.topo.DevicesBelow(h.at.node, s.Port); len(below) == 1 {
			s.GPU.PCI = below[0]
		} else {
			s.GPU.PCI = s.Port
		}
	}
	if s.GPU.PCI == "" && s.NVSwitch != "" {
		s.GPU.PCI = s.NVSwitch
	}
	return s
}

// namedRank is the rank of a program whose decisive line does not tell it: the only
// rank that the evidence names, else the one that a launcher names as the first to
// fail (field first_failed).
func (w *world) namedRank(h *hypothesis) *int {
	if r, ok := w.onlyRank(func(i int) bool { return h.owns(i) }); ok {
		return r
	}
	r, _ := w.onlyRank(func(i int) bool {
		return w.signals[i].Field("first_failed") == "yes" && (h.explains(i) || h.owns(i))
	})
	return r
}

// onlyRank is the one rank among some signals; ok is false when there is none or more.
func (w *world) onlyRank(of func(i int) bool) (found *int, ok bool) {
	for i := range w.signals {
		r := w.signals[i].Subject.Rank
		if r == nil || !of(i) || w.signals[i].Field("reporter") == "victim" {
			continue
		}
		if found != nil && *found != *r {
			return nil, false
		}
		found = r
	}
	return found, found != nil
}

// gpusHit are the addresses of the GPUs that a link's fault is seen to hit, sorted.
func (w *world) gpusHit(h *hypothesis) []string {
	if h.at.port == "" || h.at.gpu != "" {
		return nil
	}
	var out []string
	for i := range w.signals {
		if p := w.where[i].pci; p != "" && (h.owns(i) || h.explains(i)) && w.signals[i].Level == gpumedic.LevelAbnormal && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	sort.Strings(out)
	return out
}

func pick(to *string, from string) {
	if *to == "" {
		*to = from
	}
}

func (w *world) count(h *hypothesis) int {
	n := 0
	for _, i := range h.triggers {
		n += w.signals[i].Count
	}
	return n
}

// span is the first and last moment of the evidence, RFC 3339; "" where the input does
// not give a full date.
func (w *world) span(h *hypothesis) (first, last string) {
	var lo, hi gpumedic.Stamp
	for i := range h.owned {
		s := &w.signals[i]
		if d, ok := s.First.Sub(lo); !lo.Known() || ok && d < 0 {
			lo = s.First
		}
		if d, ok := s.Last.Sub(hi); !hi.Known() || ok && d > 0 {
			hi = s.Last
		}
	}
	return FormatStamp(lo), FormatStamp(hi)
}

// FormatStamp prints a stamp as RFC 3339 with the precision that the input had, "" when
// it has no full date.
func FormatStamp(s gpumedic.Stamp) string {
	if !s.Dated() {
		return ""
	}
	layout := time.RFC3339
	switch {
	case s.Precision > 0 && s.Precision < time.Millisecond:
		layout = "2006-01-02T15:04:05.000000Z07:00"
	case s.Precision > 0 && s.Precision < time.Second:
		layout = "2006-01-02T15:04:05.000Z07:00"
	}
	return s.Time.Format(layout)
}

// ClockText is a stamp as a person reads it: "Feb 11 16:38:52", or seconds since boot;
// "" when the input gave no time.
func ClockText(s gpumedic.Stamp) string {
	switch {
	case s.Known():
		return s.Time.Format("Jan _2 15:04:05")
	case s.HasMono:
		return strconv.FormatFloat(s.Mono.Seconds(), 'f', 6, 64) + " s"
	}
	return ""
}

// spanText is how long a run of equal signals lasted, "" for one occurrence.
func spanText(s *gpumedic.Signal) string {
	if s.Count < 2 {
		return ""
	}
	d, ok := s.Last.Sub(s.First)
	if !ok || d < time.Millisecond {
		return ""
	}
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes()+0.5)) + " min"
	}
	return strconv.FormatFloat(d.Hours(), 'f', 1, 64) + " h"
}

func (w *world) evidence(h *hypothesis) []gpumedic.EvidenceOut {
	out := []gpumedic.EvidenceOut{}
	notes := map[int]string{}
	for _, i := range h.triggers {
		notes[i] = h.strength[i].clue.Why.In(w.lang)
	}
	for _, m := range h.merged {
		for _, i := range m.triggers {
			notes[i] = m.strength[i].clue.Why.In(w.lang)
		}
	}
	for _, c := range h.supports {
		for _, i := range c.signals {
			if notes[i] == "" {
				notes[i] = c.clue.Why.In(w.lang)
			}
		}
	}
	list := make([]int, 0, len(h.owned))
	for i := range h.owned {
		list = append(list, i)
	}
	sort.Slice(list, func(a, b int) bool { return w.before(list[a], list[b]) })
	for _, i := range list {
		s := &w.signals[i]
		note := notes[i]
		if note == "" {
			note = s.Field("meaning_" + w.lang)
		}
		out = append(out, gpumedic.EvidenceOut{Input: s.Evidence.Input, Line: s.Evidence.Line, Signal: s.Kind,
			Text: s.Evidence.Text, Count: s.Count, First: FormatStamp(s.First), Last: FormatStamp(s.Last),
			At: ClockText(s.First), Span: spanText(s),
			Mark: s.Evidence.Mark, Msg: s.Evidence.Msg, Rank: s.Subject.Rank, Node: s.Subject.Node, Note: note, Fields: s.Fields})
	}
	return out
}

func (w *world) consequences(h *hypothesis) []gpumedic.Consequence {
	out := []gpumedic.Consequence{}
	list := make([]int, 0, len(h.why))
	for i := range h.why {
		if !h.owned[i] && w.signals[i].Level > gpumedic.LevelFact {
			list = append(list, i)
		}
	}
	sort.Slice(list, func(a, b int) bool { return w.before(list[a], list[b]) })
	for _, i := range list {
		s := &w.signals[i]
		c := gpumedic.Consequence{Signal: s.Kind, Input: s.Evidence.Input, Line: s.Evidence.Line, Text: s.Evidence.Text,
			Mark: s.Evidence.Mark, Msg: s.Evidence.Msg, Rank: s.Subject.Rank, Node: s.Subject.Node, Count: s.Count, Why: h.why[i]}
		if d, ok := s.First.Sub(w.anchor(h).First); ok {
			sec := math.Round(d.Seconds()*1000) / 1000
			c.After = &sec
		}
		out = append(out, c)
	}
	return out
}

// causes lists the catalog's causes; those whose sign was seen come first, likely.
func (w *world) causes(h *hypothesis) []gpumedic.Cause {
	seen, rest := []gpumedic.Cause{}, []gpumedic.Cause{}
	for n, c := range h.rule.Causes {
		out := gpumedic.Cause{Cause: c.Cause.In(w.lang), Likelihood: c.Likelihood, Confirm: c.Confirm.In(w.lang)}
		if len(h.rule.causes[n]) > 0 && w.allSeen(h, h.rule.causes[n]) {
			out.Likelihood = "high"
			seen = append(seen, out)
			continue
		}
		rest = append(rest, out)
	}
	return append(seen, rest...)
}

func (w *world) notThis(h *hypothesis, vars map[string]string) []string {
	var out []string
	for n, t := range h.rule.NotThis {
		if when := h.rule.notThis[n]; len(when) > 0 && !w.allSeen(h, when) {
			continue
		}
		said := expand(t.Claim.In(w.lang)+text(w.lang, ": ", "：")+t.Because.In(w.lang), vars)
		if openVariable.MatchString(said) {
			continue // a number that this evidence does not give
		}
		out = append(out, said)
	}
	return out
}

func remedies(f *catalog.Fault, action, lang string, vars map[string]string) []gpumedic.Remedy {
	out := []gpumedic.Remedy{}
	for _, r := range f.Remedies {
		if r.For != "" && !contains(kinds(r.For), action) {
			continue
		}
		step, command := fillIn(r.Step.In(lang), vars), fillIn(r.Command, vars)
		if openVariable.MatchString(step) {
			continue // a number that this evidence does not give
		}
		out = append(out, gpumedic.Remedy{Step: step, Command: command, Risk: r.Risk})
	}
	return out
}

// openVariable is a {field} that no evidence filled.
var openVariable = lazyre.New(`\{[a-z][a-z0-9_]*\}`)

func checks(f *catalog.Fault, lang string, vars map[string]string) []gpumedic.Check {
	out := []gpumedic.Check{}
	for _, c := range f.Verify {
		out = append(out, gpumedic.Check{Check: fillIn(c.Check.In(lang), vars), Command: fillIn(c.Command, vars)})
	}
	return out
}

// alternatives are the hypotheses that this root beat, best first, with the reason.
func (w *world) alternatives(h *hypothesis, beaten []loss) ([]gpumedic.Alternative, []float64) {
	out := []gpumedic.Alternative{}
	var rivals []float64
	seen := map[string]bool{h.rule.ID: true}
	for _, l := range beaten {
		if l.winner != h || seen[l.h.rule.ID] {
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

// vars are the variables of headline, remedies and checks.
func (w *world) vars(h *hypothesis) map[string]string {
	v := map[string]string{}
	take := func(list []int) {
		for _, i := range list {
			for k, x := range w.signals[i].Fields {
				if _, ok := v[k]; !ok {
					v[k] = x
				}
			}
		}
	}
	take(h.triggers)
	for _, c := range h.supports { // after the triggers: what they leave open
		take(c.signals)
	}
	s := w.subject(h)
	set := func(k, x string) {
		if x != "" {
			v[k] = x
		}
	}
	set("gpu", s.GPU.String())
	set("node", s.Node)
	set("port", s.Port)
	set("nvswitch", s.NVSwitch)
	set("link", s.Link)
	set("process", s.Process.Name)
	set("unit", s.Unit)
	set("container", s.Container)
	if s.Process.PID != 0 {
		v["pid"] = number(s.Process.PID)
	}
	v["count"] = number(w.count(h))
	v["gpus"] = number(len(h.merged) + 1)
	return v
}

// expand replaces {name}. A headline with one left is not used; commands go through
// [fillIn].
func expand(s string, vars map[string]string) string {
	for k, v := range vars {
		if strings.Contains(s, "{") {
			s = strings.ReplaceAll(s, "{"+k+"}", v)
		}
	}
	return s
}

// fillIn is expand for texts and commands: a variable that the input does not give
// becomes <name>, for a person to fill in. Other braces (shell, awk) stay.
func fillIn(s string, vars map[string]string) string {
	s = expand(s, vars)
	for _, k := range []string{"gpu", "node", "pid", "process", "port", "unit", "container", "link", "nvswitch"} {
		s = strings.ReplaceAll(s, "{"+k+"}", "<"+k+">")
	}
	return s
}

// figures are the numbers that the evidence states, by field names that end in a unit:
// those of the triggers first, then of what supports them.
func (w *world) figures(h *hypothesis) map[string]any {
	out := map[string]any{}
	list := append([]int{}, h.triggers...)
	for _, c := range h.supports {
		list = append(list, c.signals...)
	}
	for n := range h.rule.needs {
		list = append(list, w.hits(h, &h.rule.needs[n])...)
	}
	for _, i := range list {
		for k, v := range w.signals[i].Fields {
			if _, dup := out[k]; dup || !hasUnit(k) {
				continue
			}
			if n, err := strconv.ParseFloat(v, 64); err == nil && !math.IsInf(n, 0) && !math.IsNaN(n) {
				out[k] = n
			}
		}
	}
	return out
}

func hasUnit(k string) bool {
	for _, u := range []string{"_bytes", "_kb", "_mib", "_gib", "_s", "_ms", "_w", "_watts", "_celsius", "_mhz", "_gtps", "_gbps", "_percent", "_count", "_tokens"} {
		if strings.HasSuffix(k, u) {
			return true
		}
	}
	return false
}
