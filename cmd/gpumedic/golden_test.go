package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic/internal/golden"
	"github.com/gpumedic/gpumedic/internal/layout"
)

// forms are the outputs of which goldens are kept, by file ending.
var forms = map[string][]string{
	".en.txt": {"--lang", "en"},
	".zh.txt": {"--lang", "zh"},
	".md":     {"--format", "markdown", "--lang", "en"},
	".json":   {"--format", "json", "--lang", "en"},
}

var version = regexp.MustCompile(`"version": "[^"]*"|"catalog": "[^"]*"|_gpumedic [^_]*_`)

// TestGoldenReports keeps the whole reports of the examples, so that a change of wording
// is seen in a diff. Run with -update after a change that is meant.
func TestGoldenReports(t *testing.T) {
	examples, err := filepath.Glob("../../examples/*.log")
	if err != nil || len(examples) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	wanted := map[string]bool{}
	for _, ex := range examples {
		for ending, flags := range forms {
			name := strings.TrimSuffix(filepath.Base(ex), ".log") + ending
			wanted[name] = true
			var out, errs bytes.Buffer
			run(t.Context(), append(append([]string{"diagnose"}, flags...), ex), nil, &out, &errs)
			if errs.Len() > 0 {
				t.Errorf("%s: %s", name, errs.String())
			}
			got := version.ReplaceAll(out.Bytes(), []byte("(version)"))
			got = bytes.ReplaceAll(got, []byte("../../"), nil)
			golden.Check(t, filepath.Join("testdata", "golden", name), got)
		}
	}
	files, _ := filepath.Glob("testdata/golden/*")
	for _, f := range files {
		if !wanted[filepath.Base(f)] {
			t.Errorf("%s belongs to no example", f)
		}
	}
}

// TestTextFitsTheTerminal: no line of a report is wider than 80 cells, commands and
// addresses apart, which must stay in one piece.
func TestTextFitsTheTerminal(t *testing.T) {
	files, _ := filepath.Glob("testdata/golden/*.txt")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for n, l := range strings.Split(string(b), "\n") {
			if w := layout.Cells(l); w > 82 && !strings.Contains(l, "://") && !pasted.MatchString(l) {
				t.Errorf("%s:%d is %d cells wide: %s", f, n+1, w, l)
			}
		}
	}
}

// pasted lines are commands and source addresses.
var pasted = regexp.MustCompile(`^ {7,}\S|^  (sources|依据|   )`)
