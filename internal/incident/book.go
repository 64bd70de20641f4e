package incident

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"
)

// Book is the state of a node's incidents: what the next step depends on.
type Book struct {
	NextID      int64
	NextSilence int64
	Now         time.Time // of the last step
	Run         string    // the engine's run that was observed last
	Boot        string
	Incidents   map[int64]*Incident // live ones, and those closed within the reopen window
	Tombs       []Tomb              // older closed ones
	Silences    []Silence           // in force
	Cards       []Card              // as last seen
}

// Tomb is what is remembered of a closed incident when its window is over: enough to
// link a new one to it, and not to take old evidence for new.
type Tomb struct {
	ID       int64     `json:"id"`
	Identity Identity  `json:"identity"`
	Last     time.Time `json:"last_seen,omitzero"`
	Mark     Mark      `json:"mark"`
	Present  bool      `json:"present"`
}

// NewBook is the book of a node that had no incident yet; ids begin at first.
func NewBook(first int64) *Book {
	return &Book{NextID: max(1, first), NextSilence: 1, Incidents: map[int64]*Incident{}}
}

// Errors of commands.
var (
	ErrNotFound    = errors.New("no such incident")
	ErrState       = errors.New("not possible in this state")
	ErrNotVerified = errors.New("no verification has passed since the last occurrence")
	ErrNoReason    = errors.New("a reason is needed")
	ErrAttempts    = errors.New("all verification attempts for this repair are used up")
)

// Step is one change of a book under way: it works on copies, so that a step that cannot
// be stored leaves the book as it was. What it did is in its lists.
type Step struct {
	Policy    Policy
	Events    []Event
	Changes   []Change
	History   []HistoryRow
	Checks    []Verification
	Touched   map[int64]bool // incidents that differ from the book's
	Silenced  []Silence      // new or ended silences
	CardsSeen bool           // the list of cards was read

	book *Book // working copy
	base *Book
	now  time.Time
}

// Begin starts a step at a time. The clock may have gone back: then running spans begin
// anew, and the jump is told.
func (b *Book) Begin(p Policy, now time.Time) *Step {
	now = now.UTC().Round(0)
	w := *b
	w.Incidents = maps.Clone(b.Incidents)
	w.Silences = slices.Clone(b.Silences)
	s := &Step{Policy: p, book: &w, base: b, now: now, Touched: map[int64]bool{}}
	if back := b.Now.Sub(now); !b.Now.IsZero() && back > 2*time.Second {
		s.clockBack(back)
	}
	w.Now = now
	return s
}

// Book is the book after the step.
func (s *Step) Book() *Book { return s.book }

// Durable reports whether the step holds a transition, which must not be lost; else it
// moved only counts and times.
func (s *Step) Durable() bool {
	return len(s.Events)+len(s.History)+len(s.Silenced)+len(s.Checks) > 0
}

// Changed reports whether there is anything to store.
func (s *Step) Changed() bool { return s.Durable() || len(s.Touched) > 0 || s.CardsSeen }

func (s *Step) clockBack(by time.Duration) {
	for _, id := range s.ids() {
		i := s.book.Incidents[id]
		c := i.clone()
		for _, t := range []*time.Time{&c.Active, &c.PresentSince, &c.AbsentSince, &c.FlapsSince, &c.Closed} {
			if t.After(s.now) {
				*t = s.now
				s.book.Incidents[id], s.Touched[id] = c, true
			}
		}
	}
	s.node(KindClock, say("the clock went back by %s, from %s", "系统时钟回拨了 %s，此前为 %s", lasting(by), s.base.Now.Format(time.RFC3339)), nil)
}

// ids are those of the incidents in order.
func (s *Step) ids() []int64 { return slices.Sorted(maps.Keys(s.book.Incidents)) }

// edit is the working copy of an incident.
func (s *Step) edit(id int64) *Incident {
	i := s.book.Incidents[id]
	if i == s.base.Incidents[id] && i != nil {
		i = i.clone()
		s.book.Incidents[id] = i
	}
	s.Touched[id] = true
	return i
}

// event records a transition to a state; to == "" keeps it.
func (s *Step) event(i *Incident, kind string, to State, who string, why text, detail map[string]any) {
	from := i.State
	if to == "" {
		to = from
	}
	i.State = to
	i.Updated = s.now
	s.Touched[i.ID] = true
	s.Events = append(s.Events, Event{Incident: i.ID, At: s.now, Kind: kind, From: from, To: to, Who: who, Why: why.en, WhyZH: why.zh, Detail: detail})
	if i.Visible {
		s.change(i, kind, who, why)
	}
	if inHistory[kind] && !i.Subject.GPU.IsZero() && i.Visible {
		s.History = append(s.History, HistoryRow{At: s.now, Node: i.Subject.Node, GPU: i.Subject.GPU, Kind: kind,
			Incident: i.ID, Fault: i.Fault, Text: why.en, TextZH: why.zh, Detail: detail})
	}
}

// change tells outlets. A silenced incident still has its changes, marked so.
func (s *Step) change(i *Incident, kind, who string, why text) {
	s.Changes = append(s.Changes, Change{ID: i.ID, At: s.now, Kind: kind, Who: who, Why: why.en, WhyZH: why.zh, Silenced: i.SilencedBy != 0, Incident: i.clone()})
}

// Alert tells outlets of an alert that is no incident, and notes it in the node's audit.
func (s *Step) Alert(kind, name, en, zh string, doc json.RawMessage) {
	why := text{en, zh}
	s.Events = append(s.Events, Event{At: s.now, Kind: kind, Who: Self, Why: why.en, WhyZH: why.zh, Detail: map[string]any{"alert": name}})
	s.Changes = append(s.Changes, Change{At: s.now, Kind: kind, Who: Self, Why: why.en, WhyZH: why.zh, Alert: doc})
}

// node records what concerns no incident.
func (s *Step) node(kind string, why text, detail map[string]any) {
	s.Events = append(s.Events, Event{At: s.now, Kind: kind, Who: Self, Why: why.en, WhyZH: why.zh, Detail: detail})
	s.Changes = append(s.Changes, Change{At: s.now, Kind: kind, Who: Self, Why: why.en, WhyZH: why.zh})
}
