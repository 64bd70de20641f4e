package burn

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/gpumedic/gpumedic/internal/driver/cuda"
)

//go:embed kernels/memory.ptx
var memoryPTX string

const (
	vector  = 16      // bytes
	page    = 2 << 20 // what the driver maps GPU memory in
	records = 4096    // wrong vectors that are kept
	recSize = 64      // bytes of one, see kernels/memory.ptx
	outSize = 64      // bytes of the counters
	block   = 256     // threads, as the kernels demand
	waves   = 8       // blocks for each block that fits: measured best on an H200
)

// A chunk is one allocation under test. The tested memory is the row of all chunks; first
// is the number of the chunk's first vector in it.
type chunk struct {
	at    cuda.Ptr
	bytes uint64
	first uint64
}

func (c chunk) vectors() uint64 { return c.bytes / vector }

// A gpu is one GPU with the memory kernels loaded.
type gpu struct {
	*cuda.Context
	fillFn, checkFn, copyFn, readFn, probeFn *cuda.Function

	stream     *cuda.Stream
	start, end *cuda.Event
	out        cuda.Ptr // counters, then records
	rec        cuda.Ptr
	list, data cuda.Ptr // of probe
	small      cuda.Ptr // one page for the self-check
	chunks     []chunk
}

// openGPU takes the context of the GPU at a PCI address and what the tests need beside the
// memory under test.
func openGPU(d *cuda.Driver, pci string) (*gpu, error) {
	dev, err := d.ByPCI(pci)
	if err != nil {
		return nil, err
	}
	c, err := d.Context(dev)
	if err != nil {
		return nil, err
	}
	g := &gpu{Context: c}
	if err := g.prepare(); err != nil {
		_ = c.Close() // the first error is the one to tell
		return nil, err
	}
	return g, nil
}

func (g *gpu) prepare() error {
	m, err := g.Load("memory.ptx", memoryPTX)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		to   **cuda.Function
		name string
	}{{&g.fillFn, "fill"}, {&g.checkFn, "check"}, {&g.copyFn, "copy"}, {&g.readFn, "read"}, {&g.probeFn, "probe"}} {
		if *f.to, err = m.Function(f.name); err != nil {
			return err
		}
	}
	if g.stream, err = g.Stream(); err != nil {
		return err
	}
	if g.start, err = g.Event(); err != nil {
		return err
	}
	if g.end, err = g.Event(); err != nil {
		return err
	}
	for _, a := range []struct {
		to *cuda.Ptr
		n  uint64
	}{{&g.out, outSize}, {&g.rec, records * recSize}, {&g.list, records * 8}, {&g.data, records * vector}, {&g.small, page / 8}} {
		if *a.to, err = g.Alloc(a.n); err != nil {
			return err
		}
	}
	return g.clear()
}

// clear sets the counters to zero.
func (g *gpu) clear() error { return g.ToDevice(g.out, make([]byte, outSize)) }

// grid is the launch for n vectors.
func (g *gpu) grid(n uint64) cuda.Shape {
	full := uint64(max(g.Device.SMs, 1) * max(g.Device.Threads/block, 1) * waves)
	return cuda.Shape{Grid: int(max(1, min(full, (n+block-1)/block))), Block: block, Stream: g.stream}
}

func (g *gpu) fill(c chunk, p Pattern) error {
	return g.fillFn.Launch(g.grid(c.vectors()), c.at, c.vectors(), c.first, p.Kind, p.A, p.B, p.S)
}

// check compares a chunk with a pattern; with inv not zero it puts the value ^ inv back.
func (g *gpu) check(c chunk, p Pattern, inv uint32, pass int) error {
	write := uint32(0)
	if inv != 0 {
		write = 1
	}
	return g.checkFn.Launch(g.grid(c.vectors()), c.at, c.vectors(), c.first, p.Kind, p.A, p.B, p.S, write, inv, uint32(pass), g.out, g.rec, uint64(records))
}

func (g *gpu) copy(dst, src cuda.Ptr, n uint64) error {
	return g.copyFn.Launch(g.grid(n/vector), dst, src, n/vector)
}

// read reads n bytes; their sum is not wanted.
func (g *gpu) read(src cuda.Ptr, n uint64) error {
	return g.readFn.Launch(g.grid(n/vector), src, n/vector, g.out+outSize-8)
}

// timed runs launches between two events and gives the time the GPU took.
func (g *gpu) timed(launch func() error) (time.Duration, error) {
	if err := g.start.Record(g.stream); err != nil {
		return 0, err
	}
	if err := launch(); err != nil {
		return 0, err
	}
	if err := g.end.Record(g.stream); err != nil {
		return 0, err
	}
	if err := g.end.Synchronize(); err != nil {
		return 0, err
	}
	return g.end.Since(g.start)
}

// counts are the sums of kernel check since clear.
type counts struct {
	Words   uint64 `json:"words"`            // wrong words of 4 bytes
	Records uint64 `json:"vectors_claimed"`  // wrong vectors for which a record was claimed (more than are kept)
	Checked uint64 `json:"vectors_checked"`  // vectors compared
	Single  uint64 `json:"words_single_bit"` // wrong words with one wrong bit
	Bits    uint64 `json:"bits"`             // wrong bits
	Mask    uint32 `json:"mask"`             // union of the wrong bits
}

func (g *gpu) counts() (counts, error) {
	b := make([]byte, outSize)
	if err := g.ToHost(b, g.out); err != nil {
		return counts{}, err
	}
	u := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	return counts{u(0), u(1), u(2), u(3), u(4), uint32(u(5))}, nil
}

// takeFree allocates nearly all memory that is free, in as few pieces as the driver gives.
// It returns what was free before.
func (g *gpu) takeFree() (free uint64, err error) {
	free, total, err := g.MemInfo()
	if err != nil {
		return 0, err
	}
	// What is left keeps the driver and monitors able to work.
	keep := min(64<<20, total/512)
	ask := uint64(0)
	first := uint64(0)
	for {
		now, _, err := g.MemInfo()
		if err != nil {
			return free, err
		}
		room := uint64(0)
		if now > keep {
			room = (now - keep) / page * page
		}
		if ask == 0 || ask > room {
			ask = room
		}
		if ask < page {
			return free, nil
		}
		p, err := g.Alloc(ask)
		switch {
		case cuda.Is(err, cuda.OutOfMemory): // in pieces, or another process was faster
			ask = ask / 2 / page * page
			if ask < page {
				return free, nil
			}
		case err != nil:
			return free, err
		default:
			g.chunks = append(g.chunks, chunk{p, ask, first})
			first += ask / vector
		}
	}
}

// tested is how many bytes the chunks hold.
func (g *gpu) tested() uint64 {
	var n uint64
	for _, c := range g.chunks {
		n += c.bytes
	}
	return n
}

// locate is the address of a vector of the tested memory.
func (g *gpu) locate(v uint64) (cuda.Ptr, error) {
	for _, c := range g.chunks {
		if v >= c.first && v-c.first < c.vectors() {
			return c.at + cuda.Ptr((v-c.first)*vector), nil
		}
	}
	return 0, fmt.Errorf("locate vector %d: outside of the tested memory", v)
}
