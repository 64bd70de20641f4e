package watch

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/driver"
	"github.com/gpumedic/gpumedic/internal/probe/gpu"
)

// TestMain is the children too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == child.Arg {
		os.Exit(child.Main(context.Background(), map[string]child.Task{gpu.FollowName: gpu.Follow}, os.Args[2:]))
	}
	if path := os.Getenv("GPUMEDIC_TEST_DAEMON"); path != "" {
		os.Exit(daemonProcess(path))
	}
	status := m.Run()
	if built != "" {
		_ = os.RemoveAll(built) // what is left lies among temporary files
	}
	os.Exit(status)
}

// built is what fakeDir has made.
var built string

func embedded(t testing.TB) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const scenarios = "../probe/gpu/testdata/scenarios"

// fakeDir holds the fake driver library, built once.
var fakeDir = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "fake-nvml")
	if err != nil {
		return "", err
	}
	built = dir
	out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", filepath.Join(dir, "libnvidia-ml.so.1"), "../probe/gpu/testdata/fake/nvml.c").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("compile the fake library: %w\n%s", err, out)
	}
	return dir, nil
})

// useFake makes children of this test find the fake library, and gives a function that
// changes what it plays.
func useFake(t *testing.T, text string) (play func(text string)) {
	t.Helper()
	if !driver.Available {
		t.Skip("this build has no access to drivers")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed: the fake driver library cannot be built")
	}
	dir, err := fakeDir()
	if err != nil {
		t.Fatal(err)
	}
	healthy, err := filepath.Abs(filepath.Join(scenarios, "healthy.txt"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "scenario.txt")
	play = func(text string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte("include="+healthy+"\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	play(text)
	t.Setenv("LD_LIBRARY_PATH", dir)
	t.Setenv("NVML_FAKE", path)
	return play
}

// documents are one full and one vital document of the fake driver.
func documents(t *testing.T) (full, vital []byte) {
	t.Helper()
	useFake(t, "")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s := &gpu.Splitter{Event: func(uint64, string) {}}
	s.Doc = func(level string, doc []byte) {
		switch level {
		case gpu.LevelFull:
			full = bytes.Clone(doc)
		case gpu.LevelVital:
			vital = bytes.Clone(doc)
			cancel()
		}
	}
	var r child.Runner
	o := gpu.FollowOptions{Every: 20 * time.Millisecond, Quick: 100, Full: 100}
	_, _ = r.Run(ctx, child.Options{Task: gpu.FollowName, Args: o.Args(), Out: s}) // it ends with the context
	if full == nil || vital == nil {
		t.Fatal("no documents")
	}
	return full, vital
}
