package check

import (
	"slices"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/report"
)

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
