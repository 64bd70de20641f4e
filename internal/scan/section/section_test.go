package section

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/golden"
)

// text is a Lines over a whole input, standing at one of its lines.
type text struct {
	lines []string
	at    int
}

func (t text) Line(i int) (string, bool) {
	if t.at+i < 0 || t.at+i >= len(t.lines) {
		return "", false
	}
	return t.lines[t.at+i], true
}

// scan does what the block scan does: it tries every line that holds a literal and
// skips what Parse used.
func scan(input string) []Readings {
	lines := strings.Split(strings.TrimSuffix(input, "\n"), "\n")
	var out []Readings
	for i := 0; i < len(lines); {
		n := 0
		if containsAny(lines[i], Starts()) {
			var sets []Readings
			sets, n = Parse(text{lines, i})
			for j := range sets {
				sets[j].Shift(i + 1)
			}
			out = append(out, sets...)
		}
		i += max(n, 1)
	}
	return out
}

func rules(t testing.TB) []catalog.ReadingRule {
	// Only the readings: other parts of the catalog have tests of their own.
	tree := fstest.MapFS{"faults": {Mode: fs.ModeDir}, "signals": {Mode: fs.ModeDir}}
	files, err := filepath.Glob("../../../catalog/readings/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		tree["readings/"+filepath.Base(f)] = &fstest.MapFile{Data: b}
	}
	c, err := catalog.Load(tree)
	if err != nil {
		t.Fatal(err)
	}
	return c.Readings
}

// describe writes a signal as one line of a golden.
func describe(s gpumedic.Signal) string {
	who := s.Subject.GPU.String()
	for _, w := range []string{s.Subject.Port, s.Subject.NVSwitch, s.Subject.Unit, s.Subject.Location} {
		if who == "" {
			who = w
		}
	}
	if s.Subject.Process.PID > 0 {
		who += fmt.Sprintf(" pid %d", s.Subject.Process.PID)
	}
	keys := make([]string, 0, len(s.Fields))
	for k := range s.Fields {
		if !strings.Contains(k, "_") || k == "physical_state" {
			keys = append(keys, k+"="+s.Fields[k])
		}
	}
	sort.Strings(keys)
	return fmt.Sprintf("%-8s %s [%s] line %d x%d %s", s.Level, s.Kind, who, s.Evidence.Line, s.Count, strings.Join(keys, " "))
}

// TestGoldens reads every input of testdata and compares the signals.
func TestGoldens(t *testing.T) {
	rs := rules(t)
	files, err := filepath.Glob("testdata/*/*.in")
	if err != nil || len(files) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimPrefix(f, "testdata/"), func(t *testing.T) {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(b), "\n")
			var got strings.Builder
			for _, s := range Judge(rs, scan(string(b))) {
				got.WriteString(strings.TrimRight(describe(s), " ") + "\n")
				if n := s.Evidence.Line; n < 1 || n > len(lines) || strings.TrimRight(lines[n-1], "\r") != s.Evidence.Text {
					t.Errorf("%s: evidence is not line %d: %q", s.Kind, n, s.Evidence.Text)
				}
			}
			golden.Check(t, strings.TrimSuffix(f, ".in")+".want", []byte(got.String()))
		})
	}
}

// TestGoldensHaveInputs fails on a golden whose input is gone.
func TestGoldensHaveInputs(t *testing.T) {
	files, _ := filepath.Glob("testdata/*/*.want")
	for _, f := range files {
		if _, err := os.Stat(strings.TrimSuffix(f, ".want") + ".in"); err != nil {
			t.Errorf("%s has no input", f)
		}
	}
}
