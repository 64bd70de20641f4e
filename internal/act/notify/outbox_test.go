package notify

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
)

func hook2(name string, r *receiver) Channel { return Channel{Name: name, Type: "webhook", URL: r.URL} }

// told lists what a webhook receiver was told: notice numbers, one slice a message.
func told(t *testing.T, r *receiver) [][]int64 {
	t.Helper()
	var out [][]int64
	for _, q := range r.requests() {
		var d Delivery
		if err := json.Unmarshal(q.body, &d); err != nil {
			t.Fatal(err)
		}
		var ids []int64
		for _, n := range d.Notices {
			ids = append(ids, n.ID)
		}
		out = append(out, ids)
	}
	return out
}

func equal(a, b [][]int64) bool {
	return slices.EqualFunc(a, b, func(x, y []int64) bool { return slices.Equal(x, y) })
}

func TestPutIsOnce(t *testing.T) {
	r := newReceiver(t, false, nil)
	g := newRig(t, Config{Channels: []Channel{hook2("a", r)}})
	g.put(notice(1, 1, Opened), notice(1, 1, Opened))
	g.drain(0)
	g.put(notice(1, 1, Opened))
	g.drain(0)
	if got := told(t, r); !equal(got, [][]int64{{1}}) {
		t.Errorf("told %v", got)
	}
	if err := g.Put(t.Context(), notice(1, 2, Closed)); err == nil || !strings.Contains(err.Error(), "used for another") {
		t.Errorf("number used twice: %v", err)
	}
	// Also long after it was forgotten.
	g.at = g.at.Add(30 * 24 * time.Hour)
	if err := g.box.prune(t.Context(), g.at.Add(-defaultKeep)); err != nil {
		t.Fatal(err)
	}
	var rows int
	if err := g.db.QueryRow(`SELECT (SELECT count(*) FROM notify_notice) + (SELECT count(*) FROM notify_delivery)`).Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d rows after cleaning (%v)", rows, err)
	}
	g.put(notice(1, 1, Opened))
	g.drain(0)
	if n := len(r.requests()); n != 1 {
		t.Errorf("%d messages", n)
	}
}

func TestPutTxRollsBack(t *testing.T) {
	r := newReceiver(t, false, nil)
	g := newRig(t, Config{Channels: []Channel{hook2("a", r)}})
	tx, err := g.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.PutTx(t.Context(), tx, notice(1, 1, Opened)); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	g.drain(0)
	if n := len(r.requests()); n != 0 {
		t.Errorf("told of a change that was rolled back")
	}
}

func TestDeadChannelBlocksNobody(t *testing.T) {
	dead := newReceiver(t, false, always(503, ""))
	live := newReceiver(t, false, nil)
	g := newRig(t, Config{Channels: []Channel{hook2("dead", dead), hook2("live", live)}})
	for i := range int64(20) {
		g.put(notice(i+1, i+1, Opened))
	}
	g.drain(0)
	g.drain(1)
	if n := len(live.requests()); n != 20 {
		t.Errorf("live channel was told %d of 20", n)
	}
	if n := len(dead.requests()); n != 1 {
		t.Errorf("dead channel was asked %d times at once", n)
	}
	s := g.stats(0)
	if s.Waiting != 20 || s.Failing != 1 || s.Dropped != 0 || s.Error == "" {
		t.Errorf("stats %+v", s)
	}
}

