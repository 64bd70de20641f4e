package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/show"
	"github.com/gpumedic/gpumedic/internal/incident/store"
)

func (c *cli) historyCmd() *cobra.Command {
	var f storeFlags
	cmd := &cobra.Command{
		Use:   "history [flags] [SERIAL|UUID|SLOT]",
		Short: "what happened to a card, or in a slot",
		Long: `history tells the life of a GPU by serial number or UUID, through all slots it
was in, or of a slot by PCI address, with all cards that were in it: inserted,
moved, removed, faults, repairs, tests, driver and firmware changes.
Without an argument it lists the cards.`,
		Example: `  gpumedic history                           # the cards
  gpumedic history 1650123400017
  gpumedic history 3b:00.0 --format json

exit status: 0 shown, 3 nothing is known, or the store could not be read,
64 usage error`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(errors.New("read arguments: one card or slot at a time"), "gpumedic history lists the cards")
			}
			return c.readStore(cmd.Context(), &f, func(s *store.Store, o show.Options) error {
				cards, err := s.Cards(cmd.Context())
				if err != nil {
					return storeError(err)
				}
				if len(args) == 0 {
					return c.deliver(f.out, func(w io.Writer) error { return show.WriteCards(w, cards, o) })
				}
				rows, err := s.History(cmd.Context(), args[0])
				if err != nil {
					return storeError(err)
				}
				cards = slices.DeleteFunc(cards, func(k incident.Card) bool { return !incident.NamesGPU(args[0], k.GPU) })
				if len(rows) == 0 && len(cards) == 0 {
					return hinted{fmt.Errorf("find history of %q: nothing is known", args[0]), "gpumedic history lists the cards", gpumedic.ExitUnknown}
				}
				h := &show.History{Name: args[0], Cards: cards, Rows: rows}
				return c.deliver(f.out, func(w io.Writer) error { return show.WriteHistory(w, h, o) })
			})
		},
	}
	f.add(cmd)
	return cmd
}
