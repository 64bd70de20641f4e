package scan

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is counted without being made is counted as if it were made.
func TestCountedAgainAsMade(t *testing.T) {
	s, _ := embedded(t)
	slow, _ := embedded(t)
	for i := range slow.decide {
		slow.decide[i].Store(&deciding{})
	}
	rng := rand.New(rand.NewPCG(11, 5))
	var b strings.Builder
	for i := range 12_000 {
		at := fmt.Sprintf("Jun  1 %02d:%02d:%02d n%d ", i/3600%24, i/60%60, i%60, rng.IntN(2))
		switch rng.IntN(7) {
		case 0:
			fmt.Fprintf(&b, "%skernel: [%d.%06d] [UFW BLOCK] IN=eth0 OUT= MAC=aa SRC=10.0.0.%d DST=10.1.0.%d LEN=40 PROTO=TCP SPT=%d DPT=%d WINDOW=1024\n",
				at, i, rng.IntN(1e6), rng.IntN(250), rng.IntN(250), rng.IntN(65536), rng.IntN(330))
		case 1:
			fmt.Fprintf(&b, "%skernel: [%d.%06d] NVRM: Xid (PCI:0000:%02x:00): %d, pid=%d, name=python3, Ch %08x\n", at, i, rng.IntN(1e6), rng.IntN(3), 31+rng.IntN(3), rng.IntN(9000), rng.IntN(9))
		case 2:
			fmt.Fprintf(&b, "%skernel: [%d.%06d] mlx5_core 0000:%02x:00.0: mlx5_cmd_check:810:(pid %d): CREATE_MKEY(0x%x) op_mod(0x0) failed, status bad resource(0x5), syndrome (0x%x)\n",
				at, i, rng.IntN(1e6), rng.IntN(3), rng.IntN(9000), rng.IntN(4), rng.IntN(400))
		case 3:
			fmt.Fprintf(&b, "[rank%d]: n1:%d:%d [%d] NCCL INFO Channel %02d/0 : %d[%d] -> %d[%d] via P2P/CUMEM/read\n", rng.IntN(4), 100+rng.IntN(4), i, rng.IntN(4), rng.IntN(16), rng.IntN(4), rng.IntN(4), rng.IntN(4), rng.IntN(4))
		case 4:
			fmt.Fprintf(&b, "%skernel: [%d.%06d] nvidia-nvswitch3: SXid (PCI:0000:%02x:00.0): %d, Non-fatal, Link %d\n", at, i, rng.IntN(1e6), rng.IntN(2), 11004+rng.IntN(2), rng.IntN(60))
		case 5:
			fmt.Fprintf(&b, "%skernel: [%d.%06d] Out of memory: Killed process %d (python3) total-vm:%dkB, anon-rss:%dkB\n", at, i, rng.IntN(1e6), rng.IntN(900), rng.IntN(1e6), rng.IntN(1e6))
		default:
			b.WriteString([]string{"Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    g()\nValueError: x\n", "last message repeated 3 times\n"}[rng.IntN(2)])
		}
	}
	want := scanText(t, slow, b.String(), Options{})
	got := scanText(t, s, b.String(), Options{})
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("differs:\n%s", d)
	}
	if len(got.Signals) < 50 {
		t.Errorf("only %d signals", len(got.Signals))
	}
}
