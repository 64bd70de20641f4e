package burn

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/gpumedic/gpumedic/internal/driver/cuda"
)

// A slotBuf takes one launch's digests; two alternate, so that the GPU never waits for the
// host.
type slotBuf struct {
	out, sm, nan cuda.Ptr
	done         *cuda.Event
	start        *cuda.Event
}

// A running path.
type running struct {
	*stress
	p        pathOf
	f        *cuda.Function
	grid     int
	bufs     [2]slotBuf
	host     []byte       // pinned: digests, then SMs, then the count of NaNs
	apart    *cuda.Stream // copies them while the next launch runs
	want     []uint32
	path     *Path
	busy     time.Duration
	iters    uint32
	queued   int
	finished int
}

func (r *running) prepare() error {
	m, err := r.Load(r.p.file, r.p.ptx)
	if err != nil {
		return err
	}
	if r.f, err = m.Function(r.p.kernel); err != nil {
		return err
	}
	if r.p.shared > 0 {
		if err := r.f.AllowShared(r.p.shared); err != nil {
			return err
		}
	}
	if r.host, err = r.AllocHost(r.grid*(block+1)*4 + 8); err != nil {
		return err
	}
	if r.apart, err = r.StreamApart(); err != nil {
		return err
	}
	for i := range r.bufs {
		b := &r.bufs[i]
		for _, a := range []struct {
			to *cuda.Ptr
			n  int
		}{{&b.out, r.grid * block * 4}, {&b.sm, r.grid * 4}, {&b.nan, 8}} {
			if *a.to, err = r.Alloc(uint64(a.n)); err != nil {
				return err
			}
		}
		if b.done, err = r.Event(); err != nil {
			return err
		}
		if b.start, err = r.Event(); err != nil {
			return err
		}
	}
	return nil
}

func (r *running) free() {
	for _, b := range r.bufs {
		for _, p := range []cuda.Ptr{b.out, b.sm, b.nan} {
			_ = r.Free(p) // the context's end frees it as well
		}
	}
	_ = r.apart.Destroy()
	_ = r.FreeHost(r.host)
}

func (r *running) start(b *slotBuf, iters uint32) error {
	if err := r.stream.Set(b.nan, 0, 2); err != nil {
		return err
	}
	if err := b.start.Record(r.stream); err != nil {
		return err
	}
	shape := cuda.Shape{Grid: r.grid, Block: block, Shared: r.p.shared, Stream: r.stream}
	if err := r.f.Launch(shape, b.out, b.sm, b.nan, iters, uint32(stressSeed)); err != nil {
		return err
	}
	return b.done.Record(r.stream)
}

func (r *running) wait(b *slotBuf) (time.Duration, error) {
	if err := b.done.Synchronize(); err != nil {
		return 0, err
	}
	took, err := b.done.Since(b.start)
	if err != nil {
		return 0, err
	}
	at := 0
	for _, c := range []struct {
		from cuda.Ptr
		n    int
	}{{b.out, r.grid * block * 4}, {b.sm, r.grid * 4}, {b.nan, 8}} {
		if err := r.apart.ToHost(r.host[at:at+c.n], c.from); err != nil {
			return 0, err
		}
		at += c.n
	}
	return took, r.apart.Synchronize()
}

// smOf is the SM that ran a block of the launch that was copied last.
func (r *running) smOf(blk int) int {
	return int(binary.LittleEndian.Uint32(r.host[r.grid*block*4+blk*4:]))
}

func (r *running) digest(i int) uint32 { return binary.LittleEndian.Uint32(r.host[4*i:]) }

// knownRounds is how long the run is whose digest is told: the same in every run, so that
// the digests of any two GPUs of a kind can be compared.
const knownRounds = 500

