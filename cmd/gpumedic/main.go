// Command gpumedic finds out why GPUs and the jobs on them fail, says what to do, and
// proves that it worked. One file a verb; each reads its flags, makes one call and
// returns an exit status (see docs/exit-status.md).
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/offline"
)

func main() {
	tuneMemory()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	if len(os.Args) > 1 && os.Args[1] == child.Arg {
		os.Exit(child.Main(ctx, childTasks, os.Args[2:]))
	}
	status := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// cli carries the streams and the exit status of one call.
type cli struct {
	in       io.Reader
	out, err io.Writer
	status   int
}

// run is main without the process: tests call it.
func run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	c := &cli{in: in, out: out, err: errw}
	root := c.root()
	root.SetArgs(exitCodes(args))
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errw)
	if err := root.ExecuteContext(ctx); err != nil {
		return c.fail(err)
	}
	return c.status
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "gpumedic",
		Short: "find out why GPUs and the jobs on them fail, and what to do",
		Long: `gpumedic finds out why GPUs and the jobs on them fail, says what to do, and
proves that it worked. It names one root cause for one incident and shows the
lines that prove it. It needs no GPU and no network to read a log.`,
		Example: `  gpumedic diagnose /var/log/kern.log        # one log
  journalctl -k -b | gpumedic diagnose -     # this boot's kernel log
  gpumedic diagnose logs/ dmesg.txt          # all logs of one incident together
  gpumedic explain xid 94                    # what does this number mean?`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       offline.Version(),
		Args:          aVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(fmt.Errorf("read flags: %w", err), cmd.CommandPath()+" --help shows them")
	})
	root.AddCommand(c.diagnoseCmd(), c.checkCmd(), c.lintCmd(), c.explainCmd(), c.catalogCmd(), c.incidentsCmd(), c.historyCmd())
	root.AddCommand(c.memtestCmd(), c.stressCmd(), c.bandwidthCmd())
	root.AddCommand(c.watchCmd(), c.verifyCmd(), c.maintenanceCmd())
	root.AddCommand(c.plannedCmds()...)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() { // cobra's own, in the words of the others
		switch cmd.Name() {
		case "help":
			cmd.Short = "help about a verb"
		case "completion":
			cmd.Short = "write the script that completes verbs and flags in a shell"
			cmd.Args, cmd.RunE = aVerb, root.RunE
		}
	}
	return root
}

// hinted is an error with the next step for the person who reads it.
type hinted struct {
	error
	hint   string
	status int
}

func (h hinted) Unwrap() error { return h.error }

func usage(err error, hint string) error {
	if hint == "" {
		hint = "gpumedic --help shows the verbs and examples"
	}
	return hinted{err, hint, gpumedic.ExitUsage}
}

// fail prints fact and hint and returns the status.
func (c *cli) fail(err error) int {
	status := gpumedic.ExitUsage
	hint := ""
	var h hinted
	if errors.As(err, &h) {
		status, hint = h.status, h.hint
	}
	fmt.Fprintf(c.err, "gpumedic: error: %s\n", err)
	if hint != "" {
		fmt.Fprintf(c.err, "gpumedic: hint: %s\n", hint)
	}
	return status
}
