package notify

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// States of a delivery. Only waiting ones are ever looked at again.
const (
	waiting = iota
	delivered
	givenUp // refused too often
	expired // too old, and the configuration says drop
	dropped // the queue was full
)

// schemaVersion is of the tables below; a newer one is not touched.
const schemaVersion = 1

const schema = `
CREATE TABLE IF NOT EXISTS notify_meta (
	key TEXT PRIMARY KEY, value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS notify_notice (
	id INTEGER PRIMARY KEY, incident INTEGER NOT NULL, kind TEXT NOT NULL, queued INTEGER NOT NULL, body TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS notify_delivery (
	channel TEXT NOT NULL, notice INTEGER NOT NULL, incident INTEGER NOT NULL, closed INTEGER NOT NULL,
	state INTEGER NOT NULL DEFAULT 0,
	at INTEGER NOT NULL,                 -- when it happened, milliseconds
	queued INTEGER NOT NULL,             -- when it was put
	due INTEGER NOT NULL,                -- not before
	batch INTEGER NOT NULL DEFAULT 0,    -- frozen with: the first notice of the message, 0 = not yet
	attempts INTEGER NOT NULL DEFAULT 0, -- of any outcome
	refusals INTEGER NOT NULL DEFAULT 0,
	done INTEGER NOT NULL DEFAULT 0,
	error TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (channel, notice)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS notify_waiting ON notify_delivery (channel, batch, notice, due, queued) WHERE state = 0;
CREATE INDEX IF NOT EXISTS notify_ahead ON notify_delivery (channel, incident, notice, due, queued) WHERE state = 0;
CREATE TABLE IF NOT EXISTS notify_told (
	channel TEXT NOT NULL, incident INTEGER NOT NULL, PRIMARY KEY (channel, incident)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS notify_alert (
	channel TEXT NOT NULL, incident INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (channel, incident)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS notify_channel (
	name TEXT PRIMARY KEY, paused INTEGER NOT NULL DEFAULT 0, fails INTEGER NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT '',
	delivered INTEGER NOT NULL DEFAULT 0, given_up INTEGER NOT NULL DEFAULT 0, expired INTEGER NOT NULL DEFAULT 0,
	dropped INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
`

// outbox is the queue on disk.
type outbox struct {
	db       *sql.DB
	instance string // random, so that keys of two nodes never meet
}

func openOutbox(ctx context.Context, db *sql.DB) (*outbox, error) {
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, fmt.Errorf("create outbox tables: %w", err)
	}
	id := make([]byte, 6)
	rand.Read(id)
	for k, v := range map[string]string{"schema": strconv.Itoa(schemaVersion), "instance": hex.EncodeToString(id), "pruned": "0"} {
		if _, err := db.ExecContext(ctx, `INSERT INTO notify_meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING`, k, v); err != nil {
			return nil, fmt.Errorf("create outbox: %w", err)
		}
	}
	o := &outbox{db: db}
	var have string
	if err := db.QueryRowContext(ctx, `SELECT value FROM notify_meta WHERE key = 'schema'`).Scan(&have); err != nil {
		return nil, fmt.Errorf("read outbox schema: %w", err)
	}
	if have != strconv.Itoa(schemaVersion) {
		return nil, fmt.Errorf("open outbox: its tables have version %s, this program knows %d", have, schemaVersion)
	}
	if err := db.QueryRowContext(ctx, `SELECT value FROM notify_meta WHERE key = 'instance'`).Scan(&o.instance); err != nil {
		return nil, fmt.Errorf("read outbox instance: %w", err)
	}
	return o, nil
}

// within runs f in a transaction.
func (o *outbox) within(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := f(tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// insert stores a notice; fresh is false when it was there already.
func (o *outbox) insert(ctx context.Context, tx *sql.Tx, n *Notice, now time.Time) (fresh bool, err error) {
	res, err := tx.ExecContext(ctx, `INSERT INTO notify_notice (id, incident, kind, queued, body)
		SELECT ?, ?, ?, ?, ? WHERE ? > (SELECT CAST(value AS INTEGER) FROM notify_meta WHERE key = 'pruned')
		ON CONFLICT DO NOTHING`, n.ID, n.key(), string(n.Kind), now.UnixMilli(), string(marshal(n)), n.ID)
	if err != nil {
		return false, fmt.Errorf("put notice %d: %w", n.ID, err)
	}
	if rows, err := res.RowsAffected(); err != nil || rows > 0 {
		return rows > 0, err
	}
	var incident int64
	var kind string
	err = tx.QueryRowContext(ctx, `SELECT incident, kind FROM notify_notice WHERE id = ?`, n.ID).Scan(&incident, &kind)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil // delivered long ago and cleaned up
	case err != nil:
		return false, fmt.Errorf("put notice %d: %w", n.ID, err)
	case incident != n.key() || kind != string(n.Kind):
		return false, fmt.Errorf("put notice %d: its number was used for another one (incident %d, %s)", n.ID, incident, kind)
	}
	return false, nil
}

// told reports whether a channel knows of an incident.
func (o *outbox) told(ctx context.Context, tx *sql.Tx, channel string, incident int64) (bool, error) {
	var one int
	err := tx.QueryRowContext(ctx, `SELECT 1 FROM notify_told WHERE channel = ? AND incident = ?`, channel, incident).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// enqueue adds a delivery.
func (o *outbox) enqueue(ctx context.Context, tx *sql.Tx, channel string, n *Notice, now, due time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO notify_delivery (channel, notice, incident, closed, at, queued, due)
		VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		channel, n.ID, n.key(), n.Kind == Closed, n.At.UnixMilli(), now.UnixMilli(), due.UnixMilli())
	if err == nil && n.Kind == Closed {
		_, err = tx.ExecContext(ctx, `DELETE FROM notify_told WHERE channel = ? AND incident = ?`, channel, n.key())
	} else if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO notify_told (channel, incident) VALUES (?, ?) ON CONFLICT DO NOTHING`, channel, n.key())
	}
	return err
}

// release lets what was held back of an incident go at once: what follows must not wait
// for it, nor overtake it.
func (o *outbox) release(ctx context.Context, tx *sql.Tx, channel string, incident int64, now time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE notify_delivery SET due = ? WHERE channel = ? AND incident = ? AND state = 0 AND refusals = 0 AND due > ?`,
		now.UnixMilli(), channel, incident, now.UnixMilli())
	return err
}

