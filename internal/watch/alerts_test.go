package watch

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/act/notify"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/store"
	"github.com/gpumedic/gpumedic/internal/maintenance"
	"github.com/gpumedic/gpumedic/internal/web"
)

// noticeBoard takes notices as a webhook; it can refuse them.
type noticeBoard struct {
	*httptest.Server
	mu      sync.Mutex
	notices []notify.Notice
	titles  []string
	broken  bool
}

func newNoticeBoard(t *testing.T) *noticeBoard {
	r := &noticeBoard{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.broken {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		body, err := io.ReadAll(req.Body)
		var d notify.Delivery
		if err == nil {
			err = json.Unmarshal(body, &d)
		}
		if err != nil {
			t.Errorf("delivery: %v", err)
		}
		r.notices = append(r.notices, d.Notices...)
		r.titles = append(r.titles, d.Title)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *noticeBoard) refuse(broken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = broken
}

// told are the notices as "kind what".
func (r *noticeBoard) told() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, n := range r.notices {
		what := n.Fault
		if n.Alert != nil {
			what = n.Alert.Name
		}
		out = append(out, string(n.Kind)+" "+what)
	}
	return out
}

// steps is a clock that a test moves on.
type steps struct {
	mu  sync.Mutex
	off time.Duration
}

func (s *steps) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.off)
}

func (s *steps) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off += d
}

