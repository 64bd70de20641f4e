package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/check"
	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/lint"
	"github.com/gpumedic/gpumedic/internal/probe/host"
	"github.com/gpumedic/gpumedic/internal/report"
	"github.com/gpumedic/gpumedic/internal/scan/section"
	"github.com/gpumedic/gpumedic/internal/source"
)

type checkFlags struct {
	answerFlags
	from                         []string
	record, diff, gpu            string
	saveBaseline                 bool
	baseline                     string
	expect                       int
	thresholds                   []string
	quick, all, quiet, env       bool
	listThresholds, noBaseline   bool
	callDeadline, total, history time.Duration
}

// defaultBaseline is where a baseline is looked for when none is named.
const defaultBaseline = "/var/lib/gpumedic/baseline.json"

func (c *cli) checkCmd() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check [flags]",
		Short: "is this node fit for work?",
		Long: `check reads the GPUs (NVML), the PCI bus, the host and the kernel log, and says
whether the node is fit for work: a table of the GPUs, one line for each problem
with the first step, and what could not be read. Unknown is never healthy.

It runs no load and changes nothing. Each driver call has a deadline: a hanging
driver is reported and never hangs the check.

With --from it judges recorded output instead: nvidia-smi -q or -q -x, a bug
report, a folder that --record wrote, or any tool output that diagnose reads.`,
		Example: `  gpumedic check                             # this node
  gpumedic check --quick --expect-gpus 8     # a job scheduler's prolog
  sudo gpumedic check --save-baseline        # remember the node as it should be
  gpumedic check --from nvidia-smi.xml       # recorded on another machine
  gpumedic check --record snap/ && gpumedic check --from snap/
  gpumedic check --diff snap-monday/ snap-friday/
  gpumedic check --format prometheus --out /var/lib/node_exporter/gpumedic.prom

exit status: 0 healthy, 1 warning, 2 fault, 3 unknown, 64 usage error`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.check(cmd, args, &f) },
	}
	fl := cmd.Flags()
	f.add(fl, report.NodeFormats...)
	fl.StringArrayVar(&f.from, "from", nil, "judge the recorded output in `PATH` instead of this node (repeatable; - is standard input)")
	fl.StringVar(&f.record, "record", "", "keep all that was read in the folder `DIR`")
	fl.StringVar(&f.diff, "diff", "", "compare the recorded `OLD` with the recorded NEW that follows")
	fl.BoolVar(&f.saveBaseline, "save-baseline", false, "remember the GPUs as they are now")
	fl.StringVar(&f.baseline, "baseline", defaultBaseline, "`FILE` of the baseline")
	fl.BoolVar(&f.noBaseline, "no-baseline", false, "compare with no baseline")
	fl.IntVar(&f.expect, "expect-gpus", -1, "how many GPUs the node should have (0: none)")
	fl.StringVar(&f.gpu, "gpu", "", "judge one `GPU`: index, PCI address or UUID")
	fl.StringArrayVar(&f.thresholds, "threshold", nil, "`NAME=VALUE` replaces a threshold (repeatable; see --list-thresholds)")
	fl.BoolVar(&f.listThresholds, "list-thresholds", false, "list the thresholds and their values")
	fl.BoolVar(&f.env, "env", false, "look through this environment's settings too (see gpumedic lint)")
	fl.BoolVar(&f.quick, "quick", false, "only what decides fitness, for a prolog or a probe")
	fl.BoolVar(&f.all, "all", false, "the findings in full, incidental ones too")
	quietFlag(fl, &f.quiet)
	fl.DurationVar(&f.callDeadline, "call-timeout", 5*time.Second, "how long one driver call may take")
	fl.DurationVar(&f.total, "timeout", 30*time.Second, "how long all driver calls together may take")
	fl.DurationVar(&f.history, "kernel-window", 24*time.Hour, "how far back kernel messages count for the node as it is now (0: since boot)")
	return cmd
}

// sense refuses flags that do not go together or make no sense, before anything is read.
func (f *checkFlags) sense(cmd *cobra.Command, args []string) error {
	switch {
	case f.diff == "" && len(args) > 0:
		return usage(fmt.Errorf("read arguments: %q is too much", args[0]), "recorded output is named with --from")
	case f.expect < -1:
		return usage(fmt.Errorf("read --expect-gpus: %d is negative", f.expect), "0 means a node without GPUs")
	}
	return cmp.Or(
		// a baseline is of this node, as it is now
		apart(cmd, "from", "record", "diff", "baseline", "save-baseline"),
		apart(cmd, "diff", "record", "baseline", "save-baseline", "gpu", "env"),
		atLeast(time.Millisecond, "call-timeout", f.callDeadline),
		atLeast(time.Millisecond, "timeout", f.total),
		atLeast(0, "kernel-window", f.history),
	)
}

