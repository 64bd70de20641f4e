package main

import (
	"context"
	"errors"
	"time"

	"github.com/gpumedic/gpumedic/internal/burn"
	"github.com/gpumedic/gpumedic/internal/child"
)

// surroundings are what a test looks at beside the GPU's own work: the driver's counters
// and sensors, and the kernel log.
type surroundings interface {
	// read gives the driver's readings of all GPUs as a document.
	read(ctx context.Context) ([]byte, error)
	// sample gives sensor values to take until ctx ends.
	sample(ctx context.Context, pcis []string, take func(pci string, s burn.Sample))
	// kernel gives the kernel's lines since a time.
	kernel(ctx context.Context, since time.Time) ([]byte, error)
}

// sample begins to read the sensors; the function it gives ends that.
func (s *session) sample(ctx context.Context, gpus []testGPU) func() map[string][]burn.Sample {
	ctx, cancel := context.WithCancel(ctx)
	var pcis []string
	for _, g := range gpus {
		pcis = append(pcis, g.PCI)
	}
	out := map[string][]burn.Sample{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.around.sample(ctx, pcis, func(pci string, v burn.Sample) { out[pci] = append(out[pci], v) })
	}()
	return func() map[string][]burn.Sample {
		cancel()
		<-done
		return out
	}
}

type none struct{}

func newSurroundings(*child.Runner) surroundings { return none{} }

func (none) read(context.Context) ([]byte, error)                        { return nil, errors.New("not in this build") }
func (none) sample(context.Context, []string, func(string, burn.Sample)) {}
func (none) kernel(context.Context, time.Time) ([]byte, error)           { return nil, nil }
