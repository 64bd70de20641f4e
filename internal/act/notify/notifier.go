package notify

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Notifier is the outlet of the daemon.
type Notifier struct {
	conf    Config
	box     *outbox
	workers []*worker
	log     *slog.Logger
	now     func() time.Time
}

// New opens the outbox in db, which may hold other tables; names begin with notify_. The
// database should wait for locks (busy_timeout) and sync its log (WAL with
// synchronous=FULL survives a power cut, NORMAL a killed process). It does not start the
// delivery.
func New(ctx context.Context, db *sql.DB, c *Config, log *slog.Logger) (*Notifier, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("configure notifications: %w", err)
	}
	box, err := openOutbox(ctx, db)
	if err != nil {
		return nil, err
	}
	n := &Notifier{conf: c.withDefaults(), box: box, log: log, now: time.Now}
	for i := range n.conf.Channels {
		w, err := n.worker(&n.conf.Channels[i])
		if err != nil {
			return nil, fmt.Errorf("configure channel %q: %w", n.conf.Channels[i].Name, err)
		}
		n.workers = append(n.workers, w)
	}
	return n, n.orphans(ctx)
}

func (n *Notifier) worker(ch *Channel) (*worker, error) {
	w := &worker{ch: ch, spec: specs[ch.Type], conf: &n.conf, box: n.box, log: n.log,
		now: func() time.Time { return n.now() }, rand: random, wake: make(chan struct{}, 1)}
	w.pace.limits = w.spec.limits
	if ch.Quiet != nil {
		var err error
		if w.quiet, err = ch.Quiet.compile(); err != nil {
			return nil, err
		}
	}
	w.to = w.spec.build(&env{ch: ch, db: n.box.db, instance: n.box.instance, now: w.now, log: n.log})
	return w, nil
}

// orphans says what waits for channels that are no longer configured: a renamed channel
// would otherwise lose its notices in silence.
func (n *Notifier) orphans(ctx context.Context) error {
	s, err := n.Stats(ctx)
	if err != nil {
		return err
	}
	for _, c := range s {
		if !c.Configured && c.Waiting > 0 {
			n.log.Warn("notices wait for a channel that is not configured", "channel", c.Name, "waiting", c.Waiting)
		}
	}
	return nil
}

// Put stores a notice for delivery. Putting the same one again does nothing.
func (n *Notifier) Put(ctx context.Context, notice Notice) error {
	err := n.box.within(ctx, func(tx *sql.Tx) error { return n.PutTx(ctx, tx, notice) })
	n.Wake()
	return err
}

// PutTx stores a notice in the caller's transaction, so that the change that it tells of
// and the notice exist together or not at all. Call Wake after the commit. Give the
// transaction its write lock before (BEGIN IMMEDIATE or a write as first statement).
func (n *Notifier) PutTx(ctx context.Context, tx *sql.Tx, notice Notice) error {
	if err := notice.Valid(); err != nil {
		return err
	}
	now := n.now()
	fresh, err := n.box.insert(ctx, tx, &notice, now)
	if err != nil || !fresh {
		return err
	}
	for _, w := range n.workers {
		if err := n.route(ctx, tx, w, &notice, now); err != nil {
			return fmt.Errorf("put notice %d for channel %q: %w", notice.ID, w.ch.Name, err)
		}
	}
	return nil
}

func (n *Notifier) route(ctx context.Context, tx *sql.Tx, w *worker, notice *Notice, now time.Time) error {
	if !w.ch.wants(notice) {
		told, err := n.box.told(ctx, tx, w.ch.Name, notice.key())
		_, keepsState := w.to.(stateful)
		if err != nil || !told || !w.ch.tells(notice.Kind) && !(keepsState && notice.Kind == Closed) {
			return err
		}
	}
	due := now
	if w.quiet != nil {
		if end := w.quiet.until(now); end.IsZero() {
		} else if severityRank(notice.Severity) < w.quiet.except {
			due = end
		} else if err := n.box.release(ctx, tx, w.ch.Name, notice.key(), now); err != nil {
			return err
		}
	}
	if err := n.box.enqueue(ctx, tx, w.ch.Name, notice, now, due); err != nil {
		return err
	}
	gone, err := n.box.bound(ctx, tx, w.ch.Name, n.conf.QueueLimit, now)
	if gone != 0 {
		n.log.Error("queue full, a notice was dropped", "channel", w.ch.Name, "notice", gone, "limit", n.conf.QueueLimit)
	}
	return err
}

