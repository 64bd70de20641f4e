package notify

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// worker delivers for one channel. All its state that matters is on disk; what is here
// may be lost at any instruction.
type worker struct {
	ch    *Channel
	spec  spec
	conf  *Config
	box   *outbox
	to    sender
	log   *slog.Logger
	now   func() time.Time
	rand  func() float64
	wake  chan struct{}
	quiet *quietHours

	pace    pace
	backlog bool      // the service's limit held us up: gather what waits
	last    time.Time // of the latest message, for Group.FirstAtOnce
	paused  time.Time
	fails   int
	fresh   time.Time // when a stateful sender told its state last
	owed    *claimed  // taken by the receiver, but not yet recorded: the disk was full
	looked  time.Time // when late notices were looked for
}

// maxRefusals is how often a message is tried that the receiver refuses: with the backoff
// it covers four minutes, in which an error that we take for a refusal may pass.
const maxRefusals = 8

// maxPoll is how long a worker sleeps at most: a commit whose wake-up got lost is found.
const maxPoll = 30 * time.Second

// run works until ctx ends. A message under way is finished first.
func (w *worker) run(ctx context.Context) {
	w.restore(ctx)
	for ctx.Err() == nil {
		d, err := w.step(ctx)
		if err != nil && ctx.Err() == nil {
			w.log.Error("outbox", "channel", w.ch.Name, "error", err)
			d = max(d, time.Second)
		}
		if d <= 0 && err == nil {
			continue
		}
		t := time.NewTimer(min(d, maxPoll))
		select {
		case <-ctx.Done():
		case <-w.wake:
		case <-t.C:
		}
		t.Stop()
	}
}

// restore reads how long the channel asked to be left alone.
func (w *worker) restore(ctx context.Context) {
	var ms int64
	err := w.box.db.QueryRowContext(ctx, `SELECT paused, fails FROM notify_channel WHERE name = ?`, w.ch.Name).Scan(&ms, &w.fails)
	if err == nil && ms > 0 {
		w.paused = time.UnixMilli(ms)
	}
}

// step does at most one thing and says how long until the next.
func (w *worker) step(ctx context.Context) (time.Duration, error) {
	if w.owed != nil {
		return time.Second, w.record(ctx, w.owed)
	}
	now := w.now()
	// A pause longer than any that we set comes from a clock that was set back.
	if d := w.paused.Sub(now); d > 0 && d <= maxWait {
		return d, nil
	}
	if err := w.expire(ctx, now); err != nil {
		return time.Second, err
	}
	if d := w.pace.wait(now); d > 0 {
		w.backlog = true
		return d, nil
	}
	if st, ok := w.to.(stateful); ok {
		if age := now.Sub(w.fresh); age < 0 || age >= st.every() {
			w.fresh = now
			w.refresh(ctx, st)
		}
	}
	c, d, err := w.box.claim(ctx, w.ch.Name, w.want(now), now)
	switch {
	case err != nil:
		return time.Second, err
	case c == nil:
		w.backlog = false
		if d <= 0 {
			d = maxPoll
		}
		if st, ok := w.to.(stateful); ok {
			d = min(d, max(w.fresh.Add(st.every()).Sub(now), time.Millisecond))
		}
		return d, nil
	}
	return w.deliver(ctx, c)
}

// want is how the next message is formed.
func (w *worker) want(now time.Time) want {
	g := w.ch.Group
	v := want{window: g.Window, max: 1}
	if g.Window > 0 {
		v.max = g.Max
		v.atOnce = g.FirstAtOnce && now.Sub(w.last) > g.Window
	}
	if w.spec.all || w.backlog {
		v = want{max: defaultGroup, atOnce: true}
	}
	return v
}

// refresh tells a state again. A failure is no pause: the next notice may go through, and
// the next refresh comes anyway.
func (w *worker) refresh(ctx context.Context, st stateful) {
	s, err := w.ch.secrets()
	if err == nil {
		sctx, cancel := w.attempt(ctx)
		defer cancel()
		err = s.scrub.cleanErr(st.refresh(sctx, s))
	}
	if err != nil {
		w.log.Warn("alerts could not be told again", "channel", w.ch.Name, "error", err)
	}
}

