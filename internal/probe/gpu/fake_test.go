package gpu_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/driver"
	"github.com/gpumedic/gpumedic/internal/probe"
	"github.com/gpumedic/gpumedic/internal/probe/gpu"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

// TestMain is the child too: it opens the fake library as the program would the real one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == child.Arg {
		os.Exit(child.Main(context.Background(), map[string]child.Task{gpu.TaskName: gpu.Task, gpu.FollowName: gpu.Follow, "events": events}, os.Args[2:]))
	}
	os.Exit(run(m))
}

var libraries string // folder of the fake libraries

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "fake-nvml")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	libraries = dir
	defer os.RemoveAll(dir)
	return m.Run()
}

// fakes compiles the fake library, as a driver of today and as one of R450, which lacks
// what came later.
var fakes = sync.OnceValue(func() error {
	for name, args := range map[string][]string{"now": nil, "old": {"-DOLD"}} {
		to := filepath.Join(libraries, name)
		if err := os.MkdirAll(to, 0o700); err != nil {
			return err
		}
		args = append([]string{"-Wall", "-shared", "-fPIC", "-o", filepath.Join(to, "libnvidia-ml.so.1")}, args...)
		if out, err := exec.Command("gcc", append(args, "testdata/fake/nvml.c")...).CombinedOutput(); err != nil {
			return fmt.Errorf("compile the fake library: %w\n%s", err, out)
		}
	}
	return nil
})

// A checked is what one run of the probe gave.
type checked struct {
	doc   string
	sets  []section.Readings
	stuck *child.Stuck
	err   error
	took  time.Duration
}

// check runs the probe in a child against a scenario.
func check(t *testing.T, r *child.Runner, library, scenario, mode string, deadline time.Duration) checked {
	t.Helper()
	c := runTask(t, r, library, scenario, child.Options{Task: gpu.TaskName, Args: []string{mode}, Call: deadline})
	c.sets = parsed(t, c.doc)
	return c
}

// needFake builds the fake library, or says why it cannot be.
func needFake(t *testing.T) {
	t.Helper()
	if !driver.Available {
		t.Skip("this build has no access to drivers")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed: the fake driver library cannot be built")
	}
	if err := fakes(); err != nil {
		t.Fatal(err)
	}
}

// runTask runs a task in a child that finds the fake library.
func runTask(t *testing.T, r *child.Runner, library, scenario string, o child.Options) checked {
	t.Helper()
	needFake(t)
	if !strings.Contains(scenario, "/") {
		scenario = filepath.Join("testdata", "scenarios", scenario+".txt")
	}
	scenario, err := filepath.Abs(scenario)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	begun := time.Now()
	o.Out, o.Env = &out, []string{"LD_LIBRARY_PATH=" + filepath.Join(libraries, library), "NVML_FAKE=" + scenario}
	stuck, err := r.Run(t.Context(), o)
	took := time.Since(begun)
	if stuck != nil {
		gpu.Timeout(probe.NewWriter(&out), stuck)
	}
	return checked{out.String(), nil, stuck, err, took}
}

func parsed(t *testing.T, doc string) []section.Readings {
	t.Helper()
	l := section.TextOf(doc)
	sets, n := section.Parse(l)
	if n != len(l) {
		t.Fatalf("only %d of %d lines can be read back; the next is %q", n, len(l), l[n])
	}
	return sets
}

// abnormal are the signals that are more than facts, as "KIND SUBJECT".
func abnormal(t *testing.T, sets []section.Readings) []string {
	t.Helper()
	return signals(t, sets, func(s gpumedic.Signal) bool {
		return s.Level != gpumedic.LevelFact && s.Kind != "smi.gpu" && s.Kind != "smi.process"
	})
}

func signals(t *testing.T, sets []section.Readings, want func(gpumedic.Signal) bool) []string {
	t.Helper()
	c, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range section.Judge(c.Readings, sets) {
		if want(s) {
			about := s.Subject.GPU.PCI
			if about == "" {
				about = "node"
			}
			out = append(out, s.Kind+" "+about)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// value is a reading of the GPU of that index, or of the node (-1).
func (c checked) value(index int, key string) string {
	for _, s := range c.sets {
		if _, process := s.Values["process.pid"]; process {
			continue
		}
		switch g := s.Subject.GPU; {
		case index < 0 && g.IsZero(), index >= 0 && g.Index != nil && *g.Index == index:
			if v, ok := s.Values[key]; ok {
				return v.Value
			}
		}
	}
	return ""
}
