//go:build !linux || nogpu || !(amd64 || arm64)

package driver

import "errors"

// Available says whether this build can open driver libraries.
const Available = false

func open(string) (uintptr, error) {
	return 0, errors.New("this build of gpumedic has no access to GPU drivers (system without them, or built with -tags nogpu)")
}

func lookup(uintptr, string) (uintptr, error) { return 0, ErrNoSymbol }

func register(any, uintptr) {}
