package burn

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/driver/cuda"
	"github.com/gpumedic/gpumedic/internal/driver/cuda/cudafake"
)

// TestMain is the worker too, and finds the fake driver.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == child.Arg {
		os.Exit(child.Main(context.Background(), Tasks(), os.Args[2:]))
	}
	if status, ok := cudafake.Main(); ok {
		os.Exit(status)
	}
	os.Exit(m.Run())
}

const gpu0 = "0000:10:00.0"

// runFake runs a worker on the fake driver with faults planted.
func runFake(t *testing.T, task string, options any, faults string) *Outcome {
	t.Helper()
	if !cudafake.Present() {
		t.Skip("no fake driver could be built here")
	}
	var r child.Runner
	o, err := Run(t.Context(), &r, Job{Task: task, PCI: gpu0, Options: options, Call: 20 * time.Second, Env: []string{cudafake.Env + "=" + faults}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// small is a card on which a whole quick test takes a fraction of a second.
const small = "mem=6946816 l2=262144 "

func quick(t *testing.T, faults string) *Outcome {
	t.Helper()
	return runFake(t, TaskMemory, MemOptions{PCI: gpu0, Mode: ModeQuick}, small+faults)
}

func openFake(t *testing.T) *gpu {
	t.Helper()
	if !cudafake.Present() {
		t.Skip("no fake driver could be built here")
	}
	d, err := cuda.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := openGPU(d, gpu0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

func TestPatternsAreWhatTheirNamesSay(t *testing.T) {
	own := Pattern{Kind: kindOwn}
	if w := own.Vector(0x123456789); w != [4]uint32{0x34567890, 0x12, 0x34567898, 0x12} {
		t.Errorf("own address: %x", w)
	}
	walk := Pattern{Kind: kindRotate, A: 1}
	seen := uint32(0)
	for v := range uint64(8) {
		for _, w := range walk.Vector(v) {
			seen |= w
		}
	}
	if seen != ones {
		t.Errorf("walking bit: places %032b in a row of 32 words", seen)
	}
	n := 0
	for v := range uint64(100) {
		for _, w := range (Pattern{Kind: kindModulo, A: 1, S: 7}).Vector(1<<33 + v) {
			n += int(w)
		}
	}
	if n != 20 {
		t.Errorf("modulo 20: %d of 400 words", n)
	}
	for kind := range uint32(4) {
		p := Pattern{Kind: kind, A: 0x1234, B: 0x5678, S: 3}
		a, b := p.Vector(77), p.inverted(ones).Vector(77)
		for j := range a {
			if a[j]^b[j] != ones {
				t.Errorf("kind %d: the inverse of %08x is %08x", kind, a[j], b[j])
			}
		}
	}
	same := 0
	for bit := range 34 { // two addresses that differ in one line must not look alike
		p := Pattern{Kind: kindHash, S: 99}
		a, b := p.Vector(12345), p.Vector(12345^1<<bit)
		for j := range a {
			if a[j] == b[j] {
				same++
			}
		}
	}
	if same > 0 {
		t.Errorf("random data: %d words of neighbouring addresses are equal", same)
	}
}

// TestFMAIsRoundedOnce compares the single-precision reference with exact arithmetic.
func TestFMAIsRoundedOnce(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 200000 {
		x, y, z := odd(rnd), odd(rnd), odd(rnd)
		exact := new(big.Float).SetPrec(600)
		exact.Mul(big.NewFloat(float64(x)).SetPrec(600), big.NewFloat(float64(y)).SetPrec(600))
		exact.Add(exact, big.NewFloat(float64(z)).SetPrec(600))
		want, _ := exact.Float32()
		if got := fma32(x, y, z); got != want {
			t.Fatalf("%x * %x + %x is %x, exactly %x", x, y, z, got, want)
		}
	}
}

// odd is a number whose sums are often near the middle of two others.
func odd(rnd *rand.Rand) float32 {
	b := rnd.Uint32()&0x807FFFFF | (110+rnd.Uint32N(30))<<23
	if rnd.Uint32N(3) == 0 {
		b &^= 0x3FFFF
	}
	return math.Float32frombits(b)
}

func TestChainsStayInRange(t *testing.T) {
	for k := range 8 {
		x, r := float32(0.6), float32(chainR(k))
		for i := range 100000 {
			x = fma32(fma32(x, -r, r), x, chainE)
			if !(x > 0 && x < 1) {
				t.Fatalf("chain %d leaves (0, 1) at step %d: %v", k, i, x)
			}
		}
	}
}