func TestBackoffAndRecovery(t *testing.T) {
	r := newReceiver(t, false, func(n int, w http.ResponseWriter) {
		if n <= 3 {
			w.WriteHeader(502)
		}
	})
	c := Config{Channels: []Channel{hook2("a", r)}}
	g := newRig(t, c)
	g.put(notice(1, 1, Opened), notice(2, 1, Escalated), notice(3, 2, Opened))
	for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		if got := g.drain(0); got != want {
			t.Errorf("waits %s, want %s", got, want)
		}
		g.at = g.at.Add(want / 2)
		g.open(c) // a restart does not shorten the pause
		if got := g.drain(0); got != want-want/2 {
			t.Errorf("after a restart it waits %s, want %s", got, want-want/2)
		}
		g.at = g.at.Add(want)
	}
	g.drain(0)
	if got := told(t, r); !equal(got, [][]int64{{1}, {1}, {1}, {1}, {2}, {3}}) {
		t.Errorf("told %v", got)
	}
	keys := map[string]int{}
	for _, q := range r.requests() {
		keys[q.header.Get("Idempotency-Key")]++
	}
	if len(keys) != 3 {
		t.Errorf("keys %v: a retry must carry the key of the first attempt, others their own", keys)
	}
	if s := g.stats(0); s.Failing != 0 || s.Delivered != 3 || s.Failures != 3 || s.Attempts != 6 || !s.Paused.IsZero() {
		t.Errorf("stats %+v", s)
	}
}

func TestRateLimitIsHonoured(t *testing.T) {
	r := newReceiver(t, false, func(n int, w http.ResponseWriter) {
		if n == 1 {
			w.Header().Set("Retry-After", "77")
			w.WriteHeader(429)
		}
	})
	g := newRig(t, Config{Channels: []Channel{hook2("a", r)}})
	g.put(notice(1, 1, Opened))
	if got := g.drain(0); got != 77*time.Second {
		t.Errorf("waits %s, want 77s", got)
	}
	d := newReceiver(t, false, always(200, `{"errcode":130101,"errmsg":"send too fast"}`))
	g = newRig(t, Config{Channels: []Channel{chat(t, "dingtalk", d)}})
	g.put(notice(1, 1, Opened))
	if got := g.drain(0); got != 10*time.Minute {
		t.Errorf("DingTalk: waits %s, want 10m", got)
	}
}

// TestRefusedOneLetsOthersPass: order within the incident stays, others overtake.
func TestRefusedOneLetsOthersPass(t *testing.T) {
	refuse := true
	r := newReceiver(t, false, nil)
	r.answer = func(_ int, w http.ResponseWriter) {
		var d Delivery
		if json.Unmarshal(r.got[len(r.got)-1].body, &d) == nil && d.Notices[0].ID == 1 && refuse {
			w.WriteHeader(422)
		}
	}
	g := newRig(t, Config{Channels: []Channel{hook2("a", r)}})
	g.put(notice(1, 1, Opened), notice(2, 1, Closed), notice(3, 2, Opened))
	g.drain(0)
	if got := told(t, r); !equal(got, [][]int64{{1}, {3}}) {
		t.Fatalf("told %v", got)
	}
	refuse = false
	g.at = g.at.Add(time.Minute)
	g.drain(0)
	if got := told(t, r); !equal(got, [][]int64{{1}, {3}, {1}, {2}}) {
		t.Errorf("told %v", got)
	}
}

func TestRefusedForGood(t *testing.T) {
	r := newReceiver(t, false, always(422, "no"))
	g := newRig(t, Config{Channels: []Channel{hook2("a", r)}})
	g.put(notice(1, 1, Opened), notice(2, 1, Closed))
	for range 40 {
		g.drain(0)
		g.at = g.at.Add(5 * time.Minute)
	}
	if s := g.stats(0); s.GivenUp != 2 || s.Waiting != 0 || s.Delivered != 0 {
		t.Errorf("stats %+v", s)
	}
	if n := len(r.requests()); n != 2*maxRefusals {
		t.Errorf("%d attempts, want %d", n, 2*maxRefusals)
	}
	if !strings.Contains(g.log.String(), "given up") {
		t.Error("the log does not say so")
	}
}

