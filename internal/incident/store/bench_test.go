package store

import (
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
)

// BenchmarkSameAnswer is what every second costs while eight incidents are open and
// nothing happens.
func BenchmarkSameAnswer(b *testing.B) {
	s, err := Open(b.Context(), b.TempDir()+"/i.db", Options{Create: true})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var all []gpumedic.Finding
	for n := range 8 {
		all = append(all, fault(n, 1, t0))
	}
	now := t0
	for b.Loop() {
		now = now.Add(time.Second)
		if _, err := s.Observe(b.Context(), now, incident.Observation{Node: "n1", Run: "r", Findings: all}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNewIncident is a transition: it is on the disk when it returns.
func BenchmarkNewIncident(b *testing.B) {
	s, err := Open(b.Context(), b.TempDir()+"/i.db", Options{Create: true})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	n := 0
	for b.Loop() {
		n++
		f := fault(n, n, t0.Add(time.Duration(n)*time.Hour))
		now := t0.Add(time.Duration(n) * time.Hour)
		if _, err := s.Observe(b.Context(), now, incident.Observation{Node: "n1", Run: "r", Findings: []gpumedic.Finding{f}}, nil); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Do(b.Context(), now, nil, func(st *incident.Step) error { return st.Close(int64(n), true, "b", "b") }); err != nil {
			b.Fatal(err)
		}
	}
}