// known makes a short run and compares it with the reference in Go where the arithmetic is
// specified, and with the most frequent result of the SMs elsewhere.
func (r *running) known() error {
	if err := r.start(&r.bufs[0], knownRounds); err != nil {
		return err
	}
	if _, err := r.wait(&r.bufs[0]); err != nil {
		return err
	}
	r.want = r.majority()
	if r.p.digest != nil {
		for tid := range r.want {
			r.want[tid] = r.p.digest(uint32(tid), knownRounds, stressSeed)
		}
	}
	h := fnv.New64a()
	for _, w := range r.want {
		_ = binary.Write(h, binary.LittleEndian, w) // a hash takes every write
	}
	r.path.Digest = fmt.Sprintf("%016x", h.Sum64())
	return r.compare(0)
}

// calibrate finds how many rounds a launch takes, and makes the first launch's most
// frequent digest of each thread the one that all others must equal.
func (r *running) calibrate() error {
	iters := uint32(64)
	for r.o.Launches == 0 { // bounded launches are tests of the logic, not of a GPU
		if err := r.start(&r.bufs[0], iters); err != nil {
			return err
		}
		took, err := r.wait(&r.bufs[0])
		if err != nil {
			return err
		}
		if took > targetLaunch/8 || iters > 1<<28 {
			iters = uint32(max(1, min(float64(iters)*targetLaunch.Seconds()/max(took.Seconds(), 1e-6), 1<<30)))
			break
		}
		iters *= 4
	}
	r.iters = iters
	if err := r.start(&r.bufs[0], iters); err != nil {
		return err
	}
	if _, err := r.wait(&r.bufs[0]); err != nil {
		return err
	}
	r.want = r.majority()
	return r.compare(0)
}

// majority is each thread's most frequent digest over the blocks.
func (r *running) majority() []uint32 {
	want := make([]uint32, block)
	for tid := range block {
		seen := map[uint32]int{}
		best := 0
		for b := range r.grid {
			d := r.digest(b*block + tid)
			if seen[d]++; seen[d] > best {
				best, want[tid] = seen[d], d
			}
		}
	}
	return want
}

func (r *running) launch() error {
	err := r.start(&r.bufs[r.queued%2], r.iters)
	r.queued++
	return err
}

// collect waits for the oldest launch and compares it while the next one runs.
func (r *running) collect() error {
	b := &r.bufs[r.finished%2]
	took, err := r.wait(b)
	if err != nil {
		return err
	}
	r.finished++
	r.busy += took
	if err := r.compare(r.finished); err != nil {
		return err
	}
	p := r.path
	p.Launches, p.Seconds, p.To = r.finished, r.busy.Seconds(), time.Now().UTC()
	p.FLOPs = r.p.flops * float64(r.iters) * float64(r.grid) * float64(r.finished) / max(r.busy.Seconds(), 1e-9)
	r.res.Seconds = time.Since(r.begun).Seconds()
	r.e.emit(event{Stress: &r.res})
	share := 1.0
	if r.o.Duration > 0 {
		share = min(1, r.res.Seconds/r.o.Duration.Seconds())
	}
	r.e.progress(Progress{Step: r.p.name + " " + r.p.kernel, Share: share, Rate: p.FLOPs / 1e12, Unit: "TFLOP/s", Errors: r.wrong})
	return r.e.err
}

// compare looks at every digest of the launch that was copied last.
func (r *running) compare(launch int) error {
	var found []Mismatch
	var bad uint64
	for blk := range r.grid {
		for tid := range block {
			got := r.digest(blk*block + tid)
			if got == r.want[tid] {
				continue
			}
			bad++
			if r.kept+len(found) < maxMismatches {
				found = append(found, Mismatch{Path: r.p.name, Launch: launch, SM: r.smOf(blk), Lane: tid % 32, Thread: tid, Block: blk, Want: r.want[tid], Got: got, Time: time.Now().UTC()})
			}
		}
	}
	r.path.Compared += uint64(r.grid * block)
	r.path.Wrong += bad
	r.wrong += bad
	r.path.NaNs += binary.LittleEndian.Uint64(r.host[len(r.host)-8:])
	if len(found) == 0 {
		return nil
	}
	r.kept += len(found)
	r.e.emit(event{Mismatches: found, Stress: &r.res})
	return r.e.err
}
