package diagnose

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
)

// TestMergedPeersStayWithTheRoot: the root of GPUs hit in one moment is the one with the
// lowest address, in whatever order they come; what the others report is its own, although
// the root changes places with each of them in the merge.
func TestMergedPeersStayWithTheRoot(t *testing.T) {
	const a, b, c = "0000:3b:00.0", "0000:5d:00.0", "0000:9a:00.0"
	for _, order := range [][]string{{a, b, c}, {c, b, a}, {b, c, a}, {c, a, b}} {
		e := New(smallCatalog(t))
		for n, gpu := range order {
			e.Add(sig("xid.79", gpu, time.Duration(n)*time.Microsecond, n+1))
		}
		w := e.world("en")
		roots, _ := w.choose(w.hypotheses())
		name := strings.Join(order, " ")
		if len(roots) != 1 || roots[0].at.pci != a {
			t.Fatalf("%s: %d roots, first %v; want one, %s", name, len(roots), roots[0].at, a)
		}
		root := roots[0]
		var also []string
		for _, m := range root.merged {
			also = append(also, m.at.gpu)
			if len(m.alsoGPU) > 0 || len(m.merged) > 0 {
				t.Errorf("%s: %s is merged and holds others itself", name, m.at.gpu)
			}
		}
		slices.Sort(also)
		if got := slices.Sorted(maps.Keys(root.alsoGPU)); !slices.Equal(got, also) || len(got) != 2 || root.alsoGPU[root.at.gpu] {
			t.Errorf("%s: also %v, merged %v; want both others", name, got, also)
		}
		for i := range w.signals {
			if !w.related(root, i, "same_gpu") || !root.owns(i) {
				t.Errorf("%s: the signal of %s is not of the root", name, w.where[i].pci)
			}
		}
	}
}

// TestClocksAreAligned: the host whose clock is behind failed later, although its times
// are earlier; the times shown stay those of the input, and a note tells it.
func TestClocksAreAligned(t *testing.T) {
	on := func(host string, s gpumedic.Signal) gpumedic.Signal {
		s.Subject.Node = host
		s.Evidence.Input = host + ".log"
		return s
	}
	met := func(host string, at time.Duration, line int) gpumedic.Signal {
		return on(host, fact(sig("torch.rdzv_complete", "", at, line, "master", "a")))
	}
	// xid.31 on b at 10:05 by a clock ten minutes behind is 10:15: after a's xid.94.
	c := conclude(smallCatalog(t), met("a", 0, 1), met("b", -10*time.Minute, 2),
		on("a", sig("xid.94", "0000:3b:00.0", 8*time.Minute, 3)), on("b", sig("xid.31", "0000:5d:00.0", 5*time.Minute, 4)))
	if len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "clock of b is about 10m0s behind that of a") {
		t.Errorf("notes %q", c.Notes)
	}
	for _, f := range c.Findings {
		if f.Subject.Node == "b" && f.FirstSeen != "2026-03-01T10:05:00.000000Z" {
			t.Errorf("first seen %s: not the time that the input states", f.FirstSeen)
		}
	}
}
