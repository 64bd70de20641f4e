package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/check"
	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/follow"
	"github.com/gpumedic/gpumedic/internal/incident/store"
	"github.com/gpumedic/gpumedic/internal/lean"
	"github.com/gpumedic/gpumedic/internal/maintenance"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

// Options of a daemon.
type Options struct {
	Config  *Config
	Catalog *catalog.Catalog
	Version string
	Names   string // of the catalog, for reports
	Log     *slog.Logger
	Runner  *child.Runner // nil: this program
	Root    string        // of the machine's files; "" is "/"
	// Reload asks for the configuration to be read again, by Read.
	Reload  <-chan struct{}
	Read    func() (*Config, error)
	Program string // of verbs that run in a process of their own; "" is this one
	Now     func() time.Time
	// Ready hears the addresses when everything runs, for tests.
	Ready func(addresses []net.Addr)
}

// Daemon is the parts that run side by side.
type Daemon struct {
	o        Options
	loop     *loop
	store    *store.Store
	health   *health
	outlets  *outlets
	started  time.Time
	calendar []maintenance.Task
	wg       sync.WaitGroup

	conf    atomic.Pointer[Config]       // in force; o.Config is that of the start
	served  atomic.Pointer[http.Handler] // of the servers
	alerts  atomic.Pointer[alerts]       // the loop's, for the page
	sources context.Context              // of all of them
	ends    map[string]context.CancelFunc
}

// Run watches until the context ends. An error is one of the start: from then on a part
// that fails is reported and tried again.
func Run(ctx context.Context, o Options) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Runner == nil {
		o.Runner = &child.Runner{}
	}
	if o.Root == "" {
		o.Root = "/"
	}
	d := &Daemon{o: o, health: newHealth(o.Now), started: o.Now(), ends: map[string]context.CancelFunc{}}
	d.conf.Store(o.Config)
	defer d.close()
	if err := d.prepare(ctx); err != nil {
		return err
	}
	servers, err := d.listen()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var stop context.CancelFunc
	d.sources, stop = context.WithCancel(ctx)
	defer stop()
	d.follow()
	d.poll()
	if err := d.outlets.run(ctx); err != nil {
		return err
	}
	var serving sync.WaitGroup
	failed := make(chan error, len(servers))
	for _, s := range servers {
		serving.Go(func() { failed <- s.serve() })
	}
	defer func() {
		for _, s := range servers {
			s.close()
		}
		serving.Wait()
	}()
	notifySystemd("READY=1")
	if o.Ready != nil {
		o.Ready(addresses(servers))
	}
	d.wg.Go(func() { watchdog(ctx, d.alive) })
	if o.Reload != nil {
		d.wg.Go(func() { d.reloads(ctx) })
	}
	done := make(chan struct{})
	go func() { defer close(done); d.loop.run(ctx) }()
	select {
	case <-ctx.Done():
	case err = <-failed:
		cancel()
	}
	notifySystemd("STOPPING=1")
	<-done
	return err
}

// alive reports whether the loop still goes round.
func (d *Daemon) alive() bool {
	d.loop.mu.Lock()
	defer d.loop.mu.Unlock()
	return d.o.Now().Sub(d.loop.turned).Abs() < time.Minute
}

// close waits for what was started, but not for one that hangs in a system call.
func (d *Daemon) close() {
	done := make(chan struct{})
	go func() { defer close(done); d.wg.Wait() }()
	select {
	case <-done:
	case <-time.After(3 * time.Second):
		d.o.Log.Warn("a source does not end; it is left behind")
	}
	if d.outlets != nil {
		d.outlets.close()
	}
	if d.store != nil {
		if err := d.store.Close(); err != nil {
			d.o.Log.Error("the store cannot be closed", "error", err)
		}
	}
}

