package cuda

import (
	"errors"
	"fmt"
)

// Result is a CUresult.
type Result int32

// Results that callers tell apart. The names of all others come from the driver.
const (
	Success           Result = 0
	InvalidValue      Result = 1
	OutOfMemory       Result = 2
	NotInitialized    Result = 3
	DeviceUnavailable Result = 46
	NoDevice          Result = 100
	InvalidDevice     Result = 101
	InvalidPTX        Result = 218
	ECCUncorrectable  Result = 214
	PeerAlready       Result = 704
	NotReady          Result = 600
	NotSupported      Result = 801
)

// An Error is a call that the driver answered with something other than success.
type Error struct {
	Call   string // cuMemAlloc_v2
	Result Result
	Name   string // CUDA_ERROR_OUT_OF_MEMORY
	Text   string // out of memory
	Log    string // what the PTX compiler said, for cuModuleLoadDataEx
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s (%d)", e.Call, e.Name, e.Result)
	if e.Text != "" {
		s += ": " + e.Text
	}
	if e.Log != "" {
		s += ": " + e.Log
	}
	return s
}

// Is reports whether err is the driver's answer r.
func Is(err error, r Result) bool {
	var e *Error
	return errors.As(err, &e) && e.Result == r
}

// fail makes the error of a call; nil when r is success.
func (d *Driver) fail(call string, r Result) error {
	if r == Success {
		return nil
	}
	return &Error{Call: call, Result: r, Name: d.word(d.api.getErrorName, r, fmt.Sprintf("CUDA error %d", r)), Text: d.word(d.api.getErrorString, r, "")}
}

// word asks the driver for the name or the text of a result.
func (d *Driver) word(ask func(Result, **byte) Result, r Result, fallback string) string {
	if ask == nil {
		return fallback
	}
	var p *byte
	if ask(r, &p) != Success || p == nil {
		return fallback
	}
	return goString(p)
}
