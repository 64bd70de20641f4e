package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/layout"
)

// A column of the table; those with a rank may be left out where it is too wide, the
// highest first.
type column struct {
	head string
	cell func(*GPU) string
	rank int
}

// gpuTable is one line a GPU; a column that no GPU has is left out.
func (p *printer) gpuTable(gpus []GPU) {
	if len(gpus) == 0 {
		return
	}
	several := false
	for i := range gpus {
		several = several || gpus[i].Node != gpus[0].Node
	}
	l := p.Lang
	columns := []column{
		{"GPU", func(g *GPU) string {
			if g.Index == nil {
				return ""
			}
			return strconv.Itoa(*g.Index)
		}, 0},
		{lang.Pick(l, "address", "地址"), func(g *GPU) string { return strings.TrimPrefix(g.PCI, "0000:") }, 0},
		{lang.Pick(l, "product", "型号"), func(g *GPU) string { return layout.Shorten(productName(g.Name), 20) }, 0},
		{lang.Pick(l, "memory", "显存"), func(g *GPU) string { return share(inGiB(g.MemoryUsed), inGiB(g.MemoryTotal), "G") }, 0},
		{lang.Pick(l, "busy", "利用率"), func(g *GPU) string { return unit(g.Utilization, "%") }, 4},
		{lang.Pick(l, "temp", "温度"), func(g *GPU) string { return unit(g.Temperature, "C") }, 0},
		{lang.Pick(l, "power", "功率"), func(g *GPU) string { return share(g.Power, g.PowerLimit, "W") }, 2},
		{"pcie", pcie, 1},
		{"nvlink", func(g *GPU) string {
			if g.LinksUp == nil {
				return ""
			}
			total := *g.LinksUp
			if g.LinksDown != nil {
				total += *g.LinksDown
			}
			return share(g.LinksUp, &total, "")
		}, 3},
		{"ecc", func(g *GPU) string {
			if g.Corrected == nil || g.Uncorrected == nil {
				return ""
			}
			return short(*g.Corrected) + "/" + short(*g.Uncorrected)
		}, 0},
		{lang.Pick(l, "state", "状态"), func(g *GPU) string { return stateWord(l, g.State) }, 0},
	}
	if several {
		columns = append([]column{{lang.Pick(l, "node", "节点"), func(g *GPU) string { return layout.Shorten(g.Node, 12) }, 0}}, columns...)
	}
	fmt.Fprintln(p)
	for i, r := range p.fitted(columns, gpus) {
		if r = strings.TrimRight(r, " "); i == 0 {
			r = p.paint("2", r)
		}
		fmt.Fprintln(p, r)
	}
}

// fitted lays the columns out, and leaves some out where they do not fit the width.
func (p *printer) fitted(columns []column, gpus []GPU) []string {
	for {
		rows := laidOut(columns, gpus)
		drop := -1
		for i, c := range columns {
			if c.rank > 0 && (drop < 0 || c.rank > columns[drop].rank) {
				drop = i
			}
		}
		if drop < 0 || layout.Cells(strings.TrimRight(rows[0], " ")) <= p.Width && widest(rows) <= p.Width {
			return rows
		}
		columns = append(columns[:drop:drop], columns[drop+1:]...)
	}
}

func widest(rows []string) int {
	n := 0
	for _, r := range rows {
		n = max(n, layout.Cells(strings.TrimRight(r, " ")))
	}
	return n
}

func laidOut(columns []column, gpus []GPU) []string {
	rows := make([]string, len(gpus)+1)
	for _, c := range columns {
		width, any := layout.Cells(c.head), false
		cells := make([]string, len(gpus))
		for i := range gpus {
			cells[i] = c.cell(&gpus[i])
			width, any = max(width, layout.Cells(cells[i])), any || cells[i] != ""
		}
		if !any {
			continue
		}
		rows[0] += "  " + layout.Pad(c.head, width)
		for i := range cells {
			if cells[i] == "" {
				cells[i] = "-"
			}
			rows[i+1] += "  " + layout.Pad(cells[i], width)
		}
	}
	return rows
}

func stateWord(l, s string) string {
	if l != "zh" {
		return s
	}
	return map[string]string{"ok": "正常", "warning": "警告", "fault": "故障", "unknown": "未知"}[s]
}

func inGiB(mib *float64) *float64 {
	if mib == nil {
		return nil
	}
	v := *mib / 1024
	return &v
}

func share(used, total *float64, u string) string {
	switch {
	case used == nil && total == nil:
		return ""
	case used == nil:
		return "?/" + short(*total) + u
	case total == nil:
		return short(*used) + u
	}
	return short(*used) + "/" + short(*total) + u
}

func unit(v *float64, u string) string {
	if v == nil {
		return ""
	}
	return short(*v) + u
}

// short is a number for a narrow column.
func short(v float64) string {
	if v < 10 && v != float64(int(v)) {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

func pcie(g *GPU) string {
	if g.Width == nil && g.Gen == nil {
		return ""
	}
	out := ""
	if g.Gen != nil {
		out = "g" + short(*g.Gen)
		if g.GenMax != nil && *g.GenMax != *g.Gen {
			out += "/" + short(*g.GenMax)
		}
	}
	if g.Width != nil {
		out += " x" + short(*g.Width)
		if g.WidthMax != nil && *g.WidthMax != *g.Width {
			out += "/" + short(*g.WidthMax)
		}
	}
	return strings.TrimSpace(out)
}

// productName shortens a name for the table. lspci writes the chip with the product in
// brackets, "NVIDIA Corporation GH100 [H100 PCIe] (rev a1)": the product is what people know.
func productName(name string) string {
	if s, ok := strings.CutPrefix(name, "NVIDIA Corporation "); ok {
		s, _, _ = strings.Cut(s, " (rev ")
		if _, inner, ok := strings.Cut(s, "["); ok {
			s, _, _ = strings.Cut(inner, "]")
		}
		return s
	}
	return strings.TrimPrefix(name, "NVIDIA ")
}
