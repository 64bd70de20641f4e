package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/catalogdoc"
	"github.com/gpumedic/gpumedic/internal/catalogtest"
)

func (c *cli) catalogCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "catalog",
		Short: "list, show and test the faults that gpumedic knows",
		Example: `  gpumedic catalog list
  gpumedic catalog show gpu-fell-off-bus --lang zh
  gpumedic catalog test ./my-catalog         # prove your own rules`,
		Args: aVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var f answerFlags
	f.add(cmd.PersistentFlags())
	cmd.AddCommand(c.catalogList(&f), c.catalogShow(&f), c.catalogTest(&f))
	return cmd
}

func (c *cli) catalogList(f *answerFlags) *cobra.Command {
	return &cobra.Command{
		Use: "list [flags]", Short: "list all faults with layer, severity and first action", Args: noArgs,
		Example: `  gpumedic catalog list | grep hardware

exit status: 0 listed, 64 usage error`,
		RunE: func(*cobra.Command, []string) error {
			l, cat, err := f.read(c)
			if err != nil {
				return err
			}
			return c.deliver(f.out, func(w io.Writer) error {
				t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				for _, id := range cat.FaultIDs() {
					f := cat.Faults[id]
					fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", id, f.Layer, f.Severity, f.Action, f.Title.In(l))
				}
				return t.Flush()
			})
		},
	}
}

func (c *cli) catalogShow(f *answerFlags) *cobra.Command {
	return &cobra.Command{
		Use: "show [flags] ID", Short: "show one fault: evidence, causes, remedies, sources",
		Example: `  gpumedic catalog show row-remap-failure

exit status: 0 shown, 64 no such fault, or a usage error`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(errors.New("read arguments: one fault id is needed"), "gpumedic catalog list shows the ids")
			}
			l, cat, err := f.read(c)
			if err != nil {
				return err
			}
			fault := cat.Faults[args[0]]
			if fault == nil {
				return usage(fmt.Errorf("read fault %q: not in the catalog", args[0]), "gpumedic catalog list shows the ids")
			}
			return c.deliver(f.out, func(w io.Writer) error { return catalogdoc.Page(w, cat, fault, l) })
		},
	}
}

func (c *cli) catalogTest(f *answerFlags) *cobra.Command {
	return &cobra.Command{
		Use: "test [flags] [DIR]", Short: "check entries and run their examples and cases",
		Long: `test checks the form and the sense of every entry, then runs each matcher's
examples and near misses and each fault's cases through the same path as
diagnose. Without DIR it tests the catalog that ships in the program.`,
		Example: `  gpumedic catalog test
  gpumedic catalog test ./my-catalog

exit status: 0 all hold, 2 something fails, 64 the folder cannot be read`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			fsys := catalog.EmbeddedFS()
			whole, err := catalog.Load(fsys) // the YAML itself is what is tested
			if err != nil {
				return err
			}
			part := whole
			if len(args) == 1 {
				fsys = os.DirFS(args[0])
				if part, err = catalog.Load(fsys); err != nil {
					return usage(fmt.Errorf("read catalog %s: %w", args[0], err), "docs/adding-a-fault.md describes the form")
				}
				if err = whole.Overlay(args[0]); err != nil {
					return usage(err, "docs/adding-a-fault.md describes the form")
				}
			} else if p := catalog.Validate(fsys, part, whole); len(p) > 0 {
				c.status = gpumedic.ExitFault
				return c.deliver(f.out, func(w io.Writer) error { _, err := fmt.Fprintln(w, p.Error()); return err })
			}
			r, err := catalogtest.Run(cmd.Context(), whole, part, fsys)
			if err != nil {
				return err
			}
			if len(r.Failures) > 0 {
				c.status = gpumedic.ExitFault
			}
			return c.deliver(f.out, func(w io.Writer) error { return printTest(w, r) })
		},
	}
}

func printTest(w io.Writer, r catalogtest.Result) error {
	for _, f := range r.Failures {
		if _, err := fmt.Fprintln(w, "FAIL", f); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%d cases, %d examples, %d near misses: %d failures\n", r.Cases, r.Examples, r.NearMisses, len(r.Failures))
	return err
}
