package nvml

import (
	"bytes"
	"errors"

	"github.com/gpumedic/gpumedic/internal/driver"
)

// Names are where the library is looked for: along the loader's path, then where
// distributions put it that keep the driver out of that path (WSL, NixOS, GKE and other
// container hosts, the driver container of the GPU operator).
var Names = []string{
	"libnvidia-ml.so.1",
	"/usr/lib/wsl/lib/libnvidia-ml.so.1",
	"/run/opengl-driver/lib/libnvidia-ml.so.1",
	"/usr/local/nvidia/lib64/libnvidia-ml.so.1",
	"/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
	"/run/nvidia/driver/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
}

// NVML is the open library.
type NVML struct {
	// Before, when set, hears the name of a function before it is called.
	Before func(function string)

	lib   *driver.Library
	procs map[string]any // bound functions by name; nil: the library has none of that name
}

// A Device is the driver's handle of a GPU or of a MIG instance.
type Device uintptr

// Open opens the library; Init has to follow.
func Open() (*NVML, error) {
	lib, err := driver.Open(Names...)
	if err != nil {
		return nil, err
	}
	return &NVML{lib: lib, procs: map[string]any{}}, nil
}

// Init starts the library. It talks to the kernel driver and can take seconds when no
// other program holds the GPUs open.
func (n *NVML) Init() error {
	f, name := use[func() Return](n, "nvmlInit_v2", "nvmlInit")
	return n.call0(f, name)
}

// Shutdown ends what Init started.
func (n *NVML) Shutdown() error {
	f, name := use[func() Return](n, "nvmlShutdown")
	return n.call0(f, name)
}

func (n *NVML) call0(f func() Return, name string) error {
	if f == nil {
		return missing(name)
	}
	n.begin(name)
	return result(name, f())
}

func (n *NVML) begin(name string) {
	if n.Before != nil {
		n.Before(name)
	}
}

// use gives the first of the named functions that this library has, and its name. F is
// the C signature. Without any of them the function is nil.
func use[F any](n *NVML, names ...string) (F, string) {
	for _, name := range names {
		p, seen := n.procs[name]
		if !seen {
			var f F
			if n.lib.Bind(&f, name) == nil {
				p = f
			}
			n.procs[name] = p
		}
		if f, ok := p.(F); ok {
			return f, name
		}
	}
	var none F
	return none, names[0]
}

// get calls a function that fills one value of a device: a number or a struct.
func get[T any](n *NVML, d Device, v *T, names ...string) error {
	f, name := use[func(Device, *T) Return](n, names...)
	if f == nil {
		return missing(name)
	}
	n.begin(name)
	return result(name, f(d, v))
}

// value is get for a plain value.
func value[T any](n *NVML, d Device, names ...string) (T, error) {
	var v T
	err := get(n, d, &v, names...)
	return v, err
}

// pair calls a function that fills two numbers.
func pair[A, B any](n *NVML, d Device, name string) (A, B, error) {
	var a A
	var b B
	f, _ := use[func(Device, *A, *B) Return](n, name)
	if f == nil {
		return a, b, missing(name)
	}
	n.begin(name)
	return a, b, result(name, f(d, &a, &b))
}

// chosen calls a function that fills one value for a kind of thing (a clock, a link, a
// threshold). A driver that does not know this kind yet says "invalid argument".
func chosen[T any](n *NVML, d Device, kind uint32, names ...string) (T, error) {
	var v T
	f, name := use[func(Device, uint32, *T) Return](n, names...)
	if f == nil {
		return v, missing(name)
	}
	n.begin(name)
	return v, ofKind(name, f(d, kind, &v))
}

// text calls a function that fills a string of at most size bytes.
func text(n *NVML, d Device, size int, name string) (string, error) {
	f, _ := use[func(Device, *byte, uint32) Return](n, name)
	if f == nil {
		return "", missing(name)
	}
	buf := make([]byte, size)
	n.begin(name)
	if err := result(name, f(d, &buf[0], uint32(size))); err != nil {
		return "", err
	}
	return cString(buf), nil
}

func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// NotFound reports whether Open found no library of any of the names, rather than one
// that could not be loaded.
func NotFound(err error) bool { return errors.Is(err, driver.ErrNoDriver) && !loadFailed(err) }

// loadFailed looks for a loader's message about a file that is there. The loader gives
// its reason as text only.
func loadFailed(err error) bool {
	for _, line := range bytes.Split([]byte(err.Error()), []byte("\n")) {
		for _, s := range []string{"invalid ELF header", "wrong ELF class", "file too short", "undefined symbol", "version `", "Permission denied", "cannot open shared object file: Input/output error"} {
			if bytes.Contains(line, []byte(s)) {
				return true
			}
		}
	}
	return false
}