func TestGrouping(t *testing.T) {
	r := newReceiver(t, false, nil)
	ch := hook2("a", r)
	ch.Group = Group{Window: 30 * time.Second, Max: 5}
	c := Config{Channels: []Channel{ch}}
	g := newRig(t, c)
	g.put(notice(1, 1, Opened))
	if got := g.drain(0); got != 30*time.Second {
		t.Errorf("waits %s, want the window", got)
	}
	g.at = g.at.Add(20 * time.Second)
	g.put(notice(2, 2, Opened), notice(3, 1, Closed))
	g.open(c) // the window goes on over a restart
	if got := g.drain(0); got != 10*time.Second {
		t.Errorf("waits %s, want the rest of the window", got)
	}
	g.at = g.at.Add(10 * time.Second)
	for i := range int64(4) { // the fifth closes the group early, two remain
		g.put(notice(4+i, 4+i, Opened))
	}
	g.drain(0)
	if got := told(t, r); !equal(got, [][]int64{{1, 2, 3, 4, 5}}) {
		t.Errorf("told %v", got)
	}
	var d Delivery
	if err := json.Unmarshal(r.requests()[0].body, &d); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(d.Title, "4 incidents") || !strings.Contains(d.Text, "#1 closed") {
		t.Errorf("text of a group: %s\n%s", d.Title, d.Text)
	}
}

func TestFirstAtOnce(t *testing.T) {
	r := newReceiver(t, false, nil)
	ch := hook2("a", r)
	ch.Group = Group{Window: 30 * time.Second, FirstAtOnce: true}
	g := newRig(t, Config{Channels: []Channel{ch}})
	g.put(notice(1, 1, Opened))
	g.drain(0)
	g.put(notice(2, 2, Opened), notice(3, 3, Opened))
	g.drain(0)
	g.at = g.at.Add(30 * time.Second)
	g.drain(0)
	if got := told(t, r); !equal(got, [][]int64{{1}, {2, 3}}) {
		t.Errorf("told %v", got)
	}
}

// TestFrozenGroupStaysTheSame: after a crash between sending and recording, the same
// message goes out under the same key although more notices wait.
func TestFrozenGroupStaysTheSame(t *testing.T) {
	r := newReceiver(t, false, func(n int, w http.ResponseWriter) {
		if n == 1 {
			w.WriteHeader(500)
		}
	})
	ch := hook2("a", r)
	ch.Group = Group{Window: time.Second}
	c := Config{Channels: []Channel{ch}}
	g := newRig(t, c)
	g.put(notice(1, 1, Opened), notice(2, 2, Opened))
	g.at = g.at.Add(time.Second)
	g.drain(0)
	g.put(notice(3, 3, Opened))
	g.open(c)
	g.at = g.at.Add(time.Minute)
	g.drain(0)
	if got := told(t, r); !equal(got, [][]int64{{1, 2}, {1, 2}, {3}}) {
		t.Fatalf("told %v", got)
	}
	if a, b := r.requests()[0], r.requests()[1]; string(a.body) != string(b.body) || a.header.Get("Idempotency-Key") != b.header.Get("Idempotency-Key") {
		t.Error("the retry differs from the first attempt")
	}
}

func TestRefusedGroupIsTakenApart(t *testing.T) {
	r := newReceiver(t, false, nil)
	r.answer = func(_ int, w http.ResponseWriter) {
		if strings.Contains(string(r.got[len(r.got)-1].body), `"id":2,`) {
			w.WriteHeader(413)
		}
	}
	ch := hook2("a", r)
	ch.Group = Group{Window: time.Second}
	g := newRig(t, Config{Channels: []Channel{ch}})
	g.put(notice(1, 1, Opened), notice(2, 2, Opened), notice(3, 2, Closed), notice(4, 4, Opened))
	for range 30 {
		g.at = g.at.Add(5 * time.Minute)
		g.drain(0)
	}
	if s := g.stats(0); s.Delivered != 3 || s.GivenUp != 1 {
		t.Errorf("stats %+v", s)
	}
	// 3 is of the same incident as 2 and must not come before 2 was given up.
	var last2, first3 int
	for i, ids := range told(t, r) {
		if slices.Equal(ids, []int64{2}) {
			last2 = i
		}
		if slices.Equal(ids, []int64{3}) && first3 == 0 {
			first3 = i
		}
	}
	if first3 < last2 {
		t.Errorf("order: %v", told(t, r))
	}
}

