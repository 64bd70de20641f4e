// Package replace writes a file whole or not at all: a reader, a node exporter's collector
// for one, sees the old content or the new and never half of either.
package replace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// File gives a file new content. What is no regular file (/dev/null, a pipe) is written to
// and stays what it is; a link stays and its target is replaced. The error does not name
// the path: the caller says what was to be written where.
func File(path string, data []byte) error {
	if st, err := os.Stat(path); err == nil {
		if !st.Mode().IsRegular() {
			return bare(through(path, data))
		}
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target
		}
	}
	return bare(swap(path, data))
}

func through(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

func swap(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".gpumedic-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after the rename there is nothing to remove
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// bare drops the name of the temporary file, which says nothing to whoever named another.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}