// Wake makes the workers look for new notices at once.
func (n *Notifier) Wake() {
	for _, w := range n.workers {
		select {
		case w.wake <- struct{}{}:
		default: // already told
		}
	}
}

// Run delivers until ctx ends; a message under way is finished first, within its
// channel's timeout.
func (n *Notifier) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, w := range n.workers {
		wg.Go(func() { w.run(ctx) })
	}
	wg.Go(func() { n.clean(ctx) })
	wg.Wait()
	return ctx.Err()
}

// clean forgets old deliveries, now and then.
func (n *Notifier) clean(ctx context.Context) {
	t := time.NewTicker(time.Hour)
	defer t.Stop()
	for {
		if err := n.box.prune(ctx, n.now().Add(-n.conf.Keep)); err != nil && ctx.Err() == nil {
			n.log.Warn("old notices could not be removed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// ChannelStats is how a channel does, for metrics and for people.
type ChannelStats struct {
	Name       string    `json:"name"`
	Type       string    `json:"type,omitempty"`
	Configured bool      `json:"configured"`
	Waiting    int64     `json:"waiting"`
	Oldest     time.Time `json:"oldest,omitzero"` // of the waiting ones, when it happened
	Delivered  int64     `json:"delivered"`       // notices, since the database was made
	GivenUp    int64     `json:"given_up"`        // refused by the receiver
	Expired    int64     `json:"expired"`
	Dropped    int64     `json:"dropped"` // the queue was full
	Attempts   int64     `json:"attempts"`
	Failures   int64     `json:"failures"` // attempts without success
	Failing    int       `json:"failing"`  // failures in a row, 0 = works
	Error      string    `json:"error,omitempty"`
	Paused     time.Time `json:"paused_until,omitzero"`
}

// Stats reports every channel, configured ones first.
func (n *Notifier) Stats(ctx context.Context) ([]ChannelStats, error) {
	var out []ChannelStats
	at := map[string]int{}
	for _, w := range n.workers {
		at[w.ch.Name] = len(out)
		out = append(out, ChannelStats{Name: w.ch.Name, Type: w.ch.Type, Configured: true})
	}
	find := func(name string) *ChannelStats {
		i, ok := at[name]
		if !ok {
			i = len(out)
			at[name] = i
			out = append(out, ChannelStats{Name: name})
		}
		return &out[i]
	}
	err := n.scan(ctx, `SELECT channel, count(*), min(at) FROM notify_delivery WHERE state = 0 GROUP BY channel ORDER BY channel`,
		func(scan func(...any) error) error {
			var name string
			var count, oldest int64
			if err := scan(&name, &count, &oldest); err != nil {
				return err
			}
			c := find(name)
			c.Waiting, c.Oldest = count, time.UnixMilli(oldest)
			return nil
		})
	if err == nil {
		err = n.scan(ctx, `SELECT name, delivered, given_up, expired, dropped, attempts, failures, fails, error, paused FROM notify_channel ORDER BY name`,
			func(scan func(...any) error) error {
				var c ChannelStats
				var paused int64
				if err := scan(&c.Name, &c.Delivered, &c.GivenUp, &c.Expired, &c.Dropped, &c.Attempts, &c.Failures, &c.Failing, &c.Error, &paused); err != nil {
					return err
				}
				p := find(c.Name)
				c.Type, c.Configured, c.Waiting, c.Oldest = p.Type, p.Configured, p.Waiting, p.Oldest
				if paused > 0 {
					c.Paused = time.UnixMilli(paused)
				}
				*p = c
				return nil
			})
	}
	if err != nil {
		return nil, fmt.Errorf("read state of channels: %w", err)
	}
	return out, nil
}

func (n *Notifier) scan(ctx context.Context, q string, f func(func(...any) error) error) error {
	rows, err := n.box.db.QueryContext(ctx, q)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
