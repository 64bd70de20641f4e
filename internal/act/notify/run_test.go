package notify

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"
	"time"
)

// TestRun: the workers themselves, with the real clock: a put is delivered, and a message
// under way when the daemon stops is finished and recorded.
func TestRun(t *testing.T) {
	arrived, answer := make(chan int64, 10), make(chan struct{}, 10)
	r := newReceiver(t, false, nil)
	r.answer = func(n int, w http.ResponseWriter) {
		var d Delivery
		r.mu.Lock()
		err := json.Unmarshal(r.got[n-1].body, &d)
		r.mu.Unlock()
		if err != nil {
			t.Error(err)
		}
		arrived <- d.Notices[0].ID
		<-answer
	}
	db := openDB(t, filepath.Join(t.TempDir(), "n.db"))
	n, err := New(t.Context(), db, &Config{Channels: []Channel{hook2("a", r)}}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	for id := range int64(3) {
		nt := notice(id+1, 1, Escalated)
		nt.At = time.Now()
		if err := n.Put(t.Context(), nt); err != nil {
			t.Fatal(err)
		}
		if got := <-arrived; got != id+1 {
			t.Fatalf("got notice %d, want %d", got, id+1)
		}
		if id < 2 {
			answer <- struct{}{}
		}
	}
	cancel()
	answer <- struct{}{}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("run ended with %v", err)
	}
	s, err := n.Stats(t.Context())
	if err != nil || s[0].Delivered != 3 || s[0].Waiting != 0 {
		t.Errorf("stats %+v (%v)", s, err)
	}
}

func TestTrial(t *testing.T) {
	r := newReceiver(t, false, always(200, `{"errcode":93000,"errmsg":"invalid webhook url"}`))
	g := newRig(t, Config{Channels: []Channel{chat(t, "wecom", r)}})
	if err := g.Trial(t.Context(), "c"); outcomeOf(err) != "misconfigured" {
		t.Errorf("got %v", err)
	}
	if err := g.Trial(t.Context(), "other"); err == nil {
		t.Error("unknown channel")
	}
	if s := g.stats(0); s.Attempts != 0 || s.Waiting != 0 {
		t.Errorf("a test message left traces: %+v", s)
	}
}

// BenchmarkStorm: a burst of incidents through the outbox to a local receiver.
func BenchmarkStorm(b *testing.B) {
	r := newReceiver(b, false, nil)
	g := newRig(b, Config{QueueLimit: 1 << 30, Channels: []Channel{hook2("a", r)}})
	id := int64(0)
	for b.Loop() {
		for range 1000 {
			id++
			g.put(notice(id, id, Opened))
		}
		g.drain(0)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(id), "µs/notice")
}
