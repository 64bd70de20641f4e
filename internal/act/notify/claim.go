package notify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// row is a waiting delivery.
type row struct {
	notice, incident int64
	batch            int64
	queued, due      time.Time
	refusals         int
	body             string
}

// claimed is a batch together with its rows.
type claimed struct {
	batch
	rows []row
}

func (c *claimed) ids() []int64 {
	out := make([]int64, len(c.rows))
	for i := range c.rows {
		out[i] = c.rows[i].notice
	}
	return out
}

// want says how a channel forms its messages.
type want struct {
	window time.Duration // gather from the first, 0 = one notice a message
	max    int
	atOnce bool // do not wait for the window now
}

// claim freezes the next message of a channel: what was frozen before and not delivered,
// or else the oldest notices that are due and not behind an earlier one of their incident.
// With nothing to send it returns how long until something may be, 0 for not known.
func (o *outbox) claim(ctx context.Context, channel string, w want, now time.Time) (*claimed, time.Duration, error) {
	take, err := o.frozen(ctx, channel, now)
	if err == nil && take == nil {
		take, err = o.ready(ctx, channel, now, max(w.max, 1))
	}
	switch {
	case err != nil:
		return nil, 0, err
	case len(take) == 0:
		return nil, o.nextDue(ctx, channel, now), nil
	case take[0].batch != 0:
	case w.window > 0 && !w.atOnce && len(take) < w.max:
		if rest := oldest(take, now).Add(w.window).Sub(now); rest > 0 {
			return nil, rest, nil
		}
	case w.max <= 1 && take[0].held():
		if take, err = o.ready(ctx, channel, now, defaultGroup); err != nil {
			return nil, 0, err
		}
		for i := range take {
			if !take[i].held() {
				take = take[:i]
				break
			}
		}
	}
	c := &claimed{rows: take}
	c.Channel = channel
	c.Key = o.instance + "-" + channel + "-" + strconv.FormatInt(take[0].notice, 10)
	for _, r := range take {
		n, err := decodeNotice(r.body)
		if err != nil {
			return nil, 0, fmt.Errorf("read notice %d: %w", r.notice, err)
		}
		c.Notices = append(c.Notices, n)
	}
	if take[0].batch != 0 {
		return c, 0, nil
	}
	return c, 0, o.freeze(ctx, channel, c)
}

func (o *outbox) freeze(ctx context.Context, channel string, c *claimed) error {
	return o.within(ctx, func(tx *sql.Tx) error {
		for i := range c.rows {
			res, err := tx.ExecContext(ctx, `UPDATE notify_delivery SET batch = ? WHERE channel = ? AND notice = ? AND state = 0`,
				c.rows[0].notice, channel, c.rows[i].notice)
			if err != nil {
				return fmt.Errorf("freeze message: %w", err)
			}
			if n, err := res.RowsAffected(); err != nil || n != 1 {
				return fmt.Errorf("freeze message: notice %d is no longer waiting", c.rows[i].notice)
			}
			c.rows[i].batch = c.rows[0].notice
		}
		return nil
	})
}

// held reports whether the notice waited for the end of quiet hours: such ones are told
// together.
func (r *row) held() bool { return r.refusals == 0 && r.due.Sub(r.queued) > time.Second }

// oldest is when the first of some rows was put, now when the clock was set back since.
func oldest(rows []row, now time.Time) time.Time {
	for _, r := range rows {
		if r.queued.Before(now) {
			now = r.queued
		}
	}
	return now
}

// rowColumns reads through the indexes of waiting deliveries. SQLite alone would choose
// the primary key and walk over all that was ever delivered.
const rowColumns = `d.notice, d.incident, d.batch, d.queued, d.due, d.refusals, n.body
	FROM notify_delivery d INDEXED BY notify_waiting JOIN notify_notice n ON n.id = d.notice`

// notBehind keeps the order within an incident: nothing earlier of it waits for its time.
const notBehind = `NOT EXISTS (
	SELECT 1 FROM notify_delivery e INDEXED BY notify_ahead WHERE e.channel = d.channel AND e.incident = d.incident AND e.state = 0
	AND e.notice < d.notice AND e.due > :now AND e.queued <= :skew)`

// isDue counts what was put in the future as due: the clock was set back, and waiting for
// the time to come again could take years.
const isDue = `(d.due <= :now OR d.queued > :skew)`

// clockSkew is how far a clock may be corrected before that counts as set back.
const clockSkew = 10 * time.Minute

// at are the times of isDue and notBehind.
func at(now time.Time) []any {
	return []any{sql.Named("now", now.UnixMilli()), sql.Named("skew", now.Add(clockSkew).UnixMilli())}
}

// ready reads fresh notices, the oldest first. One that is behind an earlier one of its
// incident which is not due (refused, held back) is not ready.
func (o *outbox) ready(ctx context.Context, channel string, now time.Time, most int) ([]row, error) {
	return o.query(ctx, `SELECT `+rowColumns+` WHERE d.channel = :channel AND d.state = 0 AND d.batch = 0 AND `+isDue+` AND `+notBehind+`
		ORDER BY d.notice LIMIT :most`, append(at(now), sql.Named("channel", channel), sql.Named("most", most))...)
}

