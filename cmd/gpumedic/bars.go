package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/gpumedic/gpumedic/internal/burn"
)

// bars shows a line for each GPU under test on a terminal, rewritten in place, and nothing
// elsewhere.
type bars struct {
	w     io.Writer
	tty   bool
	width int

	mu    sync.Mutex
	pcis  []string
	state map[string]string
	last  time.Time
	drawn int
}

func newBars(w io.Writer) *bars {
	tty, width := terminal(w)
	return &bars{w: w, tty: tty, width: width, state: map[string]string{}}
}

func (b *bars) begin(gpus []testGPU) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range gpus {
		b.pcis = append(b.pcis, g.PCI)
		b.state[g.PCI] = "waits"
		if g.refused != "" {
			b.state[g.PCI] = "not tested: " + g.refused
		}
	}
	b.draw()
}

func (b *bars) show(pci string, p burn.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	const cells = 20
	full := int(min(max(p.Share, 0), 1)*cells + 0.5)
	s := fmt.Sprintf("[%s%s] %3.0f %%  %d errors", strings.Repeat("#", full), strings.Repeat("-", cells-full), min(p.Share, 1)*100, p.Errors)
	if p.Rate > 0 {
		s += fmt.Sprintf("  %.2f %s", p.Rate, p.Unit)
	}
	b.state[pci] = s + "  " + p.Step // last, as a narrow terminal cuts it
	if now := time.Now(); now.Sub(b.last) >= 100*time.Millisecond {
		b.last = now
		b.draw()
	}
}

func (b *bars) done(pci string, o *burn.Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state[pci], _ = o.Result()
	b.draw()
}

// end takes the lines away: the report says it all again.
func (b *bars) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.drawn > 0 {
		fmt.Fprintf(b.w, "\x1b[%dA\x1b[J", b.drawn)
		b.drawn = 0
	}
}

func (b *bars) draw() {
	if !b.tty {
		return
	}
	var out strings.Builder
	if b.drawn > 0 {
		fmt.Fprintf(&out, "\x1b[%dA", b.drawn)
	}
	for _, pci := range b.pcis {
		line := []rune(pci + "  " + b.state[pci])
		if len(line) >= b.width { // a wrapped line would break the count of lines
			line = line[:b.width-1]
		}
		fmt.Fprintf(&out, "\r\x1b[K%s\n", string(line))
	}
	b.drawn = len(b.pcis)
	_, _ = io.WriteString(b.w, out.String()) // progress that cannot be shown is no error
}
