package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/metrics/names"
)

// prometheus is the text exposition format, for the textfile collector. It writes the
// metrics of the daemon's exporter that a check can answer, by the same list.
func prometheus(w io.Writer, n *Node) error {
	p := &exposition{b: bufio.NewWriter(w), nodes: severalNodes(n)}
	p.single(names.CheckStatus, float64(n.Status))
	p.single(names.CheckGPUs, float64(len(n.GPUs)))
	p.single(names.CheckUnread, float64(len(n.Unread)))
	p.findings(n)
	state := map[string]float64{"ok": 0, "warning": 1, "fault": 2, "unknown": 3}
	for i := range n.GPUs {
		p.sample(names.State, p.gpu(&n.GPUs[i]), nil, state[n.GPUs[i].State])
	}
	for _, m := range []struct {
		f      *names.Family
		value  func(*GPU) *float64
		labels []string
	}{
		{names.MemoryUsed, func(g *GPU) *float64 { return g.MemoryUsed }, nil},
		{names.MemoryTotal, func(g *GPU) *float64 { return g.MemoryTotal }, nil},
		{names.Utilization, func(g *GPU) *float64 { return g.Utilization }, nil},
		{names.Temperature, func(g *GPU) *float64 { return g.Temperature }, nil},
		{names.Margin, func(g *GPU) *float64 { return g.Margin }, nil},
		{names.Power, func(g *GPU) *float64 { return g.Power }, nil},
		{names.PowerLimit, func(g *GPU) *float64 { return g.PowerLimit }, nil},
		{names.Gen, func(g *GPU) *float64 { return g.Gen }, nil},
		{names.GenMax, func(g *GPU) *float64 { return g.GenMax }, nil},
		{names.Width, func(g *GPU) *float64 { return g.Width }, nil},
		{names.WidthMax, func(g *GPU) *float64 { return g.WidthMax }, nil},
		{names.ECC, func(g *GPU) *float64 { return g.Corrected }, []string{"corrected", "volatile"}},
		{names.ECC, func(g *GPU) *float64 { return g.Uncorrected }, []string{"uncorrected", "volatile"}},
		{names.LinksUp, func(g *GPU) *float64 { return g.LinksUp }, nil},
		{names.LinksDown, func(g *GPU) *float64 { return g.LinksDown }, nil},
	} {
		for i := range n.GPUs {
			if v := m.value(&n.GPUs[i]); v != nil {
				p.sample(m.f, p.gpu(&n.GPUs[i]), m.labels, m.f.From[0].Value(*v))
			}
		}
	}
	return p.b.Flush()
}

// exposition writes families one after the other.
type exposition struct {
	b     *bufio.Writer
	last  *names.Family
	nodes bool // label what is about a GPU with its node too
}

func (p *exposition) single(f *names.Family, v float64) { p.sample(f, nil, nil, v) }

// sample writes a series: first are the labels of the GPU, values those of the family.
func (p *exposition) sample(f *names.Family, first []string, values []string, v float64) {
	if f != p.last {
		fmt.Fprintf(p.b, "# HELP %s %s\n# TYPE %s %s\n", f.Name, escapeHelp.Replace(f.Help), f.Name, f.Type)
		p.last = f
	}
	labels := slices.Clone(first)
	for i, value := range values {
		labels = append(labels, f.Labels[i], value)
	}
	fmt.Fprint(p.b, f.Name)
	for i := 0; i+1 < len(labels); i += 2 {
		fmt.Fprintf(p.b, "%c%s=\"%s\"", "{,"[min(i, 1)], labels[i], escapeLabel.Replace(strings.ToValidUTF8(labels[i+1], "?")))
	}
	if len(labels) > 0 {
		fmt.Fprint(p.b, "}")
	}
	fmt.Fprintf(p.b, " %s\n", strconv.FormatFloat(v, 'g', -1, 64))
}

func (p *exposition) findings(n *Node) {
	seen := map[string]bool{}
	for _, f := range listed(n) {
		for _, s := range append([]gpumedic.Subject{f.Subject}, f.Also...) {
			g := &GPU{Node: s.Node, Index: s.GPU.Index, PCI: s.GPU.PCI, UUID: s.GPU.UUID}
			for i := range n.GPUs {
				if row := &n.GPUs[i]; s.GPU.Same(gpumedic.GPU{PCI: row.PCI, UUID: row.UUID, Index: row.Index}) && (s.Node == row.Node || s.Node == "" || row.Node == "") {
					g = row
					break
				}
			}
			labels, values := p.gpu(g), []string{f.Fault, f.Severity, f.Class}
			if key := strings.Join(append(slices.Clone(labels), values...), "\x00"); !seen[key] {
				seen[key] = true
				p.sample(names.Finding, labels, values, 1)
			}
		}
	}
}

// gpu are the labels of a GPU with their names.
func (p *exposition) gpu(g *GPU) []string {
	index := ""
	if g.Index != nil {
		index = strconv.Itoa(*g.Index)
	}
	var out []string
	for i, v := range []string{index, g.PCI, g.UUID, g.Name} {
		out = append(out, names.GPULabels[i], v)
	}
	if p.nodes {
		out = append(out, "node", g.Node)
	}
	return out
}

// severalNodes: recorded output can be of a whole cluster.
func severalNodes(n *Node) bool {
	for i := range n.GPUs {
		if n.GPUs[i].Node != n.GPUs[0].Node {
			return true
		}
	}
	return false
}

var (
	escapeLabel = strings.NewReplacer("\\", "\\\\", "\n", "\\n", `"`, `\"`)
	escapeHelp  = strings.NewReplacer("\\", "\\\\", "\n", "\\n")
)
