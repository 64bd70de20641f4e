package metrics_test

import (
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/gpumedic/gpumedic/internal/metrics"
	"github.com/gpumedic/gpumedic/internal/metrics/metricstest"
	"github.com/gpumedic/gpumedic/internal/metrics/names"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

// TestDCGMReadsBack: the reader of dcgm-exporter's output, which was made from recorded
// ones, gets from ours the readings that it was made of.
func TestDCGMReadsBack(t *testing.T) {
	var lines []string
	for line := range strings.Lines(text(full(true))) {
		if !strings.Contains(line, "XID") && (strings.HasPrefix(line, "DCGM_") || strings.HasPrefix(line, "# HELP DCGM_")) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	sets, n := section.Parse(section.Text(lines))
	if n != len(lines) || len(sets) != 2 {
		t.Fatalf("%d GPUs in %d of %d lines", len(sets), n, len(lines))
	}
	want := map[string]string{}
	for _, s := range metricstest.Readings(metricstest.Document(1, 0)) {
		if s.Subject.GPU.PCI != "" && s.Values["mig.uuid"].Value == "" {
			for k, r := range s.Values {
				want[k] = r.Value
			}
		}
	}
	got := map[string]string{}
	for k, r := range sets[0].Values {
		got[k] = r.Value
	}
	if len(got) < 35 {
		t.Errorf("only %d readings: %v", len(got), slices.Sorted(maps.Keys(got)))
	}
	for k, v := range got {
		if want[k] != v && k != "clocks_event_reasons.active" {
			t.Errorf("%s is %q, was %q", k, v, want[k])
		}
	}
}

// TestAnyReadings: no readings, however odd, make an exposition that a registry refuses.
func TestAnyReadings(t *testing.T) {
	var keys []string
	for _, f := range names.Families {
		for _, from := range f.From {
			keys = append(keys, from.Keys...)
		}
	}
	keys = append(keys, "uuid", "name", "process.pid", "process.name", "user", "mig.uuid", "probe.timeout", "status", "index", "ib.device", "driver.version")
	rapid.Check(t, func(t *rapid.T) {
		var sets []section.Readings
		for range rapid.IntRange(0, 12).Draw(t, "sets") {
			s := section.Readings{Values: map[string]section.Reading{}}
			if rapid.Bool().Draw(t, "gpu") {
				s.Subject.GPU.PCI = metricstest.PCI(rapid.IntRange(0, 2).Draw(t, "n"))
			}
			for range rapid.IntRange(0, 8).Draw(t, "values") {
				k := rapid.SampledFrom(keys).Draw(t, "key")
				v := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"1", "-3", "1e400", "NaN", "yes", "N/A", "gpu is lost", "\xff\n\"\\"})).Draw(t, "value")
				s.Values[k] = section.Reading{Key: k, Value: v}
			}
			sets = append(sets, s)
		}
		e := exporter(metrics.Options{DCGM: true, MaxProcesses: 2}, metrics.Snapshot{Taken: now, Readings: sets})
		if _, err := (prometheus.Gatherers{e}).Gather(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestScrapesAtOnce: scrapes of one snapshot share its series while a new one comes.
func TestScrapesAtOnce(t *testing.T) {
	e := full(true)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				if !strings.Contains(text(e), "gpumedic_gpu_up{") {
					t.Error("a scrape without GPUs")
				}
			}
		})
	}
	for range 5 {
		e.Update(metricstest.Snapshot(now, 2, 3))
	}
	wg.Wait()
}

// BenchmarkScrape: eight GPUs and 200 processes, through the handler, by a client that
// asks for OpenMetrics and gzip as Prometheus does, each of a new snapshot.
func BenchmarkScrape(b *testing.B) {
	for _, encoding := range []string{"identity", "gzip"} {
		b.Run(encoding, func(b *testing.B) {
			e := exporter(metrics.Options{Now: time.Now}, metrics.Snapshot{})
			h := metrics.Handler(e)
			snapshot := metricstest.Snapshot(time.Now(), 8, 200)
			var took []time.Duration
			size := 0
			b.ReportAllocs()
			for b.Loop() {
				snapshot.Taken = time.Now()
				e.Update(snapshot)
				r := httptest.NewRequest("GET", "/metrics", nil)
				r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")
				r.Header.Set("Accept-Encoding", encoding)
				w := httptest.NewRecorder()
				start := time.Now()
				h.ServeHTTP(w, r)
				took = append(took, time.Since(start))
				size = w.Body.Len()
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(size), "bytes")
		})
	}
}
