package report

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
)

// nodeMarkdown is for a ticket: the table, then the findings in full.
func nodeMarkdown(w io.Writer, n *Node, o Options) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s\n\n", escapeMarkdown(summary(n, o)))
	if len(n.GPUs) > 0 {
		fmt.Fprint(b, "| GPU | address | product | memory GiB | temperature | power | pcie | ecc | state |\n|---|---|---|---|---|---|---|---|---|\n")
		for i := range n.GPUs {
			g := &n.GPUs[i]
			index := "-"
			if g.Index != nil {
				index = strconv.Itoa(*g.Index)
			}
			ecc := "-"
			if g.Corrected != nil && g.Uncorrected != nil {
				ecc = short(*g.Corrected) + "/" + short(*g.Uncorrected)
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", index, g.PCI, escapeMarkdown(g.Name),
				dash(share(inGiB(g.MemoryUsed), inGiB(g.MemoryTotal), "")), dash(unit(g.Temperature, " °C")), dash(share(g.Power, g.PowerLimit, " W")),
				dash(pcie(g)), ecc, g.State+" "+strings.Join(g.Problems, " "))
		}
		fmt.Fprintln(b)
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return Markdown(w, n.Report, o)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func escapeMarkdown(s string) string { return strings.NewReplacer("|", "\\|", "\n", " ").Replace(s) }

// nagios is one line for a person, then the performance data of the plugin interface.
func nagios(w io.Writer, n *Node, o Options) error {
	word := map[int]string{
		gpumedic.ExitHealthy: "OK", gpumedic.ExitWarning: "WARNING", gpumedic.ExitFault: "CRITICAL", gpumedic.ExitUnknown: "UNKNOWN",
	}[n.Status]
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "GPU %s - %s", word, strings.ReplaceAll(summary(n, o), "|", "/"))
	fmt.Fprintf(b, " | gpus=%d problems=%d unread=%d", len(n.GPUs), len(listed(n)), len(n.Unread))
	for i := range n.GPUs {
		g := &n.GPUs[i]
		id := strconv.Itoa(i)
		if g.Index != nil {
			id = strconv.Itoa(*g.Index)
		}
		for _, f := range []struct {
			name, unit string
			v          *float64
		}{{"temperature", "", g.Temperature}, {"memory_used", "MB", g.MemoryUsed}, {"power", "", g.Power}, {"utilization", "%", g.Utilization}} {
			if f.v != nil {
				fmt.Fprintf(b, " gpu%s_%s=%s%s", id, f.name, strconv.FormatFloat(*f.v, 'f', -1, 64), f.unit)
			}
		}
	}
	fmt.Fprintln(b)
	for _, f := range listed(n)[min(1, len(listed(n))):] { // the long output, after the first line
		fmt.Fprintln(b, strings.ReplaceAll(f.Headline, "|", "/"))
	}
	return b.Flush()
}

