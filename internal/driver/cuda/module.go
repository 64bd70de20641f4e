package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// A Module is compiled code on one GPU.
type Module struct {
	c *Context
	h handle
}

// A Function is a kernel of a module.
type Function struct {
	c    *Context
	h    handle
	Name string
}

// Options of cuModuleLoadDataEx.
const (
	jitErrorLog     = 5
	jitErrorLogSize = 6
)

// Load compiles PTX text for the context's GPU. The compiler's words are in the error.
func (c *Context) Load(name, ptx string) (*Module, error) {
	m := &Module{c: c}
	log := make([]byte, 16<<10)
	options := []uint32{jitErrorLog, jitErrorLogSize}
	values := []uintptr{uintptr(unsafe.Pointer(&log[0])), uintptr(len(log))}
	image := cString(ptx)
	var pin runtime.Pinner // the driver writes through an address in values
	defer pin.Unpin()
	pin.Pin(&log[0])
	err := c.do("cuModuleLoadDataEx "+name, func() Result {
		return c.drv.api.moduleLoadDataEx(&m.h, image, uint32(len(options)), &options[0], &values[0])
	})
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.Log = strings.TrimSpace(cut(log))
		}
		return nil, fmt.Errorf("load %s: %w", name, err)
	}
	return m, nil
}

// Function finds a kernel by its name.
func (m *Module) Function(name string) (*Function, error) {
	f := &Function{c: m.c, Name: name}
	err := m.c.do("cuModuleGetFunction "+name, func() Result { return m.c.drv.api.moduleGetFunc(&f.h, m.h, cString(name)) })
	return f, err
}

const attrMaxDynamicShared = 8

// AllowShared lets launches ask for so many bytes of shared memory.
func (f *Function) AllowShared(n int) error {
	return f.c.do("cuFuncSetAttribute "+f.Name, func() Result { return f.c.drv.api.funcSetAttribute(f.h, attrMaxDynamicShared, int32(n)) })
}

// Shape is how a kernel is launched.
type Shape struct {
	Grid, Block, Shared int
	Stream              *Stream // nil is the default stream
}

// Launch starts a kernel. args are its parameters in order: Ptr, uint64, uint32, int32,
// float32, float64 or int (as a 32-bit value).
func (f *Function) Launch(s Shape, args ...any) error {
	slots := make([]uint64, len(args))
	for i, a := range args {
		v, err := slot(a)
		if err != nil {
			return fmt.Errorf("launch %s: argument %d: %w", f.Name, i, err)
		}
		slots[i] = v
	}
	// The driver copies the values during the call; until then neither array may move.
	var pin runtime.Pinner
	defer pin.Unpin()
	ptrs := make([]unsafe.Pointer, len(slots)+1)
	pin.Pin(&ptrs[0])
	for i := range slots {
		pin.Pin(&slots[i])
		ptrs[i] = unsafe.Pointer(&slots[i])
	}
	return f.c.do("cuLaunchKernel "+f.Name, func() Result {
		return f.c.drv.api.launchKernel(f.h, uint32(s.Grid), 1, 1, uint32(s.Block), 1, 1, uint32(s.Shared), s.Stream.handle(), unsafe.Pointer(&ptrs[0]), nil)
	})
}
