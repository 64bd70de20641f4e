package main

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpumedic/gpumedic/internal/burn"
)

func (c *cli) memtestCmd() *cobra.Command {
	var f testFlags
	var quick bool
	var soak, fade time.Duration
	cmd := &cobra.Command{
		Use:   "memtest [flags]",
		Short: "prove a GPU's memory good or bad",
		Long: `memtest writes patterns over nearly all memory of a GPU, reads them back from
the memory itself and compares every word: own addresses, walking bits,
inversions, random data, modulo 20, block moves. It counts all errors, locates
the first 4096, reads them again to tell bad cells from bad transfers, and
compares the driver's ECC counters before and after. All GPUs run side by side.

A GPU with processes on it is not tested without --force-shared; then only its
free memory is. Clocks, power limits and modes are never changed.`,
		Example: `  gpumedic memtest                        # all GPUs, well below a minute
  gpumedic memtest --quick --gpu 0        # a few seconds
  gpumedic memtest --soak 1h --report evidence.tar.gz
  gpumedic memtest --fade 10m             # do the cells keep their content?

exit status: 0 passed, 1 warning, 2 fault, 3 not tested or not to the end,
64 usage error`,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := cmp.Or(apart(cmd, "quick", "soak", "fade"), atLeast(0, "soak", soak), atLeast(0, "fade", fade))
			if err != nil {
				return err
			}
			mode := burn.ModeFull
			switch {
			case quick:
				mode = burn.ModeQuick
			case soak > 0:
				mode = burn.ModeSoak
			}
			return c.runTests(cmd, args, &f, testRun{task: burn.TaskMemory, options: func(pci string) any {
				return burn.MemOptions{PCI: pci, Mode: mode, Soak: soak, Fade: fade}
			}})
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&quick, "quick", false, "a few seconds: the patterns that find most")
	fl.DurationVar(&soak, "soak", 0, "go on for this `DURATION`, with new random data each round")
	fl.DurationVar(&fade, "fade", 0, "let patterns lie still for this `DURATION` in all, then check them")
	f.add(cmd)
	return cmd
}
