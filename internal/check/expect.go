package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gpumedic/gpumedic/internal/probe"
	"github.com/gpumedic/gpumedic/internal/replace"
	"github.com/gpumedic/gpumedic/internal/report"
)

// BaselineSchema names the form of a saved baseline. Fields are only ever added.
const BaselineSchema = "gpumedic.baseline/v1"

// A Baseline is what a node looked like when it was known to be good.
type Baseline struct {
	Schema string         `json:"schema"`
	Taken  time.Time      `json:"taken"`
	Driver string         `json:"driver,omitempty"`
	GPUs   []BaselineCard `json:"gpus"`
}

// BaselineCard is one GPU of a baseline.
type BaselineCard struct {
	Index    *int    `json:"index,omitempty"`
	PCI      string  `json:"pci"`
	UUID     string  `json:"uuid,omitempty"`
	Serial   string  `json:"serial,omitempty"`
	Name     string  `json:"name,omitempty"`
	VBIOS    string  `json:"vbios,omitempty"`
	MemoryMB float64 `json:"memory_mib,omitempty"`
	WidthMax float64 `json:"pcie_width_max,omitempty"`
	Links    float64 `json:"nvlinks_active,omitempty"`
}

// BaselineOf takes the baseline of what was read.
func BaselineOf(n *report.Node) *Baseline {
	b := &Baseline{Schema: BaselineSchema}
	for i := range n.GPUs {
		g := &n.GPUs[i]
		b.Driver = cmp.Or(b.Driver, g.Driver)
		b.GPUs = append(b.GPUs, BaselineCard{
			Index: g.Index, PCI: g.PCI, UUID: g.UUID, Serial: g.Serial, Name: g.Name, VBIOS: g.VBIOS,
			MemoryMB: value(g.MemoryTotal), WidthMax: value(g.WidthMax), Links: value(g.LinksUp),
		})
	}
	return b
}

func value(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// ReadBaseline reads a saved baseline.
func ReadBaseline(path string) (*Baseline, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read baseline: %w", err)
	}
	var b Baseline
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("read baseline %s: %w", path, err)
	}
	if b.Schema != BaselineSchema {
		return nil, fmt.Errorf("read baseline %s: schema is %q, want %q", path, b.Schema, BaselineSchema)
	}
	return &b, nil
}

// Save writes a baseline; a reader never sees half of it.
func (b *Baseline) Save(path string) error {
	data, err := json.MarshalIndent(b, "", " ")
	if err != nil {
		return fmt.Errorf("write baseline: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write baseline: %w", err)
	}
	if err := replace.File(path, append(data, '\n')); err != nil {
		return fmt.Errorf("write baseline %s: %w", path, err)
	}
	return nil
}

// writeExpected adds to a readings document what the user expects: the number of GPUs,
// and for each GPU of the baseline what it was. Rules compare them with what is.
func writeExpected(w *probe.Writer, gpus int, b *Baseline) {
	if b != nil && gpus < 0 {
		gpus = len(b.GPUs)
	}
	if gpus >= 0 {
		w.Subject("node", "")
		w.Value("expected.gpus", gpus)
	}
	if b == nil {
		return
	}
	if b.Driver != "" {
		w.Subject("node", "")
		w.Value("expected.driver.version", b.Driver)
	}
	cards := slices.Clone(b.GPUs)
	slices.SortFunc(cards, func(a, b BaselineCard) int { return cmp.Compare(a.PCI, b.PCI) })
	for _, c := range cards {
		if c.PCI == "" {
			continue
		}
		w.Subject("gpu", c.PCI)
		w.Noted("expected.present", c.PCI, "baseline of "+b.Taken.Format("2006-01-02"))
		for _, f := range []struct{ key, v string }{
			{"expected.uuid", c.UUID}, {"expected.serial", c.Serial}, {"expected.name", c.Name}, {"expected.vbios.version", c.VBIOS},
		} {
			if f.v != "" {
				w.Value(f.key, f.v)
			}
		}
		for _, f := range []struct {
			key string
			v   float64
		}{{"expected.memory.total.mib", c.MemoryMB}, {"expected.pcie.link.width.max", c.WidthMax}, {"expected.nvlink.links.active", c.Links}} {
			if f.v > 0 {
				w.Value(f.key, f.v)
			}
		}
	}
}
