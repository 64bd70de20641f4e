package catalogtest

import (
	"testing"

	"github.com/gpumedic/gpumedic/catalog"
)

// TestCatalog holds the whole shipped catalog to its own examples and cases.
func TestCatalog(t *testing.T) {
	c, err := catalog.Load(catalog.EmbeddedFS())
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), c, c, catalog.EmbeddedFS())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d cases, %d examples, %d near misses", r.Cases, r.Examples, r.NearMisses)
	for _, f := range r.Failures {
		t.Error(f)
	}
}
