package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic/internal/burn"
)

func TestBarsKeepToTheirLines(t *testing.T) {
	gpus := []testGPU{{Identity: burn.Identity{PCI: "0000:0a:00.0"}}, {Identity: burn.Identity{PCI: "0000:18:00.0"}, refused: "in use by python (7)"}}
	for _, tty := range []bool{false, true} {
		var out bytes.Buffer
		b := newBars(&out)
		b.tty, b.width = tty, 70
		b.begin(gpus)
		b.show("0000:0a:00.0", burn.Progress{Step: strings.Repeat("a long step ", 9), Share: 0.5, Rate: 4.5, Unit: "TB/s", Errors: 3})
		b.done("0000:0a:00.0", &burn.Outcome{Test: burn.TaskMemory})
		b.end()
		if !tty {
			if out.Len() > 0 {
				t.Errorf("not on a terminal: %q", out.String())
			}
			continue
		}
		s := out.String()
		if n := strings.Count(s, "\n"); n != 2*3 {
			t.Errorf("%d lines drawn for 2 GPUs three times: %q", n, s)
		}
		for line := range strings.Lines(s) {
			text := line[strings.LastIndex(line, "\x1b[K")+len("\x1b[K"):]
			if strings.Contains(line, "\x1b[K") && len(text) > 70 {
				t.Errorf("a line of %d cells would wrap: %q", len(text)-1, text)
			}
		}
		for _, want := range []string{"[##########----------]  50 %  3 errors  4.50 TB/s", "not tested: in use by python (7)", "\x1b[2A\x1b[J"} {
			if !strings.Contains(s, want) {
				t.Errorf("no %q in %q", want, s)
			}
		}
	}
}
