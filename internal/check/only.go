package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/report"
)

// ParseGPU reads the name by which a person means a GPU: index, PCI address in any
// spelling, or UUID.
func ParseGPU(s string) (gpumedic.GPU, error) {
	if n, err := strconv.Atoi(s); err == nil && n >= 0 && n < 4096 {
		return gpumedic.GPU{Index: &n}, nil
	}
	if strings.HasPrefix(s, "GPU-") {
		return gpumedic.GPU{UUID: s}, nil
	}
	if p := gpumedic.NormalPCI(s); p != "" {
		return gpumedic.GPU{PCI: p}, nil
	}
	return gpumedic.GPU{}, fmt.Errorf("read GPU %q: want an index, a PCI address or a UUID", s)
}

// only leaves the row of one GPU, and what is about it or about no GPU at all. It reports
// whether the GPU was seen.
func only(n *report.Node, want gpumedic.GPU) bool {
	at := slices.IndexFunc(n.GPUs, func(g report.GPU) bool {
		return want.Same(gpumedic.GPU{PCI: g.PCI, UUID: g.UUID, Index: g.Index})
	})
	if at < 0 {
		return false
	}
	row := n.GPUs[at]
	n.GPUs = []report.GPU{row}
	n.Findings = slices.DeleteFunc(n.Findings, func(f gpumedic.Finding) bool {
		return !f.Subject.GPU.IsZero() && !about(&f, &row)
	})
	n.Unread = slices.DeleteFunc(n.Unread, func(u report.Unread) bool {
		return !u.Subject.GPU.IsZero() && !isCard(u.Subject, &row)
	})
	return true
}
