//go:build linux && !nogpu && (amd64 || arm64)

package driver

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// Available says whether this build can open driver libraries.
const Available = true

func open(name string) (uintptr, error) {
	// The loader keeps its error for the thread that caused it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
}

func lookup(handle uintptr, symbol string) (uintptr, error) { return purego.Dlsym(handle, symbol) }

func register(fptr any, addr uintptr) { purego.RegisterFunc(fptr, addr) }
