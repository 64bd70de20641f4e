package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/gpumedic/gpumedic/internal/incident"
)

type rowsQueryer interface {
	queryer
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// fresh makes the book that of the file, when another process has written it.
func (s *Store) fresh(ctx context.Context, now time.Time) error {
	var version int64
	if err := s.look.QueryRowContext(ctx).Scan(&version); err != nil {
		return s.wrap("read", err)
	}
	if s.book != nil && version == s.version {
		return nil
	}
	b, err := s.load(ctx, s.w, now)
	if err != nil {
		return s.wrap("read", err)
	}
	s.book, s.version = b, version
	s.reloads++
	clear(s.dirty) // the next answer says again what was not written
	clear(s.cursors)
	return nil
}

// load reads a book.
func (s *Store) load(ctx context.Context, q rowsQueryer, now time.Time) (*incident.Book, error) {
	b := incident.NewBook(1)
	err := each(ctx, q, "SELECT key, value FROM meta", nil, func(r *sql.Rows) error {
		var key, value string
		if err := r.Scan(&key, &value); err != nil {
			return err
		}
		return setMeta(b, key, value)
	})
	if err != nil {
		return nil, err
	}
	window := micros(now.Add(-s.opts.Policy.ReopenWindow))
	err = docs(ctx, q, "SELECT doc FROM incidents WHERE state<>'closed' OR closed>=?", []any{window}, func(i *incident.Incident) { b.Incidents[i.ID] = i })
	if err != nil {
		return nil, err
	}
	err = docs(ctx, q, "SELECT tomb FROM incidents WHERE state='closed' AND closed<? ORDER BY id", []any{window}, func(t *incident.Tomb) { b.Tombs = append(b.Tombs, *t) })
	if err != nil {
		return nil, err
	}
	err = docs(ctx, q, "SELECT doc FROM silences WHERE ended=0 ORDER BY id", nil, func(x *incident.Silence) { b.Silences = append(b.Silences, *x) })
	if err != nil {
		return nil, err
	}
	return b, docs(ctx, q, "SELECT doc FROM cards ORDER BY id", nil, func(c *incident.Card) { b.Cards = append(b.Cards, *c) })
}

func setMeta(b *incident.Book, key, value string) error {
	var err error
	switch key {
	case "next_incident":
		b.NextID, err = strconv.ParseInt(value, 10, 64)
	case "next_silence":
		b.NextSilence, err = strconv.ParseInt(value, 10, 64)
	case "now":
		b.Now, err = time.Parse(time.RFC3339Nano, value)
	case "run":
		b.Run = value
	case "boot":
		b.Boot = value
	}
	if err != nil {
		return fmt.Errorf("read %s %q: %w", key, value, errors.Join(ErrCorrupt, err))
	}
	return nil
}

// each calls f for every row.
func each(ctx context.Context, q rowsQueryer, query string, args []any, f func(*sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// docs reads a column of JSON documents.
func docs[T any](ctx context.Context, q rowsQueryer, query string, args []any, f func(*T)) error {
	return each(ctx, q, query, args, func(r *sql.Rows) error {
		var text string
		if err := r.Scan(&text); err != nil {
			return err
		}
		v := new(T)
		if err := json.Unmarshal([]byte(text), v); err != nil {
			return fmt.Errorf("%w: read document: %w", ErrCorrupt, err)
		}
		f(v)
		return nil
	})
}
