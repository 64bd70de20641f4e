package cuda

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"
)

// A Context is the primary context of one GPU and the thread that does all its calls.
// Its methods may be called from any goroutine; they run one after the other.
type Context struct {
	Device Device
	drv    *Driver
	ctx    handle
	work   chan func()

	mu     sync.Mutex
	mem    map[Ptr]uint64
	host   map[unsafe.Pointer][]byte
	closed bool
}

// Context takes the GPU's primary context.
func (d *Driver) Context(dev Device) (*Context, error) {
	c := &Context{Device: dev, drv: d, work: make(chan func()), mem: map[Ptr]uint64{}, host: map[unsafe.Pointer][]byte{}}
	go c.serve()
	err := c.do("cuDevicePrimaryCtxRetain", func() Result { return d.api.primaryRetain(&c.ctx, dev.Handle) })
	if err == nil {
		err = c.do("cuCtxSetCurrent", func() Result { return d.api.ctxSetCurrent(c.ctx) })
	}
	if err != nil {
		close(c.work)
		return nil, err
	}
	return c, nil
}

// serve owns the OS thread. It is never unlocked, so that the thread ends with it and no
// other goroutine ever finds this context current.
func (c *Context) serve() {
	runtime.LockOSThread()
	for f := range c.work {
		f()
	}
}

// do makes one call on the context's thread.
func (c *Context) do(call string, f func() Result) error {
	done := make(chan Result)
	c.work <- func() {
		c.drv.mark(call)
		done <- f()
	}
	return c.drv.fail(call, <-done)
}

// Close frees what is still allocated and gives the context back. It returns the first
// error; after a poisoning error each call fails, which is no further news.
func (c *Context) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	var first error
	keep := func(err error) { first = errors.Join(first, err) }
	mem, host := c.mem, c.host
	c.mu.Unlock()
	for p := range mem {
		keep(c.do("cuMemFree_v2", func() Result { return c.drv.api.memFree(p) }))
	}
	for p := range host {
		keep(c.do("cuMemFreeHost", func() Result { return c.drv.api.memFreeHost(p) }))
	}
	keep(c.do("cuDevicePrimaryCtxRelease_v2", func() Result { return c.drv.api.primaryRelease(c.Device.Handle) }))
	close(c.work)
	return first
}

// MemInfo is the free and total memory that programs see.
func (c *Context) MemInfo() (free, total uint64, err error) {
	err = c.do("cuMemGetInfo_v2", func() Result { return c.drv.api.memGetInfo(&free, &total) })
	return free, total, err
}

// Alloc takes GPU memory; it is given back by Free or Close.
func (c *Context) Alloc(n uint64) (Ptr, error) {
	var p Ptr
	if err := c.do("cuMemAlloc_v2", func() Result { return c.drv.api.memAlloc(&p, n) }); err != nil {
		return 0, err
	}
	c.mu.Lock()
	c.mem[p] = n
	c.mu.Unlock()
	return p, nil
}

// Free gives GPU memory back.
func (c *Context) Free(p Ptr) error {
	c.mu.Lock()
	delete(c.mem, p)
	c.mu.Unlock()
	return c.do("cuMemFree_v2", func() Result { return c.drv.api.memFree(p) })
}

const hostPortable = 1 // pinned for every context of the process

// AllocHost takes pinned host memory.
func (c *Context) AllocHost(n int) ([]byte, error) {
	var p unsafe.Pointer
	if err := c.do("cuMemHostAlloc", func() Result { return c.drv.api.memHostAlloc(&p, uint64(n), hostPortable) }); err != nil {
		return nil, err
	}
	b := unsafe.Slice((*byte)(p), n)
	c.mu.Lock()
	c.host[p] = b
	c.mu.Unlock()
	return b, nil
}

// FreeHost gives pinned memory back.
func (c *Context) FreeHost(b []byte) error {
	p := unsafe.Pointer(unsafe.SliceData(b))
	c.mu.Lock()
	delete(c.host, p)
	c.mu.Unlock()
	return c.do("cuMemFreeHost", func() Result { return c.drv.api.memFreeHost(p) })
}

// ToDevice copies to the GPU and waits. The bytes may be anywhere in host memory.
func (c *Context) ToDevice(dst Ptr, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	return c.do("cuMemcpyHtoD_v2", func() Result {
		return c.drv.api.copyHtoD(dst, unsafe.Pointer(unsafe.SliceData(src)), uint64(len(src)))
	})
}

// ToHost copies from the GPU and waits.
func (c *Context) ToHost(dst []byte, src Ptr) error {
	if len(dst) == 0 {
		return nil
	}
	return c.do("cuMemcpyDtoH_v2", func() Result {
		return c.drv.api.copyDtoH(unsafe.Pointer(unsafe.SliceData(dst)), src, uint64(len(dst)))
	})
}

// Synchronize waits for all work of the context.
func (c *Context) Synchronize() error {
	return c.do("cuCtxSynchronize", func() Result { return c.drv.api.ctxSynchronize() })
}

// EnablePeer lets this context reach the other's memory.
func (c *Context) EnablePeer(other *Context) error {
	err := c.do("cuCtxEnablePeerAccess", func() Result { return c.drv.api.enablePeer(other.ctx, 0) })
	if Is(err, PeerAlready) {
		return nil
	}
	return err
}
