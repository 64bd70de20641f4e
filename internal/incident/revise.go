package incident

import (
	"slices"
	"time"

	"github.com/gpumedic/gpumedic"
)

// restarted notes a new boot of the node with every live incident: what reads well after
// it may be the restart's merit.
func (s *Step) restarted(boot string) {
	if boot == "" || boot == s.book.Boot {
		return
	}
	if s.book.Boot != "" {
		for _, id := range s.ids() {
			if s.book.Incidents[id].Live() {
				s.confound(id, say("the node was restarted", "节点重启过"))
			}
		}
	}
	s.book.Boot = boot
}

func (s *Step) confound(id int64, what text) {
	i := s.edit(id)
	i.Confounders = append(i.Confounders, Confounder{At: s.now, What: what.en, WhatZH: what.zh})
	if over := len(i.Confounders) - maxConfounders; over > 0 {
		i.Confounders = slices.Delete(i.Confounders, 0, over)
	}
	s.event(i, KindConfounder, "", Self, what, nil)
}

// revisable finds the live incident whose evidence a sight has taken over: the engine
// has concluded anew from more signals.
func (s *Step) revisable(v *sight, seen map[int64]bool) *Incident {
	for _, id := range s.ids() {
		if i := s.book.Incidents[id]; i.Live() && !seen[id] && v.explains(i) {
			return i
		}
	}
	return nil
}

// explains reports whether a sight accounts for an incident of another fault: it holds
// its evidence, or names its fault among those that lost, on the same GPU or where one
// of both is not about a GPU.
func (v *sight) explains(i *Incident) bool {
	if v.f.Subject.Node != i.Subject.Node || v.f.Fault == i.Fault && v.f.Case == i.Case {
		return false
	}
	for _, e := range i.Evidence {
		if v.covers[place(e.Input, e.Line, e.Signal)] {
			return true
		}
	}
	a, b := v.f.Subject.GPU, i.Subject.GPU
	return v.beat[i.Fault] && (a.IsZero() || b.IsZero() || SameGPU(a, b))
}

// revise gives an incident the fault that the engine now concludes.
func (s *Step) revise(id int64, v *sight, o *Observation) {
	i := s.edit(id)
	from := i.Fault
	to := State("")
	if i.State == Verifying { // what was verified was another fault
		to = Open
	}
	i.Verified = time.Time{}
	i.Severity, i.Also = v.f.Severity, nil
	i.BaseAction, i.Action, i.ActionWhy = v.f.Action, v.f.Action, v.f.ActionWhy
	i.Subject = v.f.Subject
	i.describe(v)
	i.Lang = o.Lang
	i.setAction(v.f.Action)
	i.Count = max(i.Count, v.count)
	i.Mark = Mark{Run: o.Run, Count: v.count}
	if !v.last.IsZero() && v.last.After(i.Last) {
		i.Last = v.last
	}
	i.Active, i.Present = s.now, true
	if i.PresentSince.IsZero() {
		i.PresentSince = s.now
	}
	s.attribute(i, v, o, true)
	if !i.Visible && s.Policy.delay(i) == 0 {
		i.Visible, i.Shown = true, s.now
	}
	s.event(i, KindRevised, to, Self, plain(from+" → "+v.f.Fault), fromTo(from, v.f.Fault))
}

// merge closes an incident that turned out to be part of another.
func (s *Step) merge(id, into int64, why text) {
	i := s.edit(id)
	i.MergedInto = into
	i.Closed = s.now
	s.event(i, KindClosed, Closed, Self, say("part of incident %d: %s", "并入事件 %d：%s", into, why), nil)
}

// before finds what is known of an earlier, closed incident of an identity.
func (s *Step) before(id Identity) *Tomb {
	for _, n := range slices.Backward(s.ids()) {
		if i := s.book.Incidents[n]; !i.Live() && i.has(id) {
			return i.Tomb()
		}
	}
	for n := len(s.book.Tombs) - 1; n >= 0; n-- {
		if t := &s.book.Tombs[n]; t.Identity.Same(id) {
			return t
		}
	}
	return nil
}

// Tomb is what stays of the incident when its window is over.
func (i *Incident) Tomb() *Tomb {
	return &Tomb{ID: i.ID, Identity: i.Identity(), Last: i.Last, Mark: i.Mark, Present: i.Present}
}

