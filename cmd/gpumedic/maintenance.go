package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident/show"
	"github.com/gpumedic/gpumedic/internal/incident/store"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/maintenance"
)

func (c *cli) maintenanceCmd() *cobra.Command {
	var f storeFlags
	cmd := &cobra.Command{
		Use:   "maintenance",
		Short: "what this node needs from time to time, and what is due",
		Long: `maintenance is a calendar: a memory test each month, a look at the driver's version and
at cooling each quarter, firmware each half-year. A memory test that ran and a driver or
VBIOS that changed are noticed; of the rest you say that it was done.`,
		Example: `  gpumedic maintenance list
  gpumedic maintenance done cooling --why "filters changed"
  gpumedic maintenance ical > gpus.ics`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f.add(cmd)
	list := &cobra.Command{
		Use: "list [flags]", Short: "the tasks, the next one due first", Args: noArgs,
		Example: `  gpumedic maintenance list
  gpumedic maintenance list --format json

exit status: 0 nothing is overdue, 1 something is, 3 the store cannot be read`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.plan(cmd, &f, func(items []maintenance.Item, o show.Options) error {
				if slices.ContainsFunc(items, func(i maintenance.Item) bool { return i.State == maintenance.Overdue }) {
					c.status = gpumedic.ExitWarning
				}
				return c.deliver(f.out, func(w io.Writer) error { return writePlan(w, items, o) })
			})
		},
	}
	ical := &cobra.Command{
		Use: "ical [flags]", Short: "as a calendar file", Args: noArgs,
		Example: `  gpumedic maintenance ical --out gpus.ics

exit status: 0 written, 3 the store cannot be read`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.plan(cmd, &f, func(items []maintenance.Item, o show.Options) error {
				node, err := os.Hostname()
				if err != nil {
					node = "localhost"
				}
				return c.deliver(f.out, func(w io.Writer) error {
					_, err := io.WriteString(w, maintenance.ICal(items, node, o.Lang, time.Now()))
					return err
				})
			})
		},
	}
	cmd.AddCommand(list, c.maintenanceDone(&f), ical)
	return cmd
}

// plan reads the calendar of a store.
func (c *cli) plan(cmd *cobra.Command, f *storeFlags, do func([]maintenance.Item, show.Options) error) error {
	return c.readStore(cmd.Context(), f, func(s *store.Store, o show.Options) error {
		tasks, err := maintenance.Calendar()
		if err != nil {
			return err
		}
		items, err := maintenance.Read(cmd.Context(), s, tasks, time.Now())
		if err != nil {
			return storeError(err)
		}
		return do(items, o)
	})
}

func (c *cli) maintenanceDone(f *storeFlags) *cobra.Command {
	var w whoWhy
	var at string
	cmd := &cobra.Command{
		Use: "done [flags] TASK", Short: "say that a task was done",
		Example: `  gpumedic maintenance done cooling --why "filters changed"
  gpumedic maintenance done driver-review --at 2026-11-20

exit status: 0 noted, 3 the store cannot be written, 64 usage error`,
		RunE: func(cmd *cobra.Command, args []string) error {
			tasks, err := maintenance.Calendar()
			if err != nil {
				return err
			}
			var ids []string
			for _, t := range tasks {
				ids = append(ids, t.ID)
			}
			if len(args) != 1 || !slices.Contains(ids, args[0]) {
				return usage(fmt.Errorf("read arguments: %q, want one task", args), "tasks are "+strings.Join(ids, ", "))
			}
			when := time.Now()
			if at != "" {
				if when, err = silenceEnd(when, 0, at); err != nil || when.After(time.Now()) {
					return usage(errors.Join(fmt.Errorf("read --at: %q is no time that has passed", at), err), "for example 2026-11-20")
				}
			}
			return c.writeStore(cmd.Context(), f, func(s *store.Store, o show.Options) error {
				if err := maintenance.Record(cmd.Context(), s, maintenance.Done{Task: args[0], At: when, Who: w.name(), Why: w.why}); err != nil {
					return storeError(err)
				}
				items, err := maintenance.Read(cmd.Context(), s, tasks, time.Now())
				if err != nil {
					return storeError(err)
				}
				items = slices.DeleteFunc(items, func(i maintenance.Item) bool { return i.ID != args[0] })
				return c.deliver(f.out, func(w io.Writer) error { return writePlan(w, items, o) })
			})
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "`TIME` when it was done, as 2026-11-20 (default: now)")
	w.add(cmd)
	return cmd
}

var planWords = map[string][2]string{
	maintenance.OK: {"ok", "正常"}, maintenance.Soon: {"soon", "即将到期"}, maintenance.Overdue: {"OVERDUE", "已逾期"}, maintenance.Never: {"never done", "尚无记录"},
}

func writePlan(w io.Writer, items []maintenance.Item, o show.Options) error {
	if o.Format == "json" {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			Schema string             `json:"schema"`
			Tasks  []maintenance.Item `json:"tasks"`
		}{"gpumedic.maintenance/v1", items})
	}
	var err error
	for _, i := range items {
		word := planWords[i.State]
		last := lang.Pick(o.Lang, "not known to have been done", "尚无完成记录")
		if !i.Last.IsZero() {
			last = lang.Pick(o.Lang, "last ", "上次 ") + i.Last.In(o.Zone).Format("2006-01-02")
			if i.Who != "" {
				last += " · " + i.Who
			}
			if e := lang.Pick(o.Lang, i.Evidence.EN, i.Evidence.ZH); e != "" {
				last += " · " + e
			}
		}
		_, e := fmt.Fprintf(w, "%s  %s  %s\n    %s\n    %s · %s\n    %s\n", i.Due.In(o.Zone).Format("2006-01-02"), lang.Pick(o.Lang, word[0], word[1]), i.ID,
			lang.Pick(o.Lang, i.Title.EN, i.Title.ZH), everyText(i.Every, o.Lang), last, i.Command)
		err = errors.Join(err, e)
	}
	return err
}

func everyText(days int, l string) string {
	return lang.Pick(l, fmt.Sprintf("every %d days", days), fmt.Sprintf("每 %d 天", days))
}