// bound makes room in a full queue: the oldest that is not being sent goes, one that does
// not close an incident first. 0 when there was room.
func (o *outbox) bound(ctx context.Context, tx *sql.Tx, channel string, limit int, now time.Time) (gone int64, err error) {
	var n int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM notify_delivery WHERE channel = ? AND state = 0`, channel).Scan(&n); err != nil {
		return 0, err
	}
	if n <= limit {
		return 0, nil
	}
	err = tx.QueryRowContext(ctx, `SELECT notice FROM notify_delivery WHERE channel = ? AND state = 0
		ORDER BY batch <> 0, closed, notice LIMIT 1`, channel).Scan(&gone)
	if err != nil {
		return 0, err
	}
	return gone, o.finish(ctx, tx, channel, []int64{gone}, dropped, now, "queue full")
}

// finish ends deliveries and counts them.
func (o *outbox) finish(ctx context.Context, tx *sql.Tx, channel string, notices []int64, state int, now time.Time, why string) error {
	column := map[int]string{delivered: "delivered", givenUp: "given_up", expired: "expired", dropped: "dropped"}[state]
	ended := int64(0)
	for _, id := range notices {
		res, err := tx.ExecContext(ctx, `UPDATE notify_delivery SET state = ?, done = ?, error = ? WHERE channel = ? AND notice = ? AND state = 0`,
			state, now.UnixMilli(), why, channel, id)
		if err != nil {
			return fmt.Errorf("end delivery of notice %d: %w", id, err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return err
		}
		ended += n
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO notify_channel (name, `+column+`) VALUES (?, ?)
		ON CONFLICT (name) DO UPDATE SET `+column+` = `+column+` + excluded.`+column, channel, ended)
	return err
}

// sentSince is when messages of a channel were delivered, the oldest first.
func (o *outbox) sentSince(ctx context.Context, channel string, since time.Time) ([]time.Time, error) {
	rows, err := o.db.QueryContext(ctx, `SELECT max(done) FROM notify_delivery WHERE channel = ? AND state = ? AND done > ? GROUP BY batch ORDER BY 1`,
		channel, delivered, since.UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("read what was sent: %w", err)
	}
	defer rows.Close()
	var out []time.Time
	for rows.Next() {
		var ms int64
		if err := rows.Scan(&ms); err != nil {
			return nil, fmt.Errorf("read what was sent: %w", err)
		}
		out = append(out, time.UnixMilli(ms))
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read what was sent: %w", err)
	}
	return out, nil
}

// prune forgets what was ended before a time. The highest number forgotten stays, so that
// putting an old notice again does not deliver it again.
func (o *outbox) prune(ctx context.Context, before time.Time) error {
	return o.within(ctx, func(tx *sql.Tx) error {
		ms := before.UnixMilli()
		if _, err := tx.ExecContext(ctx, `DELETE FROM notify_delivery WHERE state <> 0 AND done < ?`, ms); err != nil {
			return fmt.Errorf("prune deliveries: %w", err)
		}
		const old = `FROM notify_notice WHERE queued < ? AND id NOT IN (SELECT notice FROM notify_delivery)`
		if _, err := tx.ExecContext(ctx, `UPDATE notify_meta SET value = CAST(max(CAST(value AS INTEGER),
			(SELECT coalesce(max(id), 0) `+old+`)) AS TEXT) WHERE key = 'pruned'`, ms); err != nil {
			return fmt.Errorf("prune notices: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `DELETE `+old, ms); err != nil {
			return fmt.Errorf("prune notices: %w", err)
		}
		return nil
	})
}

func decodeNotice(body string) (Notice, error) {
	var n Notice
	err := json.Unmarshal([]byte(body), &n)
	return n, err
}