// frozen reads the oldest message that was begun and is due, nil when there is none.
func (o *outbox) frozen(ctx context.Context, channel string, now time.Time) ([]row, error) {
	return o.query(ctx, `SELECT `+rowColumns+` WHERE d.channel = :channel AND d.state = 0 AND d.batch = (
			SELECT min(d.batch) FROM notify_delivery d INDEXED BY notify_waiting WHERE d.channel = :channel AND d.state = 0 AND d.batch > 0 AND `+isDue+` AND `+notBehind+`)
		ORDER BY d.notice`, append(at(now), sql.Named("channel", channel))...)
}

func (o *outbox) query(ctx context.Context, q string, args ...any) ([]row, error) {
	rows, err := o.db.QueryContext(ctx, q, args...)
	if err != nil {
		return nil, fmt.Errorf("read waiting notices: %w", err)
	}
	defer rows.Close()
	var out []row
	for rows.Next() {
		var r row
		var queued, due int64
		if err := rows.Scan(&r.notice, &r.incident, &r.batch, &queued, &due, &r.refusals, &r.body); err != nil {
			return nil, fmt.Errorf("read waiting notices: %w", err)
		}
		r.queued, r.due = time.UnixMilli(queued), time.UnixMilli(due)
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read waiting notices: %w", err)
	}
	return out, nil
}

func (o *outbox) nextDue(ctx context.Context, channel string, now time.Time) time.Duration {
	var due sql.NullInt64
	err := o.db.QueryRowContext(ctx, `SELECT min(due) FROM notify_delivery WHERE channel = ? AND state = 0`, channel).Scan(&due)
	if err != nil || !due.Valid {
		return 0 // the worker looks again by itself
	}
	return max(time.UnixMilli(due.Int64).Sub(now), 0)
}

// tried records an attempt that failed for the whole channel.
func (o *outbox) tried(ctx context.Context, c *claimed, pausedUntil time.Time, fails int, why string) error {
	return o.within(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO notify_channel (name, paused, fails, error, attempts, failures) VALUES (?, ?, ?, ?, 1, 1)
			ON CONFLICT (name) DO UPDATE SET paused = excluded.paused, fails = excluded.fails, error = excluded.error,
			attempts = attempts + 1, failures = failures + 1`, c.Channel, pausedUntil.UnixMilli(), fails, why); err != nil {
			return fmt.Errorf("record attempt: %w", err)
		}
		return o.each(ctx, tx, c, `attempts = attempts + 1, error = ?`, why)
	})
}

// refused records that the receiver did not take this message. One that holds several
// notices is taken apart, so that the one that cannot be told does not silence the rest.
func (o *outbox) refused(ctx context.Context, c *claimed, due time.Time, giveUp bool, now time.Time, why string) error {
	return o.within(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO notify_channel (name, error, attempts, failures) VALUES (?, ?, 1, 1)
			ON CONFLICT (name) DO UPDATE SET error = excluded.error, attempts = attempts + 1, failures = failures + 1`, c.Channel, why); err != nil {
			return fmt.Errorf("record refusal: %w", err)
		}
		if giveUp {
			return o.finish(ctx, tx, c.Channel, c.ids(), givenUp, now, why)
		}
		return o.each(ctx, tx, c, `batch = notice, attempts = attempts + 1, refusals = refusals + 1, due = ?, error = ?`, due.UnixMilli(), why)
	})
}

func (o *outbox) each(ctx context.Context, tx *sql.Tx, c *claimed, set string, args ...any) error {
	for _, id := range c.ids() {
		if _, err := tx.ExecContext(ctx, `UPDATE notify_delivery SET `+set+` WHERE channel = ? AND notice = ? AND state = 0`,
			append(append([]any(nil), args...), c.Channel, id)...); err != nil {
			return fmt.Errorf("record attempt on notice %d: %w", id, err)
		}
	}
	return nil
}

// acknowledged records that the receiver took the message.
func (o *outbox) acknowledged(ctx context.Context, c *claimed, now time.Time, also func(*sql.Tx) error) error {
	return o.within(ctx, func(tx *sql.Tx) error {
		if err := o.finish(ctx, tx, c.Channel, c.ids(), delivered, now, ""); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE notify_channel SET paused = 0, fails = 0, error = '', attempts = attempts + 1 WHERE name = ?`, c.Channel); err != nil {
			return fmt.Errorf("record delivery: %w", err)
		}
		if also == nil {
			return nil
		}
		return also(tx)
	})
}

// expire ends what happened before a time and still waits.
func (o *outbox) expire(ctx context.Context, channel string, before, now time.Time) ([]int64, error) {
	var ids []int64
	rows, err := o.db.QueryContext(ctx, `SELECT notice FROM notify_delivery WHERE channel = ? AND state = 0 AND at < ? ORDER BY notice`, channel, before.UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("look for late notices: %w", err)
	}
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			_ = rows.Close() // the scan's error says more
			return nil, fmt.Errorf("look for late notices: %w", err)
		}
		ids = append(ids, id)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(ids) == 0 {
		return nil, err
	}
	return ids, o.within(ctx, func(tx *sql.Tx) error {
		return o.finish(ctx, tx, channel, ids, expired, now, "too old")
	})
}
