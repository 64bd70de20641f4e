package burn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/gpumedic/gpumedic/internal/driver/cuda"
)

// An event is one line from a worker to its parent. What an event holds replaces what an
// earlier one said, except Records and Mismatches, which add up: a worker that is killed
// has told all but its last moment.
type event struct {
	GPU        *Identity  `json:"gpu,omitempty"`
	Progress   *Progress  `json:"progress,omitempty"`
	Memory     *Memory    `json:"memory,omitempty"`
	Stress     *Stress    `json:"stress,omitempty"`
	Rates      []Rate     `json:"rates,omitempty"`
	Records    []Record   `json:"records,omitempty"`
	Mismatches []Mismatch `json:"mismatches,omitempty"`
	Failure    *Failure   `json:"failure,omitempty"`
	Done       bool       `json:"done,omitempty"`
}

// Identity names the GPU of a test, as CUDA sees it.
type Identity struct {
	PCI        string `json:"pci"`
	UUID       string `json:"uuid,omitempty"`
	Name       string `json:"name,omitempty"`
	SMs        int    `json:"sms,omitempty"`
	L2         uint64 `json:"l2_bytes,omitempty"`
	Capability int    `json:"capability,omitempty"`
	ECC        bool   `json:"ecc,omitempty"`
	Driver     int    `json:"cuda_driver,omitempty"`
}

func identity(d *cuda.Driver, dev cuda.Device) *Identity {
	return &Identity{PCI: dev.PCI, UUID: dev.UUID, Name: dev.Name, SMs: dev.SMs, L2: dev.L2, Capability: dev.Capability, ECC: dev.ECC, Driver: d.Version}
}

// Progress is how far a test is.
type Progress struct {
	Step   string  `json:"step"`
	Share  float64 `json:"share"`            // 0 to 1
	Rate   float64 `json:"rate,omitempty"`   // in Unit
	Unit   string  `json:"unit,omitempty"`   // TB/s, TFLOP/s
	Errors uint64  `json:"errors,omitempty"` // wrong words or digests
}

// Failure is a driver call that ended a test.
type Failure struct {
	Call string `json:"call,omitempty"`
	Code int    `json:"code,omitempty"` // CUresult; 0 when it was no answer of the driver
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
}

func failure(err error) *Failure {
	f := &Failure{Text: err.Error()}
	var e *cuda.Error
	if asError(err, &e) {
		f.Call, f.Code, f.Name = e.Call, int(e.Result), e.Name
	}
	return f
}

// An emitter writes events as lines. Progress is thinned out to ten lines a second.
type emitter struct {
	w    io.Writer
	err  error
	last time.Time
}

func (e *emitter) emit(ev event) {
	if e.err != nil {
		return
	}
	b, err := json.Marshal(ev)
	if err == nil {
		_, err = e.w.Write(append(b, '\n'))
	}
	if err != nil {
		e.err = fmt.Errorf("write event: %w", err)
	}
}

func (e *emitter) progress(p Progress) {
	if now := time.Now(); now.Sub(e.last) >= 100*time.Millisecond {
		e.last = now
		e.emit(event{Progress: &p})
	}
}

// A collector takes a worker's lines as they come and gives each event to take. It is
// not called after the worker's run has returned.
type collector struct {
	mu   sync.Mutex
	rest []byte
	take func(event)
}

func (c *collector) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest = append(c.rest, b...)
	for {
		i := bytes.IndexByte(c.rest, '\n')
		if i < 0 {
			return len(b), nil
		}
		var ev event
		if json.Unmarshal(c.rest[:i], &ev) == nil { // a line cut off by a kill is no event
			c.take(ev)
		}
		c.rest = c.rest[i+1:]
	}
}