// beginAt is begin with a clock that the test moves on.
func beginAt(t *testing.T, dir string, s *steps, change func(*Config)) *running {
	t.Helper()
	r := &running{t: t, dir: dir, conf: testConfig(dir), ended: make(chan error, 1), log: &syncBuffer{}, clock: s.now}
	if change != nil {
		change(r.conf)
	}
	var err error
	if r.kmsg, err = os.OpenFile(filepath.Join(dir, "kmsg"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600); err != nil {
		t.Fatal(err)
	}
	r.start()
	t.Cleanup(func() { r.end(); r.kmsg.Close() })
	return r
}

func (r *running) alerts() web.AlertsAnswer {
	r.t.Helper()
	var a web.AlertsAnswer
	if err := json.Unmarshal([]byte(r.get("/api/v1/alerts")), &a); err != nil {
		r.t.Fatal(err)
	}
	return a
}

// state is the state of an alert in the API, with the number of the incident that tells
// of it.
func (r *running) state(name string) string {
	for _, a := range r.alerts().Active {
		if a.Name == name {
			if a.Incident != 0 {
				return fmt.Sprintf("%s by %d", a.State, a.Incident)
			}
			return a.State
		}
	}
	return ""
}

// pass moves the clock on until the rules have been evaluated for as long.
func (r *running) pass(s *steps, d, step time.Duration) {
	r.t.Helper()
	for ; d > 0; d -= step {
		s.pass(min(step, d))
		at := s.now()
		r.until("evaluation", func() bool { return !r.alerts().At.Before(at.Add(-alertsEvery)) })
	}
}

// TestAlertsWithoutPrometheus: maintenance that is overdue is told once, over a restart,
// and once that it was done.
func TestAlertsWithoutPrometheus(t *testing.T) {
	to, clock, dir := newNoticeBoard(t), &steps{}, t.TempDir()
	s, err := store.Open(t.Context(), filepath.Join(dir, "incidents.db"), store.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Do(t.Context(), clock.now().Add(-80*24*time.Hour), nil, func(st *incident.Step) error {
		g := gpumedic.GPU{PCI: "0000:3b:00.0", UUID: "GPU-aa", Serial: "165"}
		st.Inventory("n1", []incident.Card{{GPU: g}}, true)
		st.Test("n1", g, "memtest", "passed", "", nil)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	r := beginAt(t, dir, clock, func(c *Config) { c.Notify = webhookTo(to.URL) })
	r.until("that it waits", func() bool { return r.state("GPUMaintenanceDue") == "pending" })
	r.pass(clock, 62*time.Minute, 31*time.Minute)
	r.pass(clock, 30*time.Second, 30*time.Second)
	r.until("the notice", func() bool { return slices.Equal(to.told(), []string{"opened GPUMaintenanceDue"}) })
	n := to.notices[0]
	if n.Alert.ID != 1 || n.Incident != 0 || n.Severity != "info" || n.Labels["task"] != "memory-test" || n.Texts["zh"].Title != "n1 维护到期：memory-test" ||
		n.Texts["en"].Title != "Maintenance is due on n1: memory-test" || n.Opened.IsZero() || !strings.Contains(to.titles[0], "GPUMaintenanceDue") {
		t.Errorf("%+v %q", n, to.titles[0])
	}
	if m := r.get("/metrics"); !strings.Contains(m, `gpumedic_alerts{alertname="GPUMaintenanceDue",alertstate="firing",severity="info"} 1`) {
		t.Error("the metrics do not have it")
	}
	if p := r.get("/?lang=zh"); !strings.Contains(p, "n1 维护到期：memory-test") {
		t.Error("the page does not have it")
	}
	r.end()
	clock.pass(10 * time.Minute)
	r.start()
	r.until("it after a restart", func() bool { return r.state("GPUMaintenanceDue") == "firing" })
	r.pass(clock, time.Minute, 30*time.Second)
	s, err = store.Open(t.Context(), r.conf.Store, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := maintenance.Record(t.Context(), s, maintenance.Done{Task: "memory-test", At: clock.now(), Who: "li"}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	clock.pass(maintenanceEvery)
	r.pass(clock, time.Minute, 30*time.Second)
	r.until("that it is over", func() bool {
		return slices.Equal(to.told(), []string{"opened GPUMaintenanceDue", "closed GPUMaintenanceDue"})
	})
	if a := r.alerts(); len(a.Past) != 1 || a.Past[0].Resolved.IsZero() || !strings.Contains(to.titles[1], "resolved") {
		t.Errorf("%+v %q", a, to.titles)
	}
}

// TestAlertAndIncident: what is an incident is told as such and not again as an alert;
// what is none is told as an alert, and not while it is silenced.
func TestAlertAndIncident(t *testing.T) {
	play := useFake(t, "gpu.1.remap.pending=1\ngpu.2.mem.used=80000\ngpu.2.util.gpu=0\n")
	to, clock, dir := newNoticeBoard(t), &steps{}, t.TempDir()
	s, err := store.Open(t.Context(), filepath.Join(dir, "incidents.db"), store.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Do(t.Context(), clock.now(), nil, func(st *incident.Step) error {
		_, err := st.Silence(incident.Silence{Fault: "GPUMemoryFull*", Until: clock.now().Add(40 * time.Minute), Who: "li", Why: "known"})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	r := beginAt(t, dir, clock, func(c *Config) {
		quick(c)
		c.Notify = webhookTo(to.URL)
	})
	r.until("both", func() bool {
		return r.state("GPURowRemapPending") != "" && r.state("GPUMemoryFullAndIdle") == "pending"
	})
	r.pass(clock, 16*time.Minute, 4*time.Minute)
	i := r.find("row-remap-pending")
	if i == nil {
		t.Fatal(incidentText(r.incidents()))
	}
	r.until("who tells of it", func() bool {
		return r.state("GPURowRemapPending") == fmt.Sprintf("firing by %d", i.ID) && r.state("GPUMemoryFullAndIdle") == "firing"
	})
	r.until("the incident's notice", func() bool { return slices.Equal(to.told(), []string{"opened row-remap-pending"}) })
	r.pass(clock, 30*time.Minute, 15*time.Minute)
	r.until("the end of the silence", func() bool {
		return slices.Equal(to.told(), []string{"opened row-remap-pending", "opened GPUMemoryFullAndIdle"})
	})
	if n := to.notices[1]; n.Subject.GPU.PCI == "" || *n.Subject.GPU.Index != 2 || n.Fault != "gpu-memory-retained" || n.Class == "" {
		t.Errorf("%+v", n)
	}
	// A GPU that is lost is no free memory.
	play("gpu.2.ret=15\n")
	r.until("the loss", func() bool {
		return strings.Contains(r.get("/metrics"), `gpumedic_gpu_up{gpu="2"`) && r.find("gpu-fell-off-bus") != nil
	})
	r.pass(clock, 10*time.Minute, 5*time.Minute)
	if r.state("GPUMemoryFullAndIdle") != "firing" || slices.Contains(to.told(), "closed GPUMemoryFullAndIdle") {
		t.Errorf("a lost GPU resolved an alert: %s, %v", r.state("GPUMemoryFullAndIdle"), to.told())
	}
	play("")
	r.until("the GPU", func() bool { return strings.Contains(r.get("/metrics"), `gpumedic_gpu_memory_used_bytes{gpu="2"`) })
	r.pass(clock, 9*time.Minute, 3*time.Minute)
	r.until("the end", func() bool { return slices.Contains(to.told(), "closed GPUMemoryFullAndIdle") })
}

// TestDeadChannelIsTold: another channel hears of it.
func TestDeadChannelIsTold(t *testing.T) {
	dead, to, clock := newNoticeBoard(t), newNoticeBoard(t), &steps{}
	dead.refuse(true)
	r := beginAt(t, t.TempDir(), clock, func(c *Config) {
		c.Notify = notify.Config{Channels: []notify.Channel{{Name: "dead", Type: "webhook", URL: dead.URL}, {Name: "works", Type: "webhook", URL: to.URL}}}
	})
	r.kernel(fallen)
	r.until("failures", func() bool {
		m := r.get("/metrics")
		return strings.Contains(m, `gpumedic_notifications_waiting{channel="dead"} 1`) && r.state("GpumedicNotificationsFail") == "pending"
	})
	r.pass(clock, 11*time.Minute, 5*time.Minute)
	r.until("the alert", func() bool { return slices.Contains(to.told(), "opened GpumedicNotificationsFail") })
	dead.refuse(false)
}

func TestAlertsOfTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "own.yaml")
	if err := os.WriteFile(own, []byte("groups: [{name: mine, rules: [{alert: Always, expr: 'gpumedic_source_healthy == 1', labels: {severity: warning}, annotations: {summary: 'up: {{ $labels.source }}'}}]}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := begin(t, dir, func(c *Config) { c.Alerts.Files = []string{own} })
	r.until("the rule of one's own", func() bool { return r.state("Always") == "firing" })
	r.end()
	r.conf.Alerts = Alerts{}
	r.start()
	if a := r.alerts(); a.Enabled || len(a.Active) != 0 {
		t.Errorf("%+v", a)
	}
	for text, want := range map[string]string{
		"alerts: {without: [GPUOverheat]}":                                      "",
		"alerts: {without: [GPUOverheated]}":                                    `line 1: alerts: without: there is no rule "GPUOverheated"`,
		"node: x\nalerts:\n  files: [own.yaml]":                                 "line 2: alerts: files: ",
		"alerts: {files: [/nowhere/own.yaml]}":                                  "line 1: alerts: files: open /nowhere/own.yaml",
		"alerts: {files: [" + filepath.Join(dir, "incidents.db") + "]}":         "line 1: alerts: files: ",
		"alerts: {files: [" + own + "], without: [Always, GPUPowerBrake]}":      "",
		"alerts: {files: [" + own + ", " + own + "]}":                           "a rule Always is there already",
		"alerts: {enabled: false, without: [GPUOverheated], files: [own.yaml]}": "",
	} {
		_, err := ParseConfig([]byte(text))
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