func TestPacingGathersBacklog(t *testing.T) {
	r := newReceiver(t, false, always(200, `{"errcode":0}`))
	g := newRig(t, Config{Channels: []Channel{chat(t, "wecom", r)}})
	for i := range int64(75) {
		g.put(notice(i+1, i+1, Opened))
	}
	g.drain(0)
	if n := len(r.requests()); n != 20 {
		t.Fatalf("%d messages within a minute, the service allows 20", n)
	}
	g.at = g.at.Add(time.Minute)
	g.drain(0)
	if n := len(r.requests()); n != 21 {
		t.Errorf("%d messages, want the other 55 notices in one", n)
	}
	if s := g.stats(0); s.Delivered != 75 || s.Waiting != 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestExpiry(t *testing.T) {
	r := newReceiver(t, false, nil)
	g := newRig(t, Config{Channels: []Channel{hook2("a", r)}})
	g.put(notice(1, 1, Opened))
	g.at = g.at.Add(26 * time.Hour)
	g.drain(0)
	if body := string(r.requests()[0].body); !strings.Contains(body, `"late":true`) || !strings.Contains(body, "LATE: this happened at 2026-03-04 10:00:00 UTC") {
		t.Errorf("no mark: %s", body)
	}
	g = newRig(t, Config{OnExpiry: "drop", ExpireAfter: time.Hour, Channels: []Channel{hook2("a", r)}})
	g.put(notice(1, 1, Opened))
	g.at = g.at.Add(2 * time.Hour)
	g.drain(0)
	if s := g.stats(0); s.Expired != 1 || s.Delivered != 0 || len(r.requests()) != 1 {
		t.Errorf("stats %+v", s)
	}
	if !strings.Contains(g.log.String(), "expired without having been delivered") {
		t.Error("the log does not say so")
	}
}

func TestQueueLimit(t *testing.T) {
	r := newReceiver(t, false, always(503, ""))
	g := newRig(t, Config{QueueLimit: 3, Channels: []Channel{hook2("a", r)}})
	g.put(notice(1, 1, Opened), notice(2, 1, Closed), notice(3, 3, Opened), notice(4, 4, Opened), notice(5, 5, Opened))
	s := g.stats(0)
	if s.Waiting != 3 || s.Dropped != 2 || strings.Count(g.log.String(), "queue full") != 2 {
		t.Errorf("stats %+v", s)
	}
	var left string
	if err := g.db.QueryRow(`SELECT group_concat(notice) FROM notify_delivery WHERE state = 0`).Scan(&left); err != nil || left != "2,4,5" {
		t.Errorf("left %q (%v): the oldest should go, what closes an incident last", left, err)
	}
}

func TestQuietHours(t *testing.T) {
	r := newReceiver(t, false, nil)
	ch := hook2("a", r)
	ch.Quiet = &Quiet{From: "22:00", To: "07:00", Zone: "UTC", Except: "error"}
	g := newRig(t, Config{Channels: []Channel{ch}})
	g.at = time.Date(2026, 3, 4, 23, 0, 0, 0, time.UTC)
	warn := func(id, incident int64, k Kind, sev string) Notice {
		n := notice(id, incident, k)
		n.Severity, n.At = sev, g.at
		return n
	}
	g.put(warn(1, 1, Opened, "warning"), warn(2, 2, Opened, "warning"), warn(3, 3, Opened, "critical"), warn(4, 4, Opened, "warning"))
	g.drain(0)
	if got := told(t, r); !equal(got, [][]int64{{3}}) {
		t.Fatalf("told %v", got)
	}
	g.put(warn(5, 2, Escalated, "error")) // takes along what was held back of its incident, in order
	g.drain(0)
	if got := told(t, r); !equal(got, [][]int64{{3}, {2}, {5}}) && !equal(got, [][]int64{{3}, {2, 5}}) {
		t.Errorf("told %v", got)
	}
	g.at = time.Date(2026, 3, 5, 7, 0, 0, 0, time.UTC)
	g.drain(0)
	if got := told(t, r); !slices.Equal(got[len(got)-1], []int64{1, 4}) {
		t.Errorf("told %v: in the morning the rest comes together", got)
	}
}

func TestRouting(t *testing.T) {
	r := newReceiver(t, false, nil)
	g := newRig(t, Config{Channels: []Channel{
		{Name: "hw", Type: "webhook", URL: r.URL, Match: []Match{{MinSeverity: "error", Class: []string{"hardware"}, Node: []string{"gpu-a*"}}, {Fault: []string{"nccl-*"}}}},
		{Name: "closed", Type: "webhook", URL: r.URL, Match: []Match{{Kind: []string{"closed"}}}},
	}})
	n := func(id, incident int64, k Kind, edit func(*Notice)) Notice {
		n := notice(id, incident, k)
		if edit != nil {
			edit(&n)
		}
		return n
	}
	g.put(
		n(1, 1, Opened, nil),
		n(2, 2, Opened, func(n *Notice) { n.Severity = gpumedic.SeverityWarning }),
		n(3, 3, Opened, func(n *Notice) { n.Class = "application" }),
		n(4, 4, Opened, func(n *Notice) { n.Subject.Node = "cpu-1" }),
		n(5, 5, Opened, func(n *Notice) { n.Class, n.Fault, n.Severity = "application", "nccl-timeout", "info" }),
		// Told once, told to the end, although the rule no longer fits.
		n(6, 1, Closed, func(n *Notice) { n.Severity = gpumedic.SeverityInfo }),
		n(7, 2, Closed, func(n *Notice) { n.Severity = gpumedic.SeverityWarning }),
	)
	g.drain(0)
	if got := told(t, r); !equal(got, [][]int64{{1}, {5}, {6}}) {
		t.Errorf("hw was told %v", got)
	}
	r.got = nil
	g.drain(1)
	if got := told(t, r); !equal(got, [][]int64{{6}, {7}}) {
		t.Errorf("closed was told %v", got)
	}
}

// TestClockSetBack: a pause and a window that lie far in the future do not count.
func TestClockSetBack(t *testing.T) {
	fail := true
	r := newReceiver(t, false, func(_ int, w http.ResponseWriter) {
		if fail {
			w.WriteHeader(503)
		}
	})
	g := newRig(t, Config{Channels: []Channel{hook2("a", r)}})
	g.at = t0.AddDate(1, 0, 0)
	n := notice(1, 1, Opened)
	n.At = g.at
	g.put(n)
	g.drain(0)
	fail = false
	g.at = t0
	g.drain(0)
	if s := g.stats(0); s.Delivered != 1 {
		t.Errorf("stats %+v", s)
	}
}

func TestDiskFullAfterSending(t *testing.T) {
	r := newReceiver(t, false, nil)
	g := newRig(t, Config{Channels: []Channel{hook2("a", r)}})
	g.put(notice(1, 1, Opened), notice(2, 2, Opened))
	must := func(q string) {
		t.Helper()
		if _, err := g.db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	must(`CREATE TRIGGER full BEFORE UPDATE OF state ON notify_delivery BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END`)
	for range 5 {
		if _, err := g.workers[0].step(t.Context()); err == nil {
			t.Error("the error is hidden")
		}
	}
	if n := len(r.requests()); n != 1 {
		t.Errorf("%d messages while nothing could be recorded, want 1", n)
	}
	must(`DROP TRIGGER full`)
	g.step(0)
	g.drain(0)
	if got := told(t, r); !equal(got, [][]int64{{1}, {2}}) {
		t.Errorf("told %v", got)
	}
}

func TestUnconfiguredChannelIsReported(t *testing.T) {
	r := newReceiver(t, false, always(503, ""))
	g := newRig(t, Config{Channels: []Channel{hook2("old", r)}})
	g.put(notice(1, 1, Opened))
	g.open(Config{Channels: []Channel{hook2("new", r)}})
	if !strings.Contains(g.log.String(), "not configured") {
		t.Errorf("log: %s", g.log)
	}
	if s := g.stats(1); s.Name != "old" || s.Configured || s.Waiting != 1 {
		t.Errorf("stats %+v", s)
	}
}
