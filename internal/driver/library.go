// Package driver is the door to foreign code: it opens a shared library of NVIDIA's
// driver at run time, without cgo, and binds its functions. Its two rooms, nvml and
// cuda, are the only callers. With the build tag nogpu (and on systems without the
// driver's loader) nothing can be opened and the binary is fully static.
//
// A call into a driver can hang for ever. Nothing here protects from that: callers run
// in a child process (see internal/child).
package driver

import (
	"errors"
	"fmt"
)

// ErrNoDriver says that none of the names could be opened, or that this build has no
// access to the driver at all.
var ErrNoDriver = errors.New("driver library not found")

// ErrNoSymbol says that the library, older than the caller, lacks a function.
var ErrNoSymbol = errors.New("not in this driver version")

// A Library is an open shared library.
type Library struct {
	Name   string // as it was opened
	handle uintptr
}

// Open opens the first of the names that can be opened. The names go to the loader as
// they are: a bare name is searched along the loader's path (LD_LIBRARY_PATH too).
func Open(names ...string) (*Library, error) {
	var errs []error
	for _, name := range names {
		h, err := open(name)
		if err == nil {
			return &Library{Name: name, handle: h}, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("open %v: %w: %w", names, ErrNoDriver, errors.Join(errs...))
}

// Bind points fptr, a pointer to a function variable, at the named function; the
// variable's type is the function's C signature. The error is ErrNoSymbol when the
// library has none of that name; the variable then stays nil.
func (l *Library) Bind(fptr any, symbol string) error {
	addr, err := l.Symbol(symbol)
	if err != nil {
		return err
	}
	register(fptr, addr)
	return nil
}

// Symbol is the address of a function.
func (l *Library) Symbol(symbol string) (uintptr, error) {
	addr, err := lookup(l.handle, symbol)
	if err != nil || addr == 0 {
		return 0, fmt.Errorf("%s: %w", symbol, ErrNoSymbol)
	}
	return addr, nil
}
