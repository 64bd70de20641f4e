package diagnose

import (
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/topo"
)

// place is a signal's subject with its names joined.
type place struct {
	node string
	gpu  string // stable id of the GPU, "" unknown
	pci  string // its address where known
	port string
	nvsw string
	pid  int
	proc string
	rank *int
}

const (
	// closeBy is how near in time a port error and a GPU's loss must be to belong
	// together when the input does not say which GPU is below the port.
	closeBy = 15 * time.Second
	// Logs are written late and out of order by a few seconds.
	defaultSlack  = 5 * time.Second
	defaultBefore = time.Hour
	defaultAfter  = time.Hour
)

func (w *world) locate(s *gpumedic.Signal) place {
	node := w.topo.Node(s.Subject)
	p := place{node: node, port: s.Subject.Port, nvsw: s.Subject.NVSwitch,
		pid: s.Subject.Process.PID, proc: s.Subject.Process.Name, rank: s.Subject.Rank}
	g := s.Subject.GPU
	if g.PCI == "" {
		if a := gpumedic.NormalPCI(s.Field("pci")); a != "" {
			switch {
			case w.topo.IsPort(node, a):
				if p.port == "" {
					p.port = a
				}
			case w.topo.IsGPU(node, a):
				g.PCI = a
			}
		}
	}
	if !g.IsZero() {
		p.gpu = w.topo.ID(node, g)
		p.pci = w.topo.Full(node, g).PCI
	}
	return p
}

func sameNode(a, b string) bool { return a == b || a == "" || b == "" }

// related says whether signal i stands in a relation to a hypothesis.
func (w *world) related(h *hypothesis, i int, relation string) bool {
	a := &w.where[i]
	if relation == "" {
		relation = defaultRelation(h.rule.Scope)
	}
	switch relation {
	case "any":
		return true
	case "same_rank":
		return a.rank == nil || h.at.rank == nil || *a.rank == *h.at.rank
	}
	if !sameNode(a.node, h.at.node) {
		return false
	}
	switch relation {
	case "same_gpu":
		if a.gpu != "" && h.at.gpu != "" {
			return a.gpu == h.at.gpu || h.alsoGPU[a.gpu]
		}
		if a.gpu != "" && h.at.port != "" && a.pci != "" { // a port's hypothesis: its GPUs count
			return w.topo.Above(h.at.node, h.at.port, a.pci) != topo.No
		}
		// A signal that names no GPU (a CUDA error of a job) is tied by its node alone:
		// process ids differ between host and container and prove nothing.
		return true
	case "upstream_port":
		return w.portAbove(h, i)
	case "downstream":
		if a.pci == "" || h.at.port == "" {
			return false
		}
		switch w.topo.Above(h.at.node, h.at.port, a.pci) {
		case topo.Yes:
			return true
		case topo.No:
			return false
		}
		return topo.Near(&w.signals[i], w.anchor(h), closeBy)
	case "same_process":
		if a.pid != 0 && h.at.pid != 0 {
			return a.pid == h.at.pid
		}
		if a.proc != "" && h.at.proc != "" {
			return a.proc == h.at.proc
		}
		return a.gpu == "" || h.at.gpu == "" || a.gpu == h.at.gpu
	case "same_port":
		return a.port == h.at.port && a.port != ""
	case "same_nvswitch":
		return a.nvsw == h.at.nvsw && a.nvsw != ""
	}
	return true // same_node
}

func (w *world) portAbove(h *hypothesis, i int) bool {
	a := &w.where[i]
	port := a.port
	if port == "" {
		// An AER record written by the GPU itself, or by an unknown device.
		if a.gpu != "" && h.at.gpu != "" {
			return a.gpu == h.at.gpu
		}
		return false
	}
	if h.at.pci == "" {
		return h.at.port == port
	}
	switch w.topo.Above(h.at.node, port, h.at.pci) {
	case topo.Yes:
		return true
	case topo.No:
		return false
	}
	return topo.Near(&w.signals[i], w.anchor(h), closeBy)
}

func defaultRelation(scope string) string {
	switch scope {
	case "gpu":
		return "same_gpu"
	case "process":
		return "same_process"
	case "port":
		return "same_port"
	case "job":
		return "any"
	}
	return "same_node"
}

// within checks a time window around a hypothesis. Unknown distances pass.
func (w *world) within(h *hypothesis, i int, before, after catalog.Duration, defBefore, defAfter time.Duration) bool {
	b, a := defBefore, defAfter
	if before.Set {
		b = before.Duration
	}
	if after.Set {
		a = after.Duration
	}
	s := &w.signals[i]
	anchor := w.anchor(h)
	first, ok := s.First.Sub(anchor.First)
	if !ok {
		if first, ok = gpumedic.DayApart(s, anchor); !ok {
			return true
		}
	}
	last := first
	if d, ok := s.Last.Sub(anchor.First); ok && d > first {
		last = d
	}
	return last >= -b && first <= a // the run of equal signals overlaps the window
}

func (w *world) anchor(h *hypothesis) *gpumedic.Signal { return &w.signals[h.triggers[0]] }

// compare orders two signals by the world's total order.
func (w *world) compare(i, j int) int { return w.rank[i] - w.rank[j] }

func (w *world) before(i, j int) bool { return w.compare(i, j) < 0 }
