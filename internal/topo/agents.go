package topo

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
)

// reportLag bounds how long an agent may take to report what the kernel logged.
const reportLag = 10 * time.Minute

// learnReports joins the GPU of a kernel message with that of an agent's report of it:
// the kernel gives the address, the device plugin the UUID, DCGM the index. When one GPU
// logged an Xid and one GPU without an address is reported with the same Xid on the same
// node at about that time, they are one. With more of either the pairs cannot be known.
func (m *Map) learnReports(signals []gpumedic.Signal) {
	type pair struct{ kernel, agent []*gpumedic.Signal }
	byKind := map[string]*pair{}
	for i := range signals {
		s := &signals[i]
		if !strings.HasPrefix(s.Kind, "xid.") || s.Subject.GPU.IsZero() {
			continue
		}
		k := m.Node(s.Subject) + "\x00" + s.Kind
		if byKind[k] == nil {
			byKind[k] = &pair{}
		}
		switch {
		case s.Field("source") == "":
			byKind[k].kernel = append(byKind[k].kernel, s)
		case m.Full(m.Node(s.Subject), s.Subject.GPU).PCI == "":
			byKind[k].agent = append(byKind[k].agent, s)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(byKind)) {
		p := byKind[k]
		if m.oneGPU(p.kernel) && m.oneGPU(p.agent) {
			m.joinReport(p.kernel[0], p.agent[0])
		}
	}
}

// oneGPU reports whether signals are of one GPU and there are any.
func (m *Map) oneGPU(signals []*gpumedic.Signal) bool {
	for _, s := range signals {
		if m.ID(m.Node(s.Subject), s.Subject.GPU) != m.ID(m.Node(signals[0].Subject), signals[0].Subject.GPU) {
			return false
		}
	}
	return len(signals) > 0
}

func (m *Map) joinReport(kernel, agent *gpumedic.Signal) {
	node := m.Node(kernel.Subject)
	of, by := m.Full(node, kernel.Subject.GPU), m.Full(node, agent.Subject.GPU)
	switch {
	case of.PCI == "" || !Near(kernel, agent, reportLag):
		return
	case of.UUID != "" && by.UUID != "" && !strings.EqualFold(of.UUID, by.UUID), of.Index != nil && by.Index != nil && *of.Index != *by.Index:
		return // known to be two
	}
	m.union(nameKeys(node, of)[0], nameKeys(node, by)[0])
}