// prepare opens what must be there.
func (d *Daemon) prepare(ctx context.Context) error {
	c, log := d.o.Config, d.o.Log
	var err error
	if d.store, err = store.Open(ctx, c.Store, store.Options{Create: true, Policy: c.policy()}); err != nil {
		return err
	}
	for _, n := range d.store.Notes() {
		log.Warn(n)
	}
	if d.calendar, err = maintenance.Calendar(); err != nil {
		return err
	}
	cat := d.o.Catalog
	if len(c.Threshold) > 0 {
		own := *cat
		own.Readings = section.Override(cat.Readings, c.Threshold)
		cat = &own
	}
	core, err := newCore(cat, c.Node, c.Language, c.Window)
	if err != nil {
		return err
	}
	expect, err := expected(c)
	if err != nil {
		return err
	}
	core.readings.put(expectedGPUs, expect, whole)
	d.loop = &loop{
		conf: c, log: log, now: d.o.Now, core: core, store: d.store, health: d.health,
		holders: newHolders(c.Node, d.o.Root, c.GPUs.QuickEvery), boot: follow.BootID(d.proc()),
		logs: map[string]chan follow.Chunk{}, readings: make(chan reading), calls: make(chan func()), positions: map[string]string{}, waiting: map[string]bool{},
		turned: d.started,
	}
	if err := d.restore(ctx); err != nil {
		return err
	}
	d.health.source(sourceStore, 0)
	d.outlets = newOutlets(d)
	if d.loop.alerts, err = newAlerts(ctx, d); err != nil {
		return err
	}
	d.alerts.Store(d.loop.alerts)
	d.loop.idle = newIdleTests(d)
	d.loop.told = d.outlets.changed
	d.loop.show = d.outlets.show
	leans := 0
	d.loop.lean = func() {
		if leans++; leans%2 == 1 { // the dearer half
			d.store.Shrink()
			debug.FreeOSMemory()
		}
		lean.Release()
	}
	return nil
}

func (d *Daemon) proc() string { return d.o.Root + "/proc" }

// restore takes up what the daemon before knew.
func (d *Daemon) restore(ctx context.Context) error {
	l := d.loop
	for _, s := range []string{sourceKernel, sourceJournal, sourceJobs} {
		p, err := d.store.Cursor(ctx, s)
		if err != nil {
			return err
		}
		if p != "" {
			l.positions[s] = p
			l.continues = true
		}
	}
	text, err := d.store.Cursor(ctx, windowCursor)
	if err != nil {
		return err
	}
	run, onset, ok := l.core.window.restore(text)
	if !ok {
		run = "run-" + strconv.FormatInt(d.o.Now().UnixNano(), 36)
	}
	l.core.run = run
	if onset != nil {
		l.core.readings.onset = onset
	}
	return nil
}

func expected(c *Config) ([]byte, error) {
	gpus := -1
	if c.Expect.GPUs != nil {
		gpus = *c.Expect.GPUs
	}
	if c.Expect.Baseline == "" {
		return check.Expected(gpus, nil), nil
	}
	b, err := check.ReadBaseline(c.Expect.Baseline)
	if err != nil {
		return nil, err
	}
	return check.Expected(gpus, b), nil
}

// follow starts the logs.
func (d *Daemon) follow() {
	c, l := d.o.Config, d.loop
	kernel := false
	if c.Kernel.Enabled {
		f, err := os.Open(c.Kernel.Path)
		if kernel = err == nil; kernel {
			f.Close()
		}
		d.start(sourceKernel, &follow.Kmsg{Path: c.Kernel.Path, Proc: d.proc(), Host: c.Node, Quiet: kernelQuiet, Since: c.Window, Line: l.holders.line, Now: d.o.Now})
	}
	if c.Journal.Enabled {
		program, err := exec.LookPath(c.Journal.Program)
		if err != nil {
			d.health.source(sourceJournal, 0)
			d.health.failed(sourceJournal, SourceOff, errors.New("there is no journalctl here"))
		} else {
			done, usec := follow.LastKernel(l.positions[sourceKernel])
			d.start(sourceJournal, &follow.Journal{Program: program, Host: c.Node, Quiet: journalQuiet, Since: c.Window,
				Boot: l.boot, SkipKernel: kernel, Done: done, DoneUsec: usec, Now: d.o.Now})
		}
	}
	d.followJobs(c)
}

// followJobs follows the logs of jobs, in place of those that were followed before. Each
// goes on where it was.
func (d *Daemon) followJobs(c *Config) {
	if end := d.ends[sourceJobs]; end != nil {
		end()
		delete(d.ends, sourceJobs)
		delete(d.loop.logs, sourceJobs)
		d.health.change(sourceJobs, func(s *Source, now time.Time) { s.to(SourceOff, now) })
	}
	if len(c.JobLogs.Paths) > 0 {
		d.start(sourceJobs, &follow.Tail{Globs: c.JobLogs.Paths, Every: c.JobLogs.Every, Max: c.JobLogs.Max})
	}
}

