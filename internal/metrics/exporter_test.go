package metrics_test

import (
	"bytes"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/golden"
	"github.com/gpumedic/gpumedic/internal/metrics"
	"github.com/gpumedic/gpumedic/internal/metrics/metricstest"
	"github.com/gpumedic/gpumedic/internal/metrics/names"
)

var now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func exporter(o metrics.Options, s metrics.Snapshot) *metrics.Exporter {
	if o.Now == nil {
		o.Now = func() time.Time { return now }
	}
	e := metrics.New(o)
	e.Update(s)
	return e
}

// gather gives the families of ours, after a registry's own checks: valid names and
// labels, one type a name, no series twice.
func gather(t testing.TB, e *metrics.Exporter) map[string]*dto.MetricFamily {
	t.Helper()
	list, err := prometheus.Gatherers{e}.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*dto.MetricFamily{}
	for _, f := range list {
		if names.Find(f.GetName()) != nil {
			out[f.GetName()] = f
		} else if !strings.HasPrefix(f.GetName(), "go_") && !strings.HasPrefix(f.GetName(), "process_") {
			t.Errorf("%s is in no list", f.GetName())
		}
	}
	return out
}

// value is the value of the one series whose labels include those given.
func value(t *testing.T, f *dto.MetricFamily, labels ...string) (float64, bool) {
	t.Helper()
	var found []float64
	for _, m := range f.GetMetric() {
		have := map[string]string{}
		for _, l := range m.GetLabel() {
			have[l.GetName()] = l.GetValue()
		}
		match := true
		for i := 0; i < len(labels); i += 2 {
			match = match && have[labels[i]] == labels[i+1]
		}
		if match {
			found = append(found, m.GetGauge().GetValue()+m.GetCounter().GetValue())
		}
	}
	if len(found) > 1 {
		t.Fatalf("%s%v: %d series", f.GetName(), labels, len(found))
	}
	if len(found) == 0 {
		return 0, false
	}
	return found[0], true
}

func text(e *metrics.Exporter) string {
	w := httptest.NewRecorder()
	metrics.Handler(e).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

// ours leaves out what is different in every process.
func ours(exposition string) string {
	var b strings.Builder
	for line := range strings.Lines(exposition) {
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") && !strings.HasPrefix(name, "gpumedic_build_info{") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func full(dcgm bool) *metrics.Exporter {
	weight := func(f *gpumedic.Finding) int {
		return map[string]int{gpumedic.SeverityCritical: 2, gpumedic.SeverityError: 2, gpumedic.SeverityWarning: 1}[f.Severity]
	}
	return exporter(metrics.Options{Version: "1.2.3", Catalog: "abc", DCGM: dcgm, Hostname: "node-7", Weight: weight}, metricstest.Snapshot(now, 2, 3))
}

func TestExposition(t *testing.T) {
	got := ours(text(full(true)))
	golden.Check(t, "testdata/exposition.txt", []byte(got))
}

// TestLint: the rules of Prometheus for names, types and help. DCGM's names break them
// and have to.
func TestLint(t *testing.T) {
	problems, err := testutil.GatherAndLint(full(false))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestPromtool lets Prometheus' own tool parse the text, with DCGM's names too.
func TestPromtool(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: prometheus)")
	}
	for _, dcgm := range []bool{false, true} {
		cmd := exec.Command(tool, "check", "metrics")
		cmd.Stdin = strings.NewReader(text(full(dcgm)))
		out, err := cmd.CombinedOutput()
		lint := err != nil && cmd.ProcessState.ExitCode() == 3 // it parsed, and names break its rules
		if err != nil && !(dcgm && lint) {
			t.Errorf("dcgm %v: %v\n%s", dcgm, err, out)
		}
		for line := range bytes.Lines(out) {
			if !bytes.HasPrefix(line, []byte("DCGM_")) {
				t.Errorf("%s", line)
			}
		}
	}
}

// TestEveryFamilyIsWritten: a metric that nothing writes is a promise that is not kept.
func TestEveryFamilyIsWritten(t *testing.T) {
	s := metricstest.Snapshot(now, 2, 3)
	hung := metricstest.Readings("# gpumedic readings 1\n[node]\nprobe.timeout: nvmlDeviceGetName\nprobe.timeout.seconds: 12.5\n")
	s.Readings = append(s.Readings, hung...)
	got := gather(t, exporter(metrics.Options{DCGM: true, Weight: func(*gpumedic.Finding) int { return 0 }}, s))
	for _, f := range slices.Concat(names.Families, names.DCGM) {
		if got[f.Name] == nil && !strings.HasPrefix(f.Name, "gpumedic_check_") {
			t.Errorf("%s has no series", f.Name)
		}
		if n := len(got[f.Name].GetMetric()); len(f.From) > 0 && f.From[0].Set == nil && n < len(f.From) {
			t.Errorf("%s has %d series for %d readings", f.Name, n, len(f.From))
		}
	}
}

func TestUnits(t *testing.T) {
	got := gather(t, full(true))
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"gpumedic_gpu_memory_used_bytes", []string{"gpu", "0"}, 101376 << 20},
		{"gpumedic_gpu_utilization_ratio", []string{"gpu", "1"}, 0.87},
		{"gpumedic_gpu_clock_hertz", []string{"gpu", "0", "clock", "sm"}, 1.755e9},
		{"gpumedic_gpu_clock_event_reason_seconds_total", []string{"gpu", "0", "reason", "sw_power_cap"}, 81.25},
		{"gpumedic_gpu_clock_event_reason_active", []string{"gpu", "0", "reason", "sw_power_cap"}, 1},
		{"gpumedic_gpu_temperature_margin_limit_celsius", []string{"gpu", "0", "limit", "shutdown"}, -8},
		{"gpumedic_gpu_fabric_state", []string{"gpu", "0", "state", "completed"}, 1},
		{"gpumedic_gpu_fabric_state", []string{"gpu", "0", "state", "in progress"}, 0},
		{"gpumedic_infiniband_port_rate_bytes_per_second", nil, 50e9},
		{"gpumedic_xid_last_timestamp_seconds", []string{"code", "79", "uuid", metricstest.UUID(0)}, float64(now.Add(-20 * time.Minute).Unix())},
		{"gpumedic_gpu_state", []string{"gpu", "0"}, 2},
		{"gpumedic_gpu_state", []string{"gpu", "1"}, 0},
		{"gpumedic_gpu_up", []string{"gpu", "1"}, 1},
		{"gpumedic_process_memory_used_bytes", []string{"pid", "40001", "process", "python3", "user", "alice", "pod", "train-0", "namespace", "training", "slurm_job", "7001", "gpu", "1"}, 501 << 20},
		{"gpumedic_incident", []string{"id", "i-1", "fault", "gpu-oom-capacity", "pod", "train-0", "uuid", metricstest.UUID(0)}, 1},
		{"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", []string{"gpu", "0"}, 4},
		{"DCGM_FI_DEV_XID_ERRORS", []string{"gpu", "0", "pci_bus_id", "00000000:1A:00.0", "device", "nvidia0", "Hostname", "node-7", "DCGM_FI_DRIVER_VERSION", "580.95.05", "pod", "train-0"}, 79},
		{"DCGM_FI_DEV_XID_ERRORS", []string{"gpu", "1"}, 0},
	} {
		if v, ok := value(t, got[c.name], c.labels...); !ok || v != c.want {
			t.Errorf("%s%v = %v, %v, want %v", c.name, c.labels, v, ok, c.want)
		}
	}
}

