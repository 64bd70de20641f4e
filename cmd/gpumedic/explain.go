package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func (c *cli) explainCmd() *cobra.Command {
	return &cobra.Command{
		Use: "explain WHAT",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("explain: being built")
		},
	}
}
