package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	rulefile "github.com/gpumedic/gpumedic/deploy/prometheus"
	"github.com/gpumedic/gpumedic/internal/alert"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/metrics"
	"github.com/gpumedic/gpumedic/internal/metrics/names"
	"github.com/gpumedic/gpumedic/internal/promql"
)

// alerts are the rules of deploy/prometheus on this node. They belong to the loop, but
// for what shown gives.
type alerts struct {
	d      *Daemon
	rules  []alert.Rule
	memory *promql.Memory
	book   *alert.Book // as it is stored
	shown  atomic.Pointer[alert.Book]
	looked time.Time
	saved  time.Time
	wrong  string // what the last evaluation could not do
}

// Paces, and under which names the store keeps what must survive.
const (
	alertsEvery  = 30 * time.Second
	memoryEvery  = 5 * time.Minute
	alertsCursor = "alerts"
	memoryCursor = "alerts-memory"
)

// alertRule is a rule as this package names it.
type alertRule = alert.Rule

// rules are those of the configuration.
func (c *Config) rules() ([]alert.Rule, error) {
	if !c.Alerts.Enabled {
		return nil, nil
	}
	out, err := alert.Rules(rulefile.Rules, nil)
	if err != nil {
		return nil, err
	}
	for _, path := range c.Alerts.Files {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("files: %q is not an absolute path", path)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("files: %w", err)
		}
		more, err := alert.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("files: %s: %w", path, err)
		}
		for _, r := range more {
			if slices.ContainsFunc(out, func(o alert.Rule) bool { return o.Name == r.Name }) {
				return nil, fmt.Errorf("files: %s: a rule %s is there already", path, r.Name)
			}
		}
		out = append(out, more...)
	}
	without := c.Alerts.Without
	for _, name := range without {
		if !slices.ContainsFunc(out, func(r alert.Rule) bool { return r.Name == name }) {
			return nil, fmt.Errorf("without: there is no rule %q", name)
		}
	}
	if !c.GPUs.Enabled && !c.Host.Enabled { // nobody wants readings: they are not late
		without = append(slices.Clone(without), "GpumedicReadingsOld")
	}
	return slices.DeleteFunc(out, func(r alert.Rule) bool { return slices.Contains(without, r.Name) }), nil
}

// newAlerts takes up where the daemon before ended; nil when nobody wants alerts.
func newAlerts(ctx context.Context, d *Daemon) (*alerts, error) {
	rules, err := d.config().rules()
	if err != nil || rules == nil {
		return nil, err
	}
	a := &alerts{d: d, book: &alert.Book{}}
	a.use(rules)
	for name, take := range map[string]func([]byte) error{
		alertsCursor: func(b []byte) error { return json.Unmarshal(b, a.book) },
		memoryCursor: a.memory.Restore,
	} {
		text, err := d.store.Cursor(ctx, name)
		if err != nil {
			return nil, err
		}
		if text == "" {
			continue
		}
		if err := take([]byte(text)); err != nil { // of another version: they begin anew
			d.o.Log.Warn("what is stored of alerts cannot be read", "document", name, "error", err)
		}
	}
	a.shown.Store(a.book)
	return a, nil
}

// use takes other rules; what is known of the series goes on.
func (a *alerts) use(rules []alert.Rule) {
	old := a.memory
	a.rules, a.memory = rules, alert.NewMemory(rules)
	if old == nil {
		return
	}
	if text, err := old.Save(); err == nil {
		_ = a.memory.Restore(text) // it was written by this program just now
	}
}

// tick evaluates the rules when it is time to.
func (a *alerts) tick(ctx context.Context, now time.Time) {
	if a == nil || now.Sub(a.looked).Abs() < alertsEvery || len(a.d.loop.waiting) > 0 {
		return // before the sources have answered an alert might seem to be over
	}
	a.looked = now
	// What an evaluation needs of the program is needed again only at the next one.
	a.d.loop.leaned = a.d.loop.leaned.Add(-leanEvery)
	a.sample(now)
	next := a.book.Clone()
	tell, moved, err := next.Step(a.rules, a.memory, now, a.situation())
	if err != nil && err.Error() != a.wrong {
		a.d.o.Log.Warn("alert rules cannot be evaluated", "error", err)
	}
	a.wrong = ""
	if err != nil {
		a.wrong = err.Error()
	}
	a.shown.Store(next)
	if len(tell) > 0 || moved {
		if err := a.store(ctx, next, tell, now); err != nil {
			a.d.loop.stored(err)
			return // it stays untold and is tried again
		}
	}
	a.book = next
	if now.Sub(a.saved).Abs() >= memoryEvery {
		a.saved = now
		_ = a.store(ctx, next, nil, now) // the next one may go
	}
}

