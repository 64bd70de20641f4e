package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/show"
	"github.com/gpumedic/gpumedic/internal/incident/store"
	"github.com/gpumedic/gpumedic/internal/lang"
)

// The verbs that change incidents. Each says who and why, which the audit keeps.

type whoWhy struct{ who, why string }

func (w *whoWhy) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.who, "who", "", "`NAME` for the record (default: you)")
	cmd.Flags().StringVar(&w.why, "why", "", "the reason, as a `TEXT` for the record")
}

func (w *whoWhy) name() string {
	if w.who != "" {
		return w.who
	}
	return person()
}

func (c *cli) incidentsAck(f *storeFlags) *cobra.Command {
	var w whoWhy
	cmd := &cobra.Command{
		Use: "ack [flags] ID...", Short: "say that you have seen it",
		Example: `  gpumedic incidents ack 7 --why "on it"

exit status: 0 done, 3 the store could not be read, 64 usage error, 74 it could
not be written`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.change(cmd.Context(), f, args, func(st *incident.Step, id int64) error { return st.Ack(id, w.name(), w.why) })
		},
	}
	w.add(cmd)
	return cmd
}

func (c *cli) incidentsClose(f *storeFlags) *cobra.Command {
	var w whoWhy
	var force bool
	cmd := &cobra.Command{
		Use: "close [flags] ID...", Short: "close what is repaired and verified",
		Long: `close ends an incident when a verification has passed and it has not come back
since. --force ends it without; the reason of --why is kept and shown.`,
		Example: `  gpumedic incidents close 7
  gpumedic incidents close 7 --force --why "card went back to the vendor"

exit status: 0 done, 3 the store could not be read, 64 usage error, 74 it could
not be written`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.change(cmd.Context(), f, args, func(st *incident.Step, id int64) error { return st.Close(id, force, w.name(), w.why) })
		},
	}
	w.add(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "without verification; needs --why")
	return cmd
}

func (c *cli) incidentsReopen(f *storeFlags) *cobra.Command {
	var w whoWhy
	cmd := &cobra.Command{
		Use: "reopen [flags] ID...", Short: "take a closed incident up again",
		Example: `  gpumedic incidents reopen 7 --why "the riser was not it"

exit status: 0 done, 3 the store could not be read, 64 usage error, 74 it could
not be written`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.change(cmd.Context(), f, args, func(st *incident.Step, id int64) error { return st.Reopen(id, w.name(), w.why) })
		},
	}
	w.add(cmd)
	return cmd
}

