package section

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzParse holds the promises of Parse and Judge on any input: no panic, no more
// lines used than there are, evidence that is a line of the input.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/pasted/*.in")
	for _, name := range files {
		if b, err := os.ReadFile(name); err == nil {
			f.Add(string(b))
		}
	}
	f.Add("$ nvidia-smi\n\n| 0  x | 00000000:01:00.0 Off | 0 |\n|ERR!|")
	f.Add("{\"DCGM GPU Diagnostic\": {")
	f.Add("# gpumedic readings 1\n[gpu 0000:0a:00.0]\nindex: 0\nfan.speed.percent: N/A  # x\n[process 1]\n")
	rs := rules(f)
	f.Fuzz(func(t *testing.T, input string) {
		lines := strings.Split(input, "\n")
		for i := range lines {
			sets, n := Parse(text{lines, i})
			if n < 0 || i+n > len(lines) {
				t.Fatalf("line %d: used %d of %d lines", i, n, len(lines)-i)
			}
			if n == 0 && len(sets) > 0 {
				t.Fatalf("line %d: readings but no line used", i)
			}
			for _, s := range sets {
				for k, r := range s.Values {
					if k != r.Key {
						t.Fatalf("reading %q under the name %q", r.Key, k)
					}
					if r.Text != "" && (i+r.Line < 0 || i+r.Line >= len(lines) || lines[i+r.Line] != r.Text) {
						t.Fatalf("line %d: reading %s is not on line %d", i, k, i+r.Line)
					}
				}
			}
			Judge(rs, sets)
		}
	})
}
