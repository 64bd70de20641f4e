package main

import (
	"github.com/spf13/cobra"

	"github.com/gpumedic/gpumedic/internal/burn"
)

func (c *cli) bandwidthCmd() *cobra.Command {
	var f testFlags
	var peers bool
	cmd := &cobra.Command{
		Use:   "bandwidth [flags]",
		Short: "measure a GPU's memory, its link and its peers",
		Long: `bandwidth measures how fast a GPU's memory is read, written and copied, how fast
pinned host memory is copied to it and from it, each way and both at once, and
between each two GPUs. What was copied is compared. Each rate stands beside what
the product or the link can do at most: a degraded PCIe link shows as a number.`,
		Example: `  gpumedic bandwidth               # one GPU after the other, then all pairs
  gpumedic bandwidth --gpu 3
  gpumedic bandwidth --p2p         # only the pairs

exit status: 0 passed, 1 warning, 2 fault, 3 not tested or not to the end,
64 usage error`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.runTests(cmd, args, &f, testRun{
				task: burn.TaskBandwidth, serial: true, peers: true, onlyPeers: peers,
				options: func(pci string) any { return burn.RateOptions{PCI: pci} },
			})
		},
	}
	cmd.Flags().BoolVar(&peers, "p2p", false, "only the copies between GPUs")
	f.add(cmd)
	return cmd
}