// end stores what is known when the daemon stops.
func (a *alerts) end(ctx context.Context) {
	if a != nil {
		_ = a.store(ctx, a.book, nil, a.d.o.Now()) // the loop tells when the store fails
	}
}

// store writes the alerts, the series and what is to be told in one transaction.
func (a *alerts) store(ctx context.Context, b *alert.Book, tell []alert.Change, now time.Time) error {
	doc, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("store alerts: %w", err)
	}
	memory, err := a.memory.Save()
	if err != nil {
		return fmt.Errorf("store alerts: %w", err)
	}
	r, err := a.d.store.DoAt(ctx, now, map[string]string{alertsCursor: string(doc), memoryCursor: string(memory)}, func(s *incident.Step) error {
		for i := range tell {
			x := &tell[i].Alert
			text, err := json.Marshal(x)
			if err != nil {
				return fmt.Errorf("store alert %s: %w", x.Name, err)
			}
			kind := incident.KindAlert
			if x.State == alert.Resolved {
				kind = incident.KindAlertOver
			}
			s.Alert(kind, x.Name, x.Texts["en"].Title, x.Texts["zh"].Title, text)
		}
		return nil
	})
	if err == nil && len(r.Changes) > 0 {
		a.d.loop.told(r)
	}
	return err
}

// sample takes the series of this moment that the rules ask for, as a Prometheus would
// that scrapes this node.
func (a *alerts) sample(now time.Time) {
	if last := a.memory.Last(); now.Before(last) { // the clock was set back
		a.memory.Back(last.Sub(now) + alertsEvery)
	}
	target := []promql.Label{{Name: "instance", Value: a.d.o.Config.Node}, {Name: "job", Value: "gpumedic"}}
	for _, f := range a.d.outlets.exporter.Own() {
		if !a.memory.Wants(f.GetName()) {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := make([]promql.Label, 0, len(m.GetLabel())+len(target))
			for _, l := range m.GetLabel() {
				labels = append(labels, promql.Label{Name: l.GetName(), Value: l.GetValue()})
			}
			v := m.GetGauge().GetValue()
			if c := m.GetCounter(); c != nil {
				v = c.GetValue()
			}
			a.memory.Add(f.GetName(), promql.MakeLabels(append(labels, target...)), now, v)
		}
	}
	a.memory.End(now)
}

// situation is what is known beside the series.
func (a *alerts) situation() alert.Situation {
	list := a.d.store.Snapshot()
	silences := a.d.store.InForce()
	old := a.zero(names.Alive.Name, nil)
	return alert.Situation{
		Held: func(r *alert.Rule, x *alert.Alert) bool {
			return ofReadings(r) && (old || !x.GPU().IsZero() && a.zero(names.Up.Name, func(l promql.Labels) bool {
				return l.Get("gpu") == x.Labels.Get("gpu") && l.Get("pci") == x.Labels.Get("pci")
			}))
		},
		Incident: func(r *alert.Rule, x *alert.Alert) int64 {
			for _, i := range list {
				if alert.Covers(r, x, i, a.d.o.Catalog.Faults) {
					return i.ID
				}
			}
			return 0
		},
		Silence: func(x *alert.Alert) int64 {
			for i := range silences {
				if alert.Silenced(x, &silences[i], a.d.o.Config.Node) {
					return silences[i].ID
				}
			}
			return 0
		},
	}
}

// zero reports whether a series is there and 0.
func (a *alerts) zero(name string, fits func(promql.Labels) bool) bool {
	v, ok := a.memory.Value(name, fits)
	return ok && v == 0
}

// ofReadings reports whether a rule asks for what was read: that ends when nothing can be
// read. What the daemon knows by itself goes on.
func ofReadings(r *alert.Rule) bool {
	return slices.ContainsFunc(promql.Selectors(r.Expr), func(s *promql.Selector) bool {
		f := names.Find(s.Name)
		return f != nil && (len(f.From) > 0 || f == names.Up)
	})
}

// counts are the alerts for the metrics.
func (a *alerts) counts() (out []metrics.Alert) {
	if a == nil {
		return nil
	}
	for _, x := range a.shown.Load().Active {
		n := slices.IndexFunc(out, func(m metrics.Alert) bool { return m.Name == x.Name && m.State == x.State })
		if n < 0 {
			n = len(out)
			out = append(out, metrics.Alert{Name: x.Name, State: x.State, Severity: x.Severity})
		}
		out[n].Count++
	}
	slices.SortFunc(out, func(x, y metrics.Alert) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.State, y.State))
	})
	return out
}
