package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	schemaVersion = 1
	applicationID = 0x67706d64 // "gpmd"
)

// Times are microseconds since 1970; documents are JSON as the verbs print them.
// AUTOINCREMENT: a number is never used again, also when its row is gone.
const schema = `
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE cursors(source TEXT PRIMARY KEY, position TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE incidents(
  id INTEGER PRIMARY KEY, fault TEXT NOT NULL, node TEXT NOT NULL, state TEXT NOT NULL, severity TEXT NOT NULL,
  visible INTEGER NOT NULL, opened INTEGER NOT NULL, closed INTEGER NOT NULL, tomb TEXT NOT NULL, doc TEXT NOT NULL);
CREATE INDEX incidents_state ON incidents(state, closed);
CREATE TABLE events(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, incident INTEGER NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL,
  from_state TEXT NOT NULL, to_state TEXT NOT NULL, who TEXT NOT NULL, why TEXT NOT NULL, why_zh TEXT NOT NULL, detail TEXT NOT NULL);
CREATE INDEX events_incident ON events(incident, seq);
CREATE TABLE changes(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, incident INTEGER NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL, payload TEXT NOT NULL);
CREATE TABLE verifications(
  id INTEGER PRIMARY KEY AUTOINCREMENT, incident INTEGER NOT NULL, at INTEGER NOT NULL, passed INTEGER NOT NULL, doc TEXT NOT NULL);
CREATE INDEX verifications_incident ON verifications(incident);
CREATE TABLE silences(id INTEGER PRIMARY KEY, until INTEGER NOT NULL, ended INTEGER NOT NULL, doc TEXT NOT NULL);
CREATE TABLE cards(id INTEGER PRIMARY KEY, doc TEXT NOT NULL);
CREATE TABLE history(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, node TEXT NOT NULL, serial TEXT NOT NULL, uuid TEXT NOT NULL,
  slot TEXT NOT NULL, kind TEXT NOT NULL, incident INTEGER NOT NULL, doc TEXT NOT NULL);
CREATE INDEX history_serial ON history(serial);
CREATE INDEX history_uuid ON history(uuid);
CREATE INDEX history_slot ON history(slot);
`

type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// checkSchema says whether a database is a store that this version reads.
func (s *Store) checkSchema(ctx context.Context, q queryer) error {
	var id, version, tables int64
	for _, p := range []struct {
		query string
		to    *int64
	}{{"PRAGMA application_id", &id}, {"PRAGMA user_version", &version}, {"SELECT count(*) FROM sqlite_master", &tables}} {
		if err := q.QueryRowContext(ctx, p.query).Scan(p.to); err != nil {
			return s.wrap("open", err)
		}
	}
	switch {
	case id == 0 && tables == 0:
		return fmt.Errorf("open store %s: %w: it is empty", s.path, ErrMissing)
	case id != applicationID:
		return fmt.Errorf("open store %s: %w", s.path, errForeign)
	case version > schemaVersion:
		return fmt.Errorf("open store %s: %w", s.path, ErrNewer)
	}
	return nil
}

// createSchema makes the tables where there are none; numbers begin at first.
func (s *Store) createSchema(ctx context.Context, first int64) error {
	err := s.checkSchema(ctx, s.w)
	if err == nil || !s.opts.Create || !errors.Is(err, ErrMissing) {
		return err
	}
	if _, err := s.w.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return s.wrap("create", err)
	}
	if s.checkSchema(ctx, s.w) == nil { // another process was quicker
		_, err := s.w.ExecContext(ctx, "ROLLBACK")
		return s.wrap("create", err)
	}
	stmts := fmt.Sprintf("%s INSERT INTO meta VALUES('next_incident','%d'),('next_silence','1'); PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT",
		schema, first, applicationID, schemaVersion)
	if _, err := s.w.ExecContext(ctx, stmts); err != nil {
		s.w.ExecContext(ctx, "ROLLBACK") // the first error is the one that tells
		return s.wrap("create", err)
	}
	return nil
}

// moveAside keeps a damaged store under another name and returns where the numbers of
// the new one begin: after those of the old as far as they can be read, else far enough
// that none is used twice.
func (s *Store) moveAside(ctx context.Context) (first int64, err error) {
	for _, c := range []interface{ Close() error }{s.w, s.db} {
		c.Close() // it holds a damaged file: nothing is lost by an error here
	}
	s.w, s.db = nil, nil
	aside := s.path + ".damaged-" + s.opts.Now().UTC().Format("20060102T150405Z")
	for n := 2; ; n++ {
		if _, err := os.Lstat(aside); err != nil {
			break
		}
		aside = fmt.Sprintf("%s.damaged-%s-%d", s.path, s.opts.Now().UTC().Format("20060102T150405Z"), n)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(s.path+suffix, aside+suffix); err != nil && (suffix == "" || !os.IsNotExist(err)) {
			return 0, fmt.Errorf("move damaged store aside: %w", err)
		}
	}
	next, ok := salvageNumber(ctx, aside)
	if !ok {
		kept, _ := filepath.Glob(s.path + ".damaged-*")
		kept = slices.DeleteFunc(kept, func(f string) bool { return strings.HasSuffix(f, "-wal") || strings.HasSuffix(f, "-shm") })
		next = int64(10000*len(kept) + 1)
	}
	s.notes = append(s.notes, fmt.Sprintf("store %s was damaged and is kept as %s; a new one begins with incident %d, without what the old one held", s.path, aside, next))
	return next, nil
}

func salvageNumber(ctx context.Context, path string) (int64, bool) {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		return 0, false
	}
	defer db.Close()
	var text string
	if db.QueryRowContext(ctx, "SELECT value FROM meta WHERE key='next_incident'").Scan(&text) != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n > 0 && n < 1<<40
}
