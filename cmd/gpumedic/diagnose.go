package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/offline"
	"github.com/gpumedic/gpumedic/internal/report"
	"github.com/gpumedic/gpumedic/internal/source"
)

type diagnoseFlags struct {
	answerFlags
	since, until, node string
	all, quiet         bool
}

func (c *cli) diagnoseCmd() *cobra.Command {
	var f diagnoseFlags
	cmd := &cobra.Command{
		Use:   "diagnose [flags] INPUT...",
		Short: "name the root cause in logs and tool output",
		Long: `diagnose reads logs and tool output and names the root cause, with the lines
that prove it, what to do and how to verify the repair.

INPUT is a file, a folder (walked), or - for standard input. Several inputs
belong to one incident: give the node's kernel log and the job's log together.
host=path names the node of an input. The kind is found from the content.`,
		Example: `  gpumedic diagnose /var/log/kern.log
  journalctl -k -b -1 | gpumedic diagnose -
  gpumedic diagnose node7=dmesg7.txt node8=dmesg8.txt
  gpumedic diagnose --format json logs/ > report.json
  gpumedic diagnose --lang zh --format markdown kern.log   # for a ticket

exit status: 0 no fault, 1 warning, 2 fault, 3 unknown, 64 usage error`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.diagnose(cmd, args, &f) },
	}
	fl := cmd.Flags()
	f.add(fl, report.Formats...)
	fl.StringVar(&f.since, "since", "", "only what happened at or after this `TIME` (RFC 3339 or 2006-01-02 15:04:05)")
	fl.StringVar(&f.until, "until", "", "only what happened before this `TIME`")
	fl.StringVar(&f.node, "node", "", "`NAME` of the node where the log does not say")
	fl.BoolVar(&f.all, "all", false, "incidental findings, alternatives and myths too")
	quietFlag(fl, &f.quiet)
	return cmd
}

func (c *cli) diagnose(cmd *cobra.Command, args []string, f *diagnoseFlags) error {
	if len(args) == 0 {
		return usage(errors.New("read input: none given"), "gpumedic diagnose FILE, or - for standard input")
	}
	language, cat, err := f.read(c)
	if err != nil {
		return err
	}
	o := offline.Options{Lang: language, Read: giveBack}
	if o.Since, err = readTime("since", f.since, time.UTC); err != nil {
		return err
	}
	if o.Until, err = readTime("until", f.until, time.UTC); err != nil {
		return err
	}
	if !o.Since.IsZero() && !o.Until.IsZero() && !o.Since.Before(o.Until) {
		return usage(errors.New("read --until: it is not after --since"), "only what happened between the two is looked at")
	}
	d, err := offline.New(cat)
	if err != nil {
		return err
	}
	bar := newProgress(c.err)
	o.Progress = bar.show
	inputs := source.Expand(args, source.ExpandOptions{Stdin: c.in, Node: f.node})
	if err := allMissing(inputs); err != nil {
		return err
	}
	r, err := d.Run(cmd.Context(), inputs, o)
	bar.clear()
	if err != nil {
		return err
	}
	if cmd.Context().Err() != nil {
		r.Notes = append(r.Notes, lang.Pick(language, "interrupted: the report is of what was read so far", "已中断：报告只涵盖此前读到的内容"))
	}
	color, width := f.screen(c)
	ro := report.Options{Lang: language, Color: color, Width: width, All: f.all, Quiet: f.quiet}
	c.status = r.ExitStatus()
	return c.deliver(f.out, func(w io.Writer) error { return report.Write(w, r, f.format, ro) })
}

// loadCatalog is the embedded catalog, with a user's folder on top when given.
func (c *cli) loadCatalog(dir string) (*catalog.Catalog, error) {
	cat, err := catalog.Embedded()
	if err != nil {
		return nil, err
	}
	if tty, _ := terminal(c.err); tty && catalog.Stale() { // whoever edits the YAML learns why the start is slow
		fmt.Fprintln(c.err, "gpumedic: note: the compiled catalog is older than the YAML, which is parsed instead: go generate ./catalog")
	}
	if dir == "" {
		return cat, nil
	}
	if err := cat.Overlay(dir); err != nil {
		return nil, usage(err, "a folder as docs/adding-a-fault.md describes; gpumedic catalog test DIR checks it")
	}
	return cat, nil
}

// allMissing is a usage error when none of the inputs exists; when some do, the others
// are problems of the report.
func allMissing(inputs []source.Input) error {
	for _, in := range inputs {
		if !in.Missing() {
			return nil
		}
	}
	if len(inputs) == 0 {
		return nil
	}
	return usage(fmt.Errorf("read input %s: %s", inputs[0].Name, strings.Join(inputs[0].Problems, "; ")), "check the path; - reads standard input")
}
