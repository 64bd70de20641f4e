package offline

import (
	"encoding/json"
	"testing"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/source"
)

// TestSameInputSameOutput diagnoses every case of the catalog three times: maps are
// ranged over in another order each time, so an answer that depends on it shows.
func TestSameInputSameOutput(t *testing.T) {
	c, err := catalog.Load(catalog.EmbeddedFS())
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range c.FaultIDs() {
		cases, err := catalog.Cases(catalog.EmbeddedFS(), c.Faults[id])
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range cases {
			first := ""
			for range 3 {
				r, err := d.Run(t.Context(), []source.Input{source.FromBytes(k.Name, []byte(k.Input))}, Options{Lang: "zh"})
				if err != nil {
					t.Fatal(err)
				}
				b, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				if first == "" {
					first = string(b)
				} else if string(b) != first {
					t.Errorf("%s: two runs differ", k.Pos.File)
					break
				}
			}
		}
	}
}
