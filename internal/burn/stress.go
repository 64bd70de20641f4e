package burn

import (
	"context"
	_ "embed"
	"fmt"
	"time"
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
