package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gpumedic/gpumedic"
)

// planned are the verbs that remedies and verifications name and that this version does
// not have yet. They end honestly, with what to use meanwhile, and stay out of --help.
var planned = map[string]string{
	"run": "meanwhile: run the command, keep its output, then gpumedic diagnose FILE",
}

func (c *cli) plannedCmds() []*cobra.Command {
	var out []*cobra.Command
	for _, name := range slices.Sorted(maps.Keys(planned)) {
		out = append(out, &cobra.Command{
			Use: name, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return hinted{fmt.Errorf("%s: not part of this version", name), planned[name], gpumedic.ExitUnknown}
			},
		})
	}
	return out
}