// change runs a command on all incidents or on none, and says how they stand.
func (c *cli) change(ctx context.Context, f *storeFlags, args []string, do func(*incident.Step, int64) error) error {
	ids, err := incidentIDs(args, 0)
	if err != nil {
		return err
	}
	return c.writeStore(ctx, f, func(s *store.Store, o show.Options) error {
		_, err := s.Do(ctx, time.Now(), ids, func(st *incident.Step) error {
			for _, id := range ids {
				if err := do(st, id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return storeError(err)
		}
		var list []*incident.Incident
		for _, id := range ids {
			i, err := s.Incident(ctx, id)
			if err != nil {
				return storeError(err)
			}
			list = append(list, i)
		}
		return c.deliver(f.out, func(w io.Writer) error { return show.WriteStates(w, list, o) })
	})
}

func (c *cli) incidentsSilence(f *storeFlags) *cobra.Command {
	var w whoWhy
	var x incident.Silence
	var span time.Duration
	var until string
	var end int64
	var all bool
	cmd := &cobra.Command{
		Use: "silence [flags]", Short: "no notification for a while; without flags: list silences", Args: noArgs,
		Long: `silence keeps notifications quiet about incidents that match all of --fault,
--gpu and --node, for a time and with a reason. The incidents go on as before:
they are listed, counted in the exit status, and told when the silence ends.`,
		Example: `  gpumedic incidents silence --gpu 3b:00.0 --for 2h --why "riser swap"
  gpumedic incidents silence --fault 'ecc-*' --until 2026-12-24 --why RMA
  gpumedic incidents silence                 # list
  gpumedic incidents silence --end 3

exit status: 0 done, 3 the store could not be read, 64 usage error, 74 it could
not be written`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			x.Who, x.Why = w.name(), w.why
			adding := x.Fault != "" || x.GPU != "" || x.Node != ""
			switch {
			case end != 0 && adding:
				return usage(errors.New("read flags: --end takes no matcher"), "gpumedic incidents silence lists the silences")
			case end != 0:
				return c.silence(cmd.Context(), f, func(st *incident.Step) (int64, error) { return end, st.EndSilence(end, x.Who, x.Why) }, "ended", "已结束")
			case !adding && (span != 0 || until != ""):
				return usage(errors.New("add silence: nothing to match"), "name --fault, --gpu or --node")
			case !adding:
				return c.listSilences(cmd.Context(), f, all)
			}
			var err error
			if x.Until, err = silenceEnd(time.Now(), span, until); err != nil {
				return err
			}
			return c.silence(cmd.Context(), f, func(st *incident.Step) (int64, error) { return st.Silence(x) }, "begins", "已生效")
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&x.Fault, "fault", "", "fault `ID`, or a pattern as 'ecc-*'")
	fl.StringVar(&x.GPU, "gpu", "", "`GPU`: PCI address, UUID, serial or index")
	fl.StringVar(&x.Node, "node", "", "`NODE`, or a pattern")
	fl.DurationVar(&span, "for", 0, "how long, as 90m or 48h")
	fl.StringVar(&until, "until", "", "end `TIME`, as 2026-12-24T08:00:00Z or 2026-12-24")
	fl.Int64Var(&end, "end", 0, "end silence `N` now")
	fl.BoolVar(&all, "all", false, "list those too that are over")
	w.add(cmd)
	return cmd
}

func silenceEnd(now time.Time, span time.Duration, until string) (time.Time, error) {
	switch {
	case (span != 0) == (until != ""):
		return time.Time{}, usage(errors.New("add silence: one of --for and --until is needed"), "for example --for 2h")
	case span != 0:
		return now.Add(span), nil
	}
	return readTime("until", until, time.Local)
}

func (c *cli) silence(ctx context.Context, f *storeFlags, do func(*incident.Step) (int64, error), en, zh string) error {
	return c.writeStore(ctx, f, func(s *store.Store, o show.Options) error {
		var id int64
		_, err := s.Do(ctx, time.Now(), nil, func(st *incident.Step) (err error) { id, err = do(st); return err })
		if errors.Is(err, incident.ErrNotFound) || errors.Is(err, incident.ErrNoReason) {
			return storeError(err)
		} else if err != nil && !isStoreError(err) {
			return usage(err, "gpumedic incidents silence --help shows examples")
		} else if err != nil {
			return storeError(err)
		}
		if o.Format == "json" {
			list, err := s.Silences(ctx, true)
			if err != nil {
				return storeError(err)
			}
			for _, x := range list {
				if x.ID == id {
					return c.deliver(f.out, func(w io.Writer) error { return show.WriteSilences(w, []incident.Silence{x}, o) })
				}
			}
		}
		return c.deliver(f.out, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, lang.Pick(o.Lang, "silence %d %s\n", "静默 %d %s\n"), id, lang.Pick(o.Lang, en, zh))
			return err
		})
	})
}

func isStoreError(err error) bool {
	for _, e := range []error{store.ErrMissing, store.ErrCorrupt, store.ErrFull, store.ErrReadOnly, store.ErrBusy, store.ErrNewer} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func (c *cli) listSilences(ctx context.Context, f *storeFlags, ended bool) error {
	return c.readStore(ctx, f, func(s *store.Store, o show.Options) error {
		list, err := s.Silences(ctx, ended)
		if err != nil {
			return storeError(err)
		}
		return c.deliver(f.out, func(w io.Writer) error { return show.WriteSilences(w, list, o) })
	})
}

// writeStore opens the store for a command.
func (c *cli) writeStore(ctx context.Context, f *storeFlags, do func(*store.Store, show.Options) error) error {
	o, err := c.showOptions(f)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, f.store, store.Options{})
	if err != nil {
		return storeError(err)
	}
	if err := do(s, o); err != nil {
		s.Close()
		return err
	}
	if err := s.Close(); err != nil {
		return storeError(err)
	}
	return nil
}
