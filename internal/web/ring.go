package web

import (
	"math"
	"sync"
	"time"

	"github.com/gpumedic/gpumedic/internal/report"
)

// Measures of a series, in the order of a point.
const (
	MemoryUsed = iota // MiB
	Utilization
	Power       // W
	Temperature // °C
	Corrected   // ECC errors since the driver was loaded
	Uncorrected
	measures
)

// MeasureNames are the names in JSON, as in the table of GPUs.
var MeasureNames = [measures]string{"memory_used_mib", "utilization_percent", "power_w", "temperature_c", "ecc_corrected", "ecc_uncorrected"}

// Rings hold the last readings of each GPU. Their memory is bounded from the start: 32
// bytes a point, 115 kB a GPU for an hour of seconds.
type Rings struct {
	mu   sync.RWMutex
	size int
	list []*ring
}

// maxRings bounds what cards that come and go may take.
const maxRings = 64

// ring is one GPU's. A value that was not read is NaN: a gap, not a zero.
type ring struct {
	gpu    report.GPU // its names as last seen
	at     []int64    // milliseconds since 1970
	values [][measures]float32
	next   int
	full   bool
}

// NewRings makes rings of so many points a GPU.
func NewRings(points int) *Rings { return &Rings{size: max(2, points)} }

// Add puts one table of GPUs in. A GPU that is missing from it gets a gap.
func (r *Rings) Add(at time.Time, gpus []report.GPU) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := make(map[*ring]bool, len(gpus))
	for i := range gpus {
		g := r.of(&gpus[i])
		if g == nil || seen[g] {
			continue
		}
		seen[g] = true
		g.gpu = gpus[i]
		g.put(at, point(&gpus[i]))
	}
	var none [measures]float32
	for i := range none {
		none[i] = float32(math.NaN())
	}
	for _, g := range r.list {
		if !seen[g] {
			g.put(at, none)
		}
	}
}

// of finds the ring of a card, by what stays with it before its slot.
func (r *Rings) of(g *report.GPU) *ring {
	for _, o := range r.list {
		if sameGPU(&o.gpu, g) {
			return o
		}
	}
	if len(r.list) >= maxRings {
		return nil
	}
	n := &ring{at: make([]int64, r.size), values: make([][measures]float32, r.size)}
	r.list = append(r.list, n)
	return n
}

func sameGPU(a, b *report.GPU) bool {
	for _, p := range [][2]string{{a.UUID, b.UUID}, {a.Serial, b.Serial}, {a.PCI, b.PCI}} {
		if p[0] != "" && p[1] != "" {
			return p[0] == p[1]
		}
	}
	return a.Index != nil && b.Index != nil && *a.Index == *b.Index
}

func point(g *report.GPU) (p [measures]float32) {
	for i, v := range [measures]*float64{g.MemoryUsed, g.Utilization, g.Power, g.Temperature, g.Corrected, g.Uncorrected} {
		p[i] = float32(math.NaN())
		if v != nil {
			p[i] = float32(*v)
		}
	}
	return p
}

func (g *ring) put(at time.Time, p [measures]float32) {
	g.at[g.next], g.values[g.next] = at.UnixMilli(), p
	g.next++
	if g.next == len(g.at) {
		g.next, g.full = 0, true
	}
}
