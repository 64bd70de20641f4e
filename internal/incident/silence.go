package incident

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Silence keeps outlets quiet about incidents that match all parts that are given, until
// a time. The incident itself is kept as any other.
type Silence struct {
	ID      int64     `json:"id"`
	Fault   string    `json:"fault,omitempty"` // id, or a pattern as "ecc-*"
	GPU     string    `json:"gpu,omitempty"`   // PCI address, UUID, serial or index
	Node    string    `json:"node,omitempty"`  // name, or a pattern
	Until   time.Time `json:"until"`
	Who     string    `json:"who"`
	Why     string    `json:"why"`
	Created time.Time `json:"created"`
	Ended   time.Time `json:"ended,omitzero"`
}

// Silence adds one and returns its number.
func (s *Step) Silence(x Silence) (int64, error) {
	switch {
	case x.Fault == "" && x.GPU == "" && x.Node == "":
		return 0, fmt.Errorf("add silence: a fault, a GPU or a node is needed")
	case strings.TrimSpace(x.Why) == "":
		return 0, fmt.Errorf("add silence: %w", ErrNoReason)
	case !x.Until.After(s.now):
		return 0, fmt.Errorf("add silence: its end %s is over", x.Until.UTC().Format(time.RFC3339))
	}
	for _, p := range []string{x.Fault, x.Node} {
		if _, err := path.Match(p, ""); err != nil {
			return 0, fmt.Errorf("add silence: read pattern %q: %w", p, err)
		}
	}
	x.ID = s.book.NextSilence
	s.book.NextSilence++
	x.Created, x.Until, x.Ended = s.now, x.Until.UTC().Round(0), time.Time{}
	s.book.Silences = append(s.book.Silences, x)
	s.Silenced = append(s.Silenced, x)
	s.applySilences(x.Who, plain(x.Why))
	return x.ID, nil
}

// EndSilence ends one before its time.
func (s *Step) EndSilence(id int64, who, why string) error {
	n := slices.IndexFunc(s.book.Silences, func(x Silence) bool { return x.ID == id })
	if n < 0 {
		return fmt.Errorf("end silence %d: %w in force", id, ErrNotFound)
	}
	s.dropSilence(n)
	s.applySilences(who, plain(why))
	return nil
}

func (s *Step) dropSilence(n int) {
	x := s.book.Silences[n]
	x.Ended = s.now
	s.Silenced = append(s.Silenced, x)
	s.book.Silences = slices.Delete(s.book.Silences, n, n+1)
}

func (s *Step) endSilences() {
	ended := false
	for n := len(s.book.Silences) - 1; n >= 0; n-- {
		if !s.book.Silences[n].Until.After(s.now) {
			s.dropSilence(n)
			ended = true
		}
	}
	if ended {
		s.applySilences(Self, say("the silence is over", "静默已到期"))
	}
}

func (s *Step) applySilences(who string, why text) {
	for _, id := range s.ids() {
		i := s.book.Incidents[id]
		by := s.book.silence(i, s.now)
		if !i.Live() || by == i.SilencedBy {
			continue
		}
		i = s.edit(id)
		was := i.SilencedBy
		i.SilencedBy = by
		switch {
		case by == 0:
			s.event(i, KindUnsilenced, "", who, why, nil)
		case was == 0:
			s.event(i, KindSilenced, "", who, why, map[string]any{"silence": by})
		}
	}
}

// silence is the number of the first silence that covers an incident, 0 for none.
func (b *Book) silence(i *Incident, now time.Time) int64 {
	for _, x := range b.Silences {
		if x.Until.After(now) && x.covers(i) {
			return x.ID
		}
	}
	return 0
}

func (x *Silence) covers(i *Incident) bool {
	return glob(x.Fault, i.Fault) && glob(x.Node, i.Subject.Node) && (x.GPU == "" || NamesGPU(x.GPU, i.Subject.GPU))
}

func glob(pattern, s string) bool {
	if pattern == "" {
		return true
	}
	ok, err := path.Match(pattern, s)
	return ok && err == nil
}
