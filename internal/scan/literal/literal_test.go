package literal

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func check(t *testing.T, lits []Literal, text string) {
	t.Helper()
	want := Naive(lits).Find(nil, []byte(text))
	for _, vectors := range ways() {
		if got := build(lits, vectors).Find(nil, []byte(text)); !slices.Equal(got, want) {
			t.Fatalf("vectors %v, literals %v in %q:\n got %v\nwant %v", vectors, lits, text, got, want)
		}
	}
}

// ways are the ways of probing that this machine has.
func ways() []bool {
	if vectors {
		return []bool{false, true}
	}
	return []bool{false}
}

func TestFind(t *testing.T) {
	lits := []Literal{{"Xid (", false}, {"NVRM: ", false}, {"out of memory", true}, {"aa", false}, {"a", true},
		{"", false}, {"AER: ", false}, {"callbacks suppressed", false}, {"BadTLP", false}, {"aer: ", true}}
	check(t, lits, "")
	check(t, lits, "Xid (")
	check(t, lits, "NVRM: Xid (PCI:0000:3b:00): 79 Out Of Memory OUT OF MEMORY aaaa AAAA AER: aer: BadTLP")
	for pad := range 12 {
		check(t, lits, strings.Repeat("-", pad)+"callbacks suppressed"+"Xid ("+strings.Repeat("z", pad)+"out of MEMORY")
	}
}

// TestGramList: the list is read by position, so an editor that touches it breaks it.
func TestGramList(t *testing.T) {
	for i, line := range strings.Split(strings.TrimSuffix(gramList, "\n"), "\n") {
		if len(line) != 5 || !strings.Contains("0123456789abcdef", line[:1]) {
			t.Fatalf("line %d of grams.txt: %q", i+1, line)
		}
	}
	g := commonGrams()
	if common, rare := g.of([]byte("for ")), g.of([]byte("XzQj")); common <= rare {
		t.Errorf("cost of a common window is %d, of a rare one %d", common, rare)
	}
}

// FuzzLiteral compares with the definition: each part of words is a literal, every
// second one without case.
func FuzzLiteral(f *testing.F) {
	f.Add("Xid (|NVRM: |out of memory|a|ab", "NVRM: Xid (PCI out OF memory ababab")
	f.Add("aaaa|aaaaaaa|aaa", strings.Repeat("a", 40))
	f.Add("@@@@`@@|[{[{[{[", "`@@@@@@@`{[{[{[{[{{{{")
	f.Fuzz(func(t *testing.T, words, text string) {
		var lits []Literal
		for i, w := range strings.Split(words, "|") {
			lits = append(lits, Literal{w, i%2 == 1})
		}
		check(t, lits, text)
		check(t, lits, text+words+text)
		check(t, lits, strings.Repeat(text+words, 2*stretch/(len(text+words)+1)%64)+words)
	})
}

// TestStretches puts literals across the borders of what a kernel takes at a time, and
// at every place near the ends of a block.
func TestStretches(t *testing.T) {
	lits := []Literal{{"Xid (", false}, {"e+07", true}, {"rc=", false}, {"out of memory", true}, {"fallen off the bus", false}, {"memory", true}}
	for at := stretch - 24; at < stretch+24; at++ {
		text := bytes.Repeat([]byte{'-'}, stretch+64)
		for _, l := range lits {
			copy(text[at:], l.Text)
			check(t, lits, string(text))
		}
	}
	for size := range 80 {
		check(t, lits, strings.Repeat("E+07rc=", 12)[:size]+"Xid (memory")
		check(t, lits, strings.Repeat("Out of memory", 7)[:size])
	}
}

// sampleLog is a mixed log of about size bytes, one line in rare of interest.
func sampleLog(size, rare int) []byte {
	rng := rand.New(rand.NewPCG(7, 7))
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		ts := fmt.Sprintf("Jun %2d %02d:%02d:%02d node%d ", rng.IntN(30)+1, rng.IntN(24), rng.IntN(60), rng.IntN(60), rng.IntN(8))
		if rng.IntN(rare) == 0 {
			fmt.Fprintf(&b, "%skernel: NVRM: Xid (PCI:0000:3b:00): 31, pid=%d, name=python, Ch %08x\n", ts, rng.IntN(9999), i)
			continue
		}
		switch rng.IntN(4) {
		case 0:
			fmt.Fprintf(&b, "%ssystemd[1]: Started Session %d of user root.\n", ts, i)
		case 1:
			fmt.Fprintf(&b, "%skernel: [UFW BLOCK] IN=eth0 OUT= MAC=%012x SRC=10.0.%d.%d LEN=%d\n", ts, rng.Int64(), rng.IntN(256), rng.IntN(256), i)
		case 2:
			fmt.Fprintf(&b, "%strain[%d]: step %d loss %.4f lr %.2e tokens/s %d\n", ts, rng.IntN(9999), i, rng.Float64(), rng.Float64(), rng.IntN(90000))
		default:
			fmt.Fprintf(&b, "%skubelet[912]: I0611 10:%02d:00.000000 912 operation_generator.go:%d] MountVolume.SetUp succeeded\n", ts, i%60, i)
		}
	}
	return []byte(b.String())
}

func BenchmarkLiteral(b *testing.B) {
	words := strings.Fields(`RmInitAdapter fallen_off_the_bus AER:_ PCIe_Bus_Error DPC:_ pciehp: Xid_( SXid_( EDAC_MC mce:
		Hardware_Error blocked_for_more soft_lockup rcu_sched Out_of_memory: Killed_process oom-kill NCCL_WARN ProcessGroupNCCL
		CUDA_error CUDA_out_of_memory torch.OutOfMemoryError Traceback_(most nvidia-peermem nv_peer_mem mlx5_core NVSRM
		version_magic callbacks_suppressed nvidia-fabricmanager nvidia-persistenced insufficient_permissions DMAR: AMD-Vi:
		BAR_ BadTLP nouveau segfault_at thermal_zone GSP_RPC libcuda NVML: slurmstepd: oom_kill_event`)
	var lits []Literal
	for i := range 6 {
		for _, w := range words {
			w = strings.ReplaceAll(w, "_", " ")
			if i > 0 {
				w = fmt.Sprintf("%s%c%d", w, 'q'+i, i)
			}
			lits = append(lits, Literal{w, i%3 == 2})
		}
	}
	block := sampleLog(1<<20, 2000)
	for _, vectors := range ways() {
		b.Run(fmt.Sprintf("vectors=%v", vectors), func(b *testing.B) {
			s := build(lits, vectors)
			b.SetBytes(int64(len(block)))
			var hits []Hit
			for b.Loop() {
				hits = s.Find(hits[:0], block)
			}
			b.ReportMetric(float64(len(lits)), "literals")
			b.ReportMetric(float64(len(hits)), "hits")
		})
	}
}
