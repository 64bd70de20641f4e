package watch

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/internal/act/notify"
	"github.com/gpumedic/gpumedic/internal/alert"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/store"
)

// beginReload starts a daemon with a configuration file, and gives a function that writes
// another one and has it read.
func beginReload(t *testing.T, text string) (*running, func(string)) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "watch.yaml")
	reload := make(chan struct{}, 1)
	head := fmt.Sprintf("node: n1\nstore: %s/incidents.db\nkernel: {path: %s/kmsg}\njournal: {enabled: false}\ngpus: {enabled: false}\nhost: {enabled: false}\n", dir, dir)
	write := func(text string) {
		if !strings.Contains(text, "web:") {
			text = "web: {listen: ['127.0.0.1:0']}\n" + text
		}
		if err := os.WriteFile(path, []byte(head+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(text)
	conf, err := ReadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, dir: dir, conf: conf, ended: make(chan error, 1), log: &syncBuffer{}, reload: reload, read: func() (*Config, error) { return ReadConfig(path) }}
	if r.kmsg, err = os.Create(filepath.Join(dir, "kmsg")); err != nil {
		t.Fatal(err)
	}
	r.start()
	t.Cleanup(func() { r.end(); r.kmsg.Close() })
	return r, func(text string) {
		t.Helper()
		before := strings.Count(r.log.String(), "was read again") + strings.Count(r.log.String(), "is not taken")
		write(text)
		reload <- struct{}{}
		r.until("the reading", func() bool {
			return strings.Count(r.log.String(), "was read again")+strings.Count(r.log.String(), "is not taken") == before+1
		})
	}
}

// mmuFault is the fault of a program: each has an incident of its own.
func mmuFault(n int) string {
	return fmt.Sprintf("NVRM: Xid (PCI:0000:%02x:00): 31, pid=%d, name=train%d, MMU Fault: ENGINE GRAPHICS GPC0 faulted @ 0x7f_0000. Fault is of type FAULT_PDE ACCESS_TYPE_READ", 0x40+n, 5000+n, n)
}

// TestReload: channels, job logs and rights of the page change under a running daemon;
// the incident, its notice and the places in the logs stay.
func TestReload(t *testing.T) {
	a, b := newNoticeBoard(t), newNoticeBoard(t)
	channel := func(name, url string) string {
		return fmt.Sprintf("notifications: {channels: [{name: %s, type: webhook, url: '%s'}]}\n", name, url)
	}
	r, reload := beginReload(t, channel("a", a.URL))
	r.kernel(fallen)
	r.until("the notice", func() bool { return len(a.told()) == 1 })
	logs := filepath.Join(r.dir, "job.out")
	if err := os.WriteFile(logs, []byte("old line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	reload(channel("b", b.URL) + "job_logs: {paths: ['" + logs + "'], every: 50ms}\nalerts: {without: [GPUOverheat]}\n")
	if p := r.get("/healthz"); !strings.Contains(p, sourceJobs) {
		t.Errorf("job logs are not followed: %s", p)
	}
	r.until("the place in the log", func() bool { return r.source(sourceJobs).State == SourceOK })
	r.kernel(mmuFault(1))
	r.until("the second notice", func() bool { return len(b.told()) == 1 })
	if !slices.Equal(a.told(), []string{"opened gpu-fell-off-bus"}) || !slices.Equal(b.told(), []string{"opened illegal-address"}) {
		t.Errorf("told %v and %v", a.told(), b.told())
	}
	f, err := os.OpenFile(logs, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	oom := "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.50 GiB is free. Process 77 has 77.60 GiB memory in use.\n"
	if _, err := f.WriteString(oom); err != nil {
		t.Fatal(err)
	}
	r.until("the job's fault", func() bool { return len(r.incidents()) == 3 })
	reload("job_logs: {paths: ['" + logs + "'], every: 60ms}\n") // other pace: it goes on where it was
	if _, err := f.WriteString("another line\n"); err != nil {
		t.Fatal(err)
	}
	r.kernel(mmuFault(2))
	r.until("the fourth", func() bool { return len(r.incidents()) == 4 })
	for _, i := range r.incidents() {
		if i.Count != 1 {
			t.Errorf("a line was read twice:\n%s", incidentText(r.incidents()))
		}
	}
	if n := len(b.told()); n > 2 { // no channel is left
		t.Errorf("%d notices", n)
	}
}

// TestReloadOfAWrongFile: nothing changes, and the log has the line.
func TestReloadOfAWrongFile(t *testing.T) {
	a := newNoticeBoard(t)
	good := fmt.Sprintf("notifications: {channels: [{name: a, type: webhook, url: '%s'}]}\n", a.URL)
	r, reload := beginReload(t, good)
	for bad, want := range map[string]string{
		"incidents: {quiet: soon}\n":                                    "line 8",
		good + "window: 1s\n":                                           "line 9: window: 1s is less than 1m0s",
		good + "alerts:\n  without: [Nothing]\n":                        "line 9: alerts: without: there is no rule",
		good + "nodes: x\n":                                             "line 9",
		"notifications: {channels: [{name: x, type: smoke}]}\n":         "line 8: notifications.channels[0]",
		good + "expect: {baseline: " + r.dir + "/nothing}\n":            "expect: ",
		"notifications: {channels: []}\nexpect: {baseline: /no/file}\n": "/no/file",
	} {
		before := len(r.log.String())
		reload(bad)
		if said := r.log.String()[before:]; !strings.Contains(said, "is not taken; the one before stays in force") || !strings.Contains(said, want) {
			t.Errorf("%q: the log says %s, want %s", bad, said, want)
		}
	}
	r.kernel(fallen)
	r.until("the notice through the old channel", func() bool { return len(a.told()) == 1 })
}

// TestReloadSaysWhatWaits: fields that need a restart are named and stay as they are.
func TestReloadSaysWhatWaits(t *testing.T) {
	r, reload := beginReload(t, "language: en\n")
	reload("language: zh\nwindow: 2h\nthresholds: {ecc.corrected.many: 5}\nalerts: {enabled: false}\n")
	for _, field := range []string{"language", "window"} {
		if !strings.Contains(r.log.String(), `takes effect at the next restart" field=`+field+"\n") {
			t.Errorf("%s is not named:\n%s", field, r.log)
		}
	}
	if !strings.Contains(r.log.String(), `applied="alerts.enabled, thresholds"`) {
		t.Errorf("the log says\n%s", r.log)
	}
	if a := r.alerts(); a.Enabled {
		t.Error("alerts go on")
	}
	reload("language: zh\nweb: {listen: ['127.0.0.1:0'], allow_actions: true}\n")
	if strings.Contains(r.get("/"), "This page is read only.") {
		t.Errorf("the page is still read only:\n%s", r.log)
	}
	if a := r.alerts(); !a.Enabled {
		t.Error("alerts do not begin again")
	}
}

// TestReloadWhileDelivering: a message that is under way when the channels change is sent
// once.
func TestReloadWhileDelivering(t *testing.T) {
	a := newNoticeBoard(t)
	text := func(timeout time.Duration) string {
		return fmt.Sprintf("notifications: {channels: [{name: a, type: webhook, url: '%s', timeout: %s}]}\n", a.URL, timeout)
	}
	r, reload := beginReload(t, text(10*time.Second))
	var want []string
	for n := range 8 {
		r.kernel(mmuFault(n))
		want = append(want, "opened illegal-address")
		reload(text(time.Duration(11+n) * time.Second))
	}
	r.until("all notices", func() bool { return len(a.told()) >= len(want) })
	if !slices.Equal(a.told(), want) {
		t.Errorf("%v", a.told())
	}
}

func TestDifferences(t *testing.T) {
	a, b := Defaults(), Defaults()
	b.Web.Hosts = []string{"h"}
	b.Notify = notify.Config{Channels: []notify.Channel{{Name: "a", Type: "webhook", URL: "https://h/x"}}}
	b.Threshold = map[string]float64{"x.y": 1}
	got, err := differences(a, b)
	if err != nil || !slices.Contains(got, "web.hosts") || !slices.Contains(got, "thresholds") || !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "notifications") }) || len(got) > 8 {
		t.Errorf("%v %v", got, err)
	}
	if got, err := differences(a, Defaults()); err != nil || len(got) != 0 {
		t.Errorf("%v %v", got, err)
	}
}

// TestPlaceIsKeptFromTheStart: a daemon that ends before it queued anything has told
// nobody; what happens next is told by the one after it.
func TestPlaceIsKeptFromTheStart(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s, err := store.Open(ctx, filepath.Join(dir, "incidents.db"), store.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	db, err := openQueue(filepath.Join(dir, "notifications.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c := testConfig(dir)
	c.Notify = webhookTo("http://127.0.0.1:9/")
	d := &Daemon{o: Options{Config: c, Catalog: embedded(t), Log: slog.New(slog.DiscardHandler)}, store: s}
	to, err := notify.New(ctx, db, &c.Notify, d.o.Log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newPump(ctx, d, db, to); err != nil { // and it is killed here
		t.Fatal(err)
	}
	text, err := json.Marshal(&alert.Alert{ID: 1, Name: "GPUOverheat", Severity: "critical", State: alert.Firing, Fired: time.Now(), Texts: map[string]alert.Text{"en": {Title: "hot"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Do(ctx, time.Now(), nil, func(st *incident.Step) error {
		st.Alert(incident.KindAlert, "GPUOverheat", "hot", "过热", text)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	p, err := newPump(ctx, d, db, to)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.once(ctx); err != nil {
		t.Fatal(err)
	}
	if stats, err := to.Stats(ctx); err != nil || len(stats) != 1 || stats[0].Waiting != 1 {
		t.Errorf("%+v %v", stats, err)
	}
}
