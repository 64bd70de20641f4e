package watch

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"github.com/gpumedic/gpumedic/internal/act/notify"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

// reloads reads the configuration anew when it is asked to. A configuration that is wrong
// changes nothing.
func (d *Daemon) reloads(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.o.Reload:
		}
		notifySystemd("RELOADING=1")
		conf, err := d.o.Read()
		if err == nil {
			err = d.reload(ctx, conf)
		}
		if err != nil && ctx.Err() == nil {
			d.o.Log.Error("the new configuration is not taken; the one before stays in force", "error", err)
		}
		notifySystemd("READY=1")
	}
}

// A reloadable is a part of the configuration that can change while the daemon runs.
type reloadable struct {
	field string // and all below it
	take  func(to, from *Config)
	// prepare does what may fail, and gives what is then done in the loop.
	prepare func(d *Daemon, c *Config) (apply func(ctx context.Context), err error)
}

// reloadables are all such parts. The rest is said to wait for a restart.
var reloadables = []reloadable{
	{"incidents", func(to, from *Config) { to.Incidents = from.Incidents }, func(d *Daemon, c *Config) (func(context.Context), error) {
		return func(context.Context) { d.store.SetPolicy(c.policy()) }, nil
	}},
	{"expect", func(to, from *Config) { to.Expect = from.Expect }, func(d *Daemon, c *Config) (func(context.Context), error) {
		doc, err := expected(c)
		return func(context.Context) { d.loop.core.readings.put(expectedGPUs, doc, whole) }, err
	}},
	{"thresholds", func(to, from *Config) { to.Threshold = from.Threshold }, func(d *Daemon, c *Config) (func(context.Context), error) {
		rules := section.Override(d.o.Catalog.Readings, c.Threshold)
		return func(context.Context) { d.loop.core.readings.rules, d.loop.core.readings.changed = rules, true }, nil
	}},
	{"alerts", func(to, from *Config) { to.Alerts = from.Alerts }, func(d *Daemon, c *Config) (func(context.Context), error) {
		rules, err := c.rules()
		return func(ctx context.Context) { d.useAlerts(ctx, rules) }, err
	}},
	{"maintenance", func(to, from *Config) { to.Upkeep = from.Upkeep }, func(d *Daemon, c *Config) (func(context.Context), error) {
		return func(context.Context) { d.loop.idle.use(c.Upkeep.MemoryTest) }, c.Upkeep.MemoryTest.problem()
	}},
	{"notifications", func(to, from *Config) { to.Notify = from.Notify }, func(d *Daemon, c *Config) (func(context.Context), error) {
		return func(context.Context) { d.outlets.newChannels() }, c.Notify.Validate()
	}},
	{"job_logs", func(to, from *Config) { to.JobLogs = from.JobLogs }, func(d *Daemon, c *Config) (func(context.Context), error) {
		return func(context.Context) { d.followJobs(c) }, nil
	}},
	{"gpus", func(to, from *Config) { to.GPUs = from.GPUs }, func(d *Daemon, c *Config) (func(context.Context), error) {
		return func(context.Context) {
			d.outlets.exporter.SetMaxAge(readingsMaxAge(c))
			d.pollGPUs(c)
		}, nil
	}},
	{"host", func(to, from *Config) { to.Host = from.Host }, func(d *Daemon, c *Config) (func(context.Context), error) {
		return func(context.Context) { d.pollHost(c) }, nil
	}},
	{"web.hosts", func(to, from *Config) { to.Web.Hosts = from.Web.Hosts }, prepareHandler},
	{"web.allow_actions", func(to, from *Config) { to.Web.AllowActions = from.Web.AllowActions }, prepareHandler},
}

// stays are fields below those that wait for a restart all the same.
var stays = []string{"gpus.enabled", "host.enabled"}

func prepareHandler(d *Daemon, c *Config) (func(context.Context), error) {
	h, err := d.handler(c)
	return func(context.Context) { d.served.Store(&h) }, err
}

// reload takes what can change of a configuration, all of it or nothing.
func (d *Daemon) reload(ctx context.Context, conf *Config) error {
	old := d.config()
	fields, err := differences(old, conf)
	if err != nil {
		return err
	}
	next := *old
	var applied, waits []string
	var todo []*reloadable
	for _, field := range fields {
		n := slices.IndexFunc(reloadables, func(c reloadable) bool { return field == c.field || strings.HasPrefix(field, c.field+".") })
		if n < 0 || slices.Contains(stays, field) {
			waits = append(waits, field)
			continue
		}
		applied = append(applied, field)
		if !slices.Contains(todo, &reloadables[n]) {
			todo = append(todo, &reloadables[n])
		}
	}
	for _, c := range todo {
		c.take(&next, conf)
	}
	next.GPUs.Enabled, next.Host.Enabled = old.GPUs.Enabled, old.Host.Enabled
	var apply []func(context.Context)
	for _, c := range todo {
		f, err := c.prepare(d, &next)
		if err != nil {
			return fmt.Errorf("%s: %w", c.field, err)
		}
		apply = append(apply, f)
	}
	done := make(chan struct{})
	select {
	case d.loop.calls <- func() {
		defer close(done)
		d.conf.Store(&next)
		d.loop.conf = &next
		for _, f := range apply {
			f(ctx)
		}
	}:
		<-done
	case <-ctx.Done():
		return nil
	}
	for _, field := range waits {
		d.o.Log.Warn("a change of the configuration takes effect at the next restart", "field", field)
	}
	if len(fields) == 0 {
		d.o.Log.Info("the configuration was read again: nothing has changed")
		return nil
	}
	d.o.Log.Info("the configuration was read again", "applied", strings.Join(applied, ", "), "waiting for a restart", strings.Join(waits, ", "))
	return nil
}

