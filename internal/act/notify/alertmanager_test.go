package notify

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"
)

func posted(t *testing.T, r *receiver) [][]alert {
	t.Helper()
	var out [][]alert
	for _, q := range r.requests() {
		if q.path != "/am/api/v2/alerts" {
			t.Errorf("posted to %s", q.path)
		}
		var as []alert
		if err := json.Unmarshal(q.body, &as); err != nil {
			t.Fatal(err)
		}
		out = append(out, as)
	}
	r.mu.Lock()
	r.got = nil
	r.mu.Unlock()
	return out
}

func amRig(t *testing.T, answer func(int, http.ResponseWriter)) (*rig, *receiver, Config) {
	r := newReceiver(t, false, answer)
	c := Config{Channels: []Channel{{Name: "am", Type: "alertmanager", URL: r.URL + "/am/", Labels: map[string]string{"cluster": "c1"}}}}
	return newRig(t, c), r, c
}

func TestAlertLife(t *testing.T) {
	g, r, c := amRig(t, nil)
	g.put(notice(1, 12, Opened))
	g.drain(0)
	as := posted(t, r)
	if len(as) != 1 || len(as[0]) != 1 {
		t.Fatalf("posted %v", as)
	}
	a := as[0][0]
	for k, want := range map[string]string{"alertname": "gpu-fell-off-bus", "severity": "critical", "node": "gpu-a7",
		"gpu": "0000:3b:00.0", "incident": "12", "cluster": "c1", "pod": "train-0"} {
		if a.Labels[k] != want {
			t.Errorf("label %s = %q, want %q", k, a.Labels[k], want)
		}
	}
	if !a.StartsAt.Equal(t0) || !a.EndsAt.Equal(t0.Add(4*time.Minute)) || a.GeneratorURL == "" || a.Annotations["summary"] == "" {
		t.Errorf("alert %+v", a)
	}
	// Told again before it ends, also after a restart.
	g.at = g.at.Add(time.Minute)
	g.drain(0)
	if as := posted(t, r); len(as) != 1 || !as[0][0].EndsAt.Equal(g.at.Add(4*time.Minute)) {
		t.Errorf("after a minute: %v", as)
	}
	g.open(c)
	g.drain(0)
	if as := posted(t, r); len(as) != 1 || as[0][0].Labels["incident"] != "12" {
		t.Errorf("after a restart: %v", as)
	}
	// A worse severity is another alert: the old one ends in the same request.
	n := notice(2, 12, Escalated)
	n.Labels["user"] = "li"
	g.put(n)
	g.drain(0)
	if as := posted(t, r); len(as) != 1 || len(as[0]) != 2 || as[0][0].EndsAt.After(g.at) || !as[0][1].EndsAt.After(g.at) {
		t.Errorf("after a change of labels: %+v", as)
	}
	n = notice(3, 12, Closed)
	n.Labels["user"] = "li"
	n.Closed = g.at
	g.put(n)
	g.drain(0)
	if as := posted(t, r); len(as) != 1 || len(as[0]) != 1 || !as[0][0].EndsAt.Equal(g.at) {
		t.Errorf("after closing: %+v", as)
	}
	g.at = g.at.Add(time.Hour)
	g.drain(0)
	if as := posted(t, r); len(as) != 0 {
		t.Errorf("a closed alert is told again: %+v", as)
	}
}

// TestAlertResendIsWokenFor: the worker does not sleep over the time of a refresh.
func TestAlertResendIsWokenFor(t *testing.T) {
	r := newReceiver(t, false, nil)
	g := newRig(t, Config{Channels: []Channel{{Name: "am", Type: "alertmanager", URL: r.URL, Resend: 2 * time.Second}}})
	g.put(notice(1, 12, Opened))
	if d := g.drain(0); d > 2*time.Second {
		t.Errorf("sleeps %s with a refresh due in 2s", d)
	}
	g.at = g.at.Add(1500 * time.Millisecond)
	if d := g.drain(0); d > 500*time.Millisecond {
		t.Errorf("sleeps %s with a refresh due in 500ms", d)
	}
}

// TestAlertStorm: Alertmanager groups by itself, so a storm is a few requests.
func TestAlertStorm(t *testing.T) {
	g, r, _ := amRig(t, nil)
	for i := range int64(250) {
		g.put(notice(i+1, i+1, Opened))
	}
	g.drain(0)
	if as := posted(t, r); len(as) != 3 {
		t.Errorf("%d requests", len(as))
	}
}

// TestAlertClosedWhileDown: what counts is the state, also when it is days old.
func TestAlertClosedWhileDown(t *testing.T) {
	down := false
	g, r, _ := amRig(t, func(_ int, w http.ResponseWriter) {
		if down {
			w.WriteHeader(503)
		}
	})
	g.put(notice(1, 12, Opened))
	g.drain(0)
	down = true
	n := notice(2, 12, Closed)
	n.Closed = t0.Add(-time.Hour) // the clock was wrong: an end before the start is refused by Alertmanager
	g.put(n)
	g.at = g.at.Add(9 * 24 * time.Hour)
	g.drain(0)
	posted(t, r)
	down = false
	g.at = g.at.Add(time.Minute)
	g.drain(0)
	as := posted(t, r)
	if len(as) == 0 {
		t.Fatal("not told")
	}
	last := as[len(as)-1][0]
	if last.EndsAt.Before(last.StartsAt) || last.EndsAt.After(g.at) {
		t.Errorf("alert %+v", last)
	}
	if s := g.stats(0); s.Expired != 0 || s.Delivered != 2 {
		t.Errorf("stats %+v", s)
	}
}
