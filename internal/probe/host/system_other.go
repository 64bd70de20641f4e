//go:build !linux

package host

import (
	"errors"
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
