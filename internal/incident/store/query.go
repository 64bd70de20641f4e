package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
)

// Filter chooses incidents of a list.
type Filter struct {
	Closed bool // closed ones too
	Hidden bool // those too that are not visible yet
	Fault  string
	Node   string
	GPU    string // any name
}

// List returns incidents, live ones first, the latest first.
func (s *Store) List(ctx context.Context, f Filter) ([]*incident.Incident, error) {
	query := "SELECT doc FROM incidents WHERE 1"
	var args []any
	if !f.Closed {
		query += " AND state<>'closed'"
	}
	if !f.Hidden {
		query += " AND visible"
	}
	if f.Fault != "" {
		query, args = query+" AND fault=?", append(args, f.Fault)
	}
	if f.Node != "" {
		query, args = query+" AND node=?", append(args, f.Node)
	}
	query += " ORDER BY state='closed', id DESC"
	out := []*incident.Incident{}
	err := docs(ctx, s.read, query, args, func(i *incident.Incident) {
		if f.GPU == "" || incident.NamesGPU(f.GPU, i.Subject.GPU) {
			out = append(out, i)
		}
	})
	return out, s.wrap("read", err)
}

// Incident returns one.
func (s *Store) Incident(ctx context.Context, id int64) (*incident.Incident, error) {
	var found *incident.Incident
	err := docs(ctx, s.read, "SELECT doc FROM incidents WHERE id=?", []any{id}, func(i *incident.Incident) { found = i })
	if err == nil && found == nil {
		return nil, fmt.Errorf("find incident %d: %w", id, incident.ErrNotFound)
	}
	return found, s.wrap("read", err)
}

// Events returns the audit of an incident in order; 0 is the node's.
func (s *Store) Events(ctx context.Context, id int64) ([]incident.Event, error) {
	out := []incident.Event{}
	err := each(ctx, s.read, "SELECT seq,at,kind,from_state,to_state,who,why,why_zh,detail FROM events WHERE incident=? ORDER BY seq", []any{id}, func(r *sql.Rows) error {
		e := incident.Event{Incident: id}
		var at int64
		var detail string
		if err := r.Scan(&e.Seq, &at, &e.Kind, &e.From, &e.To, &e.Who, &e.Why, &e.WhyZH, &detail); err != nil {
			return err
		}
		e.At = time.UnixMicro(at).UTC()
		if err := json.Unmarshal([]byte(detail), &e.Detail); err != nil {
			return fmt.Errorf("%w: read event %d: %w", ErrCorrupt, e.Seq, err)
		}
		out = append(out, e)
		return nil
	})
	return out, s.wrap("read", err)
}

// Verifications returns those of an incident in order.
func (s *Store) Verifications(ctx context.Context, id int64) ([]incident.Verification, error) {
	out := []incident.Verification{}
	err := docs(ctx, s.read, "SELECT json_set(doc,'$.id',id) FROM verifications WHERE incident=? ORDER BY id", []any{id}, func(v *incident.Verification) { out = append(out, *v) })
	return out, s.wrap("read", err)
}

// Silences returns those in force, or all that are kept.
func (s *Store) Silences(ctx context.Context, ended bool) ([]incident.Silence, error) {
	out := []incident.Silence{}
	err := docs(ctx, s.read, "SELECT doc FROM silences WHERE ended=0 OR ? ORDER BY id", []any{ended}, func(x *incident.Silence) { out = append(out, *x) })
	return out, s.wrap("read", err)
}

// Cards returns the inventory.
func (s *Store) Cards(ctx context.Context) ([]incident.Card, error) {
	out := []incident.Card{}
	err := docs(ctx, s.read, "SELECT doc FROM cards ORDER BY id", nil, func(c *incident.Card) { out = append(out, *c) })
	return out, s.wrap("read", err)
}

// History returns what happened to a card (by serial or UUID) or in a slot (by PCI
// address), oldest first. A card is followed through all slots.
func (s *Store) History(ctx context.Context, name string) ([]incident.HistoryRow, error) {
	where, args := "serial=? OR uuid=lower(?)", []any{name, name}
	if pci := gpumedic.NormalPCI(name); pci != "" {
		where, args = "slot=? OR kind='moved' AND json_extract(doc,'$.detail.from')=?", []any{pci, pci}
	} else if other, err := s.otherNames(ctx, name); err != nil {
		return nil, s.wrap("read", err)
	} else {
		for _, u := range other {
			where, args = where+" OR uuid=lower(?)", append(args, u)
		}
	}
	out := []incident.HistoryRow{}
	err := docs(ctx, s.read, "SELECT json_set(doc,'$.seq',seq) FROM history WHERE "+where+" ORDER BY seq", args, func(h *incident.HistoryRow) { out = append(out, *h) })
	return out, s.wrap("read", err)
}

// otherNames are the UUIDs of the cards with a serial: a kernel line may know only one
// of both names.
func (s *Store) otherNames(ctx context.Context, name string) ([]string, error) {
	var out []string
	err := docs(ctx, s.read, "SELECT doc FROM cards ORDER BY id", nil, func(c *incident.Card) {
		if c.GPU.UUID != "" && (c.GPU.Serial == name || strings.EqualFold(c.GPU.UUID, name)) {
			out = append(out, c.GPU.UUID)
		}
	})
	return out, err
}

// Cursor returns the position of a source as it was stored with the incidents, "" when
// there is none.
func (s *Store) Cursor(ctx context.Context, source string) (string, error) {
	var p string
	err := s.read.QueryRowContext(ctx, "SELECT position FROM cursors WHERE source=?", source).Scan(&p)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return p, s.wrap("read", err)
}

// Changes returns up to limit changes after a number, in order. A reader keeps the
// number of the last one it has dealt with.
func (s *Store) Changes(ctx context.Context, after int64, limit int) ([]incident.Change, error) {
	out := []incident.Change{}
	err := docs(ctx, s.read, "SELECT json_set(payload,'$.seq',seq) FROM changes WHERE seq>? ORDER BY seq LIMIT ?", []any{after, limit}, func(c *incident.Change) { out = append(out, *c) })
	return out, s.wrap("read", err)
}

// LastChange is the number of the newest change, 0 when there is none.
func (s *Store) LastChange(ctx context.Context) (int64, error) {
	var n sql.NullInt64
	err := s.read.QueryRowContext(ctx, "SELECT max(seq) FROM changes").Scan(&n)
	return n.Int64, s.wrap("read", err)
}
