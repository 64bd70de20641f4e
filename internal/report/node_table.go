package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/layout"
)

// gpuTable is one line a GPU; a column that no GPU has is left out.
func (p *printer) gpuTable(gpus []GPU) {
	if len(gpus) == 0 {
		return
	}
	type column struct {
		head string
		cell func(*GPU) string
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
		}},
		{lang.Pick(l, "address", "地址"), func(g *GPU) string { return strings.TrimPrefix(g.PCI, "0000:") }},
		{lang.Pick(l, "product", "型号"), func(g *GPU) string { return layout.Shorten(strings.TrimPrefix(g.Name, "NVIDIA "), 20) }},
		{lang.Pick(l, "memory", "显存"), func(g *GPU) string { return share(inGiB(g.MemoryUsed), inGiB(g.MemoryTotal), "G") }},
		{lang.Pick(l, "busy", "利用率"), func(g *GPU) string { return unit(g.Utilization, "%") }},
		{lang.Pick(l, "temp", "温度"), func(g *GPU) string { return unit(g.Temperature, "C") }},
		{lang.Pick(l, "power", "功率"), func(g *GPU) string { return share(g.Power, g.PowerLimit, "W") }},
		{"pcie", pcie},
		{"nvlink", func(g *GPU) string {
			if g.LinksUp == nil {
				return ""
			}
			total := *g.LinksUp
			if g.LinksDown != nil {
				total += *g.LinksDown
			}
			return share(g.LinksUp, &total, "")
		}},
		{"ecc", func(g *GPU) string {
			if g.Corrected == nil || g.Uncorrected == nil {
				return ""
			}
			return short(*g.Corrected) + "/" + short(*g.Uncorrected)
		}},
		{lang.Pick(l, "state", "状态"), func(g *GPU) string { return p.state(g.State) }},
	}
	if several {
		columns = append([]column{{lang.Pick(l, "node", "节点"), func(g *GPU) string { return layout.Shorten(g.Node, 12) }}}, columns...)
	}
	fmt.Fprintln(p)
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
	for i, r := range rows {
		if r = strings.TrimRight(r, " "); i == 0 {
			r = p.paint("2", r)
		}
		fmt.Fprintln(p, r)
	}
}

func (p *printer) state(s string) string {
	if p.Lang != "zh" {
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
