package scan

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/flight"
	"github.com/gpumedic/gpumedic/internal/scan/section"
	"github.com/gpumedic/gpumedic/internal/source"
)

// Options of one scan.
type Options struct {
	// Since and Until drop what happened outside of them; the zero time is no
	// bound. What has no known time stays.
	Since, Until time.Time
	// Workers is how many goroutines may work at a time, 0 for one on each processor. The
	// result does not depend on it.
	Workers int
	// Progress is told after each block, by one goroutine at a time.
	Progress func(Progress)
	// Source sets the sizes of blocks; zero values are right outside of tests.
	Source source.Options
}

// Progress says how far an input is.
type Progress struct {
	Input   int
	Name    string
	Bytes   int64
	Signals int
}

// Result is what was found: signals in the order of inputs and lines, and what was
// read of each input.
type Result struct {
	Inputs  []gpumedic.InputInfo
	Signals []gpumedic.Signal
	// Readings are those of tool output and of probe documents, input by input.
	Readings [][]section.Readings
}

// Scan reads inputs and returns their signals. When ctx ends early the result
// holds what was read until then, and the error is the context's.
func (s *Scanner) Scan(ctx context.Context, inputs []source.Input, opts Options) (Result, error) {
	type part struct {
		info  gpumedic.InputInfo
		sigs  []gpumedic.Signal
		dumps []*flight.Dump
		sets  []section.Readings
	}
	parts := make([]part, len(inputs))
	if report := opts.Progress; report != nil {
		var mu sync.Mutex
		opts.Progress = func(p Progress) {
			mu.Lock()
			defer mu.Unlock()
			report(p)
		}
	}
	next := make(chan int)
	var wg sync.WaitGroup
	if opts.Workers <= 0 {
		opts.Workers = runtime.GOMAXPROCS(0)
	}
	side := min(len(inputs), opts.Workers) // inputs side by side, each with its share
	if side > 0 {
		opts.Workers /= side
	}
	for range side {
		wg.Go(func() {
			for i := range next {
				x := s.newInput(i, inputs[i], opts)
				parts[i].info, parts[i].sigs = x.run(ctx)
				parts[i].dumps, parts[i].sets = x.dumps, x.sets
			}
		})
	}
	for i := range inputs {
		next <- i
	}
	close(next)
	wg.Wait()

	res := Result{
		Inputs: make([]gpumedic.InputInfo, len(inputs)), Signals: []gpumedic.Signal{},
		Readings: make([][]section.Readings, len(inputs)),
	}
	var dumps dumpSet
	for i := range parts {
		dumps.add(i, inputs[i].Name, parts[i].dumps)
	}
	n := 0
	for i := range parts {
		n += len(parts[i].sigs)
	}
	res.Signals = slices.Grow(res.Signals, n)
	for i := range parts {
		res.Inputs[i], res.Readings[i] = parts[i].info, parts[i].sets
		res.Signals = append(res.Signals, parts[i].sigs...)
		parts[i].sigs = nil
	}
	res.Signals = append(res.Signals, dumps.signals()...)
	hintNodes(inputs, res)
	slices.SortStableFunc(res.Signals, byOrder)
	return res, ctx.Err()
}

// byOrder sorts signals as their lines stand in the inputs.
func byOrder(a, b gpumedic.Signal) int { return a.Order.Compare(b.Order) }
