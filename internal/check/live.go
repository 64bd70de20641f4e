package check

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/probe"
	"github.com/gpumedic/gpumedic/internal/probe/gpu"
	"github.com/gpumedic/gpumedic/internal/probe/host"
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
	// Call bounds one driver call, Total the whole conversation with the driver; zero
	// means no bound.
	Call, Total time.Duration
	Runner      *child.Runner
	Host        host.Options
	Raw         bool // what the usual tools print as well, for a recording
	Now         time.Time
}

// Collect reads the node it runs on.
func Collect(ctx context.Context, o CollectOptions) *Snapshot {
	begun := time.Now()
	var doc bytes.Buffer
	w := probe.NewWriter(&doc)
	w.Subject("node", "")
	w.Value("timestamp", o.Now.UTC().Format(time.RFC3339))
	writeExpected(w, o.ExpectGPUs, o.Baseline)

	gpus := make(chan []byte, 1)
	go func() { gpus <- readGPUs(ctx, o) }()
	h := o.Host
	h.Quick, h.Now, h.Exec = o.Quick, o.Now, host.Command
	docs := map[string][]byte{}
	if o.Raw {
		docs = host.Record(ctx, h)
		doc.Write(docs[host.RecordedReadings])
		delete(docs, host.RecordedReadings)
	} else {
		kernel := make(chan []byte, 1)
		go func() { kernel <- kernelLog(ctx, o.Host.Root) }()
		if err := host.Probe(ctx, w, h); err != nil {
			w.Subject("node", "")
			w.Unknown("host.status", "unknown error", err.Error())
		}
		docs[KernelName] = <-kernel
	}
	doc.Write(<-gpus)
	if docs[KernelName] == nil {
		delete(docs, KernelName)
		w.Subject("node", "")
		w.Absent("kernel.log", "the kernel log was not read: root can, and members of adm or systemd-journal")
	}
	docs[ReadingsName] = doc.Bytes()
	return &Snapshot{Docs: docs, Took: time.Since(begun)}
}

// kernelLog is the log since boot, nil when it cannot be read.
func kernelLog(ctx context.Context, root string) []byte {
	log, err := host.KernelLog(ctx, root)
	if err != nil {
		return nil
	}
	return log
}

// maxHangs is how many GPUs may hang before the rest is no longer asked.
const maxHangs = 4

// readGPUs asks the driver, in a child that can be given up on. Where one GPU hangs and
// the child could be ended, another child asks those after it.
func readGPUs(ctx context.Context, o CollectOptions) []byte {
	var out bytes.Buffer
	args := []string{"full"}
	if o.Quick {
		args[0] = "quick"
	}
	begun := time.Now()
	for hangs := 0; ; hangs++ {
		left := o.Total
		if left > 0 { // zero would mean no bound at all
			left = max(left-time.Since(begun), time.Millisecond)
		}
		stuck, err := o.Runner.Run(ctx, child.Options{Task: gpu.TaskName, Args: args, Call: o.Call, Total: left, Out: &out})
		if err == nil {
			return out.Bytes()
		}
		// A line cut short by the end of the child is no reading.
		if i := bytes.LastIndexByte(out.Bytes(), '\n'); i >= 0 {
			out.Truncate(i + 1)
		}
		w := probe.NewWriter(&out)
		if stuck == nil {
			w.Subject("node", "")
			w.Unknown("nvml.status", "unknown error", err.Error())
			return out.Bytes()
		}
		gpu.Timeout(w, stuck)
		at := gpu.Where(stuck)
		if at == "" || stuck.Unkillable || hangs+1 == maxHangs || o.Total > 0 && time.Since(begun) >= o.Total {
			return out.Bytes()
		}
		args = append(args[:1:1], at)
	}
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
