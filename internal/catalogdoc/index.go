package catalogdoc

import (
	"bufio"
	"fmt"
	"io"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/lang"
)

// Index writes the table of all faults, by layer.
func Index(w io.Writer, c *catalog.Catalog, l string) error {
	p := &writer{bufio.NewWriter(w), l}
	fmt.Fprintf(p, "# %s\n\n%s\n", p.say("Faults", "故障目录"),
		p.say("Generated from catalog/faults; do not edit.", "由 catalog/faults 生成，请勿手工修改。"))
	for _, layer := range []string{"hardware", "driver", "software"} {
		p.head(lang.Term(l, layer))
		fmt.Fprintf(p, "| %s | %s | %s | %s |\n| --- | --- | --- | --- |\n", p.say("fault", "故障"), p.say("title", "名称"),
			p.say("severity", "级别"), p.say("first action", "首要处置"))
		for _, id := range c.FaultIDs() {
			if f := c.Faults[id]; f.Layer == layer {
				fmt.Fprintf(p, "| [%s](%s.md) | %s | %s | %s |\n", id, id, f.Title.In(l), f.Severity, lang.Term(l, f.Action))
			}
		}
	}
	return p.Flush()
}