// attempt bounds one exchange with the receiver. It is not cut short when the daemon
// stops: the receiver may have taken the message already.
func (w *worker) attempt(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), w.ch.Timeout)
}

func (w *worker) deliver(ctx context.Context, c *claimed) (time.Duration, error) {
	now := w.now()
	for _, n := range c.Notices {
		c.Late = c.Late || now.Sub(n.At) > w.conf.ExpireAfter
	}
	s, err := w.ch.secrets()
	if err == nil {
		sctx, cancel := w.attempt(ctx)
		err = s.scrub.cleanErr(w.to.send(sctx, &c.batch, s))
		cancel()
	}
	w.pace.note(w.now())
	if err != nil {
		return w.failed(ctx, c, asFailure(err))
	}
	w.last = w.now()
	if c.Late {
		w.log.Warn("notice delivered late", "channel", w.ch.Name, "notices", c.ids(), "happened", c.Notices[0].At)
	}
	return 0, w.record(ctx, c)
}

// record marks a message as delivered. Until that is on disk nothing else is sent: the
// same message must not go out again and again because the disk is full.
func (w *worker) record(ctx context.Context, c *claimed) error {
	var also func(*sql.Tx) error
	if st, ok := w.to.(stateful); ok {
		also = func(tx *sql.Tx) error { return st.record(ctx, tx, &c.batch) }
	}
	if err := w.box.acknowledged(context.WithoutCancel(ctx), c, w.now(), also); err != nil {
		w.owed = c
		return fmt.Errorf("record delivery of notices %v: %w", c.ids(), err)
	}
	w.owed = nil
	if w.fails > 0 {
		w.log.Info("channel works again", "channel", w.ch.Name, "failures", w.fails)
	}
	w.fails, w.paused = 0, time.Time{}
	return nil
}

// failed decides what a failed attempt means.
func (w *worker) failed(ctx context.Context, c *claimed, f *failure) (time.Duration, error) {
	ctx = context.WithoutCancel(ctx)
	now := w.now()
	if f.what == refused {
		n := c.rows[0].refusals + 1
		giveUp := n >= maxRefusals
		level, msg := slog.LevelWarn, "notice refused, will be tried again"
		if giveUp {
			level, msg = slog.LevelError, "notice refused, given up"
		}
		w.log.Log(ctx, level, msg, "channel", w.ch.Name, "notices", c.ids(), "attempt", n, "error", f)
		return 0, w.box.refused(ctx, c, now.Add(backoff(f.what, n, w.rand())), giveUp, now, f.Error())
	}
	w.fails++
	d := backoff(f.what, w.fails, w.rand())
	if f.what == limited {
		d = f.wait
		if d == 0 {
			d = max(w.spec.limitedFor, 10*time.Second)
		}
		w.backlog = true
	} else if f.wait > 0 {
		d = max(d, f.wait)
	}
	w.paused = now.Add(d)
	if w.fails&(w.fails-1) == 0 { // 1st, 2nd, 4th, 8th …: a dead channel must not fill the log
		w.log.Warn("channel failed, its notices wait", "channel", w.ch.Name, "failures", w.fails, "wait", d.Round(time.Millisecond), "error", f)
	}
	return d, w.box.tried(ctx, c, w.paused, w.fails, f.Error())
}

// expire ends notices that are too old to be told, about once a minute.
func (w *worker) expire(ctx context.Context, now time.Time) error {
	if age := now.Sub(w.looked); age >= 0 && age < time.Minute {
		return nil
	}
	w.looked = now
	limit := w.conf.Keep
	if w.conf.OnExpiry == "drop" {
		limit = w.conf.ExpireAfter
	}
	if w.spec.all { // a state has no age: an alert that was never resolved would stay for good
		return nil
	}
	ids, err := w.box.expire(ctx, w.ch.Name, now.Add(-limit), now)
	if len(ids) > 0 && err == nil {
		w.log.Error("notices expired without having been delivered", "channel", w.ch.Name, "count", len(ids), "notices", ids[:min(len(ids), 20)], "older_than", limit)
	}
	return err
}

func random() float64 { return rand.Float64() }
