package incident

import (
	"slices"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
)

// Observe takes one answer of the engine. The same answer again changes nothing.
func (s *Step) Observe(o Observation) {
	s.restarted(o.Boot)
	all := o.sights(s.book, s.Policy.IsReading)
	for _, v := range all {
		s.join(v)
	}
	for _, v := range all {
		v.owner = s.owner(v)
	}
	all = fold(all, func(a, b *sight) bool { return a.owner != 0 && a.owner == b.owner })
	seen := map[int64]bool{}
	for _, v := range all {
		if v.owner != 0 {
			v.owner = s.take(v, &o)
			seen[v.owner] = true
		}
	}
	for _, v := range all {
		if v.owner != 0 {
			continue
		}
		if i := s.revisable(v, seen); i != nil {
			v.owner = i.ID
			s.revise(i.ID, v, &o)
		} else if before := s.before(v.id); before == nil || before.news(v, &o) {
			v.owner = s.open(v, &o, before)
		}
		seen[v.owner] = true
	}
	s.book.Run = o.Run
	if !o.Partial {
		s.absent(seen, all)
	}
	s.Tick()
}

// join makes one of live incidents that a sight shows to be one, since it knows more
// names of the GPU: the oldest stays.
func (s *Step) join(v *sight) {
	var first *Incident
	for _, id := range s.ids() {
		switch i := s.book.Incidents[id]; {
		case !i.Live() || !i.Identity().Same(v.id):
		case first == nil:
			first = i
		default:
			s.merge(id, first.ID, say("the same fault under another name of the GPU", "同一故障，GPU 的另一名称"))
			fillGPU(&s.edit(first.ID).Subject.GPU, i.Subject.GPU)
			first = s.book.Incidents[first.ID]
		}
	}
}

// owner is the incident that a sight belongs to: a live one, else the one closed last; 0
// when there is none.
func (s *Step) owner(v *sight) int64 {
	var closed int64
	for _, id := range s.ids() {
		switch i := s.book.Incidents[id]; {
		case !i.has(v.id) || i.MergedInto != 0:
		case i.Live():
			return id
		default:
			closed = id
		}
	}
	return closed
}

// take brings a sight into its incident and returns the incident that has it then.
func (s *Step) take(v *sight, o *Observation) int64 {
	i := s.book.Incidents[v.owner]
	if i.Live() {
		s.update(i, v, o)
		return i.ID
	}
	news := i.news(v, o)
	switch {
	case news && span(i.Closed, s.now) > s.Policy.ReopenWindow:
		return s.open(v, o, i.Tomb())
	case news && !(i.Forced && i.Present && v.reading):
		s.reopen(i, v, o)
	default:
		// Old news, or a condition that a person closed by force while it lasted: that
		// one stays closed until it is gone and comes back.
		s.absorb(i, v, o)
	}
	return i.ID
}

// open begins an incident.
func (s *Step) open(v *sight, o *Observation, before *Tomb) int64 {
	id := s.book.NextID
	s.book.NextID++
	i := &Incident{ID: id, State: Open, Opened: s.now, Present: true, PresentSince: s.now, Active: s.now, Boot: o.Boot, Occurrences: 1, Victims: []Attribution{}}
	s.book.Incidents[id] = i
	if before != nil {
		i.Previous = before.ID
	}
	i.describe(v)
	i.Lang = o.Lang
	i.BaseAction, i.Action = v.f.Action, v.f.Action
	s.count(i, v, o)
	i.Subject = v.f.Subject
	s.attribute(i, v, o, true)
	i.Visible = s.Policy.delay(i) == 0
	if i.Visible {
		i.Shown = s.now
	}
	i.SilencedBy = s.book.silence(i, s.now)
	why := text{}
	if i.Previous != 0 {
		why = say("it was incident %d before", "此前曾为事件 %d", i.Previous)
	}
	s.event(i, KindOpened, Open, Self, why, nil)
	return id
}

