// Package store keeps incidents in one SQLite file: what package incident decides is
// written in one transaction with its events, its changes and the positions of the
// sources, so that after a crash at any point all of it is there or none.
//
// Several processes have the file open: the daemon, the verbs of a person, the readers
// of changes. The write-ahead log lets readers go on; writers wait for each other, and
// each looks first whether the file has changed under it.
//
// A transition is on the disk before it is told (synchronous FULL). Counts and times of
// an incident that only goes on are written a few seconds apart; the source positions
// wait with them, so that a crash makes the lines be read again and nothing is counted
// twice.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite", without cgo

	"github.com/gpumedic/gpumedic/internal/incident"
)

// DefaultPath is where the daemon keeps its incidents.
const DefaultPath = "/var/lib/gpumedic/incidents.db"

// Options say how a store is opened.
type Options struct {
	// Create makes a new store where none is, and moves a damaged one aside. Only the
	// daemon does; a verb that finds no store says so.
	Create   bool
	ReadOnly bool
	Policy   incident.Policy
	// TouchEvery is how often counts are written; 0 is 5 s.
	TouchEvery time.Duration
	// Busy is how long a writer waits for another; 0 is 5 s.
	Busy time.Duration
	// MaxPages bounds the file (tests of a full disk).
	MaxPages int
	// Now names a file that is moved aside; nil is the clock.
	Now func() time.Time
}

// Store is an open store. Its methods may be called from several goroutines.
type Store struct {
	path  string
	opts  Options
	notes []string

	read *sql.DB
	db   *sql.DB

	mu      sync.Mutex
	w       *sql.Conn // the one writing connection; nil when read only
	look    *sql.Stmt // asks w for its data_version, again and again
	version int64     // data_version of w when book was loaded
	reloads uint64    // how often the book was read from the file
	book    *incident.Book
	dirty   map[int64]bool    // touched, not yet written
	cursors map[string]string // not yet written
	written time.Time         // last write, by the caller's clock
	unsaved *incident.Book    // what could not be written
	file    os.FileInfo       // of the path when it was opened
}