// How long a log must be quiet until its lines are judged: what belongs together comes
// together.
const (
	kernelQuiet  = 4 * time.Millisecond
	journalQuiet = 100 * time.Millisecond
)

// start keeps a follower at work.
func (d *Daemon) start(name string, f follow.Follower) {
	l := d.loop
	ctx, end := context.WithCancel(d.sources)
	d.ends[name] = end
	out := make(chan follow.Chunk)
	l.logs[name] = out
	d.health.source(name, 0)
	d.wg.Go(func() {
		retry := firstRetry
		for ctx.Err() == nil {
			l.mu.Lock()
			position := l.positions[name]
			l.mu.Unlock()
			begun := time.Now()
			d.health.change(name, func(s *Source, now time.Time) { s.to(SourceOK, now) })
			err := f.Run(ctx, position, out)
			if ctx.Err() != nil {
				return
			}
			if time.Since(begun) > time.Minute {
				retry = firstRetry
			}
			d.health.failed(name, SourceFailed, err)
			d.o.Log.Warn("source failed; it is tried again", "source", name, "error", err, "after", retry)
			select {
			case <-time.After(retry):
			case <-ctx.Done():
			}
			retry = min(2*retry, lastRetry)
		}
	})
}

// poll starts the readings.
func (d *Daemon) poll() {
	c, l := d.o.Config, d.loop
	if c.GPUs.Enabled {
		d.health.source(sourceGPUs, 0)
		l.waiting[sourceGPUs] = true
		d.pollGPUs(c)
	}
	if c.Host.Enabled {
		d.health.source(sourceHost, 0)
		l.waiting[sourceHost] = true
		d.pollHost(c)
	}
}

// pollGPUs reads the GPUs, in place of who did before.
func (d *Daemon) pollGPUs(c *Config) {
	ctx, ok := d.again(sourceGPUs, c.GPUs.Enabled, 3*c.GPUs.Interval+c.GPUs.CallTimeout+quickPatience(c))
	if ok {
		p := &gpuPoller{conf: c.GPUs, runner: d.o.Runner, out: d.loop.readings, now: d.o.Now}
		d.wg.Go(func() { p.run(ctx) })
	}
}

// pollHost reads the machine, in place of who did before.
func (d *Daemon) pollHost(c *Config) {
	ctx, ok := d.again(sourceHost, c.Host.Enabled, 4*c.Host.Interval)
	if ok {
		p := &hostPoller{conf: c.Host, root: d.o.Root, tables: d.o.Catalog.Tables(), out: d.loop.readings, now: d.o.Now}
		d.wg.Go(func() { p.run(ctx) })
	}
}

// again ends who read a source and gives the context of who does it now.
func (d *Daemon) again(name string, enabled bool, patience time.Duration) (context.Context, bool) {
	if end := d.ends[name]; end != nil {
		end()
	}
	if !enabled {
		return nil, false
	}
	d.health.change(name, func(s *Source, _ time.Time) { s.patience = patience })
	ctx, end := context.WithCancel(d.sources)
	d.ends[name] = end
	return ctx, true
}

// quickPatience: without a driver there is an answer only at each quick tick.
func quickPatience(c *Config) time.Duration { return c.GPUs.QuickEvery }

func addresses(servers []*server) []net.Addr {
	var out []net.Addr
	for _, s := range servers {
		out = append(out, s.listener.Addr())
	}
	return out
}

// notifySystemd tells the service manager of a state, where there is one.
func notifySystemd(state string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return // it then waits in vain, and says so
	}
	defer conn.Close()
	_, _ = conn.Write([]byte(state)) // as above
}

// watchdog tells the service manager that the daemon is alive, as often as it wants.
func watchdog(ctx context.Context, alive func() bool) {
	usec, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if pid := os.Getenv("WATCHDOG_PID"); err != nil || usec <= 0 || pid != "" && pid != fmt.Sprint(os.Getpid()) {
		return
	}
	t := time.NewTicker(time.Duration(usec) * time.Microsecond / 2)
	defer t.Stop()
	for {
		if alive() {
			notifySystemd("WATCHDOG=1")
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}
