package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/probe"
	"github.com/gpumedic/gpumedic/internal/source"
)

// Names of a snapshot's documents.
const (
	ReadingsName = "readings.txt" // what the probes read, with what was expected
	KernelName   = "kernel.log"   // the kernel's log since boot
)

// A Snapshot is everything that a live check read, as documents that can be kept and
// judged again: the same bytes give the same answer.
type Snapshot struct {
	Docs map[string][]byte
	Took time.Duration
}

// CollectOptions say what to read.
type CollectOptions struct {
	Quick      bool
	ExpectGPUs int // negative: nobody said
	Baseline   *Baseline
	// Call bounds one driver call, Total the whole conversation with the driver.
	Call, Total time.Duration
	Runner      *child.Runner
	Host        func(context.Context, *probe.Writer) error // the host's probe
	KernelLog   func(context.Context) ([]byte, error)      // nil: not read
	Now         time.Time
}

// Collect reads the node it runs on.
func Collect(ctx context.Context, o CollectOptions) *Snapshot {
	begun := time.Now()
	var doc bytes.Buffer
	w := probe.NewWriter(&doc)
	w.Subject("node", "")
	if host, err := os.Hostname(); err == nil {
		w.Value("hostname", host)
	}
	w.Value("timestamp", o.Now.UTC().Format(time.RFC3339))
	writeExpected(w, o.ExpectGPUs, o.Baseline)

	docs := map[string][]byte{}
	kernel := make(chan struct{})
	go func() {
		defer close(kernel)
		if o.KernelLog == nil {
			return
		}
		if log, err := o.KernelLog(ctx); err == nil {
			docs[KernelName] = log
		} else {
			docs[KernelName] = nil
		}
	}()
	gpus := make(chan []byte)
	go func() { gpus <- readGPUs(ctx, o) }()
	if err := o.Host(ctx, w); err != nil {
		w.Subject("node", "")
		w.Unknown("host.status", "unknown error", err.Error())
	}
	doc.Write(<-gpus)
	<-kernel
	if log, asked := docs[KernelName]; asked && log == nil {
		delete(docs, KernelName)
		w.Subject("node", "")
		w.Absent("kernel.log", "neither /dev/kmsg nor the journal can be read: run as root")
	}
	docs[ReadingsName] = doc.Bytes()
	return &Snapshot{Docs: docs, Took: time.Since(begun)}
}

// readGPUs asks the driver, in a child that can be given up on.
func readGPUs(ctx context.Context, o CollectOptions) []byte {
	var out bytes.Buffer
	depth := "full"
	if o.Quick {
		depth = "quick"
	}
	stuck, err := o.Runner.Run(ctx, child.Options{Task: "nvml", Args: []string{depth}, Call: o.Call, Total: o.Total, Out: &out})
	if err == nil {
		return out.Bytes()
	}
	// A line cut short by the end of the child is no reading.
	if i := bytes.LastIndexByte(out.Bytes(), '\n'); i >= 0 {
		out.Truncate(i + 1)
	}
	w := probe.NewWriter(&out)
	w.Subject("node", "")
	switch {
	case stuck != nil:
		w.Noted("probe.timeout", probe.OneLine(stuckName(stuck)), stuckNote(stuck))
	case errors.Is(err, context.Canceled):
		w.Unknown("nvml.status", "unknown error", "interrupted")
	default:
		w.Unknown("nvml.status", "unknown error", err.Error())
	}
	return out.Bytes()
}

func stuckName(s *child.Stuck) string {
	if s.Call == "" {
		return "nvml"
	}
	return s.Call
}

func stuckNote(s *child.Stuck) string {
	note := fmt.Sprintf("no answer in %.1f s, process %d", s.For.Seconds(), s.PID)
	if s.State != "" {
		note += ", state " + s.State
	}
	if s.Wait != "" {
		note += ", waits in " + s.Wait
	}
	if s.Unkillable {
		note += ", cannot be killed"
	}
	return note
}

// Inputs are the snapshot's documents as inputs of a judgement, in a fixed order.
func (s *Snapshot) Inputs() []source.Input {
	var out []source.Input
	for _, name := range slices.Sorted(maps.Keys(s.Docs)) {
		out = append(out, source.FromBytes(name, s.Docs[name]))
	}
	return out
}

// Save writes the documents into a folder, which is made when missing.
func (s *Snapshot) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("record readings: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Docs)) {
		if err := os.WriteFile(filepath.Join(dir, name), s.Docs[name], 0o644); err != nil {
			return fmt.Errorf("record readings: %w", err)
		}
	}
	return nil
}