// Open opens a store.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	if o.TouchEvery == 0 {
		o.TouchEvery = 5 * time.Second
	}
	if o.Busy == 0 {
		o.Busy = 5 * time.Second
	}
	if o.Policy.IsReading == nil && o.Policy.ReopenWindow == 0 {
		o.Policy = incident.DefaultPolicy()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{path: path, opts: o, dirty: map[int64]bool{}, cursors: map[string]string{}}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, fmt.Errorf("open store %s: not a file", path)
	} else if errors.Is(err, fs.ErrNotExist) && !o.Create {
		return nil, fmt.Errorf("open store %s: %w", path, ErrMissing)
	}
	if o.ReadOnly {
		return s, s.openReadOnly(ctx)
	}
	if o.Create {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, fmt.Errorf("create store: %w", err)
		}
	}
	err := s.openWrite(ctx, 1)
	if errors.Is(err, ErrCorrupt) && o.Create {
		first, moved := s.moveAside(ctx)
		if moved != nil {
			return nil, errors.Join(err, moved)
		}
		err = s.openWrite(ctx, first)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Notes are what a person should know about how the store was opened.
func (s *Store) Notes() []string { return s.notes }

// Path is the file.
func (s *Store) Path() string { return s.path }

// SmallCache bounds what a connection keeps of the file in memory, in KiB: all of it is a
// few hundred, and in the kernel's page cache anyway.
const SmallCache = "cache_size(-40)"

func (s *Store) dsn(params url.Values) string {
	params.Set("_busy_timeout", strconv.FormatInt(s.opts.Busy.Milliseconds(), 10))
	return (&url.URL{Scheme: "file", OmitHost: true, Path: s.path, RawQuery: params.Encode()}).String()
}

func (s *Store) openReadOnly(ctx context.Context) error {
	params := url.Values{"mode": {"ro"}}
	db, err := sql.Open("sqlite", s.dsn(params))
	if err != nil {
		return s.wrap("open", err)
	}
	s.read = db
	err = s.checkSchema(ctx, db)
	if err == nil || errors.Is(err, ErrCorrupt) || errors.Is(err, errForeign) {
		return err
	}
	// Without a right to write beside it, a file of the write-ahead mode opens only where
	// nothing waits in the log: then the file alone is the whole truth.
	if st, e := os.Stat(s.path + "-wal"); e == nil && st.Size() > 0 {
		return err
	}
	db.Close()
	params = url.Values{"mode": {"ro"}, "immutable": {"1"}}
	if s.read, err = sql.Open("sqlite", s.dsn(params)); err != nil {
		return s.wrap("open", err)
	}
	return s.checkSchema(ctx, s.read)
}

func (s *Store) openWrite(ctx context.Context, first int64) error {
	params := url.Values{"mode": {"rw"}}
	if s.opts.Create {
		params.Set("mode", "rwc")
	}
	if st, err := os.Stat(s.path); err != nil || st.Size() == 0 {
		params.Set("_auto_vacuum", "INCREMENTAL") // before the first table, or never
	}
	db, err := sql.Open("sqlite", s.dsn(params))
	if err != nil {
		return s.wrap("open", err)
	}
	db.SetMaxOpenConns(1)
	s.db = db
	if s.w, err = db.Conn(ctx); err != nil {
		return s.wrap("open", err)
	}
	var mode string
	if err := s.w.QueryRowContext(ctx, "PRAGMA journal_mode=WAL").Scan(&mode); err != nil {
		return s.wrap("open", err)
	}
	for _, p := range []string{SmallCache, "synchronous=FULL", "foreign_keys=ON", "journal_size_limit=8388608"} {
		if _, err := s.w.ExecContext(ctx, "PRAGMA "+p); err != nil {
			return s.wrap("open", err)
		}
	}
	if err := s.quickCheck(ctx); err != nil {
		return err
	}
	if err := s.createSchema(ctx, first); err != nil {
		return err
	}
	if s.file, err = os.Stat(s.path); err != nil {
		return s.wrap("open", err)
	}
	// A file without the right to write it opens all the same; a write that changes
	// nothing shows it.
	if _, err := s.w.ExecContext(ctx, "DELETE FROM cursors WHERE source IS NULL"); err != nil {
		return s.wrap("write", err)
	}
	if s.look, err = s.w.PrepareContext(ctx, "PRAGMA data_version"); err != nil {
		return s.wrap("open", err)
	}
	if s.opts.MaxPages > 0 {
		if _, err := s.w.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count=%d", s.opts.MaxPages)); err != nil {
			return s.wrap("open", err)
		}
	}
	if s.read, err = sql.Open("sqlite", s.dsn(url.Values{"mode": {"ro"}, "_pragma": {SmallCache}})); err != nil {
		return s.wrap("open", err)
	}
	s.read.SetMaxOpenConns(4)
	s.read.SetMaxIdleConns(1)
	return nil
}

// quickCheck reads a store through once before the daemon builds on it. A file beyond
// any that retention leaves is not read through: that would delay the start by seconds.
func (s *Store) quickCheck(ctx context.Context) error {
	st, err := os.Stat(s.path)
	if err != nil || !s.opts.Create || st.Size() > 256<<20 {
		return nil
	}
	var result string
	if err := s.w.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&result); err != nil {
		return s.wrap("check", err)
	}
	if result != "ok" {
		return fmt.Errorf("check store %s: %w: %s", s.path, ErrCorrupt, strings.ReplaceAll(result, "\n", " "))
	}
	return nil
}

// Shrink gives back memory that only the start or a large query needed.
func (s *Store) Shrink() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w != nil {
		_, _ = s.w.ExecContext(context.Background(), "PRAGMA shrink_memory") // it then keeps it
	}
}

// Close writes what waits and closes the store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.w != nil {
		if s.book != nil && len(s.dirty)+len(s.cursors) > 0 {
			_, err = s.write(context.Background(), s.book.Now, nil, nil)
		}
		if s.look != nil {
			err = errors.Join(err, s.look.Close())
		}
		err = errors.Join(err, s.w.Close())
		s.w, s.look = nil, nil
	}
	for _, db := range []*sql.DB{s.read, s.db} {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}
	s.read, s.db = nil, nil
	return err
}
