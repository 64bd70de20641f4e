package incident

import (
	"reflect"
	"slices"
	"time"
)

// news reports whether a sight holds an occurrence that was not known.
func (i *Incident) news(v *sight, o *Observation) bool {
	return isNews(i.Mark, i.Last, i.Present, v, o) && !i.stale(v)
}

func (t *Tomb) news(v *sight, o *Observation) bool {
	return isNews(t.Mark, t.Last, t.Present, v, o)
}

func isNews(m Mark, last time.Time, present bool, v *sight, o *Observation) bool {
	known := !v.last.IsZero() && !last.IsZero()
	if m.Run == o.Run {
		return v.count > m.Count || known && v.last.After(last) || !known && !present
	}
	return o.Continues || !known || v.last.After(last)
}

// stale: the line is late, it tells of the time before the repair.
func (i *Incident) stale(v *sight) bool {
	return !i.Acted.IsZero() && !v.last.IsZero() && v.last.Before(i.Acted)
}

// gap is the quiet between the last known occurrence and the latest of a sight.
func (i *Incident) gap(v *sight, now time.Time) time.Duration {
	if !v.last.IsZero() && !i.Last.IsZero() {
		return v.last.Sub(i.Last)
	}
	return span(i.Active, now)
}

// count adds what a sight counts beyond what was counted of it already.
func (s *Step) count(i *Incident, v *sight, o *Observation) {
	// All of it is later than what is known: a run forgets what is old, and counts anew.
	later := !v.first.IsZero() && !i.Last.IsZero() && v.first.After(i.Last)
	switch {
	case i.Mark.Run == o.Run && i.Count > 0 && !later:
		i.Count += max(0, v.count-i.Mark.Count)
	case o.Continues || i.Count == 0 || later:
		i.Count += v.count
	default:
		i.Count = max(i.Count, v.count) // another run over the same input
	}
	i.Mark = Mark{Run: o.Run, Count: v.count}
	if i.First.IsZero() || !v.first.IsZero() && v.first.Before(i.First) {
		i.First = v.first
	}
	if v.last.After(i.Last) {
		i.Last = v.last
	}
}

// absorb takes counts, evidence, names and victims of a sight into the incident; no
// transition comes of it. It returns the working copy.
func (s *Step) absorb(old *Incident, v *sight, o *Observation) *Incident {
	i := old.clone()
	struck := old.news(v, o)
	s.count(i, v, o)
	if struck {
		i.Boot = o.Boot
	}
	if i.Subject.Node == v.f.Subject.Node && (i.Subject.GPU.IsZero() || SameGPU(i.Subject.GPU, v.f.Subject.GPU)) {
		fillGPU(&i.Subject.GPU, v.f.Subject.GPU)
	}
	i.describe(v)
	i.Lang = o.Lang
	if i.Live() {
		i.follow(v.f.Action)
	} else {
		i.Present = true
	}
	s.attribute(i, v, o, struck)
	if reflect.DeepEqual(i, old) {
		return old // as it was
	}
	s.book.Incidents[i.ID] = i
	s.Touched[i.ID] = true
	return i
}

// describe takes what a sight says now: the engine may know more than before.
func (i *Incident) describe(v *sight) {
	f := &v.f
	i.Fault, i.Case, i.Scope = f.Fault, f.Case, f.Scope
	i.Title, i.Headline, i.Layer, i.Class, i.Component = f.Title, f.Headline, f.Layer, f.Class, f.Component
	i.Role, i.Confidence = f.Role, f.Confidence
	if i.Severity == "" {
		i.Severity = f.Severity
	}
	if f.ActionWhy != "" && i.Level == 0 {
		i.ActionWhy = f.ActionWhy
	}
	i.Transient = v.reading
	for _, a := range v.also {
		if len(i.Also) < maxAlso && !i.has(identity(i.Fault, i.Case, i.Scope, i.Layer, a)) {
			i.Also = append(i.Also, a)
		}
	}
	i.sample(v.evidence)
}

// sample keeps the first lines ever seen, which are nearest to the cause, and the last
// of the present answer.
func (i *Incident) sample(now []Evidence) {
	kept := slices.Clone(i.Evidence[:i.Kept])
	var rest []Evidence
	for _, e := range now {
		if n := slices.IndexFunc(kept, e.sameLine); n >= 0 {
			kept[n] = e
		} else if len(kept) < firstEvidence {
			kept = append(kept, e)
		} else {
			rest = append(rest, e)
		}
	}
	if len(rest) == 0 { // a shorter answer takes nothing away
		for _, e := range i.Evidence[i.Kept:] {
			if !slices.ContainsFunc(kept, e.sameLine) {
				rest = append(rest, e)
			}
		}
	}
	if over := len(rest) - (maxEvidence - firstEvidence); over > 0 {
		rest = rest[over:]
	}
	i.Kept = len(kept)
	i.Evidence = append(kept, rest...)
}

func (e Evidence) sameLine(k Evidence) bool {
	return k.Input == e.Input && k.Line == e.Line && k.Signal == e.Signal
}

func (s *Step) attribute(i *Incident, v *sight, o *Observation, struck bool) {
	for _, w := range v.victims {
		i.addVictim(w)
	}
	i.attribute(o.Who, struck)
}
