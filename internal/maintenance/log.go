package maintenance

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/store"
)

// Record keeps in the store that a task was done.
func Record(ctx context.Context, s *store.Store, d Done) error {
	return s.Update(ctx, func(ctx context.Context, c *sql.Conn) error {
		if _, err := c.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS maintenance_done(task TEXT NOT NULL, at INTEGER NOT NULL, who TEXT NOT NULL, why TEXT NOT NULL)`); err != nil {
			return err
		}
		_, err := c.ExecContext(ctx, `INSERT INTO maintenance_done VALUES(?,?,?,?)`, d.Task, d.At.UnixMicro(), d.Who, d.Why)
		return err
	})
}

// Read says how the tasks stand by what the store knows.
func Read(ctx context.Context, s *store.Store, tasks []Task, now time.Time) ([]Item, error) {
	done, err := records(ctx, s.Reader())
	if err != nil {
		return nil, fmt.Errorf("read maintenance: %w", err)
	}
	cards, err := s.Cards(ctx)
	if err != nil {
		return nil, err
	}
	begin := now
	var histories [][]incident.HistoryRow
	for _, c := range cards {
		if !c.Present {
			continue
		}
		rows, err := rowsOf(ctx, s, c.GPU)
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 && rows[0].At.Before(begin) {
			begin = rows[0].At
		}
		histories = append(histories, rows)
	}
	return Stand(tasks, done, histories, begin, now), nil
}

// Untested are the cards that are there and had no test of a name since a time, those
// first that wait longest.
func Untested(ctx context.Context, s *store.Store, name string, since time.Time) ([]gpumedic.GPU, error) {
	cards, err := s.Cards(ctx)
	if err != nil {
		return nil, err
	}
	type waiting struct {
		gpu  gpumedic.GPU
		last time.Time
	}
	var list []waiting
	for _, c := range cards {
		if !c.Present || c.GPU.PCI == "" {
			continue
		}
		rows, err := rowsOf(ctx, s, c.GPU)
		if err != nil {
			return nil, err
		}
		var last time.Time
		for _, r := range rows {
			if r.Kind == incident.KindTest && r.Detail["test"] == name && r.At.After(last) {
				last = r.At
			}
		}
		if last.Before(since) {
			list = append(list, waiting{c.GPU, last})
		}
	}
	slices.SortStableFunc(list, func(a, b waiting) int { return a.last.Compare(b.last) })
	var out []gpumedic.GPU
	for _, w := range list {
		out = append(out, w.gpu)
	}
	return out, nil
}

// rowsOf is the history of a GPU. Those of one board have its serial in common.
func rowsOf(ctx context.Context, s *store.Store, g gpumedic.GPU) ([]incident.HistoryRow, error) {
	rows, err := s.History(ctx, cmp.Or(g.Serial, g.UUID))
	return slices.DeleteFunc(rows, func(r incident.HistoryRow) bool {
		return g.UUID != "" && r.GPU.UUID != "" && !strings.EqualFold(g.UUID, r.GPU.UUID)
	}), err
}

func records(ctx context.Context, db *sql.DB) ([]Done, error) {
	rows, err := db.QueryContext(ctx, `SELECT task, at, who, why FROM maintenance_done`)
	if err != nil {
		if strings.Contains(err.Error(), "no such table") { // nothing was recorded yet
			return nil, nil
		}
		return nil, err
	}
	defer rows.Close()
	var out []Done
	for rows.Next() {
		var d Done
		var at int64
		if err := rows.Scan(&d.Task, &at, &d.Who, &d.Why); err != nil {
			return nil, err
		}
		d.At = time.UnixMicro(at).UTC()
		out = append(out, d)
	}
	return out, rows.Err()
}
