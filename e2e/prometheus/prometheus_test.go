//go:build e2e

// Package prometheus lets a real Prometheus scrape the exporter, load the alert rules and
// answer the queries of the dashboard. It needs the Debian package prometheus; without it
// it skips and says so.
package prometheus

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/metrics"
	"github.com/gpumedic/gpumedic/internal/metrics/metricstest"
	"github.com/gpumedic/gpumedic/internal/metrics/names"
)

// A server is a Prometheus that scrapes every second.
type server struct {
	t    *testing.T
	url  string
	logs *strings.Builder
}

// start gives a Prometheus with the targets, by job.
func start(t *testing.T, targets map[string]string) *server {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed (Debian: prometheus)")
	}
	rules, err := filepath.Abs("../../deploy/prometheus/gpumedic.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config strings.Builder
	fmt.Fprintf(&config, "global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\nscrape_configs:\n", rules)
	for job, target := range targets {
		fmt.Fprintf(&config, "  - {job_name: %s, static_configs: [{targets: [%q]}]}\n", job, target)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	address := free(t)
	s := &server{t: t, url: "http://" + address, logs: &strings.Builder{}}
	cmd := exec.Command(program, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	cmd.Stderr = s.logs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(s.logs)
		}
	})
	return s
}

func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// get reads data of the API.
func (s *server) get(path string, values url.Values, data any) error {
	r, err := http.Get(s.url + path + "?" + values.Encode())
	if err != nil {
		return err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		return fmt.Errorf("%s: %s", r.Status, b)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s", answer.Error)
	}
	return json.Unmarshal(answer.Data, data)
}

type sample struct {
	Metric map[string]string
	Value  [2]any
}

func (s *server) query(q string) ([]sample, error) {
	var data struct{ Result []sample }
	err := s.get("/api/v1/query", url.Values{"query": {q}}, &data)
	return data.Result, err
}

// until waits for what must come.
func (s *server) until(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if is() {
			return
		}
	}
	s.t.Fatalf("%s did not come", what)
}

// exporter serves a node whose snapshot is always new; counters rise by and by.
func exporter(t *testing.T, o metrics.Options) string {
	t.Helper()
	o.Version, o.Catalog = "test", "test"
	o.Weight = func(*gpumedic.Finding) int { return gpumedic.ExitFault }
	e := metrics.New(o)
	h := metrics.Handler(e)
	var scrapes atomic.Uint64
	readings := metricstest.Snapshot(time.Now(), 2, 3).Readings
	readings = append(readings, metricstest.Readings("# gpumedic readings 1\n[node]\nprobe.timeout: nvmlDeviceGetName\nprobe.timeout.seconds: 12.5\n")...)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := metricstest.Snapshot(time.Now(), 0, 0)
		s.Readings = readings
		s.Opened["gpu-oom-capacity"] += scrapes.Add(1)
		e.Update(s)
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return strings.TrimPrefix(web.URL, "http://")
}

func TestPrometheus(t *testing.T) {
	s := start(t, map[string]string{
		"gpumedic": exporter(t, metrics.Options{}),
		"dcgm":     exporter(t, metrics.Options{DCGM: true, Hostname: "node-7"}),
	})
	// Rates and comparisons with a minute ago need more than one scrape.
	s.until("ten scrapes of both targets", func() bool {
		r, err := s.query(`count_over_time(up[1m] ) > 10 and up == 1`)
		return err == nil && len(r) == 2
	})
	t.Run("every metric arrives", func(t *testing.T) {
		for _, f := range names.Families {
			if strings.HasPrefix(f.Name, "gpumedic_check_") {
				continue
			}
			if r, err := s.query(f.Name + `{job="gpumedic"}`); err != nil || len(r) == 0 {
				t.Errorf("%s: %d series, %v", f.Name, len(r), err)
			}
		}
		for _, f := range names.DCGM {
			if r, err := s.query(f.Name + `{job="dcgm", modelName="NVIDIA H200", Hostname="node-7"}`); err != nil || len(r) != 2 {
				t.Errorf("%s: %d series, %v", f.Name, len(r), err)
			}
		}
	})
	t.Run("types and help arrive", func(t *testing.T) {
		var meta map[string][]struct{ Type, Help string }
		if err := s.get("/api/v1/metadata", nil, &meta); err != nil {
			t.Fatal(err)
		}
		for _, f := range append(names.Families[:len(names.Families):len(names.Families)], names.DCGM...) {
			if strings.HasPrefix(f.Name, "gpumedic_check_") {
				continue
			}
			m := meta[f.Name]
			if len(m) == 0 { // OpenMetrics names a family of counters without its ending
				m = meta[strings.TrimSuffix(f.Name, "_total")]
			}
			if len(m) == 0 || m[0].Type != string(f.Type) || m[0].Help == "" {
				t.Errorf("%s: %+v", f.Name, m)
			}
		}
	})
	t.Run("panels", func(t *testing.T) { panels(t, s) })
	t.Run("rules", func(t *testing.T) { alerts(t, s) })
}

// panels runs each query of the dashboard as Grafana does.
func panels(t *testing.T, s *server) {
	d, err := metricstest.ReadDashboard("../../deploy/grafana/gpumedic.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range d.Queries() {
		var data struct{ Result []json.RawMessage }
		now := time.Now()
		err := s.get("/api/v1/query_range", url.Values{"query": {q.Expr}, "step": {"1"},
			"start": {fmt.Sprint(now.Add(-15 * time.Second).Unix())}, "end": {fmt.Sprint(now.Unix())}}, &data)
		if err != nil {
			t.Errorf("%s: %v", q.Panel, err)
		} else if len(data.Result) == 0 {
			t.Errorf("%s: nothing for %s", q.Panel, q.Expr)
		}
	}
}

// alerts: all rules are evaluated without an error, and those that the snapshot is made
// for are there.
func alerts(t *testing.T, s *server) {
	var data struct {
		Groups []struct {
			Name  string
			Rules []struct{ Name, Health, LastError, State string }
		}
	}
	state := map[string]string{}
	s.until("evaluation of all rules", func() bool {
		if err := s.get("/api/v1/rules", nil, &data); err != nil {
			t.Fatal(err)
		}
		for _, g := range data.Groups {
			for _, r := range g.Rules {
				if r.Health == "unknown" {
					return false
				}
				if r.Health != "ok" {
					t.Fatalf("%s: %s %s", r.Name, r.Health, r.LastError)
				}
				state[r.Name] = r.State
			}
		}
		return len(state) > 40
	})
	for name, want := range map[string]string{
		"GPUIncidentCritical": "firing", "GPUIncidentOfJob": "firing", "GPUDriverCallStuck": "pending",
		"GPUNotAnswering": "inactive", "GPUUncorrectableECC": "inactive", "GPUOverheat": "inactive", "GpumedicReadingsOld": "inactive",
	} {
		if state[name] != want {
			t.Errorf("%s is %q, want %s", name, state[name], want)
		}
	}
}
