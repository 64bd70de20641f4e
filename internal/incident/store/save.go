package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gpumedic/gpumedic/internal/incident"
)

// Result is what a step did. On an error it is what the step would have done: it is not
// stored, and the same answer observed again does it again.
type Result struct {
	Events  []incident.Event
	Changes []incident.Change
	Written bool // false: nothing changed, or only counts that wait
}

// Observe takes one answer of the engine together with the positions up to which the
// sources were read for it.
func (s *Store) Observe(ctx context.Context, now time.Time, o incident.Observation, cursors map[string]string) (Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil {
		return Result{}, s.closedErr()
	}
	return s.write(ctx, now, func(st *incident.Step) error { st.Observe(o); return nil }, cursors)
}

// Do runs a command, an inventory or a tick. Incidents that it names are there also when
// they were closed long ago.
func (s *Store) Do(ctx context.Context, now time.Time, ids []int64, f func(*incident.Step) error) (Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil {
		return Result{}, s.closedErr()
	}
	return s.write(ctx, now, f, nil, ids...)
}

// DoAt is Do with documents that belong to what it does: they are kept as positions of
// sources are, in the same transaction.
func (s *Store) DoAt(ctx context.Context, now time.Time, docs map[string]string, f func(*incident.Step) error) (Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil {
		return Result{}, s.closedErr()
	}
	r, err := s.write(ctx, now, f, docs)
	if err != nil { // they must not be stored without what they belong to
		for name := range docs {
			delete(s.cursors, name)
		}
	}
	return r, err
}

// Flush writes counts and positions that wait.
func (s *Store) Flush(ctx context.Context, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil {
		return s.closedErr()
	}
	_, err := s.write(ctx, now, nil, nil)
	return err
}

func (s *Store) closedErr() error {
	if s.opts.ReadOnly {
		return fmt.Errorf("write store %s: %w: opened for reading", s.path, ErrReadOnly)
	}
	return fmt.Errorf("write store %s: it is closed", s.path)
}

// Reloads counts how often the incidents were read from the file: at the start, and since
// then whenever another process had written it.
func (s *Store) Reloads() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reloads
}

// Snapshot is the incidents as the last answer left them, also what could not be
// written. They must not be changed.
func (s *Store) Snapshot() []*incident.Incident {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.latest()
	if b == nil {
		return nil
	}
	var out []*incident.Incident
	for _, id := range slices.Sorted(maps.Keys(b.Incidents)) {
		out = append(out, b.Incidents[id])
	}
	return out
}

// latest is the book as the last answer left it, nil before the first. The caller holds
// the lock.
func (s *Store) latest() *incident.Book {
	if s.unsaved != nil {
		return s.unsaved
	}
	return s.book
}

// SetPolicy takes another policy from the next step on.
func (s *Store) SetPolicy(p incident.Policy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.Policy = p
}

// InForce are the silences as the last answer left them. They must not be changed.
func (s *Store) InForce() []incident.Silence {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.latest()
	if b == nil {
		return nil
	}
	return slices.Clone(b.Silences)
}

// write runs a step on the book as the file has it now, and stores it. f == nil stores
// what waits.
func (s *Store) write(ctx context.Context, now time.Time, f func(*incident.Step) error, cursors map[string]string, ids ...int64) (Result, error) {
	for range 5 {
		if err := s.fresh(ctx, now); err != nil {
			return Result{}, err
		}
		maps.Copy(s.cursors, cursors)
		if err := s.need(ctx, ids); err != nil {
			return Result{}, err
		}
		st := s.book.Begin(s.opts.Policy, now)
		if f != nil {
			if err := f(st); err != nil {
				return Result{}, err
			}
		}
		r := Result{Events: st.Events, Changes: st.Changes}
		if f != nil && !st.Durable() && s.mayWait(st, now) {
			for id := range st.Touched {
				s.dirty[id] = true
			}
			s.book = st.Book()
			return r, nil
		}
		again, err := s.commit(ctx, st, now)
		if again {
			continue
		}
		if err != nil {
			s.unsaved = st.Book()
			return r, s.wrap("write", err)
		}
		s.unsaved = nil
		for n := range r.Events {
			r.Events[n].Seq = st.Events[n].Seq
		}
		r.Written = true
		return r, nil
	}
	return Result{}, fmt.Errorf("write store %s: %w", s.path, ErrBusy)
}

// mayWait: counts are written when some time has passed since the last write; a first
// write does not wait, nor one after the clock went back.
func (s *Store) mayWait(st *incident.Step, now time.Time) bool {
	if !st.Changed() && len(s.dirty) == 0 && len(s.cursors) == 0 {
		return true
	}
	since := now.Sub(s.written)
	return since >= 0 && since < s.opts.TouchEvery
}

// need brings incidents that were closed long ago into the book.
func (s *Store) need(ctx context.Context, ids []int64) error {
	for _, id := range ids {
		if s.book.Incidents[id] != nil {
			continue
		}
		err := docs(ctx, s.w, "SELECT doc FROM incidents WHERE id=?", []any{id}, func(i *incident.Incident) {
			b := *s.book
			b.Incidents = maps.Clone(b.Incidents)
			b.Incidents[id] = i
			b.Tombs = slices.DeleteFunc(slices.Clone(b.Tombs), func(t incident.Tomb) bool { return t.ID == id })
			s.book = &b
		})
		if err != nil {
			return s.wrap("read", err)
		}
	}
	return nil
}