// config is the configuration that is in force.
func (d *Daemon) config() *Config { return d.conf.Load() }

// differences are the fields in which two configurations differ, sorted.
func differences(a, b *Config) ([]string, error) {
	x, err := flat(a)
	if err != nil {
		return nil, err
	}
	y, err := flat(b)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, pair := range [][2]map[string]string{{x, y}, {y, x}} {
		for k, v := range pair[0] {
			if other, ok := pair[1][k]; !ok || other != v {
				out[k] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(out)), nil
}

// flat gives the fields of a configuration by their names; a list is one.
func flat(c *Config) (map[string]string, error) {
	text, err := yaml.Dump(c)
	if err != nil {
		return nil, fmt.Errorf("compare configurations: %w", err)
	}
	var doc map[string]any
	if err := yaml.Load(text, &doc); err != nil {
		return nil, fmt.Errorf("compare configurations: %w", err)
	}
	out := map[string]string{}
	var walk func(string, any)
	walk = func(name string, v any) {
		m, ok := v.(map[string]any)
		if !ok || name == "thresholds" {
			out[name] = fmt.Sprint(v)
			return
		}
		for k, v := range m {
			walk(strings.TrimPrefix(name+"."+k, "."), v)
		}
	}
	walk("", doc)
	return out, nil
}

// useAlerts takes other rules; without rules what fires is resolved first, so that nobody
// waits for its end.
func (d *Daemon) useAlerts(ctx context.Context, rules []alertRule) {
	l := d.loop
	switch {
	case l.alerts == nil && rules == nil:
	case l.alerts == nil:
		a, err := newAlerts(ctx, d)
		if err != nil {
			d.o.Log.Error("alerts cannot be begun", "error", err)
			return
		}
		l.alerts = a
		d.alerts.Store(a)
	default:
		l.alerts.use(rules)
		if rules == nil {
			l.alerts.looked = l.alerts.looked.Add(-alertsEvery)
			l.alerts.tick(ctx, d.o.Now())
			l.alerts.end(ctx)
			l.alerts = nil
			d.alerts.Store(nil)
		}
	}
}

// delivery is what carries notices out: it is replaced as a whole.
type delivery struct {
	notifier *notify.Notifier
	pump     *pump
	cancel   context.CancelFunc
	wg       sync.WaitGroup
}

// newChannels takes other channels. What is under way is finished first, so that nothing
// is sent twice; what waits stays in the queue. It does not wait for that itself.
func (o *outlets) newChannels() {
	o.d.wg.Go(func() {
		o.changing.Lock()
		defer o.changing.Unlock()
		if old := o.delivery.Swap(nil); old != nil {
			old.cancel()
			old.wg.Wait()
		}
		o.channels.Store(nil)
		if err := o.deliver(o.ctx, o.d.config()); err != nil && !errors.Is(err, context.Canceled) {
			o.d.o.Log.Error("notifications do not work with the new configuration", "error", err)
		}
	})
}

// deliver begins to carry notices out, when there are channels.
func (o *outlets) deliver(ctx context.Context, c *Config) error {
	if len(c.Notify.Channels) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	db, err := o.queue()
	if err != nil {
		return err
	}
	n := &delivery{}
	if n.notifier, err = notify.New(ctx, db, &c.Notify, o.d.o.Log); err != nil {
		return err
	}
	if n.pump, err = newPump(ctx, o.d, db, n.notifier); err != nil {
		return err
	}
	ctx, n.cancel = context.WithCancel(ctx)
	o.delivery.Store(n)
	n.wg.Go(func() { _ = n.notifier.Run(ctx) }) // it ends with the context
	n.wg.Go(func() { n.pump.run(ctx) })
	o.d.wg.Go(n.wg.Wait)
	return nil
}

// queue opens the file of notices that wait, once.
func (o *outlets) queue() (*sql.DB, error) {
	if db := o.db.Load(); db != nil {
		return db, nil
	}
	db, err := openQueue(filepath.Join(filepath.Dir(o.d.config().Store), "notifications.db"))
	if err == nil {
		o.db.Store(db)
	}
	return db, err
}
