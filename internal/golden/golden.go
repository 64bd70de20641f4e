// Package golden compares what a test makes with a file that keeps it, so that a change of
// output is read in a diff. For tests alone: it defines their flag -update.
package golden

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write goldens and generated files anew")

// Updating reports whether the test shall write instead of compare.
func Updating() bool { return *update }

// Check compares with the file, or writes it.
func Check(t testing.TB, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs: run this package's tests with -update and read the diff\n%s", path, difference(want, got))
	}
}

// difference is the first line that differs.
func difference(want, got []byte) string {
	w, g := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := range max(len(w), len(g)) {
		a, b := "(the end)", "(the end)"
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return "want " + a + "\ngot  " + b
		}
	}
	return ""
}