// TestNoValueNoSeries: what is absent or could not be read is no 0.
func TestNoValueNoSeries(t *testing.T) {
	doc := metricstest.Document(1, 0)
	lines := strings.Split(doc, "\n")
	for i, line := range lines {
		if key, _, ok := strings.Cut(line, ": "); ok && strings.Contains(key, ".") {
			lines[i] = key + ": " + []string{"N/A", "Unknown Error", "[Not Supported]", "nan"}[i%4]
		}
	}
	s := metrics.Snapshot{Taken: now, Readings: metricstest.Readings(strings.Join(lines, "\n"))}
	got := gather(t, exporter(metrics.Options{DCGM: true}, s))
	for _, f := range slices.Concat(names.Families, names.DCGM) {
		if len(f.From) == 0 || got[f.Name] == nil {
			continue
		}
		for _, from := range f.From {
			for _, key := range from.Keys {
				if _, other := from.Words[""]; strings.Contains(key, ".") && !other {
					t.Errorf("%s has a series of %s, which has no value", f.Name, key)
				}
			}
		}
	}
	if v, _ := value(t, got["gpumedic_gpu_unread_readings"], "gpu", "0"); v == 0 {
		t.Error("readings that could not be read are not counted")
	}
	if got["DCGM_FI_DEV_XID_ERRORS"] != nil || got["gpumedic_xid_total"] != nil {
		t.Error("nobody watched for Xids, and there is a series")
	}
}

