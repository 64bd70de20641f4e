package burn

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/gpumedic/gpumedic/internal/driver/cuda"
)

// MemOptions say how a memory test is done.
type MemOptions struct {
	PCI  string        `json:"pci"`
	Mode string        `json:"mode"`
	Soak time.Duration `json:"soak,omitempty"`
	Fade time.Duration `json:"fade,omitempty"`
	// Rounds ends a soak after so many rounds; 0 is no bound.
	Rounds int `json:"rounds,omitempty"`
}

// Memory is what a memory test has done so far.
type Memory struct {
	Mode    string `json:"mode"`
	Total   uint64 `json:"total_bytes"`  // of the card, as programs can have it
	Free    uint64 `json:"free_bytes"`   // before the test
	Tested  uint64 `json:"tested_bytes"` // under test
	Chunks  int    `json:"chunks"`
	Steps   int    `json:"steps"`   // done
	Planned int    `json:"planned"` // of one round
	Rounds  int    `json:"rounds"`  // complete
	Passes  int    `json:"passes"`  // traversals of the memory
	// Verified is how many bytes were read and compared, counted by the GPU itself.
	Verified  uint64  `json:"verified_bytes"`
	WriteRate float64 `json:"write_bytes_per_s"` // plain fills
	ReadRate  float64 `json:"read_bytes_per_s"`  // reading with comparison
	Seconds   float64 `json:"seconds"`

	Errors counts `json:"errors"`
	// FirstWrong is how many words the first pass with errors found wrong.
	FirstWrong uint64  `json:"first_wrong_words,omitempty"`
	Waited     float64 `json:"waited_s,omitempty"` // bit fade
}

// memtest is a worker's memory test.
type memtest struct {
	*gpu
	o     MemOptions
	e     *emitter
	mem   Memory
	begun time.Time

	// plant, in tests alone, spoils memory after a pass; it is the only way to show on a
	// good GPU that errors are found where they are.
	plant func(o op) error

	passes []passInfo // of the checks, by number
	kept   int        // records that were read back

	moved, goal       float64 // bytes, for progress
	wrote, read       float64
	wroteFor, readFor time.Duration
}

// passInfo says what a check expected.
type passInfo struct {
	step string
	op   op
}

// errSmall: less memory than keeps the L2 cache out of the way.
var errSmall = errors.New("too little free memory to test past the cache")

func (t *memtest) run(ctx context.Context) error {
	t.begun = time.Now()
	total := t.Device.Total
	if err := t.selfCheck(); err != nil {
		return fmt.Errorf("self-check: %w", err)
	}
	free, err := t.takeFree()
	if err != nil {
		return err
	}
	t.mem = Memory{Mode: t.o.Mode, Total: total, Free: free, Tested: t.tested(), Chunks: len(t.chunks)}
	t.e.emit(event{Memory: &t.mem})
	if t.mem.Tested == 0 {
		return fmt.Errorf("allocate GPU memory: none of %d MiB that are free", free>>20)
	}
	if t.mem.Tested < 4*t.Device.L2 {
		return fmt.Errorf("%w: %d MiB, the cache holds %d MiB", errSmall, t.mem.Tested>>20, t.Device.L2>>20)
	}
	for round := 0; ; round++ {
		if err := t.round(ctx, round); err != nil {
			return err
		}
		t.mem.Rounds++
		t.report()
		if t.o.Mode != ModeSoak || time.Since(t.begun) >= t.o.Soak || t.mem.Rounds == t.o.Rounds {
			return nil
		}
	}
}

func (t *memtest) round(ctx context.Context, round int) error {
	steps := plan(t.o.Mode, round, t.o.Fade)
	t.mem.Planned = len(steps)
	t.goal = t.moved
	for _, s := range steps {
		t.goal += s.traversals() * float64(t.mem.Tested)
	}
	for _, s := range steps {
		for _, o := range s.ops {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := t.pass(ctx, s, o); err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
		}
		t.mem.Steps++
		t.report()
		if t.o.Mode == ModeSoak && time.Since(t.begun) >= t.o.Soak && t.mem.Rounds > 0 {
			return nil
		}
	}
	return nil
}

// report tells the parent where the test stands.
func (t *memtest) report() {
	t.mem.Seconds = time.Since(t.begun).Seconds()
	if t.wroteFor > 0 {
		t.mem.WriteRate = t.wrote / t.wroteFor.Seconds()
	}
	if t.readFor > 0 {
		t.mem.ReadRate = t.read / t.readFor.Seconds()
	}
	t.e.emit(event{Memory: &t.mem})
}