// update takes a sight into a live incident.
func (s *Step) update(old *Incident, v *sight, o *Observation) {
	news := old.news(v, o)
	gap := old.gap(v, s.now)
	i := s.absorb(old, v, o)
	if i.Action != old.Action {
		s.event(i, KindAction, "", Self, plain(old.Action+" → "+i.Action), fromTo(old.Action, i.Action))
	}
	if !i.Present {
		s.returned(s.edit(i.ID))
	}
	if news {
		s.recur(s.edit(i.ID), gap)
	}
	s.worsen(i.ID, v.f.Severity)
}

// worsen: the severity of an incident only rises, until it is revised.
func (s *Step) worsen(id int64, to string) {
	i := s.book.Incidents[id]
	if severityRank(to) <= severityRank(i.Severity) {
		return
	}
	i = s.edit(id)
	from := i.Severity
	i.Severity = to
	s.event(i, KindWorse, "", Self, plain(from+" → "+to), fromTo(from, to))
}

// recur handles news of a live incident: what is verified is so no longer, and a new
// occurrence after quiet escalates.
func (s *Step) recur(i *Incident, gap time.Duration) {
	i.Active = s.now
	i.Verified = time.Time{}
	again := gap > s.Policy.Quiet
	if again {
		i.Occurrences++
	}
	switch {
	case i.State == Verifying:
		s.event(i, KindRecurred, Open, Self, say("it came back while the repair was being verified", "复核期间再次出现"), nil)
		s.escalate(i, max(1, i.Level+1))
	case again && i.State != Acting:
		s.event(i, KindRecurred, "", Self, say("occurrence %d, after %s of quiet", "第 %d 次发作，此前平静了 %s", i.Occurrences, lasting(gap)), nil)
		s.escalate(i, max(1, i.Level))
	}
}

// reopen: it came back within the window. The repair did not hold.
func (s *Step) reopen(i *Incident, v *sight, o *Observation) {
	quiet := span(i.Closed, s.now)
	s.absorb(i, v, o)
	i = s.edit(i.ID)
	i.Closed, i.Verified, i.Forced = time.Time{}, time.Time{}, false
	i.Attempts = 0
	i.Reopens++
	i.Occurrences++
	i.Active, i.PresentSince, i.Present = s.now, s.now, true
	i.follow(v.f.Action)
	if !i.Visible && s.Policy.delay(i) == 0 {
		i.Visible, i.Shown = true, s.now
	}
	s.event(i, KindReopened, Open, Self, say("it came back %s after it was closed", "关闭 %s后复发", lasting(quiet)), nil)
	if i.Visible {
		s.escalate(i, i.Level+1)
	}
	s.worsen(i.ID, v.f.Severity)
}

// escalate moves the action of a fault of the machine up to a step of the ladder. A
// program's fault stays a program's fault however often it comes.
func (s *Step) escalate(i *Incident, level int) {
	if i.Layer == "software" || i.Fault == Unexplained || level <= i.Level {
		return
	}
	i.Level = level
	before := i.Action
	if i.setAction(i.BaseAction); i.Action != before {
		i.ActionWhy = ""
		s.event(i, KindEscalated, "", Self, plain(before+" → "+i.Action), fromTo(before, i.Action))
	}
}

// follow takes the action that the engine asks for now; one that went up the ladder
// stays there.
func (i *Incident) follow(engine string) {
	if i.Level == 0 {
		i.BaseAction = engine
	}
	i.setAction(engine)
}

// setAction: the engine's action, or the base action moved up by the level, whichever
// does more.
func (i *Incident) setAction(engine string) {
	a := i.BaseAction
	for range i.Level {
		if next := catalog.Escalation[a]; next != "" {
			a = next
		}
	}
	i.Action = catalog.Worse(a, engine)
}

func severityRank(s string) int {
	return slices.Index([]string{gpumedic.SeverityInfo, gpumedic.SeverityWarning, gpumedic.SeverityError, gpumedic.SeverityCritical}, s)
}
