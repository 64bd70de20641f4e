package check

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/offline"
	"github.com/gpumedic/gpumedic/internal/report"
	"github.com/gpumedic/gpumedic/internal/scan/section"
	"github.com/gpumedic/gpumedic/internal/source"
)

// A Recording is recorded output, read and judged.
type Recording struct {
	Name string
	Node *report.Node
	sets [][]section.Readings
}

// ReadRecording reads a folder that check --record wrote, or any output with readings.
func ReadRecording(ctx context.Context, cat *catalog.Catalog, path, lang string) (*Recording, error) {
	inputs := source.Expand([]string{path}, source.ExpandOptions{})
	d, err := offline.New(cat)
	if err != nil {
		return nil, err
	}
	x, err := d.Examine(ctx, inputs, offline.Options{Lang: lang})
	if err != nil {
		return nil, err
	}
	n := view(x)
	if n.Readings == 0 {
		return nil, errNoReadings(path, inputs)
	}
	n.Status = status(n, Options{ExpectGPUs: -1})
	return &Recording{Name: path, Node: n, sets: x.Readings}, nil
}

func errNoReadings(path string, inputs []source.Input) error {
	for _, in := range inputs {
		if len(in.Problems) > 0 {
			return fmt.Errorf("read recording %s: %s", path, strings.Join(in.Problems, "; "))
		}
	}
	return fmt.Errorf("read recording %s: no readings in it", path)
}

// moving are readings that differ from minute to minute on a healthy node.
var moving = []string{
	"timestamp", "uptime", "utilization.", "memory.used", "memory.free", "memory.reserved", "bar1.used", "bar1.free", "clocks.",
	"clocks_event_reasons", "violation.", "fan.", "power.draw", "temperature.gpu.celsius", "temperature.gpu.tlimit", "temperature.memory.celsius",
	"pstate", "process.", "host.memory", "host.swap", "disk.", "pcie.link.gen.current", "pcie.link.gen.device_current", "pcie.port.speed.gts",
	"busy", "time.", "boot.",
}

func moves(key string) bool {
	for _, p := range moving {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return false
}

// Compare says what changed from one recording to the next. Its status is that of the
// findings that are new.
func Compare(old, now *Recording) *report.Diff {
	d := &report.Diff{Schema: report.DiffSchema, Old: old.Name, New: now.Name, Changes: []report.Change{}, Appeared: []gpumedic.Finding{}, Gone: []gpumedic.Finding{}}
	a, b := valuesOf(old.sets), valuesOf(now.sets)
	subjects := slices.Collect(maps.Keys(a))
	for s := range b {
		if _, ok := a[s]; !ok {
			subjects = append(subjects, s)
		}
	}
	slices.Sort(subjects)
	for _, s := range subjects {
		switch {
		case len(b[s]) == 0:
			d.Changes = append(d.Changes, report.Change{Subject: s, What: "gone"})
		case len(a[s]) == 0:
			d.Changes = append(d.Changes, report.Change{Subject: s, What: "new"})
		default:
			d.Changes = append(d.Changes, changes(s, a[s], b[s])...)
		}
	}
	was, is := findings(old.Node), findings(now.Node)
	for _, k := range slices.Sorted(maps.Keys(is)) {
		if _, ok := was[k]; !ok {
			d.Appeared = append(d.Appeared, is[k])
			f := is[k]
			d.Status = max(d.Status, Weight(&f, false))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(was)) {
		if _, ok := is[k]; !ok {
			d.Gone = append(d.Gone, was[k])
		}
	}
	return d
}

func changes(subject string, a, b map[string]string) []report.Change {
	var out []report.Change
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if a[k] == b[k] || moves(k) {
			continue
		}
		c := report.Change{Subject: subject, Reading: k, What: "changed", Old: a[k], New: b[k]}
		x, err1 := strconv.ParseFloat(a[k], 64)
		y, err2 := strconv.ParseFloat(b[k], 64)
		if err1 == nil && err2 == nil {
			delta := y - x
			c.Delta = &delta
		}
		out = append(out, c)
	}
	return out
}

// valuesOf gathers readings by the name of what they are about. A GPU goes by its serial
// or UUID where it has one, so that a card that moved to another slot stays the same.
func valuesOf(inputs [][]section.Readings) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, sets := range inputs {
		for i := range sets {
			s := &sets[i]
			if s.Values["process.pid"].Value != "" || s.Subject.Process.PID != 0 {
				continue
			}
			name := subjectName(&s.Subject)
			if out[name] == nil {
				out[name] = map[string]string{}
			}
			for k, r := range s.Values {
				if old, ok := out[name][k]; !ok || old == "N/A" {
					out[name][k] = r.Value
				}
			}
		}
	}
	return out
}

func subjectName(s *gpumedic.Subject) string {
	g := s.GPU
	name := "node"
	switch {
	case g.UUID != "":
		name = g.UUID
	case g.PCI != "":
		name = "GPU " + g.PCI
	case g.Index != nil:
		name = "GPU " + strconv.Itoa(*g.Index)
	case s.NVSwitch != "":
		name = "NVSwitch " + s.NVSwitch
	case s.Port != "":
		name = "port " + s.Port
	case s.Unit != "":
		name = s.Unit
	}
	if g.MIG != "" {
		name += " MIG " + g.MIG
	}
	return strings.TrimSpace(s.Node + " " + name)
}

// findings by what they say of whom.
func findings(n *report.Node) map[string]gpumedic.Finding {
	out := map[string]gpumedic.Finding{}
	for _, f := range n.Findings {
		if f.Role != gpumedic.RoleIncidental {
			out[f.Fault+" "+cmp.Or(f.Subject.GPU.UUID, f.Subject.GPU.String(), f.Subject.Port, f.Subject.Unit)] = f
		}
	}
	return out
}
