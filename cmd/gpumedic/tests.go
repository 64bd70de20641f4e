package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/burn"
	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/incident/store"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/offline"
	"github.com/gpumedic/gpumedic/internal/probe"
	"github.com/gpumedic/gpumedic/internal/report"
	"github.com/gpumedic/gpumedic/internal/source"
)

// testFlags are common to memtest, stress and bandwidth.
type testFlags struct {
	answerFlags
	report, store      string
	gpus               []string
	shared, quiet, all bool
	call               time.Duration
}

func (f *testFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	f.answerFlags.add(fl, report.Formats...)
	fl.StringArrayVar(&f.gpus, "gpu", nil, "test this `GPU`: PCI address, index or UUID (repeatable; default: all)")
	fl.BoolVar(&f.shared, "force-shared", false, "test GPUs with processes on them too, in their free memory")
	fl.StringVar(&f.report, "report", "", "write an evidence package to `FILE` (.tar.gz)")
	fl.StringVar(&f.store, "store", store.DefaultPath, "keep the result in the history of `FILE` when it is there (empty: in none)")
	quietFlag(fl, &f.quiet)
	fl.BoolVar(&f.all, "all", false, "incidental findings, alternatives and myths too")
	fl.DurationVar(&f.call, "call-timeout", time.Minute, "give up on a driver call after so long")
}

// testRun is what a verb asks for.
type testRun struct {
	task      string
	options   func(pci string) any
	serial    bool // one GPU after the other: they share the host's memory and links
	peers     bool // then the pairs
	onlyPeers bool
}

// A session is one call of a testing verb.
type session struct {
	c      *cli
	f      *testFlags
	run    testRun
	runner *child.Runner
	around surroundings
	bars   *bars
	begun  time.Time

	before, after []byte // readings documents of the driver, empty where there is no NVML
	readErr       error
	sampleErr     error
	kernel        []byte // lines that came while the tests ran
	kernelErr     error
	out           []*burn.Outcome
}

func (c *cli) runTests(cmd *cobra.Command, args []string, f *testFlags, run testRun) error {
	if len(args) > 0 {
		return usage(fmt.Errorf("read arguments: %q is too much", args[0]), "a GPU is named with --gpu")
	}
	if err := atLeast(time.Second, "call-timeout", f.call); err != nil { // a pass over the memory of a slow card takes that long
		return err
	}
	language, cat, err := f.read(c)
	if err != nil {
		return err
	}
	s := &session{c: c, f: f, run: run, runner: &child.Runner{}, begun: time.Now(), bars: newBars(c.err)}
	s.around = surroundings{s.runner}
	if err := s.test(cmd.Context()); err != nil {
		return err
	}
	r, err := s.judge(cat, language)
	if err != nil {
		return err
	}
	c.status = r.ExitStatus()
	if err := s.record(context.WithoutCancel(cmd.Context())); err != nil {
		r.Notes = append(r.Notes, lang.Pick(language, "the result is not in the card's history: ", "结果未写入卡的历史记录：")+err.Error())
	}
	if f.report != "" {
		if err := s.pack(f.report, r); err != nil {
			return hinted{fmt.Errorf("write evidence package %s: %w", f.report, err), "check the folder and free space", gpumedic.ExitOutput}
		}
		r.Notes = append(r.Notes, lang.Pick(language, "evidence package: ", "证据包：")+f.report)
	}
	color, width := f.screen(c)
	ro := report.Options{Lang: language, Color: color, Width: width, All: f.all, Quiet: f.quiet}
	return c.deliver(f.out, func(w io.Writer) error { return report.Write(w, r, f.format, ro) })
}

// test runs the workers and reads what is around them.
func (s *session) test(ctx context.Context) error {
	s.before, s.readErr = s.around.read(ctx)
	log, err := s.around.kernel(ctx)
	s.kernelErr = err
	gpus, err := s.choose(ctx)
	if err != nil {
		return err
	}
	s.bars.begin(gpus)
	stop := s.sample(ctx, gpus)
	if !s.run.onlyPeers {
		s.each(ctx, gpus)
	}
	if s.run.peers {
		s.pairs(ctx, gpus)
	}
	samples := stop()
	s.bars.end()
	// A test that was interrupted still ends with the counters: without the context's end.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	s.after, _ = s.around.read(last) // the error is the same as before, or the test shows it
	if s.kernelErr == nil {
		var now []byte
		now, s.kernelErr = s.around.kernel(last)
		s.kernel = newLines(log, now)
	}
	for _, o := range s.out {
		o.Watch = watchOf(s.before, s.after, samples[o.GPU.PCI], o)
		o.Limits = limitsOf(o)
	}
	return nil
}

// each tests every GPU, side by side or one after the other.
func (s *session) each(ctx context.Context, gpus []testGPU) {
	outs := make([]*burn.Outcome, len(gpus))
	var wg sync.WaitGroup
	for i, g := range gpus {
		work := func() {
			o := &burn.Outcome{Test: s.run.task, GPU: g.Identity, Refused: g.refused, Others: g.others}
			if g.refused == "" {
				o = s.one(ctx, burn.Job{Task: s.run.task, PCI: g.PCI, Options: s.run.options(g.PCI), Call: s.f.call})
				o.Others = g.others
				if o.GPU.UUID == "" { // the worker did not come so far
					o.GPU = g.Identity
				}
			}
			outs[i] = o
		}
		if s.run.serial {
			work()
			continue
		}
		wg.Go(work)
	}
	wg.Wait()
	s.out = append(s.out, outs...)
}

