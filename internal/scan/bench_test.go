package scan

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic/internal/source"
)

// ordinaryLog is what a busy node writes; one line in every `rare` is an event.
func ordinaryLog(size, rare int) []byte {
	rng := rand.New(rand.NewPCG(3, 3))
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		ts := fmt.Sprintf("Jun  1 %02d:%02d:%02d n%d ", i/36000%24, i/600%60, i/10%60, rng.IntN(4))
		switch n := rng.IntN(rare); {
		case n == 0:
			fmt.Fprintf(&b, "%skernel: NVRM: Xid (PCI:0000:3b:00): 31, pid=%d, name=python, Ch %08x\n", ts, rng.IntN(9), i%64)
		case n%4 == 1:
			fmt.Fprintf(&b, "%ssystemd[1]: Started Session %d of user root.\n", ts, i)
		case n%4 == 2:
			fmt.Fprintf(&b, "%skernel: [UFW BLOCK] IN=eth0 OUT= MAC=%012x SRC=10.0.%d.%d LEN=%d\n", ts, rng.Int64(), i%256, i%251, i)
		case n%4 == 3:
			fmt.Fprintf(&b, "%strain[%d]: step %d loss %.4f lr %.2e tokens/s %d\n", ts, 1234, i, rng.Float64(), rng.Float64(), rng.IntN(90000))
		default:
			fmt.Fprintf(&b, "%skubelet[912]: I0611 10:%02d:00.000000 912 generator.go:%d] MountVolume.SetUp succeeded\n", ts, i%60, i)
		}
	}
	return b.Bytes()
}

func benchScan(b *testing.B, data []byte) {
	s, _ := embedded(b)
	b.SetBytes(int64(len(data)))
	n := 0
	for b.Loop() {
		res, err := s.Scan(context.Background(), []source.Input{source.FromBytes("in", data)}, Options{})
		if err != nil {
			b.Fatal(err)
		}
		n = len(res.Signals)
	}
	b.ReportMetric(float64(n), "signals")
}

// BenchmarkScan: a large log with one event in 5,000 lines.
func BenchmarkScan(b *testing.B) { benchScan(b, ordinaryLog(32<<20, 5000)) }

// BenchmarkScanStorm: 100,000 equal Xid lines.
func BenchmarkScanStorm(b *testing.B) {
	var t strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&t, "[%6d.%06d] NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.\n", i, i)
	}
	benchScan(b, []byte(t.String()))
}

// BenchmarkScanVaried: 20,000 Xid lines of which no two are equal.
func BenchmarkScanVaried(b *testing.B) {
	var t strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&t, "[%6d.%06d] NVRM: Xid (PCI:0000:3b:00): 31, pid=1234, name=python, Ch 00000008, intr 00000000. "+
			"MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f2a_%08x. Fault is of type FAULT_PDE ACCESS_TYPE_READ\n", i, i, i)
	}
	benchScan(b, []byte(t.String()))
}
