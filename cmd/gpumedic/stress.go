package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/gpumedic/gpumedic/internal/burn"
)

func (c *cli) stressCmd() *cobra.Command {
	var f testFlags
	var duration time.Duration
	cmd := &cobra.Command{
		Use:   "stress [flags]",
		Short: "does a GPU compute right at full power?",
		Long: `stress keeps the arithmetic units of a GPU busy with random operands: tensor
cores, single and double precision. Every SM computes the same; results are
compared bit for bit between SMs and between repeats, with no tolerance, and
NaNs count as errors. It reports rates, power, clocks, temperature and what held
them back.

Clocks, power limits and modes are never changed.`,
		Example: `  gpumedic stress                         # all GPUs, a minute
  gpumedic stress --gpu 0000:3b:00.0 --duration 30m
  gpumedic stress --duration 1h --format json --out stress.json

exit status: 0 passed, 1 warning, 2 fault, 3 not tested or not to the end,
64 usage error`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := atLeast(time.Second, "duration", duration); err != nil {
				return err
			}
			return c.runTests(cmd, args, &f, testRun{task: burn.TaskStress, options: func(pci string) any {
				return burn.StressOptions{PCI: pci, Duration: duration}
			}})
		},
	}
	cmd.Flags().DurationVar(&duration, "duration", time.Minute, "how long to keep each GPU busy")
	f.add(cmd)
	return cmd
}