func (s *session) one(ctx context.Context, j burn.Job) *burn.Outcome {
	o, err := burn.Run(ctx, s.runner, j, func(p burn.Progress) { s.bars.show(j.PCI, p) })
	if err != nil {
		return &burn.Outcome{Test: j.Task, GPU: burn.Identity{PCI: j.PCI}, Failure: &burn.Failure{Text: err.Error()}}
	}
	s.bars.done(j.PCI, o)
	return o
}

// pairs measures the copies between the GPUs that were not refused.
func (s *session) pairs(ctx context.Context, gpus []testGPU) {
	var pcis []string
	for _, g := range gpus {
		if g.refused == "" {
			pcis = append(pcis, g.PCI)
		}
	}
	if len(pcis) < 2 {
		if s.run.onlyPeers {
			for _, g := range gpus {
				s.out = append(s.out, &burn.Outcome{Test: s.run.task, GPU: g.Identity, Refused: cmp.Or(g.refused, burn.NoPeer), Others: g.others})
			}
		}
		return
	}
	o := s.one(ctx, burn.Job{Task: s.run.task, PCI: pcis[0], Options: burn.RateOptions{PCI: pcis[0], Peers: pcis}, Call: s.f.call})
	s.spread(o, gpus)
}

// spread gives each GPU the rates of the copies to it.
func (s *session) spread(o *burn.Outcome, gpus []testGPU) {
	for _, g := range gpus {
		if g.refused != "" && !s.run.onlyPeers {
			continue // said already
		}
		at := slices.IndexFunc(s.out, func(o *burn.Outcome) bool { return o.GPU.PCI == g.PCI })
		if at < 0 {
			s.out = append(s.out, &burn.Outcome{Test: o.Test, GPU: g.Identity, Refused: g.refused, Others: g.others, Begun: o.Begun, Ended: o.Ended, Done: true})
			at = len(s.out) - 1
		}
		mine := s.out[at]
		for _, r := range o.Rates {
			if r.PCI == g.PCI {
				mine.Rates = append(mine.Rates, r)
			}
		}
		mine.Done = mine.Done && o.Done
		mine.Interrupted = mine.Interrupted || o.Interrupted
		if mine.Failure == nil {
			mine.Failure = o.Failure
		}
		if mine.Stuck == nil {
			mine.Stuck = o.Stuck
		}
	}
}

// judge sends what was read through the engine, as diagnose does with a log.
func (s *session) judge(cat *catalog.Catalog, language string) (*gpumedic.Report, error) {
	d, err := offline.New(cat)
	if err != nil {
		return nil, err
	}
	doc, err := s.document()
	if err != nil {
		return nil, err
	}
	inputs := []source.Input{source.FromBytes(s.run.task, doc)}
	if len(s.kernel) > 0 {
		inputs = append(inputs, source.FromBytes("kernel log", s.kernel))
	}
	r, err := d.Run(context.Background(), inputs, offline.Options{Lang: language})
	if err != nil {
		return nil, err
	}
	for _, o := range s.out {
		result, why := o.ResultIn(language)
		t := gpumedic.Test{
			Test: o.Test, Subject: gpumedic.Subject{GPU: gpumedic.GPU{PCI: o.GPU.PCI, UUID: o.GPU.UUID, Serial: o.Watch.Before["serial"]}},
			Product: o.GPU.Name, Result: result, Why: why, Facts: o.Facts(language), Figures: o.Figures(),
		}
		switch {
		case len(o.Records) > 0:
			t.Records = o.Records[:min(len(o.Records), shownRecords)]
		case len(o.Mismatches) > 0:
			t.Records = o.Mismatches[:min(len(o.Mismatches), shownRecords)]
		}
		r.Tests = append(r.Tests, t)
		if r.Verdict == gpumedic.VerdictNoFault && result != burn.Pass {
			r.Verdict = gpumedic.VerdictUnknown
		}
	}
	s.notes(r, language)
	return r, nil
}

// shownRecords is how many records the JSON report holds; the evidence package has all.
const shownRecords = 256

func (s *session) notes(r *gpumedic.Report, language string) {
	for _, n := range []struct {
		en, zh string
		err    error
	}{
		{"the driver's counters were not read: ", "未读取驱动计数器：", s.readErr},
		{"the sensors were not read to the end: ", "传感器未能全程读取：", s.sampleErr},
		{"the kernel log was not followed: ", "未能跟踪内核日志：", s.kernelErr},
	} {
		if n.err != nil {
			r.Notes = append(r.Notes, lang.Pick(language, n.en, n.zh)+n.err.Error())
		}
	}
}

// document is what the tests found, and below it what the driver says after them: of two
// readings of one name the first counts.
func (s *session) document() ([]byte, error) {
	var b bytes.Buffer
	w := probe.NewWriter(&b)
	if err := burn.Write(w, s.out); err != nil {
		return nil, err
	}
	var tested []string
	for _, o := range s.out {
		tested = append(tested, o.GPU.PCI)
	}
	b.WriteString(onlyGPUs(s.after, tested))
	return b.Bytes(), nil
}

// onlyGPUs keeps of a readings document what is about some GPUs, and about the node.
func onlyGPUs(doc []byte, pcis []string) string {
	var b strings.Builder
	keep := false
	for line := range strings.Lines(string(doc)) {
		switch head := strings.TrimRight(line, "\r\n"); {
		case strings.HasPrefix(head, "["):
			kind, name, _ := strings.Cut(strings.Trim(head, "[]"), " ")
			keep = kind == "node" || kind == "gpu" && slices.Contains(pcis, gpumedic.NormalPCI(name))
		case strings.HasPrefix(head, "#"):
			continue
		}
		if keep {
			b.WriteString(line)
		}
	}
	return b.String()
}
