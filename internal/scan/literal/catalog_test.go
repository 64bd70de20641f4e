package literal_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/scan"
	"github.com/gpumedic/gpumedic/internal/scan/literal"
)

func catalogLiterals(t testing.TB) []literal.Literal {
	t.Helper()
	c, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	s, err := scan.New(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.Literals()
}

// TestCatalog looks for every literal of the catalog in a text of random junk, parts of
// literals and whole ones, in both cases, and wants what bytes.Contains finds.
func TestCatalog(t *testing.T) {
	lits := catalogLiterals(t)
	s, ref := literal.New(lits), literal.Naive(lits)
	rng := rand.New(rand.NewPCG(11, 4))
	for round := range 4 {
		var text []byte
		for _, i := range rng.Perm(len(lits)) {
			l := []byte(lits[i].Text)
			for range rng.IntN(12) {
				text = append(text, "\n -:0aeiE(/\xff"[rng.IntN(12)])
			}
			switch rng.IntN(4) {
			case 0:
				l = bytes.ToUpper(l)
			case 1:
				l = l[rng.IntN(len(l)):]
			}
			text = append(text, l...)
		}
		got, want := s.Find(nil, text), ref.Find(nil, text)
		if !slices.Equal(got, want) {
			t.Fatalf("round %d: %d hits, want %d", round, len(got), len(want))
		}
		found := map[int32]bool{}
		for _, h := range got {
			found[h.ID] = true
		}
		for i, l := range lits {
			in, needle := text, []byte(l.Text)
			if l.Fold {
				in, needle = bytes.ToLower(in), bytes.ToLower(needle)
			}
			if bytes.Contains(in, needle) != found[int32(i)] {
				t.Errorf("round %d: literal %q (fold %v) found: %v", round, l.Text, l.Fold, found[int32(i)])
			}
		}
	}
}

// FuzzCatalog compares on any text, with the literals of the catalog.
func FuzzCatalog(f *testing.F) {
	lits := catalogLiterals(f)
	s, ref := literal.New(lits), literal.Naive(lits)
	f.Add([]byte("NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"), uint16(3))
	f.Add([]byte("loss: 1.2e+08 CUDA out of memory rc=139 Killed"), uint16(900))
	f.Fuzz(func(t *testing.T, text []byte, pick uint16) {
		if len(text) > 1<<12 {
			return // the reference is slow
		}
		text = append(append(text, lits[int(pick)%len(lits)].Text...), text...)
		if got, want := s.Find(nil, text), ref.Find(nil, text); !slices.Equal(got, want) {
			t.Fatalf("in %q:\n got %v\nwant %v", text, got, want)
		}
	})
}

// BenchmarkCatalogNew: building the tables is part of every start of the program.
func BenchmarkCatalogNew(b *testing.B) {
	lits := catalogLiterals(b)
	for b.Loop() {
		literal.New(lits)
	}
}