func (c *cli) check(cmd *cobra.Command, args []string, f *checkFlags) error {
	if err := f.sense(cmd, args); err != nil {
		return err
	}
	if f.diff != "" {
		f.formats = report.DiffFormats
	}
	language, cat, err := f.read(c)
	if err != nil {
		return err
	}
	if f.listThresholds {
		return c.deliver(f.out, func(w io.Writer) error { return listThresholds(w, cat) })
	}
	thresholds, err := readThresholds(cat, f.thresholds)
	if err != nil {
		return err
	}
	color, width := f.screen(c)
	ro := report.Options{Lang: language, Color: color, Width: width, All: f.all, Quiet: f.quiet}
	o := check.Options{Lang: language, ExpectGPUs: f.expect, Thresholds: thresholds}
	if f.gpu != "" {
		if o.Only, err = gpumedic.ParseGPU(f.gpu); err != nil {
			return usage(err, "nvidia-smi -L lists the GPUs")
		}
	}
	if f.diff != "" {
		return c.checkDiff(cmd.Context(), cat, args, f, ro)
	}
	var n *report.Node
	if len(f.from) > 0 {
		n, err = c.checkFrom(cmd.Context(), cat, f, o)
	} else {
		n, err = c.checkLive(cmd.Context(), cat, f, o)
	}
	if err != nil {
		return err
	}
	if f.env {
		check.AddSettings(n, lint.Environ(cat, language, os.Environ()))
	}
	c.status = n.Status
	return c.deliver(f.out, func(w io.Writer) error { return report.WriteNode(w, n, f.format, ro) })
}

// checkFrom judges recorded output.
func (c *cli) checkFrom(ctx context.Context, cat *catalog.Catalog, f *checkFlags, o check.Options) (*report.Node, error) {
	inputs, done, err := check.Recorded(ctx, f.from, source.ExpandOptions{Stdin: c.in}, host.Options{Tables: cat.Tables()})
	if err != nil {
		return nil, usage(err, "check the path")
	}
	defer done()
	if err := allMissing(inputs); err != nil {
		return nil, err
	}
	return check.Judge(ctx, cat, inputs, o)
}

// checkLive reads and judges this node.
func (c *cli) checkLive(ctx context.Context, cat *catalog.Catalog, f *checkFlags, o check.Options) (*report.Node, error) {
	base, err := f.readBaseline()
	if err != nil {
		return nil, err
	}
	o.Now = time.Now()
	o.Window, o.Live = f.history, true
	snap := check.Collect(ctx, check.CollectOptions{
		Quick: f.quick, ExpectGPUs: f.expect, Baseline: base, Call: f.callDeadline, Total: f.total,
		Runner: &child.Runner{}, Host: host.Options{Tables: cat.Tables()}, Raw: f.record != "", Now: o.Now,
	})
	if f.record != "" {
		if err := snap.Save(f.record); err != nil {
			return nil, hinted{err, "name a folder that can be written", gpumedic.ExitOutput}
		}
	}
	n, err := check.Judge(ctx, cat, snap.Inputs(), o)
	if err != nil {
		return nil, err
	}
	n.Took = snap.Took.Seconds()
	if f.saveBaseline {
		b := check.BaselineOf(n)
		b.Taken = o.Now.UTC().Truncate(time.Second)
		if err := b.Save(f.baseline); err != nil {
			return nil, hinted{err, "name a file that can be written with --baseline", gpumedic.ExitOutput}
		}
		n.Notes = append(n.Notes, fmt.Sprintf(lang.Pick(o.Lang, "baseline of %d %s saved in %s", "已将 %d 块%s的基线存入 %s"), len(b.GPUs), lang.Pick(o.Lang, lang.Plural(len(b.GPUs), "GPU"), " GPU "), f.baseline))
	}
	return n, nil
}

// readBaseline reads the baseline when there is one: a missing default is none.
func (f *checkFlags) readBaseline() (*check.Baseline, error) {
	if f.noBaseline || f.saveBaseline {
		return nil, nil
	}
	b, err := check.ReadBaseline(f.baseline)
	if errors.Is(err, os.ErrNotExist) && f.baseline == defaultBaseline {
		return nil, nil
	}
	if err != nil {
		return nil, usage(err, "gpumedic check --save-baseline writes one; --no-baseline does without")
	}
	return b, nil
}

func (c *cli) checkDiff(ctx context.Context, cat *catalog.Catalog, args []string, f *checkFlags, ro report.Options) error {
	if len(args) != 1 {
		return usage(errors.New("read --diff: two recordings are compared"), "gpumedic check --diff OLD NEW")
	}
	var sides [2]*check.Recording
	for i, path := range []string{f.diff, args[0]} {
		r, err := check.ReadRecording(ctx, cat, path, ro.Lang)
		if err != nil {
			return usage(err, "a recording is a folder that gpumedic check --record wrote, or nvidia-smi -q -x output")
		}
		sides[i] = r
	}
	d := check.Compare(sides[0], sides[1])
	c.status = d.Status
	return c.deliver(f.out, func(w io.Writer) error { return report.WriteDiff(w, d, f.format, ro) })
}

// readThresholds reads NAME=VALUE flags against the names that rules have.
func readThresholds(cat *catalog.Catalog, flags []string) (map[string]float64, error) {
	known := section.Thresholds(cat.Readings)
	out := map[string]float64{}
	for _, s := range flags {
		name, text, ok := strings.Cut(s, "=")
		v, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil {
			return nil, usage(fmt.Errorf("read --threshold %q: want NAME=NUMBER", s), "gpumedic check --list-thresholds shows the names")
		}
		if _, ok := known[name]; !ok {
			return nil, usage(fmt.Errorf("read --threshold: no threshold %q", name), "gpumedic check --list-thresholds shows the names")
		}
		out[name] = v
	}
	return out, nil
}

func listThresholds(w io.Writer, cat *catalog.Catalog) error {
	known := section.Thresholds(cat.Readings)
	var err error
	for _, name := range slices.Sorted(maps.Keys(known)) {
		_, e := fmt.Fprintf(w, "%-40s %g\n", name, known[name])
		err = errors.Join(err, e)
	}
	return err
}
