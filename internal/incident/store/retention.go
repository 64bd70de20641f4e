package store

import (
	"context"
	"database/sql"
	"time"
)

// Limits bound what a store keeps. Live incidents are always kept.
type Limits struct {
	Age        time.Duration // closed incidents, ended silences and the node's events
	Incidents  int           // closed ones at most
	Newest     int           // closed ones kept whatever their age: the clock may have jumped
	Events     int           // of one incident
	History    int           // rows of all cards
	Changes    int
	ChangesAge time.Duration
}

// DefaultLimits keep more than a year.
var DefaultLimits = Limits{
	Age: 400 * 24 * time.Hour, Incidents: 5000, Newest: 200, Events: 2000, History: 50000,
	Changes: 100000, ChangesAge: 30 * 24 * time.Hour,
}

// Prune deletes what is beyond the limits and gives the space back, a piece at a time so
// that other writers need not wait long.
func (s *Store) Prune(ctx context.Context, now time.Time, l Limits) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil {
		return s.closedErr()
	}
	old, oldChanges := micros(now.Add(-l.Age)), micros(now.Add(-l.ChangesAge))
	x := &inserter{ctx: ctx, s: s}
	x.exec("BEGIN IMMEDIATE")
	x.exec(`DELETE FROM incidents WHERE id IN (
		SELECT id FROM (SELECT id, closed, row_number() OVER (ORDER BY id DESC) n FROM incidents WHERE state='closed')
		WHERE n>? OR closed<? AND n>?)`, l.Incidents, old, l.Newest)
	x.exec("DELETE FROM events WHERE incident<>0 AND incident NOT IN (SELECT id FROM incidents)")
	x.exec("DELETE FROM events WHERE incident=0 AND at<?", old)
	x.exec(`DELETE FROM events WHERE seq IN (
		SELECT seq FROM (SELECT seq, row_number() OVER (PARTITION BY incident ORDER BY seq DESC) n FROM events) WHERE n>?)`, l.Events)
	x.exec("DELETE FROM verifications WHERE incident NOT IN (SELECT id FROM incidents)")
	x.exec("DELETE FROM silences WHERE ended<>0 AND ended<?", old)
	x.exec("DELETE FROM changes WHERE at<? OR seq<=(SELECT max(seq) FROM changes)-?", oldChanges, l.Changes)
	x.exec("DELETE FROM history WHERE seq<=(SELECT max(seq) FROM history)-?", l.History)
	x.exec("COMMIT")
	if x.err != nil {
		s.w.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // the first error is the one that tells
		return s.wrap("prune", x.err)
	}
	// What a step on the old book would write must not bring a deleted incident back.
	if s.book != nil {
		b, err := s.load(ctx, s.w, now)
		if err != nil {
			return s.wrap("read", err)
		}
		s.book = b
		clear(s.dirty)
		clear(s.cursors)
	}
	return s.vacuum(ctx)
}

func (s *Store) vacuum(ctx context.Context) error {
	for {
		var free int64
		if err := s.w.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&free); err != nil || free == 0 {
			return s.wrap("vacuum", err)
		}
		// It frees a page a row: the rows must be read to the end.
		err := each(ctx, s.w, "PRAGMA incremental_vacuum(256)", nil, func(*sql.Rows) error { return nil })
		if err != nil {
			return s.wrap("vacuum", err)
		}
	}
}

// Update runs f in a transaction of the writing connection, for readers of changes that
// keep tables of their own in the file. It must not touch the tables of this package.
func (s *Store) Update(ctx context.Context, f func(context.Context, *sql.Conn) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil {
		return s.closedErr()
	}
	for _, q := range []string{"PRAGMA synchronous=FULL", "BEGIN IMMEDIATE"} {
		if _, err := s.w.ExecContext(ctx, q); err != nil {
			return s.wrap("write", err)
		}
	}
	err := f(ctx, s.w)
	if err == nil {
		_, err = s.w.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		s.w.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // the first error is the one that tells
	}
	return s.wrap("write", err)
}

// Reader is for queries on tables of one's own.
func (s *Store) Reader() *sql.DB { return s.read }
