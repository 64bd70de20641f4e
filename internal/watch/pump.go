package watch

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic/internal/act/notify"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/store"
	"github.com/gpumedic/gpumedic/internal/metrics"
)

// pump carries changes of incidents into the queue of notices. Its place is kept in the
// queue's own file, in the transaction that queues a notice: whatever happens between the
// store and the queue, a change is queued once.
type pump struct {
	d     *Daemon
	store *store.Store
	db    *sql.DB
	to    *notify.Notifier
	woken chan struct{}
	after int64 // the last change that was dealt with
	// base is added to the numbers of changes: a store that was begun anew counts from 1
	// again, and no number may be used twice for a notice.
	base int64
}

func newPump(ctx context.Context, d *Daemon, db *sql.DB, to *notify.Notifier) (*pump, error) {
	p := &pump{d: d, store: d.store, db: db, to: to, woken: make(chan struct{}, 1)}
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS watch_place(id INTEGER PRIMARY KEY CHECK(id=1), after INTEGER NOT NULL, base INTEGER NOT NULL)`)
	if err != nil {
		return nil, fmt.Errorf("prepare notifications: %w", err)
	}
	last, err := d.store.LastChange(ctx)
	if err != nil {
		return nil, err
	}
	switch err := db.QueryRowContext(ctx, `SELECT after, base FROM watch_place`).Scan(&p.after, &p.base); {
	case errors.Is(err, sql.ErrNoRows):
		// What happened before anyone was to be told is not told now. The place is kept at
		// once: what happens next must not count as before when this process is killed.
		p.after = last
		if err := p.place(ctx, db); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, fmt.Errorf("prepare notifications: %w", err)
	case last < p.after: // another store
		p.base, p.after = p.base+p.after, 0
		if err := p.place(ctx, db); err != nil {
			return nil, err
		}
	}
	return p, nil
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func (p *pump) place(ctx context.Context, to execer) error {
	_, err := to.ExecContext(ctx, `INSERT INTO watch_place(id, after, base) VALUES(1,?,?) ON CONFLICT(id) DO UPDATE SET after=excluded.after, base=excluded.base`, p.after, p.base)
	if err != nil {
		return fmt.Errorf("queue notices: %w", err)
	}
	return nil
}

func (p *pump) wake() {
	select {
	case p.woken <- struct{}{}:
	default: // told already
	}
}

// run queues what is new until the context ends. The loop says when; that it also looks by
// itself makes up for what could not be queued.
func (p *pump) run(ctx context.Context) {
	t := time.NewTimer(0)
	defer t.Stop()
	failing := false
	var counted time.Time
	for {
		err := p.once(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			p.d.o.Log.Error("notices cannot be queued; tried again", "error", err)
		}
		pause := 30 * time.Second
		if failing = err != nil; failing {
			pause = 5 * time.Second
		}
		if now := time.Now(); now.Sub(counted) >= alertsEvery {
			counted = now
			p.count(ctx)
		}
		t.Reset(pause)
		select {
		case <-p.woken:
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// count notes how the channels do, for the metrics.
func (p *pump) count(ctx context.Context) {
	stats, err := p.to.Stats(ctx)
	if err != nil {
		if ctx.Err() == nil {
			p.d.o.Log.Warn("the state of the channels cannot be read", "error", err)
		}
		return
	}
	var out []metrics.Channel
	for _, c := range stats {
		if c.Configured {
			out = append(out, metrics.Channel{Name: c.Name, Waiting: c.Waiting, Delivered: c.Delivered, Lost: c.GivenUp + c.Expired + c.Dropped, Failing: c.Failing})
		}
	}
	p.d.outlets.channels.Store(&out)
}

func (p *pump) once(ctx context.Context) error {
	for {
		list, err := p.store.Changes(ctx, p.after, 100)
		if err != nil || len(list) == 0 {
			return err
		}
		if err := p.queue(ctx, list); err != nil {
			return err
		}
		p.to.Wake()
	}
}

// queue puts changes and the place behind them in one transaction.
func (p *pump) queue(ctx context.Context, list []incident.Change) error {
	before := p.after
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("queue notices: %w", err)
	}
	for _, c := range list {
		p.after = c.Seq
		if n, ok := p.notice(&c); ok && err == nil {
			err = p.to.PutTx(ctx, tx, n)
		}
	}
	if err == nil {
		err = p.place(ctx, tx)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		p.after = before
		_ = tx.Rollback() // the first error is the one that tells
	}
	return err
}

// noticeKinds are the changes that someone is told of.
var noticeKinds = map[string]notify.Kind{
	incident.KindOpened: notify.Opened, incident.KindVisible: notify.Opened, incident.KindUnsilenced: notify.Opened,
	incident.KindReopened: notify.Reopened, incident.KindAcknowledged: notify.Acknowledged, incident.KindClosed: notify.Closed,
	incident.KindEscalated: notify.Escalated, incident.KindWorse: notify.Escalated, incident.KindRevised: notify.Escalated,
	incident.KindFlapping: notify.Escalated,
}

// notice is a change as a notice; ok is false for what nobody is told.
func (p *pump) notice(c *incident.Change) (notify.Notice, bool) {
	if c.Alert != nil {
		return p.alert(c)
	}
	kind, ok := noticeKinds[c.Kind]
	if !ok || c.Incident == nil || c.Silenced {
		return notify.Notice{}, false
	}
	i := c.Incident
	n := notify.Notice{
		ID: p.base + c.Seq, Incident: i.ID, Kind: kind, Severity: i.Severity, Fault: i.Fault, Class: i.Class, Subject: i.Subject,
		Action: i.Action, Texts: p.texts(i), Count: i.Count, Reason: c.Why, At: c.At, Opened: i.Opened, Closed: i.Closed, Labels: labelsOf(i),
	}
	if n.Severity == "" {
		n.Severity = "warning"
	}
	return n, true
}

func labelsOf(i *incident.Incident) map[string]string {
	out := map[string]string{}
	for _, v := range i.Victims {
		for _, l := range [][2]string{{"pid", pidText(v.PID)}, {"process", v.Process}, {"user", v.User}, {"container", v.Container},
			{"pod", v.Pod}, {"slurm_job", v.Job}, {"unit", v.Unit}} {
			if l[1] != "" && out[l[0]] == "" {
				out[l[0]] = l[1]
			}
		}
	}
	return out
}

func pidText(pid int) string {
	if pid == 0 {
		return ""
	}
	return strconv.Itoa(pid)
}

// texts are title, headline and first step in both languages.
func (p *pump) texts(i *incident.Incident) map[string]notify.Text {
	out := map[string]notify.Text{}
	f := p.d.o.Catalog.Faults[i.Fault]
	for _, lang := range []string{"en", "zh"} {
		t := notify.Text{}
		if i.Lang == lang || i.Lang == "" && lang == "en" || f == nil && lang == "en" {
			t.Title, t.Headline = i.Title, i.Headline
		}
		if f != nil {
			if t.Title == "" {
				t.Title = f.Title.In(lang)
			}
			for _, r := range f.Remedies {
				if r.For == "" || i.Action != "" && slices.Contains(strings.Split(r.For, " | "), i.Action) {
					t.Remedy.Step, t.Remedy.Command, t.Remedy.Risk = r.Step.In(lang), r.Command, r.Risk
					break
				}
			}
			// A command with a name that is not known here is no command.
			if strings.Contains(t.Remedy.Command, "{") {
				t.Remedy.Command = ""
			}
		}
		if t.Title != "" {
			out[lang] = t
		}
	}
	return out
}
