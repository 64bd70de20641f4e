package gpu

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/probe"
)

// TaskName is the name under which the program registers Task.
const TaskName = "nvml"

// Task is the probe as a child's work. Its arguments are quick or full, and, after a
// probe that hung, the address of the GPU where.
func Task(ctx context.Context, c *child.Context) error {
	var o Options
	switch {
	case len(c.Args) >= 1 && len(c.Args) <= 2 && c.Args[0] == "full":
		o.Full = true
	case len(c.Args) >= 1 && len(c.Args) <= 2 && c.Args[0] == "quick":
	default:
		return fmt.Errorf("probe gpus: arguments %q, want quick or full and perhaps an address", c.Args)
	}
	if len(c.Args) == 2 {
		if o.After = gpumedic.NormalPCI(c.Args[1]); o.After == "" {
			return fmt.Errorf("probe gpus: %q is no PCI address", c.Args[1])
		}
	}
	return Probe(ctx, probe.NewWriter(c.Out), c.Call, o)
}

// Where is the address of the GPU that a stuck call was about, "" when it was about none.
func Where(s *child.Stuck) string {
	_, about, _ := strings.Cut(s.Call, " ")
	return gpumedic.NormalPCI(about)
}

// Timeout adds to a child's answer that it was given up on: which call did not return,
// for how long, and where the process sleeps. The readings stand under the GPU that the
// call was about, or under the node.
func Timeout(w *probe.Writer, s *child.Stuck) {
	call := s.Call
	if call == "" {
		call = "start of the probe"
	}
	if pci := Where(s); pci != "" {
		w.Subject("gpu", pci)
	} else {
		w.Subject("node", "")
	}
	w.Value("probe.timeout", call)
	w.Value("probe.timeout.seconds", math.Round(s.For.Seconds()*10)/10)
	w.Value("probe.timeout.pid", s.PID)
	w.Value("probe.timeout.unkillable", s.Unkillable)
	for _, v := range [][2]string{{"state", s.State}, {"wait", s.Wait}, {"stack", strings.Join(strings.Fields(s.Stack), " ")}} {
		if v[1] != "" {
			w.Value("probe.timeout."+v[0], v[1])
		}
	}
}