// prometheus is the text exposition format, for the textfile collector.
func prometheus(w io.Writer, n *Node) error {
	b := bufio.NewWriter(w)
	metric := func(name, help string, samples func(sample func(labels []string, v float64))) {
		headed := false
		samples(func(labels []string, v float64) {
			if !headed {
				fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
				headed = true
			}
			fmt.Fprint(b, name)
			for i := 0; i+1 < len(labels); i += 2 {
				fmt.Fprintf(b, "%c%s=\"%s\"", "{,"[min(i, 1)], labels[i], escapeLabel.Replace(labels[i+1]))
			}
			if len(labels) > 0 {
				fmt.Fprint(b, "}")
			}
			fmt.Fprintf(b, " %s\n", strconv.FormatFloat(v, 'g', -1, 64))
		})
	}
	one := func(v float64) func(func([]string, float64)) {
		return func(sample func([]string, float64)) { sample(nil, v) }
	}
	metric("gpumedic_check_status", "Exit status of the check: 0 healthy, 1 warning, 2 fault, 3 unknown.", one(float64(n.Status)))
	metric("gpumedic_check_gpus", "GPUs that the check saw.", one(float64(len(n.GPUs))))
	metric("gpumedic_check_unread_readings", "Readings that should be there and could not be read.", one(float64(len(n.Unread))))
	metric("gpumedic_finding", "A fault that the check concluded; 1 for each.", func(sample func([]string, float64)) {
		seen := map[string]bool{}
		for _, f := range listed(n) {
			for _, s := range append([]gpumedic.Subject{f.Subject}, f.Also...) {
				labels := []string{"fault", f.Fault, "severity", f.Severity, "class", f.Class, "gpu", s.GPU.String(), "uuid", s.GPU.UUID}
				if key := strings.Join(labels, "\x00"); !seen[key] {
					seen[key] = true
					sample(labels, 1)
				}
			}
		}
	})
	each := func(name, help string, value func(*GPU) *float64, factor float64) {
		metric(name, help, func(sample func([]string, float64)) {
			for i := range n.GPUs {
				if v := value(&n.GPUs[i]); v != nil {
					sample(labelsOf(&n.GPUs[i]), *v*factor)
				}
			}
		})
	}
	metric("gpumedic_gpu_state", "State of the GPU: 0 ok, 1 warning, 2 fault, 3 unknown.", func(sample func([]string, float64)) {
		for i := range n.GPUs {
			sample(labelsOf(&n.GPUs[i]), map[string]float64{"ok": 0, "warning": 1, "fault": 2, "unknown": 3}[n.GPUs[i].State])
		}
	})
	each("gpumedic_gpu_memory_used_bytes", "GPU memory in use.", func(g *GPU) *float64 { return g.MemoryUsed }, 1<<20)
	each("gpumedic_gpu_memory_total_bytes", "GPU memory.", func(g *GPU) *float64 { return g.MemoryTotal }, 1<<20)
	each("gpumedic_gpu_utilization_ratio", "Share of time in which the GPU worked.", func(g *GPU) *float64 { return g.Utilization }, 0.01)
	each("gpumedic_gpu_temperature_celsius", "GPU temperature.", func(g *GPU) *float64 { return g.Temperature }, 1)
	each("gpumedic_gpu_temperature_margin_celsius", "Degrees left to the temperature limit.", func(g *GPU) *float64 { return g.Margin }, 1)
	each("gpumedic_gpu_power_watts", "Power drawn.", func(g *GPU) *float64 { return g.Power }, 1)
	each("gpumedic_gpu_power_limit_watts", "Power limit in force.", func(g *GPU) *float64 { return g.PowerLimit }, 1)
	each("gpumedic_gpu_pcie_link_generation", "PCIe generation now; an idle link is slow on purpose.", func(g *GPU) *float64 { return g.Gen }, 1)
	each("gpumedic_gpu_pcie_link_width", "PCIe lanes now.", func(g *GPU) *float64 { return g.Width }, 1)
	each("gpumedic_gpu_ecc_corrected_errors", "Corrected memory errors since the driver was loaded.", func(g *GPU) *float64 { return g.Corrected }, 1)
	each("gpumedic_gpu_ecc_uncorrected_errors", "Uncorrected memory errors since the driver was loaded.", func(g *GPU) *float64 { return g.Uncorrected }, 1)
	each("gpumedic_gpu_nvlinks_active", "NVLinks that are up.", func(g *GPU) *float64 { return g.LinksUp }, 1)
	return b.Flush()
}

func labelsOf(g *GPU) []string {
	index := ""
	if g.Index != nil {
		index = strconv.Itoa(*g.Index)
	}
	return []string{"gpu", index, "pci", g.PCI, "uuid", g.UUID, "name", g.Name}
}

var escapeLabel = strings.NewReplacer("\\", "\\\\", "\n", "\\n", `"`, `\"`)
