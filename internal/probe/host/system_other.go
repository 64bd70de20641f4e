//go:build !linux

package host

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

func statfs(string) (usage, error) { return usage{}, errors.ErrUnsupported }

func isProc(string) bool { return false }

func mayUse(string) error { return errors.ErrUnsupported }

func isDevice(string) bool { return false }

func openDevice(string) error { return errors.ErrUnsupported }

// readRecords reads a recorded /dev/kmsg.
func readRecords(path string, limit int) ([]byte, error) {
	b, err := os.ReadFile(path)
	return b[:min(len(b), limit)], err
}

// readFile reads a regular file, at most its first limit bytes.
func readFile(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() {
		return nil, fs.ErrInvalid
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}
