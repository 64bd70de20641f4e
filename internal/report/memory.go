package report

import (
	"fmt"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/layout"
)

// barCells is the width of a card's memory on the page.
const barCells = 48

// part is a share of a card's memory: how much, its letter in the bar, its name.
type part struct {
	key    string
	mark   string
	en, zh string
}

// parts of a card, in the order of the bar. What is missing in the figures is left out.
var parts = []part{
	{"allocated_bytes", "#", "allocated", "已分配"},
	{"unallocated_bytes", "=", "cached", "缓存未用"},
	{"nonframework_bytes", "+", "outside the framework", "框架外"},
	{"other_bytes", "-", "other processes", "其他进程"},
	{"free_bytes", ".", "free", "空闲"},
}

// memory draws the card's memory with what was wanted, when the evidence states the
// card's size and the request.
func (p *printer) memory(f *gpumedic.Finding) {
	total, ok1 := figure(f, "total_bytes")
	wanted, ok2 := figure(f, "requested_bytes")
	if !ok1 || !ok2 || total <= 0 {
		return
	}
	var bar strings.Builder
	var legend []string
	used := 0.0
	for _, pt := range parts {
		v, ok := figure(f, pt.key)
		if !ok || v <= 0 || used+v > total*1.02 { // what does not fit the card is not drawn
			continue
		}
		from := int(used / total * barCells)
		used += v
		n := min(int(used/total*barCells+0.5), barCells) - from
		bar.WriteString(strings.Repeat(pt.mark, max(n, 0)))
		legend = append(legend, fmt.Sprintf("%s %s %s", pt.mark, lang.Pick(p.Lang, pt.en, pt.zh), gib(v)))
	}
	if len(legend) == 0 {
		return
	}
	name := "GPU"
	if f.Subject.GPU.Index != nil {
		name = fmt.Sprintf("GPU %d", *f.Subject.GPU.Index)
	}
	fmt.Fprintf(p, "  %s  %s GiB, %s %s GiB\n", name, gib(total), lang.Pick(p.Lang, "wanted", "申请"), gib(wanted))
	fmt.Fprintf(p, "  [%s]\n", layout.Pad(layout.Head(bar.String(), barCells), barCells))
	p.lines("   ", strings.Join(legend, "   ")+"   GiB")
	fmt.Fprintln(p)
}

func figure(f *gpumedic.Finding, key string) (float64, bool) {
	v, ok := f.Figures[key].(float64)
	return v, ok
}

// gib prints bytes in GiB with the digits that matter.
func gib(bytes float64) string {
	switch g := bytes / (1 << 30); {
	case g >= 100:
		return fmt.Sprintf("%.0f", g)
	case g >= 0.1 || g == 0:
		return fmt.Sprintf("%.2f", g)
	default:
		return fmt.Sprintf("%.4f", g)
	}
}
