package burn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/driver/cuda"
)

// Names of the child tasks.
const (
	TaskMemory    = "memtest"
	TaskStress    = "stress"
	TaskBandwidth = "bandwidth"
	TaskList      = "cuda-gpus"
)

// Tasks are what a child process of this program can be asked to do here.
func Tasks() map[string]child.Task {
	return map[string]child.Task{
		TaskList: worker(func(_ context.Context, d *cuda.Driver, _ struct{}, e *emitter) error {
			list, err := d.Devices()
			for _, dev := range list {
				e.emit(event{GPU: identity(d, dev)})
			}
			return err
		}),
		TaskMemory: worker(func(ctx context.Context, d *cuda.Driver, o MemOptions, e *emitter) error {
			return onGPU(d, o.PCI, e, func(g *gpu) error { return (&memtest{gpu: g, o: o, e: e}).run(ctx) })
		}),
		TaskStress: worker(func(ctx context.Context, d *cuda.Driver, o StressOptions, e *emitter) error {
			return onGPU(d, o.PCI, e, func(g *gpu) error { return (&stress{gpu: g, o: o, e: e}).run(ctx) })
		}),
		TaskBandwidth: worker(func(ctx context.Context, d *cuda.Driver, o RateOptions, e *emitter) error {
			if len(o.Peers) > 0 {
				return peers(ctx, d, o, e)
			}
			return onGPU(d, o.PCI, e, func(g *gpu) error { return (&bandwidth{gpu: g, o: o, e: e}).run(ctx) })
		}),
	}
}

// worker reads a task's options, opens the driver and tells how it ended: a driver's error
// is an answer like any other, so that the process itself ends well.
func worker[O any](test func(context.Context, *cuda.Driver, O, *emitter) error) child.Task {
	return func(ctx context.Context, c *child.Context) error {
		var o O
		if len(c.Args) != 1 {
			return errors.New("read options: one argument is needed")
		}
		if err := json.Unmarshal([]byte(c.Args[0]), &o); err != nil {
			return fmt.Errorf("read options: %w", err)
		}
		e := &emitter{w: c.Out}
		d, err := cuda.Open(c.Call)
		if err == nil {
			err = test(ctx, d, o, e)
		}
		if err != nil {
			e.emit(event{Failure: failure(err)})
			return e.err
		}
		e.emit(event{Done: true})
		return e.err
	}
}

// onGPU runs a test with the context of one GPU, which is given back in the end.
func onGPU(d *cuda.Driver, pci string, e *emitter, test func(*gpu) error) error {
	g, err := openGPU(d, pci)
	if err != nil {
		return err
	}
	e.emit(event{GPU: identity(d, g.Device)})
	err = test(g)
	if closed := g.Close(); err == nil {
		err = closed
	}
	return err
}