// absent handles what the answer no longer holds: an incident that another finding
// explains becomes part of that; a condition that only readings tell is gone.
func (s *Step) absent(seen map[int64]bool, all []*sight) {
	for _, id := range s.ids() {
		i := s.book.Incidents[id]
		if seen[id] || i.MergedInto != 0 {
			continue
		}
		if i.Live() {
			n := slices.IndexFunc(all, func(v *sight) bool { return v.owner != 0 && v.explains(i) })
			if n >= 0 && s.book.Incidents[all[n].owner].Live() {
				s.merge(id, all[n].owner, say("%s explains it", "可由 %s 解释", all[n].f.Fault))
				continue
			}
		}
		if i.Transient && i.Present {
			i = s.edit(id)
			i.Present, i.AbsentSince = false, s.now
			if i.Live() && i.Visible && !i.Flapping {
				s.event(i, KindCleared, "", Self, say("the condition is gone; the cause may not be", "现象已消失，原因未必消除"), nil)
			}
		}
	}
}

// returned: a condition is back. One that keeps coming and going is told as that, once.
func (s *Step) returned(i *Incident) {
	i.Present, i.PresentSince, i.AbsentSince = true, s.now, time.Time{}
	if span(i.FlapsSince, s.now) > s.Policy.FlapWindow {
		i.Flaps, i.FlapsSince = 0, s.now
	}
	i.Flaps++
	switch {
	case i.Flapping:
	case s.Policy.MaxFlaps > 0 && i.Flaps >= s.Policy.MaxFlaps:
		i.Flapping = true
		if !i.Visible {
			i.Visible, i.Shown = true, s.now
		}
		s.event(i, KindFlapping, "", Self, say("it came and went %d times in %s", "%[2]s内反复出现 %[1]d 次", i.Flaps, lasting(span(i.FlapsSince, s.now))), nil)
	case i.Visible:
		s.event(i, KindReturned, "", Self, text{}, nil)
	}
}

// Tick lets time pass: what lasted becomes visible, what passed is closed, silences end.
func (s *Step) Tick() {
	s.endSilences()
	for _, id := range s.ids() {
		i := s.book.Incidents[id]
		if !i.Live() {
			if span(i.Closed, s.now) > s.Policy.ReopenWindow && !s.Touched[id] {
				s.book.Tombs = append(slices.Clip(s.book.Tombs), *i.Tomb())
				delete(s.book.Incidents, id)
			}
			continue
		}
		if i.Flapping && span(later(i.PresentSince, i.AbsentSince), s.now) > s.Policy.FlapWindow {
			i = s.edit(id)
			i.Flapping, i.Flaps, i.FlapsSince = false, 0, time.Time{}
		}
		s.tickVisible(i)
		s.tickQuiet(i)
	}
}

func (s *Step) tickVisible(i *Incident) {
	switch {
	case i.Visible:
	case i.Present && span(i.PresentSince, s.now) >= s.Policy.delay(i):
		i = s.edit(i.ID)
		i.Visible, i.Shown = true, s.now
		s.event(i, KindVisible, "", Self, say("it lasted %s", "已持续 %s", lasting(span(i.PresentSince, s.now))), nil)
	case !i.Present && span(i.AbsentSince, s.now) >= s.Policy.FlapWindow:
		i = s.edit(i.ID)
		i.Closed = s.now
		s.event(i, KindClosed, Closed, Self, say("it was gone before it had lasted long enough to be told", "持续时间未达到通知阈值即已消失"), nil)
	}
}

// tickQuiet closes what a program did, when it has long not happened again.
func (s *Step) tickQuiet(i *Incident) {
	quiet := span(i.Active, s.now)
	if s.Policy.QuietClose <= 0 || quiet < s.Policy.QuietClose || !i.Live() || !i.Visible || i.State == Acting ||
		i.Layer != "software" && i.Fault != Unexplained || i.Transient && i.Present || i.Severity == gpumedic.SeverityCritical {
		return
	}
	what := say("quiet for %s since it last happened", "最近一次出现后已平静 %s", lasting(quiet))
	i = s.edit(i.ID)
	s.verify(i, Verification{Started: i.Active, Checks: []CheckResult{{Check: what.en, Result: Passed}}}, Self)
	i.Closed = s.now
	s.event(i, KindClosed, Closed, Self, what, nil)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
