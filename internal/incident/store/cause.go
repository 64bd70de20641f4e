package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// cause finds out why a write failed: SQLite tells a full disk from the rest, but calls a
// file system that became read-only, a quota and a broken disk by one code. Writing a
// page beside the store, as far from the beginning as its files reach (a limit of the
// process counts from there), gives the system's own answer. nil is none that has a name.
func (s *Store) cause() error {
	f, err := os.CreateTemp(filepath.Dir(s.path), ".gpumedic-write-*")
	if err == nil {
		end := int64(0)
		for _, name := range []string{s.path, s.path + "-wal"} {
			if st, e := os.Stat(name); e == nil {
				end = max(end, st.Size())
			}
		}
		_, err = f.WriteAt(make([]byte, 4096), end)
		if err == nil {
			err = f.Sync()
		}
		_ = f.Close() // the first error is the one that tells
		_ = os.Remove(f.Name())
	}
	for _, e := range []syscall.Errno{syscall.EROFS, syscall.EACCES, syscall.EPERM} {
		if errors.Is(err, e) {
			return ErrReadOnly
		}
	}
	for _, e := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, e) {
			return ErrFull
		}
	}
	return nil
}

// there reports whether the path still leads to the open file. What is written to one
// that was removed nobody will ever read.
func (s *Store) there() error {
	st, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(st, s.file) {
		return fmt.Errorf("%w: it was removed or replaced while it was open; a restart begins a new one", ErrMissing)
	}
	return nil
}
