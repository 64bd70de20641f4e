package catalogdoc

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/golden"
)

// TestPagesAreCurrent compares docs/faults with the catalog, and fails on pages of
// faults that are gone. Run with -update after a change of the catalog.
func TestPagesAreCurrent(t *testing.T) {
	c, err := catalog.Load(catalog.EmbeddedFS())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []string{"en", "zh"} {
		dir := filepath.Join("..", "..", "docs", "faults")
		if l == "zh" {
			dir = filepath.Join(dir, "zh")
		}
		want := map[string]bool{"README.md": true}
		page(t, filepath.Join(dir, "README.md"), func(w io.Writer) error { return Index(w, c, l) })
		for _, id := range c.FaultIDs() {
			want[id+".md"] = true
			page(t, filepath.Join(dir, id+".md"), func(w io.Writer) error { return Page(w, c, c.Faults[id], l) })
		}
		orphans(t, dir, want)
	}
}

func page(t *testing.T, path string, write func(io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, path, b.Bytes())
}

func orphans(t *testing.T, dir string, want map[string]bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if want[filepath.Base(f)] {
			continue
		}
		if golden.Updating() {
			os.Remove(f)
			continue
		}
		t.Errorf("%s belongs to no fault", f)
	}
}
