//go:build e2e

// Package alertmanager sends notices to a real Alertmanager (Debian:
// prometheus-alertmanager) and looks at what its API and its own receiver then say.
// Without it the test skips and says so.
package alertmanager

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/e2e/peers"
	"github.com/gpumedic/gpumedic/internal/act/notify"
)

// server is an Alertmanager and the receiver that it tells.
type server struct {
	*peers.Alertmanager
	t *testing.T

	mu   sync.Mutex
	told []peers.Alert
}

func start(t *testing.T) *server {
	t.Helper()
	s := &server{t: t}
	hook := httptest.NewServer(http.HandlerFunc(s.receive))
	t.Cleanup(hook.Close)
	s.Alertmanager = peers.StartAlertmanager(t, fmt.Sprintf("route: {receiver: r, group_by: [incident], group_wait: 0s, group_interval: 1s, repeat_interval: 1h}\n"+
		"receivers: [{name: r, webhook_configs: [{url: %q, send_resolved: true}]}]\n", hook.URL))
	return s
}

func (s *server) receive(_ http.ResponseWriter, q *http.Request) {
	var d struct{ Alerts []peers.Alert }
	b, err := io.ReadAll(q.Body)
	if err == nil {
		err = json.Unmarshal(b, &d)
	}
	if err != nil {
		s.t.Errorf("receiver: %v", err)
	}
	s.mu.Lock()
	s.told = append(s.told, d.Alerts...)
	s.mu.Unlock()
}

// saw reports whether the receiver was told of an incident with a status.
func (s *server) saw(incident, status string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.told {
		if a.Labels["incident"] == incident && a.Status == status {
			return true
		}
	}
	return false
}

func (s *server) until(what string, f func() bool) {
	s.t.Helper()
	peers.Until(s.t, what, f)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, n *notify.Notifier) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { _ = n.Run(ctx); close(done) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func notice(id, incident int64, kind notify.Kind) notify.Notice {
	now := time.Now()
	return notify.Notice{ID: id, Incident: incident, Kind: kind, Severity: gpumedic.SeverityCritical, Fault: "gpu-fell-off-bus", Class: "hardware",
		Subject: gpumedic.Subject{Node: "n1", GPU: gpumedic.GPU{PCI: "0000:3b:00.0"}, Process: gpumedic.Process{PID: 4711, Name: "python"}},
		Action:  "reboot_node", At: now, Opened: now, URL: "http://n1:9400/incidents/1",
		Texts: map[string]notify.Text{"en": {Title: "GPU fell off the bus", Headline: "GPU 3 no longer answers"}}}
}

func TestLifeOfAnAlert(t *testing.T) {
	s := start(t)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "n.db")+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
	must(t, err)
	defer db.Close()
	conf := &notify.Config{Channels: []notify.Channel{{Name: "am", Type: "alertmanager", URL: s.URL, Resend: time.Second, Labels: map[string]string{"cluster": "c1"}}}}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	n, err := notify.New(t.Context(), db, conf, log)
	must(t, err)
	stop := run(t, n)

	must(t, n.Put(t.Context(), notice(1, 1, notify.Opened)))
	must(t, n.Put(t.Context(), notice(2, 2, notify.Opened)))
	s.until("both alerts are in the API", func() bool { return len(s.Alerts()) == 2 })
	for _, a := range s.Alerts() {
		if a.Labels["alertname"] != "gpu-fell-off-bus" || a.Labels["cluster"] != "c1" || a.Labels["node"] != "n1" || a.Annotations["summary"] != "GPU 3 no longer answers" {
			t.Errorf("alert %+v", a)
		}
	}
	s.until("the receiver of Alertmanager was told", func() bool { return s.saw("1", "firing") && s.saw("2", "firing") })

	// Past the first end of validity, and over a restart, the alerts are still there.
	first := s.Alerts()[0].EndsAt
	stop()
	n, err = notify.New(t.Context(), db, conf, log)
	must(t, err)
	stop = run(t, n)
	s.until("the first validity is over", func() bool { return time.Now().After(first.Add(time.Second)) })
	if got := len(s.Alerts()); got != 2 {
		t.Errorf("%d alerts after the first validity, want 2", got)
	}

	closed := notice(3, 1, notify.Closed)
	closed.Closed = time.Now()
	must(t, n.Put(t.Context(), closed))
	s.until("the receiver was told that it is resolved", func() bool { return s.saw("1", "resolved") })
	s.until("the API has only the other one", func() bool { a := s.Alerts(); return len(a) == 1 && a[0].Labels["incident"] == "2" })
	if s.saw("2", "resolved") {
		t.Error("the open incident was resolved too")
	}

	// A node that dies stops telling: its alert ends by itself.
	stop()
	s.until("the alert of a dead node has ended", func() bool { return s.saw("2", "resolved") })
}
