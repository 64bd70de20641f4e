package gpumedic_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic/catalog"
)

func table(t *testing.T, name string) [][]string {
	t.Helper()
	b, err := os.ReadFile("testdata/contract/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for i, l := range strings.Split(strings.TrimRight(string(b), "\n"), "\n") {
		if i > 0 {
			out = append(out, strings.Split(l, "\t"))
		}
	}
	return out
}

// TestCatalogKeepsTheContract: ids, classes and default actions are fixed; entries may
// be added, never changed.
func TestCatalogKeepsTheContract(t *testing.T) {
	c, err := catalog.Load(catalog.EmbeddedFS())
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, row := range table(t, "faults.tsv") {
		known[row[0]] = true
		f := c.Faults[row[0]]
		if f == nil {
			continue // TestCatalogIsComplete says which are still to come
		}
		for i, got := range []string{f.Layer, f.Class, f.Component, f.Severity, f.Action} {
			if got != row[i+1] {
				t.Errorf("fault %s: %q, the contract says %q", row[0], got, row[i+1])
			}
		}
	}
	for id := range c.Faults {
		if !known[id] {
			t.Errorf("fault %s is not in the contract", id)
		}
	}
	for _, row := range table(t, "actions.tsv") {
		if !slices.Contains(catalog.Actions, row[0]) {
			t.Errorf("action %s is missing", row[0])
		}
	}
}

// TestCatalogIsValid checks the sense of every entry.
func TestCatalogIsValid(t *testing.T) {
	c, err := catalog.Load(catalog.EmbeddedFS())
	if err != nil {
		t.Fatal(err)
	}
	if p := catalog.Validate(catalog.EmbeddedFS(), c, c); len(p) > 0 {
		t.Errorf("%d problems\n%s", len(p), p.Error())
	}
}
