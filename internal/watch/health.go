package watch

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Source is the health of one of the daemon's sources.
type Source struct {
	Name string `json:"name"`
	// State is ok, starting, stuck (it did not answer in time), failed, or off with the
	// reason in Error.
	State       string    `json:"state"`
	Since       time.Time `json:"since"`
	LastSuccess time.Time `json:"last_success,omitzero"`
	LastError   time.Time `json:"last_error,omitzero"`
	Error       string    `json:"error,omitempty"`

	Answers      uint64        `json:"answers"`
	Errors       uint64        `json:"errors"`
	Events       uint64        `json:"events"` // lines
	Lost         uint64        `json:"lost"`   // records that were overwritten before they could be read
	Duration     time.Duration `json:"-"`
	LastDuration time.Duration `json:"-"`
	// Lag is how long the last lines waited from coming in to being judged.
	Lag time.Duration `json:"-"`

	patience time.Duration // without an answer for so long it counts as stuck; 0: it may be quiet
}

// States of a source.
const (
	SourceOK       = "ok"
	SourceStarting = "starting"
	SourceStuck    = "stuck"
	SourceFailed   = "failed"
	SourceOff      = "off"
)

// health is that of all sources.
type health struct {
	mu   sync.Mutex
	now  func() time.Time
	list map[string]*Source
}

func newHealth(now func() time.Time) *health {
	return &health{now: now, list: map[string]*Source{}}
}

// source begins a source.
func (h *health) source(name string, patience time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list[name] = &Source{Name: name, State: SourceStarting, Since: h.now(), patience: patience}
}

func (h *health) change(name string, f func(*Source, time.Time)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.list[name]; s != nil {
		f(s, h.now())
	}
}

func (s *Source) to(state string, now time.Time) {
	if s.State != state {
		s.State, s.Since = state, now
	}
}

// answered notes an answer and how long it took to get.
func (h *health) answered(name string, took time.Duration) {
	h.change(name, func(s *Source, now time.Time) {
		s.to(SourceOK, now)
		s.Error = ""
		s.LastSuccess = now
		s.Answers++
		s.Duration += took
		s.LastDuration = took
	})
}

// read notes lines that were judged.
func (h *health) read(name string, lines int, lost uint64, lag time.Duration) {
	h.change(name, func(s *Source, now time.Time) {
		s.to(SourceOK, now)
		s.Error = ""
		s.LastSuccess = now
		s.Answers++
		s.Events += uint64(lines)
		s.Lost += lost
		s.Lag = lag
	})
}

// failed notes an error; state says what it means.
func (h *health) failed(name, state string, err error) {
	h.change(name, func(s *Source, now time.Time) {
		s.to(state, now)
		s.LastError, s.Error = now, err.Error()
		s.Errors++
	})
}

// snapshot is the list by name; one that should have answered meanwhile is stuck.
func (h *health) snapshot() []Source {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	var out []Source
	for _, s := range h.list {
		if s.patience > 0 && (s.State == SourceOK || s.State == SourceStarting) {
			if last := later(s.LastSuccess, s.Since); now.Sub(last) > s.patience {
				s.to(SourceStuck, now)
				s.Error = "no answer since " + last.UTC().Format(time.RFC3339)
				s.LastError = now
				s.Errors++
			}
		}
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b Source) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// stateOf is the state of one source, "" of none.
func (h *health) stateOf(name string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.list[name]; s != nil {
		return s.State
	}
	return ""
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
