package scan

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpumedic/gpumedic/internal/source"
)

// mixedText is a log of many forms with events of every kind that the small
// catalog knows, so that joins, sections and repeats fall on block borders.
func mixedText(seed uint64, lines int) string {
	rng := rand.New(rand.NewPCG(seed, 1))
	pick := func(s ...string) string { return s[rng.IntN(len(s))] }
	var b strings.Builder
	for i := range lines {
		stamp := pick(fmt.Sprintf("[%5d.%06d] ", i, rng.IntN(1e6)), fmt.Sprintf("Jun  1 10:%02d:%02d n%d kernel: ", i/60%60, i%60, rng.IntN(2)),
			fmt.Sprintf("2024-06-01T10:%02d:%02dZ n1 kernel: ", i/60%60, i%60))
		switch rng.IntN(12) {
		case 0:
			fmt.Fprintf(&b, "%sNVRM: Xid (PCI:0000:%02x:00): %d, pid=%d, name=p, Ch %d", stamp, rng.IntN(4), rng.IntN(100), rng.IntN(3), rng.IntN(3))
		case 1:
			fmt.Fprintf(&b, "%sNVRM: The NVIDIA GPU 0000:3b:00.0\n%sNVRM: (PCI ID: 10de:26b5) installed in this system has\n"+
				"%sNVRM: fallen off the bus and is not responding to commands.", stamp, stamp, stamp)
		case 2:
			fmt.Fprintf(&b, "Jun  1 10:00:00 n%d last message repeated %d times", rng.IntN(2), rng.IntN(9))
		case 3:
			b.WriteString(pick("CUDA out of memory", "x\rcuda out of memory\ry", "", "\r", strings.Repeat("long ", 60)+"host out of memory"))
		case 4:
			fmt.Fprintf(&b, "%sNVRM: Xid (PCI:0000:3b:00): 79, gone. NVRM: Xid (PCI:0000:3b:00): 45, Ch %d", stamp, i)
		case 5, 6:
			fmt.Fprintf(&b, "[rank%d]: %s", rng.IntN(3), pick("Traceback (most recent call last):", `  File "a.py", line 3, in f`, "    g()",
				"torch.OutOfMemoryError: CUDA out of memory", "ValueError: x", "INFO step 3", "", "During handling of the above exception, another exception occurred:"))
		default:
			fmt.Fprintf(&b, "%sordinary line %d", stamp, i)
		}
		b.WriteString(pick("\n", "\n", "\n", "\r\n"))
	}
	return b.String()
}

// Where blocks end must not show.
func TestBlockBordersDoNotShow(t *testing.T) {
	check := func(s *Scanner, text string) {
		t.Helper()
		want := scanText(t, s, text, Options{})
		for _, size := range []int{1, 7, 64, 100, 1000, 4096, 65536} {
			got := scanText(t, s, text, Options{Source: source.Options{BlockSize: size}})
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("blocks of %d bytes differ:\n%s", size, d)
			}
		}
	}
	s := small(t)
	for seed := range uint64(8) {
		check(s, mixedText(seed, 300))
	}
	full, _ := embedded(t)
	check(full, mixedText(99, 300))
	files, _ := filepath.Glob("../../catalog/faults/*/cases/*")
	for i, f := range files {
		if i%8 != 0 {
			continue // the catalog grows: a sample is enough here
		}
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		check(full, string(data))
	}
}

// The number of goroutines must not show, wherever blocks end.
func TestWorkersDoNotShow(t *testing.T) {
	s, _ := embedded(t)
	check := func(text string) {
		t.Helper()
		want := scanText(t, s, text, Options{Workers: 1})
		for _, workers := range []int{2, 3, 8} {
			for _, size := range []int{100, 5000, 1 << 20} {
				got := scanText(t, s, text, Options{Workers: workers, Source: source.Options{BlockSize: size}})
				if d := cmp.Diff(want, got); d != "" {
					t.Fatalf("%d workers, blocks of %d bytes differ:\n%s", workers, size, d)
				}
			}
		}
	}
	for seed := range uint64(3) {
		check(mixedText(seed, 300))
	}
	for i, text := range texts(t) {
		if i%24 == 0 && len(text) < 200<<10 {
			check(string(text))
		}
	}
}

// Inputs side by side give what they give one by one.
func TestInputsAreIndependent(t *testing.T) {
	s := small(t)
	var ins []source.Input
	var want Result
	for i := range 6 {
		text := mixedText(uint64(i), 100)
		ins = append(ins, source.FromBytes("in", []byte(text)))
		one := scanText(t, s, text, Options{})
		for _, sig := range one.Signals {
			sig.Order.Input = i
			want.Signals = append(want.Signals, sig)
		}
		want.Inputs = append(want.Inputs, one.Inputs...)
		want.Readings = append(want.Readings, one.Readings...)
	}
	got, err := s.Scan(context.Background(), ins, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// FuzzScan: any text, any block size: no panic, same result, evidence that stands
// in the input, marks within it.
func FuzzScan(f *testing.F) {
	f.Add(mixedText(1, 20), 50)
	f.Add("NVRM: The NVIDIA GPU 0000:3b:00.0\n\nNVRM: x", 3)
	f.Add("| NVIDIA-SMI 535.54 |\n\x00\xff last message repeated 3 times\nXid (\r\rXid (", 9)
	f.Add(`{"log":"NVRM: Xid (PCI:0000:3b:00): 79, pid='\u003cunknown\u003e'\n","time":"2024-06-01T10:00:00Z"}`, 64)
	s, _ := embedded(f)
	f.Fuzz(func(t *testing.T, text string, size int) {
		a := scanText(t, s, text, Options{})
		b := scanText(t, s, text, Options{Source: source.Options{BlockSize: size&0xfff + 1}})
		if d := cmp.Diff(a, b); d != "" {
			t.Fatalf("blocks of %d: %s", size&0xfff+1, d)
		}
		for _, sig := range a.Signals {
			ev := sig.Evidence
			if ev.Mark[0] < 0 || ev.Mark[0] > ev.Mark[1] || ev.Mark[1] > len(ev.Text) {
				t.Fatalf("mark %v of %q", ev.Mark, ev.Text)
			}
			if sig.Count < 1 || sig.Kind == "" || ev.Line < 0 || ev.Line > a.Inputs[0].Lines {
				t.Fatalf("signal %+v", sig)
			}
		}
	})
}
