package check

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/driver"
	"github.com/gpumedic/gpumedic/internal/probe/gpu"
	"github.com/gpumedic/gpumedic/internal/probe/host"
	"github.com/gpumedic/gpumedic/internal/report"
	"github.com/gpumedic/gpumedic/internal/source"
)

// TestMain is the child that asks the driver, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == child.Arg {
		os.Exit(child.Main(context.Background(), map[string]child.Task{gpu.TaskName: gpu.Task}, os.Args[2:]))
	}
	os.Exit(m.Run())
}

const probeData = "../probe/gpu/testdata"

// fakeDriver builds the fake library and makes the loader find it.
func fakeDriver(t *testing.T) {
	t.Helper()
	if !driver.Available {
		t.Skip("this build has no access to drivers")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed: the fake driver library cannot be built")
	}
	dir := t.TempDir()
	out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", filepath.Join(dir, "libnvidia-ml.so.1"), probeData+"/fake/nvml.c").CombinedOutput()
	if err != nil {
		t.Fatalf("compile the fake library: %v\n%s", err, out)
	}
	t.Setenv("LD_LIBRARY_PATH", dir)
}

// TestLive takes the whole way of a live check, with the fake driver in a child and an
// empty machine around it; then the same from the recording.
func TestLive(t *testing.T) {
	fakeDriver(t)
	for _, c := range []struct {
		scenario, fault string
		status, gpus    int
		states          string
	}{
		{"healthy", "", 0, 8, "ok ok ok ok ok ok ok ok"},
		{"lost", "gpu-fell-off-bus", 2, 8, "ok ok ok fault ok ok ok ok"},
		{"remap-pending", "row-remap-pending", 1, 8, ""},
		{"remap-failed", "row-remap-failure", 2, 8, "ok ok fault ok ok ok ok ok"},
		// The GPU whose driver call hangs is given up on, those after it are read.
		{"hang-memory", "nvml-hang", 2, 8, "ok ok fault ok ok ok ok ok"},
		{"hang-init", "nvml-hang", 2, 0, ""},
		{"unreadable", "", 3, 8, ""},
		{"no-gpu", "", 3, 0, ""},
		{"mig", "", 0, 1, "ok"},
	} {
		file, err := filepath.Abs(filepath.Join(probeData, "scenarios", c.scenario+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("NVML_FAKE", file)
		root := t.TempDir()
		snap := Collect(t.Context(), CollectOptions{
			ExpectGPUs: -1, Call: 2 * time.Second, Total: 60 * time.Second, Runner: &child.Runner{},
			Host: host.Options{Root: root}, Now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		})
		o := Options{Lang: "en", Live: true, ExpectGPUs: -1}
		n, err := Judge(t.Context(), mustCatalog(t), snap.Inputs(), o)
		if err != nil {
			t.Fatal(err)
		}
		if n.Status != c.status || len(n.GPUs) != c.gpus || c.fault != "" && !strings.Contains(faults(n), c.fault) || c.fault == "" && faults(n) != "" {
			t.Errorf("%s: status %d, %d GPUs, faults %q; want %d, %d, %q\n%s", c.scenario, n.Status, len(n.GPUs), faults(n), c.status, c.gpus, c.fault, snap.Docs[ReadingsName])
		}
		if s := states(n); c.states != "" && s != c.states {
			t.Errorf("%s: states %s, want %s", c.scenario, s, c.states)
		}
		dir := filepath.Join(t.TempDir(), "snap")
		if err := snap.Save(dir); err != nil {
			t.Fatal(err)
		}
		again, err := Judge(t.Context(), mustCatalog(t), source.Expand([]string{dir}, source.ExpandOptions{}), o)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := toJSON(t, n.GPUs), toJSON(t, again.GPUs); a != b || again.Status != n.Status || faults(again) != faults(n) {
			t.Errorf("%s: the recording says status %d, %q, %s", c.scenario, again.Status, faults(again), b)
		}
	}
}

func states(n *report.Node) string {
	var out []string
	for _, g := range n.GPUs {
		out = append(out, g.State)
	}
	return strings.Join(out, " ")
}

// TestLiveDiff: a recording of a lost GPU against one of before.
func TestLiveDiff(t *testing.T) {
	fakeDriver(t)
	var dirs []string
	for _, s := range []string{"healthy", "remap-failed"} {
		file, err := filepath.Abs(filepath.Join(probeData, "scenarios", s+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("NVML_FAKE", file)
		snap := Collect(t.Context(), CollectOptions{ExpectGPUs: -1, Call: 5 * time.Second, Total: time.Minute, Runner: &child.Runner{}, Host: host.Options{Root: t.TempDir()}})
		dirs = append(dirs, filepath.Join(t.TempDir(), s))
		if err := snap.Save(dirs[len(dirs)-1]); err != nil {
			t.Fatal(err)
		}
	}
	var r [2]*Recording
	for i := range r {
		var err error
		if r[i], err = ReadRecording(t.Context(), mustCatalog(t), dirs[i], "en"); err != nil {
			t.Fatal(err)
		}
	}
	d := Compare(r[0], r[1])
	if d.Status != gpumedic.ExitFault || len(d.Appeared) != 1 || d.Appeared[0].Fault != "row-remap-failure" || len(d.Gone) != 0 {
		t.Errorf("%+v", d)
	}
	found := false
	for _, c := range d.Changes {
		found = found || c.Reading == "remapped_rows.failure" && c.Old == "no" && c.New == "yes"
	}
	if !found {
		t.Errorf("changes %+v", d.Changes)
	}
}
