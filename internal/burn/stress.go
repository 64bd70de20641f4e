package burn

import (
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/gpumedic/gpumedic/internal/driver/cuda"
)

//go:embed kernels/fma.ptx
var fmaPTX string

//go:embed kernels/mma.ptx
var mmaPTX string

//go:embed kernels/wgmma.ptx
var wgmmaPTX string

// StressOptions say how long arithmetic is tested.
type StressOptions struct {
	PCI      string        `json:"pci"`
	Duration time.Duration `json:"duration"`
	// Launches bounds each path's launches, for tests; 0 is no bound.
	Launches int `json:"launches,omitempty"`
}

// Stress is what a stress test has done so far.
type Stress struct {
	Paths   []Path  `json:"paths"`
	Seconds float64 `json:"seconds"`
}

// A Path is one kind of arithmetic.
type Path struct {
	Name     string  `json:"name"` // fp32, fp64, tensor
	Kernel   string  `json:"kernel"`
	Seconds  float64 `json:"seconds"` // the GPU worked
	Launches int     `json:"launches"`
	FLOPs    float64 `json:"flop_per_s"`
	Compared uint64  `json:"digests_compared"`
	Wrong    uint64  `json:"digests_wrong"`
	NaNs     uint64  `json:"nans"`
	Digest   string  `json:"digest"` // of a short run, equal on every good GPU of this kind
	// From and To are when the path ran, to tell its power from that of the others.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// A Mismatch is one thread whose digest differs from that of its equals.
type Mismatch struct {
	Path   string    `json:"path"`
	Launch int       `json:"launch"`
	SM     int       `json:"sm"`
	Lane   int       `json:"lane"`
	Thread int       `json:"thread"`
	Block  int       `json:"block"`
	Want   uint32    `json:"want"`
	Got    uint32    `json:"got"`
	Time   time.Time `json:"time"`
}

const maxMismatches = 1024

// pathOf describes a kernel of the stress test.
type pathOf struct {
	name, kernel, file, ptx string
	capability, below       int // compute capabilities [capability, below)
	perSM                   int // blocks of 256 threads
	shared                  int
	flops                   float64 // of one round of one block
	share                   float64 // of the test's time
	digest                  func(tid, iters, seed uint32) uint32
}

// paths are tried in order; of each name the first that fits and compiles runs.
var paths = []pathOf{
	{name: "tensor", kernel: "wgmma", file: "wgmma.ptx", ptx: wgmmaPTX, capability: 90, below: 91, perSM: 1, shared: 98304, flops: 16 * 2 * 2 * 64 * 256 * 16, share: 0.7},
	{name: "tensor", kernel: "mma", file: "mma.ptx", ptx: mmaPTX, capability: 80, below: 1000, perSM: 2, flops: 8 * 32 * 2 * 16 * 8 * 16, share: 0.7},
	{name: "fp32", kernel: "fma32", file: "fma.ptx", ptx: fmaPTX, capability: 50, below: 1000, perSM: 8, flops: 256 * 8 * 4, share: 0.15, digest: fma32Digest},
	{name: "fp64", kernel: "fma64", file: "fma.ptx", ptx: fmaPTX, capability: 50, below: 1000, perSM: 8, flops: 256 * 4 * 4, share: 0.15, digest: fma64Digest},
}

type stress struct {
	*gpu
	o     StressOptions
	e     *emitter
	begun time.Time
	res   Stress
	wrong uint64
	kept  int // mismatches told
}

func (t *stress) run(ctx context.Context) error {
	t.begun = time.Now()
	var share float64
	var run []pathOf
	have := map[string]bool{}
	for _, p := range paths {
		if c := t.Device.Capability; c < p.capability || c >= p.below || have[p.name] {
			continue
		}
		have[p.name] = true
		run = append(run, p)
		share += p.share
	}
	for _, p := range run {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.path(ctx, p, time.Duration(float64(t.o.Duration)*p.share/share)); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

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

const stressSeed = 0x5EED5EED

// targetLaunch is how long one launch should take: short enough to stop soon, long enough
// that comparing does not cost.
const targetLaunch = 150 * time.Millisecond

func (t *stress) path(ctx context.Context, p pathOf, d time.Duration) error {
	r := &running{stress: t, p: p, grid: t.Device.SMs * p.perSM}
	if err := r.prepare(); err != nil {
		return err
	}
	defer r.free()
	t.res.Paths = append(t.res.Paths, Path{Name: p.name, Kernel: p.kernel})
	r.path = &t.res.Paths[len(t.res.Paths)-1]
	if err := r.known(); err != nil {
		return err
	}
	if err := r.calibrate(); err != nil {
		return err
	}
	r.path.From = time.Now().UTC()
	end := r.path.From.Add(d)
	for {
		stop := ctx.Err() != nil || !time.Now().Before(end) && r.finished > 0 || t.o.Launches > 0 && r.queued >= t.o.Launches
		if !stop {
			if err := r.launch(); err != nil {
				return err
			}
		}
		if stop && r.finished == r.queued {
			break
		}
		if r.queued-r.finished == 2 || stop {
			if err := r.collect(); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
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
