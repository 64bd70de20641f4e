package store

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// What can be wrong with a store.
var (
	ErrMissing  = errors.New("no such store")
	ErrCorrupt  = errors.New("the file is damaged")
	ErrFull     = errors.New("no space left")
	ErrReadOnly = errors.New("it cannot be written")
	ErrBusy     = errors.New("another process is writing")
	ErrNewer    = errors.New("it was written by a newer version of gpumedic")

	errForeign = errors.New("it is a database of another program")
)

// wrap names the store and tells apart what a person can do something about.
func (s *Store) wrap(verb string, err error) error {
	if err == nil {
		return nil
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s store %s: %w", verb, s.path, err)
	}
	kind := error(nil)
	switch code := e.Code(); code & 0xff {
	case sqlite3.SQLITE_FULL:
		kind = ErrFull
	case sqlite3.SQLITE_READONLY:
		kind = ErrReadOnly
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		kind = ErrCorrupt
	case sqlite3.SQLITE_BUSY:
		kind = ErrBusy
	case sqlite3.SQLITE_IOERR:
		switch code {
		case sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_TRUNCATE:
			if kind = s.cause(); kind == nil {
				kind = ErrFull // room for one page, not for the file
			}
		case sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC, sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMMAP:
			kind = s.cause()
		}
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		kind = ErrReadOnly
	}
	if kind == nil {
		return fmt.Errorf("%s store %s: %w", verb, s.path, err)
	}
	return fmt.Errorf("%s store %s: %w (%s)", verb, s.path, kind, e.Error())
}
