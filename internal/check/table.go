package check

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/report"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

// A card gathers what all tools said of one GPU.
type card struct {
	node  string
	gpu   gpumedic.GPU
	said  []*section.Readings
	procs int
}

// table is one row for each GPU that the readings speak of, in the driver's order.
func table(inputs [][]section.Readings) []report.GPU {
	var cards []*card
	drivers := map[string]string{} // by node
	for _, sets := range inputs {
		for i := range sets {
			s := &sets[i]
			if v := s.Values["driver.version"].Value; v != "" && v != "N/A" {
				drivers[s.Subject.Node] = v
			}
			if s.Subject.GPU.IsZero() || s.Subject.GPU.MIG != "" || s.Values["mig.uuid"].Value != "" {
				continue
			}
			c := find(&cards, s.Subject.Node, s.Subject.GPU)
			if s.Values["process.pid"].Value != "" {
				c.procs++
				continue
			}
			c.said = append(c.said, s)
		}
	}
	out := []report.GPU{}
	for _, c := range cards {
		if c.read() {
			row := c.row()
			row.Driver = drivers[c.node]
			out = append(out, row)
		}
	}
	slices.SortStableFunc(out, func(a, b report.GPU) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(place(a.Index), place(b.Index)), cmp.Compare(a.PCI, b.PCI))
	})
	return out
}

func place(index *int) int {
	if index == nil {
		return 1 << 20
	}
	return *index
}

// find is the card that a GPU's names mean, a new one when none does.
func find(cards *[]*card, node string, g gpumedic.GPU) *card {
	for _, c := range *cards {
		if c.node == node && c.gpu.Same(g) {
			c.gpu.Join(g)
			return c
		}
	}
	c := &card{node: node, gpu: g}
	*cards = append(*cards, c)
	return c
}

// read reports whether anything of the GPU itself was read: what the user expected of it
// is no reading.
func (c *card) read() bool {
	for _, s := range c.said {
		for k := range s.Values {
			if !strings.HasPrefix(k, "expected.") {
				return true
			}
		}
	}
	return false
}

// value is what was said first that is not "N/A".
func (c *card) value(key string) string {
	v, found := "", false
	for _, s := range c.said {
		if r, ok := s.Values[key]; ok && (!found || v == "N/A") {
			v, found = r.Value, true
		}
	}
	return v
}

func (c *card) row() report.GPU {
	return report.GPU{
		Node: c.node, Index: c.gpu.Index, PCI: c.gpu.PCI, UUID: c.gpu.UUID, Serial: c.gpu.Serial,
		Name:        c.text("name"),
		MemoryUsed:  c.number("memory.used.mib"),
		MemoryTotal: c.number("memory.total.mib"),
		Utilization: c.number("utilization.gpu.percent"),
		Temperature: c.number("temperature.gpu.celsius"),
		Margin:      c.number("temperature.gpu.tlimit.celsius"),
		Power:       c.first("power.draw.watts", "power.draw.instant.watts", "power.draw.average.watts"),
		PowerLimit:  c.first("power.limit.enforced.watts", "power.limit.watts"),
		Gen:         c.first("pcie.link.gen.current", "pcie.link.gen.device_current"), GenMax: c.number("pcie.link.gen.max"),
		Width: c.number("pcie.link.width.current"), WidthMax: c.number("pcie.link.width.max"),
		Corrected: c.ecc("corrected"), Uncorrected: c.ecc("uncorrected"),
		LinksUp: c.number("nvlink.links.active"), LinksDown: c.number("nvlink.links.inactive"),
		Processes: c.procs, VBIOS: c.text("vbios.version"),
	}
}

func (c *card) text(key string) string {
	if v := c.value(key); v != "N/A" {
		return v
	}
	return ""
}

func (c *card) number(key string) *float64 {
	v, err := strconv.ParseFloat(c.value(key), 64)
	if err != nil {
		return nil
	}
	return &v
}

func (c *card) first(keys ...string) *float64 {
	for _, k := range keys {
		if v := c.number(k); v != nil {
			return v
		}
	}
	return nil
}

// ecc is the total since the driver was loaded, summed where only parts are given.
func (c *card) ecc(what string) *float64 {
	v, ok := section.ECCTotal(c.value, what, "volatile")
	if !ok {
		return nil
	}
	return &v
}

// unread lists readings of a set that should be there and could not be read.
func unread(input string, s *section.Readings) []report.Unread {
	var out []report.Unread
	for _, r := range s.Values {
		if !section.Unreadable(r.Value) && r.Key != "probe.timeout" {
			continue
		}
		_, why, _ := strings.Cut(r.Text, "  # ")
		if r.Key == "probe.timeout" {
			why = hung(s, r.Value)
		}
		out = append(out, report.Unread{Input: input, Line: r.Line, Subject: s.Subject, Reading: r.Key, Why: cmp.Or(why, r.Value)})
	}
	slices.SortFunc(out, func(a, b report.Unread) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Reading, b.Reading))
	})
	return out
}

// hung says what did not answer, for how long, and where its process sleeps.
func hung(s *section.Readings, what string) string {
	for _, part := range []struct{ key, head, tail string }{
		{"probe.timeout.seconds", ": no answer in ", " s"}, {"probe.timeout.pid", ", process ", ""}, {"probe.timeout.state", ", state ", ""},
		{"probe.timeout.wait", ", waits in ", ""},
	} {
		if v := s.Values[part.key].Value; v != "" && v != "N/A" {
			what += part.head + v + part.tail
		}
	}
	if s.Values["probe.timeout.unkillable"].Value == "yes" {
		what += ", cannot be killed"
	}
	return what
}

// mark writes into each row what the findings say of its GPU.
func mark(n *report.Node, live bool) {
	for i := range n.GPUs {
		g := &n.GPUs[i]
		g.State = "ok"
		worst := gpumedic.ExitHealthy
		for j := range n.Findings {
			f := &n.Findings[j]
			w := Weight(f, live)
			if w == gpumedic.ExitHealthy || !about(f, g) {
				continue
			}
			g.Problems = append(g.Problems, f.Fault)
			worst = max(worst, w)
		}
		switch {
		case worst == gpumedic.ExitFault:
			g.State = "fault"
		case anyUnread(n.Unread, g):
			g.State = "unknown"
		case worst == gpumedic.ExitWarning:
			g.State = "warning"
		}
	}
}

func about(f *gpumedic.Finding, g *report.GPU) bool {
	if isCard(f.Subject, g) {
		return true
	}
	for _, s := range f.Also {
		if isCard(s, g) {
			return true
		}
	}
	return false
}

func isCard(s gpumedic.Subject, g *report.GPU) bool {
	return !s.GPU.IsZero() && (s.Node == g.Node || s.Node == "" || g.Node == "") &&
		s.GPU.Same(gpumedic.GPU{PCI: g.PCI, UUID: g.UUID, Index: g.Index})
}

func anyUnread(list []report.Unread, g *report.GPU) bool {
	for i := range list {
		if isCard(list[i].Subject, g) {
			return true
		}
	}
	return false
}
