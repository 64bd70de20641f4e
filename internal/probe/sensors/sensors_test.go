package sensors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/driver"
	"github.com/gpumedic/gpumedic/internal/probe"
)

// TestMain is the child too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == child.Arg {
		os.Exit(child.Main(context.Background(), map[string]child.Task{TaskName: Task}, os.Args[2:]))
	}
	os.Exit(m.Run())
}

// run samples a scenario of the GPU probe's fake driver until there are n samples.
func run(t *testing.T, scenario string, n int, args []string) ([]probe.Sample, error) {
	t.Helper()
	if !driver.Available {
		t.Skip("this build has no access to drivers")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed: the fake driver library cannot be built")
	}
	dir := t.TempDir()
	build := exec.Command("gcc", "-shared", "-fPIC", "-o", filepath.Join(dir, "libnvidia-ml.so.1"), "../gpu/testdata/fake/nvml.c")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("compile the fake library: %v\n%s", err, out)
	}
	path, err := filepath.Abs(filepath.Join("../gpu/testdata/scenarios", scenario+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &enough{n: n, stop: cancel}
	var r child.Runner
	_, err = r.Run(ctx, child.Options{Task: TaskName, Args: args, Call: 10 * time.Second, Out: w, Env: []string{"LD_LIBRARY_PATH=" + dir, "NVML_FAKE=" + path}})
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	var out []probe.Sample
	for line := range bytes.Lines(w.b.Bytes()) {
		var s probe.Sample
		if e := json.Unmarshal(line, &s); e == nil {
			out = append(out, s)
		}
	}
	return out, err
}

// enough ends a run after n lines.
type enough struct {
	b    bytes.Buffer
	n    int
	stop func()
}

func (w *enough) Write(b []byte) (int, error) {
	w.b.Write(b)
	if bytes.Count(w.b.Bytes(), []byte("\n")) >= w.n {
		w.stop()
	}
	return len(b), nil
}

func TestSamplesOfAGPU(t *testing.T) {
	list, err := run(t, "h200", 3, Args(20*time.Millisecond, []string{"0000:00:06.0"}))
	if err != nil || len(list) < 3 {
		t.Fatalf("%d samples, %v", len(list), err)
	}
	for i, s := range list[:3] {
		if s.PCI != "0000:00:06.0" || s.SMClock != 1980 || s.MemoryClock != 3201 || s.Temperature != 40 || s.MemoryTemp != 37 || s.Power < 100 || s.Power > 200 || s.LinkWidth != 16 {
			t.Errorf("%+v", s)
		}
		if i > 0 && !s.At.After(list[i-1].At) {
			t.Errorf("sample %d is not later than the one before", i)
		}
	}
}

func TestReasonsByTheirNames(t *testing.T) {
	list, err := run(t, "thermal", 2, Args(time.Second, []string{"0000:0a:00.0", "0000:4a:00.0"}))
	if err != nil {
		t.Fatal(err)
	}
	seen := ""
	for _, s := range list {
		seen += strings.Join(s.Reasons, " ") + " "
	}
	if !strings.Contains(seen, "hw_thermal_slowdown") {
		t.Errorf("reasons %q of %+v", seen, list)
	}
}

func TestWhatCannotBeSampledIsAnError(t *testing.T) {
	for _, c := range []struct {
		scenario, want string
		args           []string
	}{
		{"h200", "0000:99:00.0", Args(time.Second, []string{"0000:99:00.0"})},
		{"not-loaded", "nvmlInit", Args(time.Second, []string{"0000:00:06.0"})},
		{"h200", "interval", []string{"soon", "0000:00:06.0"}},
		{"h200", "arguments", nil},
	} {
		if _, err := run(t, c.scenario, 1, c.args); err == nil || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s %q: %v, want %q", c.scenario, c.args, err, c.want)
		}
	}
}
