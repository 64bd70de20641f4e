package web_test

import (
	"net/http/httptest"
	"testing"

	"github.com/gpumedic/gpumedic/internal/web"
	"github.com/gpumedic/gpumedic/internal/web/webtest"
)

func benchmark(b *testing.B, path string) {
	s, err := webtest.Lost(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Store.Close()
	h, err := web.New(s.Config())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("GET", path, nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 {
			b.Fatal(w.Code)
		}
		b.ReportMetric(float64(w.Body.Len())/1024, "KiB/answer")
	}
}

func BenchmarkNodePage(b *testing.B) { benchmark(b, "/") }
func BenchmarkIncident(b *testing.B) { benchmark(b, "/incidents/1") }
func BenchmarkSeries(b *testing.B)   { benchmark(b, "/api/v1/series") }

func BenchmarkRingsAdd(b *testing.B) {
	s, err := webtest.Healthy(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Store.Close()
	b.ReportAllocs()
	for b.Loop() {
		s.Rings.Add(s.Now, s.Info.Report.GPUs)
	}
}