func TestOldSnapshot(t *testing.T) {
	at := now
	e := exporter(metrics.Options{MaxAge: 30 * time.Second, Now: func() time.Time { return at }}, metricstest.Snapshot(now, 2, 3))
	at = now.Add(30 * time.Second)
	if v, _ := value(t, gather(t, e)["gpumedic_up"]); v != 1 {
		t.Error("readings at the bound are old")
	}
	at = now.Add(31 * time.Second)
	got := gather(t, e)
	if v, ok := value(t, got["gpumedic_up"]); !ok || v != 0 {
		t.Error("old readings are fresh")
	}
	for name, f := range got {
		known := names.Find(name)
		if len(known.From) > 0 || known.Scope == names.GPU && !strings.HasPrefix(name, "gpumedic_incident") && !strings.HasPrefix(name, "gpumedic_xid") {
			t.Errorf("%s: %d series of readings that are too old", name, len(f.Metric))
		}
	}
	for _, name := range []string{"gpumedic_incident", "gpumedic_xid_total", "gpumedic_source_healthy", "gpumedic_snapshot_age_seconds"} {
		if got[name] == nil {
			t.Errorf("%s is gone with the readings", name)
		}
	}
	if got := gather(t, metrics.New(metrics.Options{})); len(got["gpumedic_up"].GetMetric()) != 1 {
		t.Error("without a snapshot there is no gpumedic_up")
	}
}

// TestGPUThatDoesNotAnswer: each way in which a GPU can be lost gives a 0, and a GPU that
// is not the driver's business gives nothing.
func TestGPUThatDoesNotAnswer(t *testing.T) {
	head := "# gpumedic readings 1\n[node]\nnvml.status: ok\n[gpu 0000:1a:00.0]\npci: 0000:1a:00.0\n"
	for _, c := range []struct {
		name, readings string
		want           float64
		is             bool
	}{
		{"answers", "uuid: GPU-5f3a9c1e-77d0-4b52-9a41-000000000100\n", 1, true},
		{"is lost", "uuid: GPU-5f3a9c1e-77d0-4b52-9a41-000000000100\nstatus: GPU is lost\n", 0, true},
		{"hangs", "uuid: GPU-5f3a9c1e-77d0-4b52-9a41-000000000100\nprobe.timeout: nvmlDeviceGetName\n", 0, true},
		{"only the bus has it", "pci.driver: nvidia\npci.class: 0302\n", 0, true},
		{"only the baseline has it", "expected.present: yes\n", 0, true},
		{"is given to a virtual machine", "pci.driver: vfio-pci\n", 0, false},
		{"is excluded", "pci.driver: nvidia\ngpu.excluded: yes\n", 0, false},
	} {
		e := exporter(metrics.Options{}, metrics.Snapshot{Taken: now, Readings: metricstest.Readings(head + c.readings)})
		if v, ok := value(t, gather(t, e)["gpumedic_gpu_up"]); v != c.want || ok != c.is {
			t.Errorf("%s: up %v %v, want %v %v", c.name, v, ok, c.want, c.is)
		}
	}
	e := exporter(metrics.Options{}, metricstest.Snapshot(now, 2, 0))
	gather(t, e)
	lost := metricstest.Readings(head + "status: GPU is lost\n")
	e.Update(metrics.Snapshot{Taken: now, Readings: lost})
	if v, ok := value(t, gather(t, e)["gpumedic_gpu_up"], "uuid", metricstest.UUID(0), "gpu", "0", "name", "NVIDIA H200"); v != 0 || !ok {
		t.Errorf("a GPU that was lost has other labels than before, or is up: %v %v", v, ok)
	}
	e.Update(metricstest.Snapshot(now, 1, 0))
	if v, ok := value(t, gather(t, e)["gpumedic_gpu_up"], "uuid", metricstest.UUID(1)); v != 0 || !ok {
		t.Errorf("a GPU that is gone: up %v %v", v, ok)
	}
	e.Update(metricstest.Snapshot(now, 2, 0))
	if v, _ := value(t, gather(t, e)["gpumedic_gpu_up"], "uuid", metricstest.UUID(1)); v != 1 {
		t.Error("a GPU that came back is not up")
	}
}

func TestBounds(t *testing.T) {
	s := metricstest.Snapshot(now, 2, 50)
	for range 9 {
		s.Incidents = append(s.Incidents, s.Incidents[0])
		s.Incidents[len(s.Incidents)-1].ID += strings.Repeat("x", len(s.Incidents))
	}
	got := gather(t, exporter(metrics.Options{MaxProcesses: 10, MaxIncidents: 4}, s))
	f := got["gpumedic_process_memory_used_bytes"]
	if len(f.Metric) != 12 {
		t.Errorf("%d series of processes, want 10 and one for the rest of each GPU", len(f.Metric))
	}
	sum := 0.0
	for _, m := range f.Metric {
		sum += m.GetGauge().GetValue()
	}
	if want := float64(50*500+49*50/2) * (1 << 20); sum != want {
		t.Errorf("memory of all processes is %v, want %v", sum, want)
	}
	if v, _ := value(t, got["gpumedic_series_left_out"], "of", "processes"); v != 40 {
		t.Errorf("left out %v processes", v)
	}
	if n := len(got["gpumedic_incident"].Metric); n != 4 {
		t.Errorf("%d incidents are listed", n)
	}
	if v, _ := value(t, got["gpumedic_incidents"], "severity", "error"); v != 10 {
		t.Errorf("%v incidents are counted", v)
	}
}
