package source

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// maxSpool bounds what is copied to disk: an archive on standard input, a zip
// inside of another archive, a journal that is packed.
const maxSpool = 4 << 30

// spoolDir is where large temporary files go: /var/tmp, since /tmp is often memory.
func spoolDir() string {
	if d := os.Getenv("TMPDIR"); d != "" {
		return d
	}
	if info, err := os.Stat("/var/tmp"); err == nil && info.IsDir() {
		return "/var/tmp"
	}
	return os.TempDir()
}

// spool copies a stream to a temporary file that has no name any more, so that it is
// gone with the process whatever happens.
func spool(r io.Reader, limit int64) (*os.File, int64, error) {
	f, n, err := spoolNamed(r, "gpumedic-*", limit)
	if err == nil {
		_ = os.Remove(f.Name())
	}
	return f, n, err
}

// spoolNamed is spool with a file that the caller removes.
func spoolNamed(r io.Reader, pattern string, limit int64) (*os.File, int64, error) {
	f, err := os.CreateTemp(spoolDir(), pattern)
	if err != nil {
		return nil, 0, inputError("needs a temporary copy, which could not be made: " + pathReason(err))
	}
	n, err := io.Copy(f, io.LimitReader(r, limit+1))
	switch {
	case n > limit:
		err = inputError(fmt.Sprintf("is larger than the %s that are copied: unpack it and name the folder", byteSize(limit)))
	case err == nil:
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		_ = os.Remove(f.Name())
		return nil, n, err
	}
	return f, n, nil
}

func pathReason(err error) string {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}

// part is a part of a file that stays open when it is closed.
type part struct{ *io.SectionReader }

func (part) Close() error { return nil }
