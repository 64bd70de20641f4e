package main

import (
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/offline"
	"github.com/gpumedic/gpumedic/internal/watch"
)

type watchFlags struct {
	config, catalog, store string
	lang                   string
	listen, jobLogs        []string
	kmsg, compat, logLevel string
	print, allowActions    bool
}

func (c *cli) watchCmd() *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch [flags]",
		Short: "the node's daemon: one incident per fault, metrics, notifications",
		Long: `watch reads the kernel log, the journal, the GPUs (NVML), the machine and job
logs all the time, and keeps one incident for each fault: gpumedic incidents
lists them.

It serves metrics and an API on ` + watch.DefaultListen + `, to this machine only unless told
otherwise, and changes nothing on the machine.

SIGHUP reads the file of --config again: what can change while it runs does,
what cannot is named in the log, and a file that is wrong changes nothing.`,
		Example: `  gpumedic watch                                   # in the foreground, defaults
  gpumedic watch --config /etc/gpumedic/watch.yaml
  gpumedic watch --job-logs '/var/log/slurm/job-*.out'
  gpumedic watch --print-config                    # the effective configuration

exit status: 0 ended by a signal, 3 it could not start, 64 usage error`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.watch(cmd, f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.config, "config", "", "read the configuration from `FILE`")
	fl.BoolVar(&f.print, "print-config", false, "print the effective configuration, secrets masked, and end")
	fl.StringVar(&f.lang, "lang", "", "en or zh, for texts that are kept and sent (default: the configuration's)")
	fl.StringVar(&f.store, "store", "", "`FILE` of the incidents")
	fl.StringVar(&f.catalog, "catalog", "", "add or override catalog entries from `DIR`")
	fl.StringArrayVar(&f.listen, "listen", nil, "serve on `HOST:PORT` (repeatable; default "+watch.DefaultListen+")")
	fl.StringArrayVar(&f.jobLogs, "job-logs", nil, "follow the files of `PATTERN` (repeatable)")
	fl.StringVar(&f.kmsg, "kmsg", "", "read kernel records from `FILE` in place of /dev/kmsg")
	fl.StringVar(&f.compat, "compat", "", "dcgm: also the metric names of dcgm-exporter")
	fl.BoolVar(&f.allowActions, "allow-actions", false, "let the page acknowledge, verify, close and silence incidents")
	fl.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	return cmd
}

// settings are the file's, with the flags on top.
func (f *watchFlags) settings() (*watch.Config, error) {
	conf, err := watch.ReadConfig(f.config)
	if err != nil {
		return nil, usage(err, "docs/watch.md describes the fields; --print-config prints the defaults")
	}
	for _, s := range []struct {
		to   *string
		flag string
	}{{&conf.Store, f.store}, {&conf.Language, f.lang}, {&conf.Catalog, f.catalog}, {&conf.Kernel.Path, f.kmsg}} {
		if s.flag != "" {
			*s.to = s.flag
		}
	}
	if len(f.listen) > 0 {
		conf.Web.Listen = f.listen
	}
	conf.JobLogs.Paths = slices.Concat(conf.JobLogs.Paths, f.jobLogs)
	conf.Web.AllowActions = conf.Web.AllowActions || f.allowActions
	switch f.compat {
	case "":
	case "dcgm":
		conf.Web.DCGM = true
	default:
		return nil, usage(fmt.Errorf("read --compat: unknown names %q", f.compat), "dcgm is known")
	}
	if err := conf.Check(); err != nil {
		return nil, usage(err, "docs/watch.md describes the fields")
	}
	return conf, nil
}

// hangUps asks for a new reading of the configuration at each SIGHUP.
func hangUps() (<-chan struct{}, func()) {
	signals, out, done := make(chan os.Signal, 1), make(chan struct{}, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-signals:
				select {
				case out <- struct{}{}:
				default: // it is asked for already
				}
			case <-done:
				return
			}
		}
	}()
	return out, func() { signal.Stop(signals); close(done) }
}

func (c *cli) watch(cmd *cobra.Command, f watchFlags) error {
	conf, err := f.settings()
	if err != nil {
		return err
	}
	if f.print {
		return c.deliver("", conf.Print)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return usage(fmt.Errorf("read --log-level: %w", err), "debug, info, warn and error are known")
	}
	stayLean()
	cat, err := c.loadCatalog(conf.Catalog)
	if err != nil {
		return err
	}
	cat.DropExamples()
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: level}))
	o := watch.Options{Config: conf, Catalog: cat, Log: log, Version: offline.Version(), Names: offline.CatalogVersion(cat)}
	if f.config != "" { // else a hang-up of the terminal ends it, as any program
		var end func()
		o.Reload, end = hangUps()
		defer end()
		o.Read = f.settings
	}
	err = watch.Run(ctx, o)
	if err != nil {
		return hinted{err, "gpumedic watch --print-config shows what it was told", gpumedic.ExitUnknown}
	}
	return nil
}
