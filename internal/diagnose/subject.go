package diagnose

import (
	"slices"
	"sort"

	"github.com/gpumedic/gpumedic"
)

// subject gathers all names that the triggers give.
func (w *world) subject(h *hypothesis) gpumedic.Subject {
	s := gpumedic.Subject{Node: h.at.node}
	for _, i := range h.triggers {
		t := w.signals[i].Subject
		if s.GPU.IsZero() && !t.GPU.IsZero() {
			s.GPU = w.topo.Full(h.at.node, t.GPU)
		}
		pick(&s.Port, t.Port)
		pick(&s.NVSwitch, t.NVSwitch)
		pick(&s.Link, t.Link)
		pick(&s.Container, t.Container)
		pick(&s.Unit, t.Unit)
		pick(&s.Location, t.Location)
		if s.Process.PID == 0 && s.Process.Name == "" {
			s.Process = t.Process
		}
		if s.Rank == nil && w.signals[i].Field("reporter") != "victim" {
			s.Rank = t.Rank
		}
	}
	if s.Rank == nil {
		s.Rank = w.namedRank(h)
	}
	if s.GPU.PCI == "" && h.at.pci != "" {
		s.GPU = w.topo.Full(h.at.node, gpumedic.GPU{PCI: h.at.pci})
	}
	if hit := w.gpusHit(h); s.GPU.PCI == "" && s.Port != "" && len(hit) > 0 {
		s.GPU = w.topo.Full(h.at.node, gpumedic.GPU{PCI: hit[0]})
	}
	// Where the input names no GPU at all, the fault of a link is found by the address
	// below the port, or by the port's own, that of a fabric by the switch's.
	if s.GPU.PCI == "" && s.Port != "" {
		if below := w.topo.DevicesBelow(h.at.node, s.Port); len(below) == 1 {
			s.GPU.PCI = below[0]
		} else {
			s.GPU.PCI = s.Port
		}
	}
	if s.GPU.PCI == "" && s.NVSwitch != "" {
		s.GPU.PCI = s.NVSwitch
	}
	return s
}

// namedRank is the rank of a program whose decisive line does not tell it: the only
// rank that the evidence names, else the one that a launcher names as the first to
// fail (field first_failed), else the only one whose end was reported and that nobody
// told to end.
func (w *world) namedRank(h *hypothesis) *int {
	if r, ok := w.onlyRank(func(i int) bool { return h.owns(i) }); ok {
		return r
	}
	if r, ok := w.onlyRank(func(i int) bool {
		return w.signals[i].Field("first_failed") == "yes" && (h.explains(i) || h.owns(i))
	}); ok {
		return r
	}
	r, _ := w.onlyRank(func(i int) bool {
		s := &w.signals[i]
		ended := s.Kind == "job.exit" || s.Kind == "job.killed" || s.Kind == "mpi.abort"
		return ended && s.Field("signal") != "sigterm" && (h.explains(i) || h.owns(i))
	})
	return r
}

// onlyRank is the one rank among some signals; ok is false when there is none or more.
func (w *world) onlyRank(of func(i int) bool) (found *int, ok bool) {
	for _, i := range w.ranked {
		r := w.signals[i].Subject.Rank
		if !of(i) || w.signals[i].Field("reporter") == "victim" {
			continue
		}
		if found != nil && *found != *r {
			return nil, false
		}
		found = r
	}
	return found, found != nil
}

// gpusHit are the addresses of the GPUs that a link's fault is seen to hit, sorted.
func (w *world) gpusHit(h *hypothesis) []string {
	if h.at.port == "" || h.at.gpu != "" {
		return nil
	}
	var out []string
	for _, i := range w.trouble {
		if p := w.where[i].pci; (h.owns(i) || h.explains(i)) && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	sort.Strings(out)
	return out
}

func pick(to *string, from string) {
	if *to == "" {
		*to = from
	}
}
