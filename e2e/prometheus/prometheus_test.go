//go:build e2e

// Package prometheus lets a real Prometheus scrape the exporter, load the alert rules and
// answer the queries of the dashboard. It needs the Debian package prometheus; without it
// it skips and says so.
package prometheus

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/e2e/peers"
	"github.com/gpumedic/gpumedic/internal/metrics"
	"github.com/gpumedic/gpumedic/internal/metrics/metricstest"
	"github.com/gpumedic/gpumedic/internal/metrics/names"
)

// start gives a Prometheus that scrapes the targets, by job, every second.
func start(t *testing.T, targets map[string]string) *peers.Prometheus {
	t.Helper()
	rules, err := filepath.Abs("../../deploy/prometheus/gpumedic.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config strings.Builder
	fmt.Fprintf(&config, "global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\nscrape_configs:\n", rules)
	for job, target := range targets {
		fmt.Fprintf(&config, "  - {job_name: %s, static_configs: [{targets: [%q]}]}\n", job, target)
	}
	return peers.StartPrometheus(t, config.String())
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
	peers.Until(t, "ten scrapes of both targets", func() bool {
		r, err := s.Query(`count_over_time(up[1m] ) > 10 and up == 1`)
		return err == nil && len(r) == 2
	})
	t.Run("every metric arrives", func(t *testing.T) {
		for _, f := range names.Families {
			if strings.HasPrefix(f.Name, "gpumedic_check_") {
				continue
			}
			if r, err := s.Query(f.Name + `{job="gpumedic"}`); err != nil || len(r) == 0 {
				t.Errorf("%s: %d series, %v", f.Name, len(r), err)
			}
		}
		for _, f := range names.DCGM {
			if r, err := s.Query(f.Name + `{job="dcgm", modelName="NVIDIA H200", Hostname="node-7"}`); err != nil || len(r) != 2 {
				t.Errorf("%s: %d series, %v", f.Name, len(r), err)
			}
		}
	})
	t.Run("types and help arrive", func(t *testing.T) {
		var meta map[string][]struct{ Type, Help string }
		if err := s.Get("/api/v1/metadata", nil, &meta); err != nil {
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
func panels(t *testing.T, s *peers.Prometheus) {
	d, err := metricstest.ReadDashboard("../../deploy/grafana/gpumedic.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range d.Queries() {
		var data struct{ Result []json.RawMessage }
		now := time.Now()
		err := s.Get("/api/v1/query_range", url.Values{"query": {q.Expr}, "step": {"1"},
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
func alerts(t *testing.T, s *peers.Prometheus) {
	var data struct {
		Groups []struct {
			Name  string
			Rules []struct{ Name, Health, LastError, State string }
		}
	}
	state := map[string]string{}
	peers.Until(t, "evaluation of all rules", func() bool {
		if err := s.Get("/api/v1/rules", nil, &data); err != nil {
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
