package notify

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/pem"
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
)

var t0 = time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)

func openDB(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// rig is a notifier with a clock of its own that is stepped by hand.
type rig struct {
	*Notifier
	t   testing.TB
	db  *sql.DB
	log *bytes.Buffer
	at  time.Time
}

func newRig(t testing.TB, c Config) *rig {
	t.Helper()
	r := &rig{t: t, db: openDB(t, filepath.Join(t.TempDir(), "n.db")), log: &bytes.Buffer{}, at: t0}
	r.open(c)
	return r
}

// open makes the notifier, as a restart would.
func (r *rig) open(c Config) {
	r.t.Helper()
	n, err := New(r.t.Context(), r.db, &c, slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		r.t.Fatal(err)
	}
	n.now = func() time.Time { return r.at }
	for _, w := range n.workers {
		w.rand = func() float64 { return 1 }
		w.restore(r.t.Context())
	}
	r.Notifier = n
}

func (r *rig) put(ns ...Notice) {
	r.t.Helper()
	for _, n := range ns {
		if err := r.Put(r.t.Context(), n); err != nil {
			r.t.Fatal(err)
		}
	}
}

// step lets a channel do one thing and returns how long it then wants to wait.
func (r *rig) step(channel int) time.Duration {
	r.t.Helper()
	d, err := r.workers[channel].step(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

// drain steps a channel until it wants to wait.
func (r *rig) drain(channel int) time.Duration {
	r.t.Helper()
	for range 10000 {
		if d := r.step(channel); d > 0 {
			return d
		}
	}
	r.t.Fatal("the channel never rests")
	return 0
}

func (r *rig) stats(channel int) ChannelStats {
	r.t.Helper()
	s, err := r.Stats(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return s[channel]
}

func notice(id, incident int64, kind Kind) Notice {
	idx := 3
	return Notice{
		ID: id, Incident: incident, Kind: kind, Severity: gpumedic.SeverityCritical, Fault: "gpu-fell-off-bus", Class: "hardware",
		Subject: gpumedic.Subject{Node: "gpu-a7", GPU: gpumedic.GPU{PCI: "0000:3b:00.0", Index: &idx},
			Process: gpumedic.Process{PID: 4711, Name: "python"}},
		Action: "reboot_node", URL: fmt.Sprintf("https://gpu-a7:9400/incidents/%d", incident),
		Texts: map[string]Text{
			"en": {Title: "GPU fell off the bus", Headline: "GPU 3 (0000:3b:00.0) no longer answers on the PCIe bus",
				Remedy: gpumedic.Remedy{Step: "drain the node, then reboot it", Command: "scontrol update nodename=gpu-a7 state=drain reason=xid79", Risk: "disruptive"}},
			"zh": {Title: "GPU 掉卡", Headline: "GPU 3（0000:3b:00.0）在 PCIe 总线上失去响应",
				Remedy: gpumedic.Remedy{Step: "先排空节点，再重启", Command: "scontrol update nodename=gpu-a7 state=drain reason=xid79", Risk: "disruptive"}},
		},
		At: t0, Opened: t0, Labels: map[string]string{"namespace": "ml", "pod": "train-0", "job": "8812", "user": "wang"},
	}
}

// receiver answers like a service and keeps what it was sent.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []request
	answer func(n int, w http.ResponseWriter) // n counts from 1; nil answers 200 "ok"
}

type request struct {
	path, query string
	header      http.Header
	body        []byte
}

func newReceiver(t testing.TB, secure bool, answer func(n int, w http.ResponseWriter)) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	h := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		r.got = append(r.got, request{q.URL.Path, q.URL.RawQuery, q.Header.Clone(), body})
		n := len(r.got)
		r.mu.Unlock()
		if r.answer == nil {
			io.WriteString(w, "ok")
			return
		}
		r.answer(n, w)
	})
	if secure {
		r.Server = httptest.NewUnstartedServer(h)
		r.Server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // of refused certificates
		r.Server.StartTLS()
	} else {
		r.Server = httptest.NewServer(h)
	}
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) requests() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]request(nil), r.got...)
}

func (r *receiver) caFile(t testing.TB) string {
	return write(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw})))
}

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func always(status int, body string, header ...string) func(int, http.ResponseWriter) {
	return func(_ int, w http.ResponseWriter) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// sendOne sends one notice over a channel, past the outbox.
func sendOne(t testing.TB, ch Channel, ns ...Notice) error {
	t.Helper()
	if len(ns) == 0 {
		ns = []Notice{notice(1, 12, Opened)}
	}
	r := newRig(t, Config{Channels: []Channel{ch}})
	w := r.workers[0]
	s, err := w.ch.secrets()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.Context(), w.ch.Timeout)
	defer cancel()
	return s.scrub.cleanErr(w.to.send(ctx, &batch{Key: "k-1", Channel: ch.Name, Notices: ns}, s))
}

func outcomeOf(err error) string {
	if err == nil {
		return "delivered"
	}
	return asFailure(err).what.String()
}

func writeFile(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }
