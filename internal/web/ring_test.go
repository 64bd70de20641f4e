package web_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/internal/report"
	"github.com/gpumedic/gpumedic/internal/web"
)

var t0 = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func num(f float64) *float64 { return &f }

func card(uuid, pci string, busy, heat float64) report.GPU {
	return report.GPU{UUID: uuid, PCI: pci, Utilization: num(busy), Temperature: num(heat)}
}

func read(t *testing.T, r *web.Rings, name string, step time.Duration) web.Series {
	t.Helper()
	list := r.Read(name, t0.Add(-time.Hour), t0.Add(time.Hour), step)
	if len(list) != 1 {
		t.Fatalf("%d series of %q, want 1", len(list), name)
	}
	return list[0]
}

// TestRingKeepsTheLast: what does not fit pushes out the oldest.
func TestRingKeepsTheLast(t *testing.T) {
	r := web.NewRings(4)
	for n := range 10 {
		r.Add(t0.Add(time.Duration(n)*time.Second), []report.GPU{card("GPU-a", "0000:01:00.0", float64(n), 40)})
	}
	s := read(t, r, "gpu-a", time.Second)
	if got := s.Values[web.Utilization]; len(got) != 4 || got[0] != 6 || got[3] != 9 {
		t.Errorf("values %v", got)
	}
	if s.AtMS[0] != t0.Add(6*time.Second).UnixMilli() {
		t.Errorf("begins at %d", s.AtMS[0])
	}
}

// TestRingSteps: of a step the utilisation is the mean, a temperature the peak.
func TestRingSteps(t *testing.T) {
	r := web.NewRings(100)
	for n, heat := range []float64{40, 90, 41, 42} {
		r.Add(t0.Add(time.Duration(n)*time.Second), []report.GPU{card("GPU-a", "", float64(10*n), heat)})
	}
	s := read(t, r, "GPU-a", 2*time.Second)
	if u, h := s.Values[web.Utilization], s.Values[web.Temperature]; len(u) != 2 || u[0] != 5 || u[1] != 25 || h[0] != 90 || h[1] != 42 {
		t.Errorf("busy %v, temperature %v", u, h)
	}
}

// TestRingGaps: a value that was not read, and a card that is missing, are gaps and not
// zeros; in JSON they are null.
func TestRingGaps(t *testing.T) {
	r := web.NewRings(100)
	r.Add(t0, []report.GPU{card("GPU-a", "", 10, 40), card("GPU-b", "", 10, 40)})
	r.Add(t0.Add(time.Second), []report.GPU{{UUID: "GPU-a"}})
	for _, name := range []string{"GPU-a", "GPU-b"} {
		s := read(t, r, name, time.Second)
		if v := s.Values[web.Temperature]; len(v) != 2 || !math.IsNaN(float64(v[1])) {
			t.Errorf("%s: %v", name, v)
		}
		b, err := json.Marshal(s)
		if err != nil || !strings.Contains(string(b), `"temperature_c":[40,null]`) {
			t.Errorf("%s: %s, %v", name, b, err)
		}
	}
}

// TestRingFollowsTheCard: a card that moved keeps its series, another in its slot has
// its own.
func TestRingFollowsTheCard(t *testing.T) {
	r := web.NewRings(100)
	r.Add(t0, []report.GPU{card("GPU-a", "0000:01:00.0", 1, 40)})
	r.Add(t0.Add(time.Second), []report.GPU{card("GPU-b", "0000:01:00.0", 2, 40), card("GPU-a", "0000:02:00.0", 3, 40)})
	if v := read(t, r, "GPU-a", time.Second).Values[web.Utilization]; v[1] != 3 {
		t.Errorf("moved card: %v", v)
	}
	if v := read(t, r, "GPU-b", time.Second).Values[web.Utilization]; len(v) != 1 || v[0] != 2 {
		t.Errorf("new card: %v", v)
	}
}

// TestRingClockBack: a clock that is set back loses nothing of what follows.
func TestRingClockBack(t *testing.T) {
	r := web.NewRings(100)
	for _, d := range []int{0, 10, 5, 20} {
		r.Add(t0.Add(time.Duration(d)*time.Second), []report.GPU{card("GPU-a", "", float64(d), float64(d))})
	}
	s := read(t, r, "GPU-a", time.Second)
	for i := 1; i < len(s.AtMS); i++ {
		if s.AtMS[i] <= s.AtMS[i-1] {
			t.Fatalf("times %v", s.AtMS)
		}
	}
	if s.AtMS[len(s.AtMS)-1] != t0.Add(20*time.Second).UnixMilli() {
		t.Errorf("times %v", s.AtMS)
	}
}

// TestRingsAreBounded: cards that come and go take a bounded room.
func TestRingsAreBounded(t *testing.T) {
	r := web.NewRings(4)
	for n := range 1000 {
		r.Add(t0, []report.GPU{{UUID: "GPU-" + itoa(int64(n))}})
	}
	if n := len(r.Read("", t0.Add(-time.Hour), t0, time.Second)); n > 64 {
		t.Errorf("%d rings", n)
	}
}

func TestChartLine(t *testing.T) {
	at := func(min float64) int64 { return t0.Add(time.Duration(min * float64(time.Minute))).UnixMilli() }
	nan := float32(math.NaN())
	for _, c := range []struct {
		at     []int64
		values []float32
		want   string
	}{
		{[]int64{at(-60), at(-60) + 10000}, []float32{0, 100}, "M0.0 39.0h0.1L0.7 1.0"},
		{[]int64{at(-30), at(-30) + 10000, at(-30) + 20000}, []float32{50, nan, 50}, "M120.0 20.0h0.1M121.3 20.0h0.1"}, // a gap is not bridged
		{[]int64{at(-30), at(-15)}, []float32{50, 50}, "M120.0 20.0h0.1M180.0 20.0h0.1"},                               // nor is a time without readings
		{nil, nil, ""},
	} {
		if got := web.Drawn(c.at, c.values, 1, 0, 100, t0); got != c.want {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
}

func TestDecisivePart(t *testing.T) {
	for _, c := range []struct {
		text string
		mark [2]int
		want string
	}{
		{"a Xid 79 b", [2]int{2, 8}, "Xid 79"}, {"abc", [2]int{2, 9}, ""}, {"abc", [2]int{-1, 2}, ""}, {"abc", [2]int{2, 2}, ""}, {"显存", [2]int{1, 3}, ""}, {"显存", [2]int{3, 6}, "存"},
	} {
		l := web.LineOf("/var/log/kern.log", 7, c.text, c.mark, 1)
		if l.Mark != c.want || l.Before+l.Mark+l.Rest != c.text || l.Place != "kern.log:7" {
			t.Errorf("%q %v: %+v", c.text, c.mark, l)
		}
	}
}
