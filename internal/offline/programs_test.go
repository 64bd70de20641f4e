package offline

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic"
)

// TestProgramsOnRealGPU: what small programs with a known fault printed on a real GPU,
// with the kernel's log of the same moment, gives that fault; alone or concatenated.
func TestProgramsOnRealGPU(t *testing.T) {
	dir := "testdata/h200"
	b, err := os.ReadFile(filepath.Join(dir, "expected.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n")[1:] {
		f := strings.Split(l, "\t")
		files := []string{filepath.Join(dir, f[0]+".log")}
		if kern := filepath.Join(dir, f[0]+".kern.log"); exists(kern) {
			files = append(files, kern)
		}
		r := diagnoseFiles(t, files...)
		got := "-"
		if r.Verdict == gpumedic.VerdictFault {
			got = r.Findings[0].Fault
		}
		if !slices.Contains(strings.Fields(f[1]), got) {
			t.Errorf("%s (%s): %s, want %s", f[0], f[2], got, f[1])
		}
		if r.Verdict == gpumedic.VerdictFault && r.Findings[0].Layer != "software" {
			t.Errorf("%s: a program's fault is blamed on the %s", f[0], r.Findings[0].Layer)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