// commit writes a step in one transaction. again says that another process was quicker.
func (s *Store) commit(ctx context.Context, st *incident.Step, now time.Time) (again bool, err error) {
	if err := s.there(); err != nil {
		return false, err
	}
	// Counts may be lost with the power, a transition must not.
	level := "FULL"
	if !st.Durable() {
		level = "NORMAL"
	}
	if _, err := s.w.ExecContext(ctx, "PRAGMA synchronous="+level); err != nil {
		return false, err
	}
	if _, err := s.w.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return false, err
	}
	defer func() {
		if again || err != nil {
			// A full disk has rolled back already; then there is nothing to roll back.
			s.w.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		}
	}()
	var version int64
	if err := s.look.QueryRowContext(ctx).Scan(&version); err != nil {
		return false, err
	}
	if version != s.version {
		return true, nil
	}
	if err := s.insert(ctx, st); err != nil {
		return false, err
	}
	if _, err := s.w.ExecContext(ctx, "COMMIT"); err != nil {
		return false, err
	}
	s.book, s.written = st.Book(), now
	clear(s.dirty)
	clear(s.cursors)
	return false, nil
}

func (s *Store) insert(ctx context.Context, st *incident.Step) error {
	b := st.Book()
	x := &inserter{ctx: ctx, s: s}
	touched := maps.Clone(s.dirty)
	maps.Copy(touched, st.Touched)
	for _, id := range slices.Sorted(maps.Keys(touched)) {
		if i := b.Incidents[id]; i != nil {
			x.exec(`INSERT INTO incidents VALUES(?,?,?,?,?,?,?,?,?,?) ON CONFLICT(id) DO UPDATE SET fault=excluded.fault, node=excluded.node,
				state=excluded.state, severity=excluded.severity, visible=excluded.visible, closed=excluded.closed, tomb=excluded.tomb, doc=excluded.doc`,
				i.ID, i.Fault, i.Subject.Node, string(i.State), i.Severity, i.Visible, micros(i.Opened), micros(i.Closed), x.json(i.Tomb()), x.json(i))
		}
	}
	for n := range st.Events {
		e := &st.Events[n]
		e.Seq = x.exec("INSERT INTO events(incident,at,kind,from_state,to_state,who,why,why_zh,detail) VALUES(?,?,?,?,?,?,?,?,?)",
			e.Incident, micros(e.At), e.Kind, string(e.From), string(e.To), e.Who, e.Why, e.WhyZH, x.json(e.Detail))
	}
	for n := range st.Changes {
		c := &st.Changes[n]
		c.Seq = x.exec("INSERT INTO changes(incident,kind,at,payload) VALUES(?,?,?,?)", c.ID, c.Kind, micros(c.At), x.json(c))
	}
	for _, v := range st.Checks {
		x.exec("INSERT INTO verifications(incident,at,passed,doc) VALUES(?,?,?,?)", v.Incident, micros(v.At), v.Passed, x.json(v))
	}
	for _, h := range st.History {
		x.exec("INSERT INTO history(at,node,serial,uuid,slot,kind,incident,doc) VALUES(?,?,?,lower(?),?,?,?,?)",
			micros(h.At), h.Node, h.GPU.Serial, h.GPU.UUID, h.GPU.PCI, h.Kind, h.Incident, x.json(h))
	}
	for _, y := range st.Silenced {
		x.exec("INSERT INTO silences VALUES(?,?,?,?) ON CONFLICT(id) DO UPDATE SET ended=excluded.ended, doc=excluded.doc",
			y.ID, micros(y.Until), micros(y.Ended), x.json(y))
	}
	if st.CardsSeen {
		for n, c := range b.Cards {
			x.exec("INSERT INTO cards VALUES(?,?) ON CONFLICT(id) DO UPDATE SET doc=excluded.doc", n+1, x.json(c))
		}
	}
	for _, source := range slices.Sorted(maps.Keys(s.cursors)) {
		x.exec("INSERT INTO cursors VALUES(?,?) ON CONFLICT(source) DO UPDATE SET position=excluded.position", source, s.cursors[source])
	}
	for _, m := range [][2]string{{"next_incident", fmt.Sprint(b.NextID)}, {"next_silence", fmt.Sprint(b.NextSilence)},
		{"now", b.Now.Format(time.RFC3339Nano)}, {"run", b.Run}, {"boot", b.Boot}} {
		x.exec("INSERT INTO meta VALUES(?,?) ON CONFLICT(key) DO UPDATE SET value=excluded.value WHERE value<>excluded.value", m[0], m[1])
	}
	return x.err
}

// inserter keeps the first error.
type inserter struct {
	ctx context.Context
	s   *Store
	err error
}

func (x *inserter) exec(query string, args ...any) (id int64) {
	if x.err != nil {
		return 0
	}
	r, err := x.s.w.ExecContext(x.ctx, query, args...)
	if err != nil {
		x.err = err
		return 0
	}
	id, err = r.LastInsertId()
	x.err = errors.Join(x.err, err)
	return id
}

func (x *inserter) json(v any) string {
	b, err := json.Marshal(v)
	x.err = errors.Join(x.err, err)
	return string(b)
}
