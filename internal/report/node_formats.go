package report

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lang"
)

// nodeMarkdown is for a ticket: the table, then the findings in full.
func nodeMarkdown(w io.Writer, n *Node, o Options) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s\n\n", escapeMarkdown(summary(n, o)))
	if len(n.GPUs) > 0 {
		fmt.Fprint(b, lang.Pick(o.Lang, "| GPU | address | product | memory GiB | temperature | power | pcie | ecc | state |\n",
			"| GPU | 地址 | 型号 | 显存 GiB | 温度 | 功率 | pcie | ecc | 状态 |\n"), "|---|---|---|---|---|---|---|---|---|\n")
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
				dash(pcie(g)), ecc, strings.TrimSpace(stateWord(o.Lang, g.State)+" "+strings.Join(g.Problems, " ")))
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
