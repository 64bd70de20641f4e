package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/probe"
	"github.com/gpumedic/gpumedic/internal/probe/gpu"
	"github.com/gpumedic/gpumedic/internal/probe/host"
	"github.com/gpumedic/gpumedic/internal/probe/sensors"
)

// surroundings are what a test looks at beside the GPU's own work: the driver's counters
// and sensors, and the kernel log. All driver calls run in children: one that hangs costs
// the readings, not the test.
type surroundings struct {
	runner *child.Runner
}

const (
	nvmlCall  = 10 * time.Second
	nvmlTotal = time.Minute
	// sampleEvery is short enough that a quick test has some samples, long enough that
	// sampling takes no time from the GPU that could be measured.
	sampleEvery = 250 * time.Millisecond
)

// read gives the driver's readings of all GPUs as a document. The error says why there are
// none.
func (s surroundings) read(ctx context.Context) ([]byte, error) {
	var b bytes.Buffer
	stuck, err := s.runner.Run(ctx, child.Options{Task: gpu.TaskName, Args: []string{"full"}, Call: nvmlCall, Total: nvmlTotal, Out: &b})
	if stuck != nil {
		var note bytes.Buffer
		gpu.Timeout(probe.NewWriter(&note), stuck)
		_, rest, _ := bytes.Cut(note.Bytes(), []byte("\n")) // the header stands in b
		b.Write(rest)
	}
	for _, r := range readingsOf(b.Bytes()) {
		if v := r.Values["nvml.status"].Value; v != "" && v != "ok" {
			err = errors.Join(err, errors.New("NVML: "+v))
		}
	}
	return b.Bytes(), err
}

// sample gives sensor values to take until ctx ends.
func (s surroundings) sample(ctx context.Context, pcis []string, take func(probe.Sample)) error {
	out := &lineWriter{take: func(line []byte) {
		var v probe.Sample
		if json.Unmarshal(line, &v) == nil {
			take(v)
		}
	}}
	_, err := s.runner.Run(ctx, child.Options{Task: sensors.TaskName, Args: sensors.Args(sampleEvery, pcis), Call: nvmlCall, Out: out})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// kernel gives the kernel's log since boot.
func (surroundings) kernel(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return host.KernelLog(ctx, "/")
}

// newLines are the lines of a log that an earlier reading of it did not have.
func newLines(before, after []byte) []byte {
	trimmed := bytes.TrimRight(before, "\n")
	if len(trimmed) == 0 {
		return after
	}
	last := trimmed[bytes.LastIndexByte(trimmed, '\n')+1:]
	if i := bytes.LastIndex(after, last); i >= 0 {
		_, rest, _ := bytes.Cut(after[i+len(last):], []byte("\n"))
		return rest
	}
	return after // the kernel's buffer has turned over since
}

// sample begins to read the sensors; the function it gives ends that.
func (s *session) sample(ctx context.Context, gpus []testGPU) func() map[string][]probe.Sample {
	out := map[string][]probe.Sample{}
	if s.readErr != nil {
		return func() map[string][]probe.Sample { return out }
	}
	ctx, cancel := context.WithCancel(ctx)
	var pcis []string
	for _, g := range gpus {
		pcis = append(pcis, g.PCI)
	}
	done := make(chan error, 1)
	go func() {
		done <- s.around.sample(ctx, pcis, func(v probe.Sample) { out[v.PCI] = append(out[v.PCI], v) })
	}()
	return func() map[string][]probe.Sample {
		cancel()
		if err := <-done; err != nil {
			s.sampleErr = fmt.Errorf("sample sensors: %w", err)
		}
		return out
	}
}

// A lineWriter gives whole lines to take.
type lineWriter struct {
	rest []byte
	take func([]byte)
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.rest = append(w.rest, b...)
	for {
		line, rest, ok := bytes.Cut(w.rest, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		w.take(line)
		w.rest = rest
	}
}