// pass makes one traversal and looks at its errors.
func (t *memtest) pass(ctx context.Context, s step, o op) error {
	if o.do == opWait {
		return t.wait(ctx, s, o.wait)
	}
	number := len(t.passes)
	if o.do == opCheck || o.do == opCheckHalf {
		t.passes = append(t.passes, passInfo{s.Name, o})
	}
	took, err := t.timed(func() error {
		for _, c := range t.chunks {
			if err := t.launch(c, o, number); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	bytes := step{ops: []op{o}}.traversals() * float64(t.mem.Tested)
	switch {
	case o.do == opFill:
		t.wrote, t.wroteFor = t.wrote+bytes, t.wroteFor+took
	case o.do == opCheck && o.inv == 0:
		t.read, t.readFor = t.read+bytes, t.readFor+took
	}
	t.mem.Passes++
	t.moved += bytes
	if t.plant != nil {
		if err := t.plant(o); err != nil {
			return err
		}
	}
	if o.do == opCheck || o.do == opCheckHalf {
		if err := t.settle(o); err != nil {
			return err
		}
	}
	p := Progress{Step: s.Name, Share: t.moved / max(t.goal, 1), Errors: t.mem.Errors.Words, Unit: "TB/s"}
	if took > 0 {
		p.Rate = bytes / took.Seconds() / 1e12
	}
	if t.o.Mode == ModeSoak && t.o.Soak > 0 {
		p.Share = min(1, time.Since(t.begun).Seconds()/t.o.Soak.Seconds())
	}
	t.e.progress(p)
	return t.e.err
}

func (t *memtest) launch(c chunk, o op, pass int) error {
	half := c.bytes / 2
	switch o.do {
	case opFill:
		return t.fill(c, o.pattern)
	case opCheck:
		return t.check(c, o.pattern, o.inv, pass)
	case opMoveHalf:
		dst, src := c.at, c.at+cuda.Ptr(half)
		if o.half == 1 {
			dst, src = src, dst
		}
		return t.copy(dst, src, half)
	default: // the half at which the copy lies, with the numbers of the other
		part := chunk{c.at, half, c.first + half/vector}
		if o.half == 1 {
			part = chunk{c.at + cuda.Ptr(half), half, c.first}
		}
		return t.check(part, o.pattern, 0, pass)
	}
}

// wait lets the memory lie still.
func (t *memtest) wait(ctx context.Context, s step, d time.Duration) error {
	begun := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		left := d - time.Since(begun)
		if left <= 0 {
			t.mem.Waited += d.Seconds()
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(left):
		case <-tick.C: // a driver call shows the parent that the worker lives
			if _, _, err := t.MemInfo(); err != nil {
				return err
			}
			t.e.progress(Progress{Step: s.Name, Share: t.moved / max(t.goal, 1), Errors: t.mem.Errors.Words})
		}
	}
}

// settle reads the counters after a check: all of the memory must have been looked at, and
// new wrong vectors are examined.
func (t *memtest) settle(o op) error {
	now, err := t.counts()
	if err != nil {
		return err
	}
	want := t.mem.Tested / vector
	if o.do == opCheckHalf {
		want /= 2
	}
	if got := now.Checked - t.mem.Errors.Checked; got != want {
		return fmt.Errorf("count checked vectors: %d of %d: the kernel did not run as it should", got, want)
	}
	t.mem.Verified += want * vector
	if t.mem.Errors.Words == 0 {
		t.mem.FirstWrong = now.Words
	}
	t.mem.Errors = now
	fresh := int(min(now.Records, records))
	if fresh <= t.kept {
		return nil
	}
	list, err := t.examine(t.kept, fresh)
	if err != nil {
		return err
	}
	t.kept = fresh
	t.e.emit(event{Records: list})
	t.report()
	return nil
}

// selfCheck proves that the kernels do on this GPU what reference.go says, and that a wrong
// word is found: otherwise a pass would say nothing.
func (t *memtest) selfCheck() error {
	const n = page / 8 / vector
	buf := make([]byte, n*vector)
	for _, p := range []Pattern{
		{Kind: kindHash, S: 0x1234567, B: ones},
		{Kind: kindOwn, A: 0x55, B: 0xAA000000},
		{Kind: kindRotate, A: 0x80000001, S: 5, B: 0xF0},
		{Kind: kindModulo, A: 0xDEADBEEF, B: 0x21524110, S: 13},
	} {
		c := chunk{t.small, n * vector, 1<<34 - n/2} // the number's high half changes within
		if err := t.fill(c, p); err != nil {
			return err
		}
		if err := t.ToHost(buf, t.small); err != nil {
			return err
		}
		for v := range uint64(n) {
			for j, w := range p.Vector(c.first + v) {
				if got := binary.LittleEndian.Uint32(buf[v*vector+uint64(j)*4:]); got != w {
					return fmt.Errorf("pattern %d: vector %d word %d is %08x, the reference says %08x", p.Kind, v, j, got, w)
				}
			}
		}
		at := 77 * vector * uint64(p.Kind+1)
		bad := binary.LittleEndian.Uint32(buf[at:]) ^ 1<<9
		if err := t.ToDevice(t.small+cuda.Ptr(at), binary.LittleEndian.AppendUint32(nil, bad)); err != nil {
			return err
		}
		if err := t.clear(); err != nil {
			return err
		}
		if err := t.check(c, p, 0, 0); err != nil {
			return err
		}
		if err := t.stream.Synchronize(); err != nil {
			return err
		}
		switch got, err := t.counts(); {
		case err != nil:
			return err
		case got != counts{Words: 1, Records: 1, Checked: n, Single: 1, Bits: 1, Mask: 1 << 9}:
			return fmt.Errorf("pattern %d: one planted error is counted as %+v", p.Kind, got)
		}
	}
	return t.clear()
}
