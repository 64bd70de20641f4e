package explain

import (
	"slices"
	"sort"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
)

// fault is the page of a fault.
func (b *book) fault(f *catalog.Fault) Page {
	p := Page{
		Kind: KindFault, Key: f.ID, Title: b.in(f.Title), Name: f.ID, Meaning: b.in(f.Summary),
		Class: []string{f.Layer, f.Class, f.Component}, Action: f.Action, Sources: f.Sources,
	}
	p.Class = slices.Compact(p.Class)
	p.fact(b.say("severity"), b.say("sev_"+f.Severity))
	for _, c := range f.Causes {
		p.Causes = append(p.Causes, Cause{Cause: b.in(c.Cause), Confirm: b.in(c.Confirm)})
	}
	for _, r := range f.Remedies {
		p.Steps = append(p.Steps, Step{Text: b.in(r.Step), Command: r.Command, Risk: r.Risk})
	}
	for _, v := range f.Verify {
		p.Steps = append(p.Steps, Step{When: b.say("fixedWhen"), Text: b.in(v.Check), Command: v.Command})
	}
	for _, c := range f.Triggers {
		for k := range strings.SplitSeq(c.Signal, " | ") {
			p.Signals = append(p.Signals, Ref{Key: k, Title: b.titleOf(k), How: b.say("shows")})
		}
	}
	for _, e := range f.Explains {
		if e.Fault != "" {
			p.Faults = append(p.Faults, Ref{Key: e.Fault, Title: b.titleOf(e.Fault), How: b.say("explains")})
			continue
		}
		for k := range strings.SplitSeq(e.Signal, " | ") {
			p.Signals = append(p.Signals, Ref{Key: k, Title: b.titleOf(k), How: b.say("explains")})
		}
	}
	p.Signals = uniqueRefs(p.Signals)
	for _, m := range f.Myths {
		p.Myths = append(p.Myths, Myth{Claim: b.in(m)})
	}
	if len(p.Myths) == 0 {
		b.myths(&p, f.ID)
	}
	return p
}

// uses lists the faults of the catalog in which a signal kind has a part: those that
// it triggers first, then those that explain it.
func (b *book) uses(p *Page, kind string) {
	type use struct {
		ref  Ref
		rank int
	}
	var uses []use
	for _, id := range b.c.FaultIDs() {
		f := b.c.Faults[id]
		how, rank := "", 0
		switch {
		case cluesHave(f.Triggers, kind):
			how, rank = b.say("triggers"), 0
		case explainsHas(f.Explains, kind):
			how, rank = b.say("explainsIt"), 1
		case cluesHave(f.Supports, kind):
			how, rank = b.say("supports"), 2
		default:
			continue
		}
		uses = append(uses, use{Ref{Key: id, Title: b.in(f.Title), How: how}, rank})
	}
	sort.SliceStable(uses, func(i, j int) bool { return uses[i].rank < uses[j].rank })
	for _, u := range uses {
		p.Faults = append(p.Faults, u.ref)
	}
}

func cluesHave(clues []catalog.Clue, kind string) bool {
	return slices.ContainsFunc(clues, func(c catalog.Clue) bool { return kindIn(c.Signal, kind) })
}

func explainsHas(list []catalog.Explains, kind string) bool {
	return slices.ContainsFunc(list, func(e catalog.Explains) bool { return kindIn(e.Signal, kind) })
}

// kindIn reports whether one of the patterns names the kind. "*" and "xid.*" are left
// out: they say nothing about this kind.
func kindIn(patterns, kind string) bool {
	for p := range strings.SplitSeq(patterns, "|") {
		if p = strings.TrimSpace(p); p == kind || p != "*" && p != "xid.*" && p != "sxid.*" && gpumedic.KindMatches(p, kind) {
			return true
		}
	}
	return false
}

// signal is the page of a signal kind: what the matcher says, and who uses it.
func (b *book) signal(kind string) (Page, bool) {
	if !strings.Contains(kind, ".") || strings.Contains(kind, " ") {
		return Page{}, false
	}
	fam, rest, _ := strings.Cut(kind, ".")
	switch fam {
	case "xid", "sxid", "cuda", "nvml", "nccl":
		if p, ok := b.direct(fam + " " + rest); ok {
			return p, true
		}
	}
	p := Page{Kind: KindSignal, Key: kind, Title: kind}
	found := false
	for i := range b.c.Matchers {
		m := &b.c.Matchers[i]
		if !strings.EqualFold(m.Kind, kind) {
			continue
		}
		found = true
		p.Meaning = b.in(m.Meaning)
		p.Low = m.Confidence == "low"
		p.Level = m.Level
		p.Sources = addMissing(p.Sources, m.Sources...)
		for _, e := range m.Examples {
			p.Facts = append(p.Facts, Fact{b.say("example"), e.Line})
			break
		}
	}
	for i := range b.c.Readings {
		r := &b.c.Readings[i]
		if strings.EqualFold(r.Kind, kind) {
			found = true
			p.Meaning = b.in(r.Meaning)
			p.Level = r.Level
			p.Sources = addMissing(p.Sources, r.Sources...)
		}
	}
	b.uses(&p, kind)
	return p, found || len(p.Faults) > 0
}

func uniqueRefs(refs []Ref) []Ref {
	var out []Ref
	for _, r := range refs {
		if !slices.ContainsFunc(out, func(o Ref) bool { return o.Key == r.Key }) {
			out = append(out, r)
		}
	}
	return out
}
