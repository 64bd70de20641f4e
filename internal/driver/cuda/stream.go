package cuda

import (
	"fmt"
	"math"
	"time"
	"unsafe"
)

// slot is a kernel parameter in the low bytes of a word (the machine is little-endian).
func slot(a any) (uint64, error) {
	switch v := a.(type) {
	case Ptr:
		return uint64(v), nil
	case uint64:
		return v, nil
	case uint32:
		return uint64(v), nil
	case int32:
		return uint64(uint32(v)), nil
	case int:
		return uint64(uint32(v)), nil
	case float32:
		return uint64(math.Float32bits(v)), nil
	case float64:
		return math.Float64bits(v), nil
	}
	return 0, fmt.Errorf("type %T has no place in a kernel's parameters", a)
}

// A Stream is a queue of work on one GPU.
type Stream struct {
	c *Context
	h handle
}

func (s *Stream) handle() handle {
	if s == nil {
		return 0
	}
	return s.h
}

const streamNonBlocking = 1

// Stream makes a queue. The copies that wait (ToDevice, ToHost of a Context) come after
// what it holds, and what it gets later comes after them.
func (c *Context) Stream() (*Stream, error) { return c.stream(0) }

// StreamApart makes a queue that nothing else waits for, and that waits for nothing: order
// has to be made with events.
func (c *Context) StreamApart() (*Stream, error) { return c.stream(streamNonBlocking) }

func (c *Context) stream(flags uint32) (*Stream, error) {
	s := &Stream{c: c}
	return s, c.do("cuStreamCreate", func() Result { return c.drv.api.streamCreate(&s.h, flags) })
}

// Synchronize waits until the queue is empty.
func (s *Stream) Synchronize() error {
	return s.c.do("cuStreamSynchronize", func() Result { return s.c.drv.api.streamSync(s.h) })
}

// Destroy gives the queue back.
func (s *Stream) Destroy() error {
	return s.c.do("cuStreamDestroy_v2", func() Result { return s.c.drv.api.streamDestroy(s.h) })
}

// ToDevice starts a copy from pinned memory.
func (s *Stream) ToDevice(dst Ptr, src []byte) error {
	return s.c.do("cuMemcpyHtoDAsync_v2", func() Result {
		return s.c.drv.api.copyHtoDAsync(dst, unsafe.Pointer(unsafe.SliceData(src)), uint64(len(src)), s.h)
	})
}

// ToHost starts a copy to pinned memory.
func (s *Stream) ToHost(dst []byte, src Ptr) error {
	return s.c.do("cuMemcpyDtoHAsync_v2", func() Result {
		return s.c.drv.api.copyDtoHAsync(unsafe.Pointer(unsafe.SliceData(dst)), src, uint64(len(dst)), s.h)
	})
}

// Copy starts a copy inside the GPU's memory.
func (s *Stream) Copy(dst, src Ptr, n uint64) error {
	return s.c.do("cuMemcpyDtoDAsync_v2", func() Result { return s.c.drv.api.copyDtoDAsync(dst, src, n, s.h) })
}

// FromPeer starts a copy from another GPU's memory.
func (s *Stream) FromPeer(dst Ptr, peer *Context, src Ptr, n uint64) error {
	return s.c.do("cuMemcpyPeerAsync", func() Result {
		return s.c.drv.api.copyPeerAsync(dst, s.c.ctx, src, peer.ctx, n, s.h)
	})
}

// Set fills memory with a 32-bit value.
func (s *Stream) Set(dst Ptr, value uint32, words uint64) error {
	return s.c.do("cuMemsetD32Async", func() Result { return s.c.drv.api.memsetD32Async(dst, value, words, s.h) })
}

// An Event is a moment in a stream.
type Event struct {
	c *Context
	h handle
}

const eventBlockingSync = 1 // waiting sleeps; the default spins on a whole core

// Event makes an event that keeps its time.
func (c *Context) Event() (*Event, error) {
	e := &Event{c: c}
	return e, c.do("cuEventCreate", func() Result { return c.drv.api.eventCreate(&e.h, eventBlockingSync) })
}

// Record places the event behind what the stream holds now.
func (e *Event) Record(s *Stream) error {
	return e.c.do("cuEventRecord", func() Result { return e.c.drv.api.eventRecord(e.h, s.handle()) })
}

// Synchronize waits for the event.
func (e *Event) Synchronize() error {
	return e.c.do("cuEventSynchronize", func() Result { return e.c.drv.api.eventSync(e.h) })
}

// Since is the time between an earlier event and this one; both must have come.
func (e *Event) Since(start *Event) (time.Duration, error) {
	var ms float32
	err := e.c.do("cuEventElapsedTime", func() Result { return e.c.drv.api.eventElapsed(&ms, start.h, e.h) })
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}
