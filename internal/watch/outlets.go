package watch

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/check"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/store"
	"github.com/gpumedic/gpumedic/internal/maintenance"
	"github.com/gpumedic/gpumedic/internal/metrics"
	"github.com/gpumedic/gpumedic/internal/web"
)

// outlets are what tells others: metrics, notifications, pages.
type outlets struct {
	d        *Daemon
	exporter *metrics.Exporter
	delivery atomic.Pointer[delivery] // nil: there are no channels
	changing sync.Mutex               // of delivery
	db       atomic.Pointer[sql.DB]
	ctx      context.Context // of run
	hub      *web.Hub
	rings    *web.Rings
	last     atomic.Pointer[seen]
	shown    time.Time // readings that the page was given last
	states   string    // of sources, as the page has them
	planned  time.Time // when the calendar was looked at
	plan     []metrics.Maintenance
	channels atomic.Pointer[[]metrics.Channel]
	opened   map[string]uint64 // by fault: incidents opened or opened again since the start
	mu       sync.Mutex

	known     []*incident.Incident // as they were at the last snapshot, and
	incidents []metrics.Incident   // what metrics say of them
}

func newOutlets(d *Daemon) *outlets {
	c := d.o.Config
	o := &outlets{d: d, opened: map[string]uint64{}, hub: web.NewHub(), rings: web.NewRings(ringPoints)}
	o.exporter = metrics.New(metrics.Options{
		Version: d.o.Version, Catalog: d.o.Names, DCGM: c.Web.DCGM, Hostname: c.Node,
		MaxAge: readingsMaxAge(c), Now: d.o.Now,
		Weight: func(f *gpumedic.Finding) int { return check.Weight(f, true) },
	})
	return o
}

// readingsMaxAge is how old the readings may be that the metrics show.
func readingsMaxAge(c *Config) time.Duration { return max(time.Minute, 2*c.GPUs.QuickEvery) }

// openQueue opens the file of notices that wait: one of its own, since workers write it
// at any time and the incidents must not wait for them.
func openQueue(path string) (*sql.DB, error) {
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: url.Values{
		"mode": {"rwc"}, "_busy_timeout": {"5000"}, "_txlock": {"immediate"},
		"_pragma": {"journal_mode(WAL)", "synchronous(FULL)", store.SmallCache},
	}.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("open notifications %s: %w", path, err)
	}
	db.SetMaxOpenConns(2)
	db.SetMaxIdleConns(1)
	return db, nil
}

// ringPoints is how many readings the page's charts go back: a quarter of an hour.
const ringPoints = 900

// show brings metrics and page up to date. It belongs to the loop.
func (o *outlets) show() {
	s := o.snapshot()
	o.exporter.Update(s)
	l := o.d.loop
	o.last.Store(&seen{read: s.Taken, judged: l.answered, sets: s.Readings, findings: l.core.answer.Findings,
		unexplained: l.core.answer.Unexplained, notes: l.core.answer.Notes})
	if !s.Taken.Equal(o.shown) {
		o.shown = s.Taken
		if gpus := check.Table(s.Readings); len(gpus) > 0 {
			o.rings.Add(s.Taken, gpus)
			o.hub.Readings(s.Taken, gpus)
		}
	}
	states := ""
	for _, src := range s.Sources {
		states += src.Name + o.d.health.stateOf(src.Name) + " "
	}
	if states != o.states {
		o.states = states
		o.hub.Publish(web.Update{Sources: (&backend{Store: o.d.store, d: o.d}).Sources()})
	}
}

// run begins to tell others.
func (o *outlets) run(ctx context.Context) error {
	o.ctx = ctx
	return o.deliver(ctx, o.d.config())
}

func (o *outlets) close() {
	if db := o.db.Load(); db != nil {
		if err := db.Close(); err != nil {
			o.d.o.Log.Warn("the queue of notifications cannot be closed", "error", err)
		}
	}
}

// changed hears of changes that are stored. It belongs to the loop and must not wait.
func (o *outlets) changed(r store.Result) {
	o.mu.Lock()
	for _, c := range r.Changes {
		if c.Incident != nil && (c.Kind == incident.KindOpened || c.Kind == incident.KindVisible || c.Kind == incident.KindReopened) {
			o.opened[c.Incident.Fault]++
		}
	}
	o.mu.Unlock()
	for n := range r.Changes {
		o.hub.Publish(web.Update{Change: &r.Changes[n]})
	}
	if n := o.delivery.Load(); n != nil {
		n.pump.wake()
	}
}

// snapshot is what a scrape sees. It belongs to the loop.
func (o *outlets) snapshot() metrics.Snapshot {
	l := o.d.loop
	s := metrics.Snapshot{Taken: l.lastRead, Readings: l.core.readings.sets(), Findings: l.core.answer.Findings, Xids: []metrics.Xid{}}
	o.mu.Lock()
	s.Opened = map[string]uint64{}
	for k, v := range o.opened {
		s.Opened[k] = v
	}
	o.mu.Unlock()
	if known := o.d.store.Snapshot(); !slices.Equal(known, o.known) { // an incident that changes is another one
		o.known, o.incidents = known, nil
		for _, i := range known {
			if i.Live() && i.Visible {
				o.incidents = append(o.incidents, metricOf(i))
			}
		}
	}
	s.Incidents = slices.Clip(o.incidents)
	for k, x := range l.core.xids {
		s.Xids = append(s.Xids, metrics.Xid{GPU: x.gpu, Code: k.code, Count: x.count, Last: x.last})
	}
	if now := o.d.o.Now(); now.Sub(o.planned).Abs() >= maintenanceEvery {
		o.planned = now
		o.takeMaintenance()
	}
	s.Maintenance = o.plan
	s.Alerts = l.alerts.counts()
	if c := o.channels.Load(); c != nil {
		s.Channels = *c
	}
	for _, src := range o.d.health.snapshot() {
		s.Sources = append(s.Sources, metrics.Source{Name: src.Name, Healthy: src.State == SourceOK || src.State == SourceStarting || src.State == SourceOff,
			LastSuccess: src.LastSuccess, LastDuration: src.LastDuration, Duration: src.Duration,
			Probes: src.Answers, Errors: src.Errors, Events: src.Events, Dropped: src.Lost})
	}
	return s
}

// maintenanceEvery is how often the calendar is looked at.
const maintenanceEvery = 10 * time.Minute

func (o *outlets) takeMaintenance() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	items, err := maintenance.Read(ctx, o.d.store, o.d.calendar, o.d.o.Now())
	if err != nil {
		o.d.o.Log.Warn("the maintenance calendar cannot be read", "error", err)
		return
	}
	o.plan = nil
	for _, i := range items {
		o.plan = append(o.plan, metrics.Maintenance{Task: i.ID, Due: i.Due, LastDone: i.Last})
	}
}

func metricOf(i *incident.Incident) metrics.Incident {
	m := metrics.Incident{ID: strconv.FormatInt(i.ID, 10), State: string(i.State), Start: i.Opened, Occurrences: i.Occurrences,
		Finding: gpumedic.Finding{Fault: i.Fault, Case: i.Case, Title: i.Title, Headline: i.Headline, Role: i.Role, Layer: i.Layer, Class: i.Class,
			Component: i.Component, Severity: i.Severity, Scope: i.Scope, Confidence: i.Confidence, Subject: i.Subject, Also: i.Also,
			Count: i.Count, Action: i.Action}}
	for _, v := range i.Victims {
		if m.Pod == "" {
			m.Pod = v.Pod
		}
		if m.Job == "" {
			m.Job = v.Job
		}
	}
	return m
}
