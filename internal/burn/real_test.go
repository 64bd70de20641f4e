package burn

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/gpumedic/gpumedic/internal/driver/cuda"
	"github.com/gpumedic/gpumedic/internal/driver/cuda/cudafake"
)

// device opens the fake driver's first GPU, or with GPUMEDIC_TEST_GPU set the machine's.
func device(t *testing.T) *gpu {
	t.Helper()
	if os.Getenv(cudafake.RealGPU) == "" {
		return openFake(t)
	}
	d, err := cuda.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := d.Devices()
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	g, err := openGPU(d, list[0].PCI)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// TestPlantedErrorsAreFoundWhereTheyAre spoils single words of the memory under test, on a
// real GPU too: at its ends, in its middle, and just behind the first half.
func TestPlantedErrorsAreFoundWhereTheyAre(t *testing.T) {
	g := device(t)
	var out bytes.Buffer
	m := &memtest{gpu: g, o: MemOptions{Mode: ModeQuick}, e: &emitter{w: &out}}
	checks := 0
	want := map[uint64]uint32{} // offset: wrong bits
	m.plant = func(o op) error {
		if o.do != opFill {
			return nil
		}
		if checks++; checks > 1 {
			return nil
		}
		n := m.mem.Tested
		for i, off := range []uint64{0, 4, n/2 + 8, n/3&^15 + 12, n - 4} {
			bit := uint32(1) << (3 + 5*i)
			w := o.pattern.Vector(off / vector)[off%vector/4] ^ bit
			at, err := g.locate(off / vector)
			if err != nil {
				return err
			}
			if err := g.ToDevice(at+cuda.Ptr(off%vector), binary.LittleEndian.AppendUint32(nil, w)); err != nil {
				return err
			}
			want[off] = bit
		}
		return nil
	}
	if err := m.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := map[uint64]uint32{}
	var list []Record
	for line := range bytes.Lines(out.Bytes()) {
		var ev event
		if err := json.Unmarshal(line, &ev); err != nil {
			t.Fatal(err)
		}
		for _, r := range ev.Records {
			got[r.Offset] = r.Bits()
			list = append(list, r)
			if r.Again != r.Got || r.Late != r.Got || r.Renewed != r.Want {
				t.Errorf("%+v: the memory holds the wrong word until it is rewritten", r)
			}
			if r.Time.IsZero() || r.SM < 0 || r.SM >= g.Device.SMs {
				t.Errorf("%+v", r)
			}
		}
	}
	for off, bit := range want {
		if got[off] != bit {
			t.Errorf("offset %#x: wrong bits %#x, want %#x", off, got[off], bit)
		}
	}
	if len(got) != len(want) || m.mem.Errors.Words != uint64(len(want)) || m.mem.Errors.Single != uint64(len(want)) {
		t.Errorf("%d records, counted %+v, planted %d", len(got), m.mem.Errors, len(want))
	}
	if c := Classify(list, m.mem.FirstWrong); c.Kind != ClassWeak {
		t.Errorf("class %+v", c)
	}
}

// TestKernelsEqualTheirReferenceOnThisDevice is the comparison of the fake driver's kernels
// with reference.go, for the GPU that the tests were given.
func TestKernelsEqualTheirReferenceOnThisDevice(t *testing.T) {
	g := device(t)
	rnd := rand.New(rand.NewPCG(5, 6))
	buf := make([]byte, page/8)
	for range 300 {
		p := Pattern{Kind: rnd.Uint32N(4), A: rnd.Uint32(), B: rnd.Uint32(), S: rnd.Uint32()}
		if p.Kind == kindModulo {
			p.S %= 20
		}
		c := chunk{g.small, uint64(1+rnd.Uint32N(page/8/vector)) * vector, rnd.Uint64N(1 << 36)}
		if err := g.fill(c, p); err != nil {
			t.Fatal(err)
		}
		if err := g.stream.Synchronize(); err != nil {
			t.Fatal(err)
		}
		if err := g.ToHost(buf[:c.bytes], c.at); err != nil {
			t.Fatal(err)
		}
		for v := range c.vectors() {
			for j, w := range p.Vector(c.first + v) {
				if got := binary.LittleEndian.Uint32(buf[v*vector+uint64(j)*4:]); got != w {
					t.Fatalf("%+v: vector %d word %d is %08x, the reference says %08x", p, c.first+v, j, got, w)
				}
			}
		}
	}
	s := &stress{gpu: g, o: StressOptions{Launches: 1}, e: &emitter{w: new(bytes.Buffer)}}
	for _, p := range paths {
		if p.digest == nil {
			continue
		}
		r := &running{stress: s, p: p, grid: g.Device.SMs * p.perSM, path: &Path{}}
		if err := r.prepare(); err != nil {
			t.Fatal(err)
		}
		if err := r.known(); err != nil {
			t.Fatal(err)
		}
		if r.path.Wrong != 0 || r.path.Compared != uint64(r.grid*block) {
			t.Errorf("%s: %+v", p.name, r.path)
		}
		r.free()
	}
}
