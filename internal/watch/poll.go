package watch

import (
	"bytes"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/probe"
	"github.com/gpumedic/gpumedic/internal/probe/gpu"
	"github.com/gpumedic/gpumedic/internal/probe/host"
)

// A reading is one document of a probe, for the loop.
type reading struct {
	source string
	doc    []byte
	how    extent
	took   time.Duration
	err    error  // the probe did not answer, or not in full
	state  string // of the source, with err
}

// Names of sources.
const (
	sourceKernel  = "kernel"
	sourceJournal = "journal"
	sourceJobs    = "job_logs"
	sourceGPUs    = "nvml"
	sourceHost    = "host"
	sourceStore   = "store"
	hungGPUs      = "nvml-hung"
	expectedGPUs  = "expected"
)

// gpuPoller keeps one child at work that reads the GPUs, and gives it up when a call
// does not return. The GPU that the call was about is then left out for a while, so that
// the others are still read.
type gpuPoller struct {
	conf   GPUs
	runner *child.Runner
	out    chan<- reading
	now    func() time.Time
	hung   map[string]time.Time // by address: until when it is left out
	stuck  map[string]*child.Stuck
}

// Waits between two children.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
	skipFor    = 5 * time.Minute
)

func (p *gpuPoller) run(ctx context.Context) {
	p.hung, p.stuck = map[string]time.Time{}, map[string]*child.Stuck{}
	retry := firstRetry
	for ctx.Err() == nil {
		begun := time.Now()
		stuck, err := p.child(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(begun) > time.Minute {
			retry = firstRetry
		}
		if err == nil && stuck == nil { // the time of a hung GPU is over: try it again
			continue
		}
		p.ended(ctx, stuck, err)
		wait := retry + rand.N(retry/4+1) // not all nodes at the same moment
		retry = min(2*retry, lastRetry)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// child runs one child to its end. Without an error a GPU that hung is due again.
func (p *gpuPoller) child(ctx context.Context) (*child.Stuck, error) {
	c := &p.conf
	o := gpu.FollowOptions{Every: c.Interval, Quick: ticks(c.QuickEvery, c.Interval), Full: ticks(c.FullEvery, c.Interval)}
	now := p.now()
	var due time.Time
	for pci, until := range p.hung {
		if !until.After(now) {
			delete(p.hung, pci)
			continue
		}
		o.Skip = append(o.Skip, pci)
		if due.IsZero() || until.Before(due) {
			due = until
		}
	}
	slices.Sort(o.Skip)
	run := ctx
	if !due.IsZero() {
		var cancel context.CancelFunc
		run, cancel = context.WithTimeout(ctx, due.Sub(now))
		defer cancel()
	}
	begun := time.Now()
	s := &gpu.Splitter{
		Doc: func(level string, doc []byte) {
			took := time.Since(begun)
			begun = time.Now()
			p.answered(ctx, o.Skip)
			p.send(ctx, reading{source: sourceGPUs, doc: doc, how: extentOf[level], took: min(took, c.Interval)})
		},
		Event: func(uint64, string) {}, // the kernel's line names it; the child reads more at the next tick
	}
	stuck, err := p.runner.Run(run, child.Options{Task: gpu.FollowName, Args: o.Args(), Out: s, Alive: true,
		Call: c.CallTimeout + 2*c.Interval, Env: []string{oneArena}})
	if stuck == nil && run.Err() != nil && ctx.Err() == nil {
		return nil, nil
	}
	return stuck, err
}

// oneArena: the C library would keep a heap for each thread that has called the driver.
const oneArena = "MALLOC_ARENA_MAX=1"

var extentOf = map[string]extent{gpu.LevelChange: change, gpu.LevelVital: some, gpu.LevelQuick: members, gpu.LevelFull: whole}

func ticks(span, tick time.Duration) int { return max(1, int(span/tick)) }

// ended reports why the child came to its end.
func (p *gpuPoller) ended(ctx context.Context, stuck *child.Stuck, err error) {
	switch {
	case stuck != nil:
		at := gpu.Where(stuck)
		if p.stuck[at] = stuck; at != "" {
			p.hung[at] = p.now().Add(skipFor)
		}
		p.tellHung(ctx)
		p.send(ctx, reading{source: sourceGPUs, err: err, state: SourceStuck})
	case err != nil:
		var doc bytes.Buffer
		w := probe.NewWriter(&doc)
		w.Subject("node", "")
		w.Unknown("nvml.status", "unknown error", err.Error())
		p.send(ctx, reading{source: sourceGPUs, doc: doc.Bytes(), how: whole, err: err, state: SourceFailed})
	}
}

// answered: what was asked now and answers no longer hangs.
func (p *gpuPoller) answered(ctx context.Context, skipped []string) {
	before := len(p.stuck)
	for at := range p.stuck {
		if !slices.Contains(skipped, at) {
			delete(p.stuck, at)
		}
	}
	if len(p.stuck) != before {
		p.tellHung(ctx)
	}
}

// tellHung says what hangs, beside what the other GPUs say.
func (p *gpuPoller) tellHung(ctx context.Context) {
	var doc bytes.Buffer
	w := probe.NewWriter(&doc)
	for _, at := range slices.Sorted(maps.Keys(p.stuck)) {
		gpu.Timeout(w, p.stuck[at])
	}
	p.send(ctx, reading{source: hungGPUs, doc: doc.Bytes(), how: whole})
}

func (p *gpuPoller) send(ctx context.Context, r reading) {
	select {
	case p.out <- r:
	case <-ctx.Done():
	}
}

// hostPoller reads what needs no driver.
type hostPoller struct {
	conf   Host
	root   string
	tables *catalog.TableSet
	out    chan<- reading
	now    func() time.Time
	guard  host.Guard
}

func (p *hostPoller) run(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		r := p.once(ctx, n%ticks(p.conf.FullEvery, p.conf.Interval) == 0)
		select {
		case p.out <- r:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(p.conf.Interval + rand.N(p.conf.Interval/20+1)):
		case <-ctx.Done():
		}
	}
}

func (p *hostPoller) once(ctx context.Context, full bool) reading {
	begun := time.Now()
	var doc bytes.Buffer
	o := host.Options{Root: p.root, Quick: !full, Now: p.now(), Tables: p.tables, Guard: &p.guard, NoHolders: !full}
	how := some
	if full {
		o.Exec, how = host.Command, whole
	}
	err := host.Probe(ctx, probe.NewWriter(&doc), o)
	r := reading{source: sourceHost, doc: doc.Bytes(), how: how, took: time.Since(begun)}
	if err != nil {
		r.err, r.state = err, SourceFailed
	}
	return r
}
