package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/show"
	"github.com/gpumedic/gpumedic/internal/incident/store"
)

// storeFlags are those of every verb on the store.
type storeFlags struct {
	answerFlags
	store string
}

func (f *storeFlags) add(cmd *cobra.Command) {
	fl := cmd.PersistentFlags()
	fl.StringVar(&f.store, "store", store.DefaultPath, "`FILE` of the incidents")
	f.answerFlags.add(fl, show.Formats...)
}

func (c *cli) incidentsCmd() *cobra.Command {
	var f storeFlags
	cmd := &cobra.Command{
		Use:     "incidents",
		Aliases: []string{"incident"},
		Short:   "what is wrong on this node since when, who is on it, what was done",
		Long: `incidents shows and changes the incidents of this node: one for each fault, from
open to verified and closed. An incident closes when a verification has passed
after its last occurrence; --force closes it without, with a reason that is kept.`,
		Example: `  gpumedic incidents list                    # open ones, the worst first
  gpumedic incidents show 7                  # evidence, steps, time line
  gpumedic incidents ack 7 --why "on it"
  gpumedic incidents close 7                 # after gpumedic verify 7
  gpumedic incidents silence --gpu 3b:00.0 --for 2h --why "riser swap"`,
		Args: aVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f.add(cmd)
	cmd.AddCommand(c.incidentsList(&f), c.incidentsShow(&f), c.incidentsAck(&f), c.incidentsClose(&f), c.incidentsReopen(&f), c.incidentsSilence(&f))
	return cmd
}

func (c *cli) incidentsList(f *storeFlags) *cobra.Command {
	var filter store.Filter
	var closed, all, quiet bool
	var limit int
	cmd := &cobra.Command{
		Use: "list [flags]", Short: "open incidents, the worst first", Args: noArgs,
		Example: `  gpumedic incidents list
  gpumedic incidents list --closed --gpu 3b:00.0
  gpumedic incidents list --format json | jq '.incidents[].fault'

exit status: 0 none open, 1 warnings open, 2 faults open, 3 the store could not
be read, 64 usage error`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return usage(fmt.Errorf("read --limit: %d is negative", limit), "0 shows all")
			}
			return c.readStore(cmd.Context(), f, func(s *store.Store, o show.Options) error {
				filter.Closed, filter.Hidden = closed, true
				list, err := s.List(cmd.Context(), filter)
				if err != nil {
					return storeError(err)
				}
				l := show.NewList(list, all, limit)
				c.status = l.Status
				return c.deliver(f.out, func(w io.Writer) error { return show.WriteList(w, l, quiet, o) })
			})
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&closed, "closed", false, "closed ones too")
	fl.BoolVar(&all, "all", false, "those too that have not lasted long enough to be told")
	quietFlag(fl, &quiet)
	fl.StringVar(&filter.Fault, "fault", "", "those of one fault `ID`")
	fl.StringVar(&filter.Node, "node", "", "those of one `NODE`")
	fl.StringVar(&filter.GPU, "gpu", "", "those of one `GPU`: PCI address, UUID, serial or index")
	fl.IntVar(&limit, "limit", 0, "show at most `N`; the status is that of all")
	return cmd
}

func (c *cli) incidentsShow(f *storeFlags) *cobra.Command {
	return &cobra.Command{
		Use: "show [flags] ID", Short: "one incident: evidence, steps, verifications, time line",
		Example: `  gpumedic incidents show 7 --lang zh

exit status: 0 closed, 1 an open warning, 2 an open fault, 3 the store could not
be read, 64 usage error`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := incidentIDs(args, 1)
			if err != nil {
				return err
			}
			return c.readStore(cmd.Context(), f, func(s *store.Store, o show.Options) error { return c.showOne(cmd.Context(), f, s, ids[0], o) })
		},
	}
}

func (c *cli) showOne(ctx context.Context, f *storeFlags, s *store.Store, id int64, o show.Options) error {
	i, err := s.Incident(ctx, id)
	if err != nil {
		return storeError(err)
	}
	events, err := s.Events(ctx, id)
	if err != nil {
		return storeError(err)
	}
	checks, err := s.Verifications(ctx, id)
	if err != nil {
		return storeError(err)
	}
	c.status = incident.ExitStatus([]*incident.Incident{i})
	return c.deliver(f.out, func(w io.Writer) error {
		return show.WriteOne(w, &show.One{Incident: i, Events: events, Verifications: checks}, o)
	})
}

func (c *cli) showOptions(f *storeFlags) (show.Options, error) {
	l, cat, err := f.read(c)
	if err != nil {
		return show.Options{}, err
	}
	color, width := f.screen(c)
	return show.Options{Lang: l, Format: f.format, Color: color, Width: width, Catalog: cat, Zone: time.Local}, nil
}

// readStore opens the store for reading.
func (c *cli) readStore(ctx context.Context, f *storeFlags, do func(*store.Store, show.Options) error) error {
	o, err := c.showOptions(f)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, f.store, store.Options{ReadOnly: true})
	if err != nil {
		return storeError(err)
	}
	defer s.Close()
	return do(s, o)
}

// storeError gives an error of the store its status and the next step. What could not be
// read is unknown, never healthy.
func storeError(err error) error {
	for _, k := range []struct {
		is     error
		hint   string
		status int
	}{
		{store.ErrMissing, "gpumedic watch keeps the incidents of a node; --store FILE names another", gpumedic.ExitUnknown},
		{store.ErrCorrupt, "gpumedic watch moves it aside and begins a new one when it starts", gpumedic.ExitUnknown},
		{store.ErrFull, "make room on that file system", gpumedic.ExitOutput},
		{store.ErrReadOnly, "run it as the user of gpumedic watch, for example with sudo", gpumedic.ExitOutput},
		{store.ErrBusy, "try again", gpumedic.ExitOutput},
		{store.ErrNewer, "upgrade gpumedic", gpumedic.ExitUnknown},
		{incident.ErrNotFound, "gpumedic incidents list --closed shows all", gpumedic.ExitUsage},
		{incident.ErrNotVerified, "gpumedic verify ID runs the checks; --force --why TEXT closes without", gpumedic.ExitUsage},
		{incident.ErrNoReason, "--why TEXT gives it; it is kept with the incident", gpumedic.ExitUsage},
		{incident.ErrState, "gpumedic incidents show ID tells where it stands", gpumedic.ExitUsage},
	} {
		if errors.Is(err, k.is) {
			return hinted{err, k.hint, k.status}
		}
	}
	return hinted{err, "", gpumedic.ExitUnknown}
}

// incidentIDs reads numbers; most is how many are taken, 0 for any.
func incidentIDs(args []string, most int) ([]int64, error) {
	switch {
	case len(args) == 0:
		return nil, usage(errors.New("read arguments: the number of an incident is needed"), "gpumedic incidents list shows them")
	case most > 0 && len(args) > most:
		return nil, usage(fmt.Errorf("read arguments: %q is too much, one incident at a time", args[most]), "gpumedic incidents list shows them")
	}
	var out []int64
	for _, a := range args {
		n, err := strconv.ParseInt(a, 10, 64)
		if err != nil || n < 1 {
			return nil, usage(fmt.Errorf("read arguments: %q is no number of an incident", a), "gpumedic incidents list shows them")
		}
		out = append(out, n)
	}
	return out, nil
}

// person is who gives a command: behind sudo, the one who called it.
func person() string {
	for _, v := range []string{"SUDO_USER", "USER", "LOGNAME"} {
		if s := os.Getenv(v); s != "" {
			return s
		}
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "uid " + strconv.Itoa(os.Getuid())
}
