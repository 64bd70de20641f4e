package notify

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic/internal/lang"
)

// alertmanager keeps one alert for each open incident. Alertmanager forgets an alert at
// its endsAt, so the open ones are told again well before; the list of them is on disk,
// and a restart goes on where it was.
type alertmanager struct {
	*client
	db *sql.DB
}

// alert is an element of POST /api/v2/alerts.
type alert struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

// validity is how many intervals of re-sending an alert lives: three may fail.
const validity = 4

func newAlertmanager(e *env) sender {
	return &alertmanager{&client{ch: e.ch, now: e.now}, e.db}
}

func (a *alertmanager) every() time.Duration { return a.ch.Resend }

func (a *alertmanager) send(ctx context.Context, b *batch, s *secrets) error {
	var out []alert
	now := a.now()
	for _, n := range latest(b.Notices) {
		al := a.alertOf(&n, now)
		old, err := a.stored(ctx, n.key())
		if err != nil {
			return err
		}
		// Labels are an alert's identity. When a severity rises or a name becomes known, the
		// alert under the old labels has to end.
		if old != nil && !maps.Equal(old.Labels, al.Labels) {
			old.EndsAt = later(now, old.StartsAt)
			out = append(out, *old)
		}
		out = append(out, al)
	}
	return a.postAlerts(ctx, s, out)
}

func (a *alertmanager) postAlerts(ctx context.Context, s *secrets, alerts []alert) error {
	u, err := url.Parse(s.url)
	if err != nil {
		return failf(misconfigured, "address is not valid")
	}
	if !strings.HasSuffix(u.Path, "/api/v2/alerts") {
		u = u.JoinPath("api/v2/alerts")
	}
	_, err = a.post(ctx, s, u.String(), marshal(alerts), http.Header{})
	return err
}

func (a *alertmanager) alertOf(n *Notice, now time.Time) alert {
	t := n.In(a.ch.Language)
	al := alert{Labels: map[string]string{}, Annotations: map[string]string{}, StartsAt: n.Opened,
		EndsAt: a.endsAt(now), GeneratorURL: n.URL}
	if n.Kind == Closed {
		end := n.Closed
		if end.IsZero() {
			end = n.At
		}
		al.EndsAt = later(end, n.Opened)
	}
	for k, v := range n.Labels {
		if labelName(k) {
			setLabel(al.Labels, k, v)
		}
	}
	for k, v := range a.ch.Labels {
		setLabel(al.Labels, k, v)
	}
	name, incident := n.Fault, strconv.FormatInt(n.Incident, 10)
	if n.Alert != nil {
		name, incident = n.Alert.Name, ""
	}
	for k, v := range map[string]string{
		"alertname": name, "fault": n.Fault, "class": n.Class, "severity": n.Severity,
		"node": n.Subject.Node, "gpu": n.Subject.GPU.String(), "incident": incident,
	} {
		setLabel(al.Labels, k, v)
	}
	m := compose(&batch{Notices: []Notice{*n}}, a.ch.Language)
	head := t.Headline
	if head == "" || n.Alert != nil {
		head = t.Title
	}
	step := t.Remedy.Step
	if step == "" && n.Action != "" {
		step = lang.Action(a.ch.Language, n.Action)
	}
	for k, v := range map[string]string{
		"summary": head, "description": m.plain(maxText, false), "state": string(n.Kind), "process": processName(n.Subject.Process),
		"action": n.Action, "step": step, "command": t.Remedy.Command,
	} {
		if v != "" {
			al.Annotations[k] = v
		}
	}
	return al
}

func (a *alertmanager) endsAt(now time.Time) time.Time { return now.Add(validity * a.ch.Resend) }

// record keeps what the receiver now knows.
func (a *alertmanager) record(ctx context.Context, tx *sql.Tx, b *batch) error {
	for _, n := range latest(b.Notices) {
		var err error
		if n.Kind == Closed {
			_, err = tx.ExecContext(ctx, `DELETE FROM notify_alert WHERE channel = ? AND incident = ?`, a.ch.Name, n.key())
		} else {
			_, err = tx.ExecContext(ctx, `INSERT INTO notify_alert (channel, incident, body) VALUES (?, ?, ?)
				ON CONFLICT (channel, incident) DO UPDATE SET body = excluded.body`,
				a.ch.Name, n.key(), string(marshal(a.alertOf(&n, a.now()))))
		}
		if err != nil {
			return fmt.Errorf("record alert of incident %d: %w", n.Incident, err)
		}
	}
	return nil
}

func (a *alertmanager) stored(ctx context.Context, incident int64) (*alert, error) {
	var body string
	err := a.db.QueryRowContext(ctx, `SELECT body FROM notify_alert WHERE channel = ? AND incident = ?`, a.ch.Name, incident).Scan(&body)
	if err == sql.ErrNoRows {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read alert of incident %d: %w", incident, err)
	}
	var al alert
	if err := json.Unmarshal([]byte(body), &al); err != nil {
		return nil, fmt.Errorf("read alert of incident %d: %w", incident, err)
	}
	return &al, nil
}

// refresh tells the open alerts again, some at a time.
func (a *alertmanager) refresh(ctx context.Context, s *secrets) error {
	open, err := a.open(ctx)
	if err != nil {
		return err
	}
	const most = 200
	for len(open) > 0 {
		n := min(len(open), most)
		if err := a.postAlerts(ctx, s, open[:n]); err != nil {
			return err
		}
		open = open[n:]
	}
	return nil
}

func (a *alertmanager) open(ctx context.Context) ([]alert, error) {
	rows, err := a.db.QueryContext(ctx, `SELECT body FROM notify_alert WHERE channel = ? ORDER BY incident`, a.ch.Name)
	if err != nil {
		return nil, fmt.Errorf("read open alerts: %w", err)
	}
	defer rows.Close()
	var out []alert
	now := a.now()
	for rows.Next() {
		var body string
		var al alert
		if err := rows.Scan(&body); err != nil {
			return nil, fmt.Errorf("read open alerts: %w", err)
		}
		if err := json.Unmarshal([]byte(body), &al); err != nil {
			return nil, fmt.Errorf("read open alerts: %w", err)
		}
		al.EndsAt = later(a.endsAt(now), al.StartsAt)
		out = append(out, al)
	}
	return out, rows.Err()
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func setLabel(m map[string]string, k, v string) {
	if v = oneLine(v); v != "" {
		m[k] = v
	}
}

// labelName reports whether Prometheus takes a name for a label, and no component claims it.
func labelName(s string) bool {
	for i, r := range s {
		if !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9') {
			return false
		}
	}
	return s != "" && !strings.HasPrefix(s, "__")
}
