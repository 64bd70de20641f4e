package incident

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
)

// Observation is one answer of the engine.
type Observation struct {
	Node string // this node, for signals that no subject has
	// Run names the engine's run that counts began with. Continues says that it read on
	// exactly where the run before ended, so that its counts are all new.
	Run       string
	Continues bool
	Boot      string // boot id
	Lang      string // of the findings' texts
	// Partial: the answer does not cover everything that is watched (a source was not
	// read), so that what it lacks is not gone.
	Partial     bool
	Findings    []gpumedic.Finding
	Unexplained []gpumedic.Unexplained
	Who         []Attribution
}

// sight is what one answer says about one incident: all findings of one identity.
type sight struct {
	id          Identity
	f           gpumedic.Finding // the first of them
	also        []gpumedic.Subject
	evidence    []Evidence
	victims     []Attribution
	count       int
	first, last time.Time
	reading     bool // readings alone carry it
	covers      map[string]bool
	beat        map[string]bool // faults that lost against it
	owner       int64           // the incident that took it in
}

// sights puts an answer together by identity, in an order that does not depend on that
// of the answer.
func (o *Observation) sights(b *Book, isReading func(string) bool) []*sight {
	var all []*sight
	for n := range o.Findings {
		f := &o.Findings[n]
		if f.Role == gpumedic.RoleIncidental {
			continue
		}
		all = append(all, b.sightOf(f, o.Node, isReading))
	}
	for _, u := range o.Unexplained {
		all = append(all, unexplainedSight(u, o.Node, isReading))
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].compare(all[j]) < 0 })
	return fold(all, func(a, b *sight) bool { return a.id.Same(b.id) })
}

// fold puts together what is one, until nothing more is: a name that one sight adds may
// make it one with a third.
func fold(all []*sight, one func(a, b *sight) bool) []*sight {
	for {
		var out []*sight
		for _, s := range all {
			n := slices.IndexFunc(out, func(o *sight) bool { return one(o, s) })
			if n < 0 {
				out = append(out, s)
				continue
			}
			out[n].add(s)
		}
		if len(out) == len(all) {
			return out
		}
		all = out
	}
}

// compare orders sights by time, then by all that could make a difference.
func (s *sight) compare(o *sight) int {
	return cmp.Or(
		s.first.Compare(o.first),
		strings.Compare(s.id.key(), o.id.key()),
		cmp.Compare(s.f.Subject.Process.PID, o.f.Subject.Process.PID),
		strings.Compare(s.f.Role, o.f.Role),
		-strings.Compare(s.f.Title, o.f.Title),
		cmp.Compare(s.count, o.count),
		s.last.Compare(o.last),
		slices.CompareFunc(s.evidence, o.evidence, func(a, b Evidence) int {
			return cmp.Or(strings.Compare(a.Input, b.Input), cmp.Compare(a.Line, b.Line), strings.Compare(a.Signal, b.Signal))
		}),
	)
}

func (b *Book) sightOf(f *gpumedic.Finding, node string, isReading func(string) bool) *sight {
	s := &sight{f: *f, also: f.Also, count: max(1, f.Count), reading: len(f.Evidence) > 0, covers: map[string]bool{}, beat: map[string]bool{}}
	if s.f.Subject.Node == "" {
		s.f.Subject.Node = node
	}
	b.nameCard(s.f.Subject.Node, &s.f.Subject.GPU)
	s.id = identity(f.Fault, f.Case, f.Scope, f.Layer, s.f.Subject)
	s.first, s.last = moment(f.FirstSeen), moment(f.LastSeen)
	for _, e := range f.Evidence {
		s.evidence = append(s.evidence, Evidence{Input: e.Input, Line: e.Line, Signal: e.Signal, Text: cut(e.Text), Mark: markIn(e), Note: cut(e.Note), Count: e.Count, First: e.First, Last: e.Last})
		s.covers[place(e.Input, e.Line, e.Signal)] = true
		s.reading = s.reading && isReading != nil && isReading(e.Signal)
	}
	for _, c := range f.Consequences {
		s.covers[place(c.Input, c.Line, c.Signal)] = true
	}
	for _, a := range f.Alternatives {
		s.beat[a.Fault] = true
	}
	s.victims = victimsOf(&s.f)
	return s
}

func unexplainedSight(u gpumedic.Unexplained, node string, isReading func(string) bool) *sight {
	f := gpumedic.Finding{
		Fault: Unexplained, Case: u.Signal, Scope: "node", Title: "unexplained signal " + u.Signal,
		Role: gpumedic.RoleRoot, Severity: gpumedic.SeverityWarning, Action: "monitor",
		Subject: gpumedic.Subject{Node: node}, Count: u.Count,
	}
	s := &sight{f: f, id: identity(f.Fault, f.Case, f.Scope, "", f.Subject), count: max(1, u.Count), covers: map[string]bool{}, beat: map[string]bool{}}
	s.evidence = []Evidence{{Input: u.Input, Line: u.Line, Signal: u.Signal, Text: cut(u.Text), Count: u.Count}}
	s.covers[place(u.Input, u.Line, u.Signal)] = true
	s.reading = isReading != nil && isReading(u.Signal)
	return s
}

// add takes a further finding of the same identity: another process of the program, or
// the same GPU under another of its names.
func (s *sight) add(o *sight) {
	s.count += o.count
	if s.first.IsZero() || !o.first.IsZero() && o.first.Before(s.first) {
		s.first = o.first
	}
	if o.last.After(s.last) {
		s.last = o.last
	}
	s.evidence = append(s.evidence, o.evidence...)
	s.victims = append(s.victims, o.victims...)
	s.also = append(s.also, o.also...)
	s.reading = s.reading && o.reading
	s.f.Action = catalog.Worse(s.f.Action, o.f.Action)
	if severityRank(o.f.Severity) > severityRank(s.f.Severity) {
		s.f.Severity = o.f.Severity
	}
	for k := range o.covers {
		s.covers[k] = true
	}
	for k := range o.beat {
		s.beat[k] = true
	}
	fillGPU(&s.f.Subject.GPU, o.f.Subject.GPU)
	fillGPU(&s.id.GPU, o.id.GPU)
}

// moment is a time of the report, zero where it has none.
func moment(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

func place(input string, line int, signal string) string {
	return input + "\x00" + signal + "\x00" + strconv.Itoa(line)
}

// markIn is the decisive part of a line, none where cut takes it away.
func markIn(e gpumedic.EvidenceOut) [2]int {
	if e.Mark[0] < 0 || e.Mark[0] >= e.Mark[1] || e.Mark[1] > min(len(e.Text), maxText) {
		return [2]int{}
	}
	return e.Mark
}

// cut bounds a text that a log may have made as long as it likes.
func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}
