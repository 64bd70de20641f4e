package metrics

import (
	"cmp"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/metrics/names"
)

// build turns a snapshot into series.
func (e *Exporter) build(s *Snapshot) *built {
	n := sortOut(s.Readings)
	e.remember(n)
	read, known := newWriter(), newWriter()
	e.gpus(read, n, s)
	writeNode(read, n)
	e.processes(read, known, n, s.Pods)
	findings(read, n, s.Findings)
	if e.opts.DCGM {
		e.dcgm(read, n, s)
	}
	e.incidents(known, n, s)
	xids(known, n, s.Xids)
	sources(known, s.Sources)
	maintenance(known, s.Maintenance)
	alerts(known, s.Alerts)
	channels(known, s.Channels)
	return &built{read: read.families, known: known.families}
}

// gpus writes the readings of every GPU.
func (e *Exporter) gpus(w *writer, n *node, s *Snapshot) {
	for _, f := range names.Families {
		if f.Scope != names.GPU || len(f.From) == 0 {
			continue
		}
		for _, c := range n.cards {
			w.readings(f, c.values, c.labels)
		}
	}
	driver := n.values.word("driver.version")
	for _, c := range n.cards {
		if up, ok := answers(c, n.values); ok {
			w.add(names.Up, c.labels, number(up))
		}
		if c.values.word("uuid") != "" {
			w.add(names.Info, with(c.labels, names.Info.Labels, c.gpu.Serial, c.values.word("minor"), c.values.word("architecture"),
				c.values.word("brand"), c.values.word("vbios.version"), c.values.word("board.part_number"), c.values.word("inforom.image"),
				c.values.word("gsp.version"), driver, c.values.word("compute_mode"), c.values.word("virtualization_mode")), 1)
		}
		unread := 0
		for _, v := range c.values {
			if unreadable(v) {
				unread++
			}
		}
		w.add(names.UnreadGPU, c.labels, float64(unread))
		if e.opts.Weight != nil {
			w.add(names.State, c.labels, float64(e.state(c, n.values, s)))
		}
	}
	e.gone(w, n)
	for _, f := range names.Families {
		if f.Scope != names.MIG {
			continue
		}
		for _, v := range n.mig {
			g := gpumedic.GPU{PCI: v.word("pci")}
			w.readings(f, v, with(n.labelsOf(g), f.AllLabels()[len(names.GPULabels):],
				v.word("mig.uuid"), v.word("mig.profile"), v.word("mig.gpu_instance"), v.word("mig.compute_instance")))
		}
	}
}

// answers reports whether the driver answers for a GPU; ok is false when it is not the
// driver's business: the GPU is another driver's, excluded, or NVML is not in this build.
func answers(c *card, node values) (up, ok bool) {
	if c.values["probe.timeout"] != "" || unreadable(c.values["status"]) || c.values.word("gpu.lost") == "yes" {
		return false, true
	}
	if c.values.word("uuid") != "" {
		return true, true
	}
	if d := c.values.word("pci.driver"); d != "" && d != "nvidia" && d != "none" {
		return false, false
	}
	return false, c.values.word("gpu.excluded") != "yes" && node.word("nvml.status") != "not in this build"
}

// state is the worst that is said of a GPU.
func (e *Exporter) state(c *card, node values, s *Snapshot) int {
	worst := gpumedic.ExitHealthy
	weigh := func(f *gpumedic.Finding) {
		about := func(s gpumedic.Subject) bool { return c.gpu.Same(s.GPU) }
		if about(f.Subject) || slices.ContainsFunc(f.Also, about) {
			worst = max(worst, e.opts.Weight(f))
		}
	}
	for i := range s.Findings {
		weigh(&s.Findings[i])
	}
	for i := range s.Incidents {
		weigh(&s.Incidents[i].Finding)
	}
	if up, ok := answers(c, node); worst != gpumedic.ExitFault && ok && !up {
		return gpumedic.ExitUnknown
	}
	return worst
}

// seenGPU is a GPU that answered once.
type seenGPU struct {
	gpu  gpumedic.GPU
	name string
}

func (s seenGPU) labels() []*dto.LabelPair { return gpuLabels(s.gpu, s.name) }

// remember gives GPUs that no longer say who they are the labels that they had: a series
// that changes its labels when the GPU is lost is another series.
func (e *Exporter) remember(n *node) {
	n.seen = e.seen
	for _, c := range n.cards {
		for _, s := range e.seen {
			if c.gpu.Same(s.gpu) {
				c.gpu.Join(s.gpu)
				c.labels = gpuLabels(c.gpu, cmp.Or(c.values.word("name"), s.name))
			}
		}
	}
}

// gone reports the GPUs that answered before and that nothing names any more: a series
// that only ends wakes nobody.
func (e *Exporter) gone(w *writer, n *node) {
	for _, s := range e.seen {
		if n.known(s.gpu) == nil {
			w.add(names.Up, s.labels(), 0)
		}
	}
	const most = 64
	for _, c := range n.cards {
		old := slices.ContainsFunc(e.seen, func(s seenGPU) bool { return s.gpu.Same(c.gpu) })
		if up, ok := answers(c, n.values); ok && up && !old && len(e.seen) < most {
			e.seen = append(e.seen, seenGPU{c.gpu, c.values.word("name")})
		}
	}
}

func writeNode(w *writer, n *node) {
	for _, f := range names.Families {
		switch {
		case f == names.StuckCall || len(f.From) == 0:
		case f.Scope == names.Node:
			w.readings(f, n.values, nil)
		case f.Scope == names.Port:
			for _, v := range n.ports {
				w.readings(f, v, pairs(f.AllLabels(), v.word("ib.device"), v.word("ib.port")))
			}
		}
	}
	if v := n.values; v.word("driver.version") != "" {
		w.add(names.DriverInfo, pairs(names.DriverInfo.Labels, v.word("driver.version"), v.word("cuda.version"), v.word("nvml.version"),
			v.word("driver.branch"), v.word("kernel_module.flavor")), 1)
	}
	stuck(w, n)
}

// stuck tells which driver calls did not return, by the function: addresses stand in the
// readings of the GPU.
func stuck(w *writer, n *node) {
	longest := map[string]float64{}
	var order []string
	all := []values{n.values}
	for _, c := range n.cards {
		all = append(all, c.values)
	}
	for _, v := range all {
		call, _, _ := strings.Cut(v.word("probe.timeout"), " ")
		seconds, ok := v.number(&names.StuckCall.From[0])
		if call == "" || !ok {
			continue
		}
		if _, old := longest[call]; !old {
			order = append(order, call)
		}
		longest[call] = max(longest[call], seconds)
	}
	for _, call := range order {
		w.add(names.StuckCall, pairs(names.StuckCall.Labels, call), longest[call])
	}
}
