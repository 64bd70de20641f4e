package gpu_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/probe/gpu"
)

// follow runs Follow against a scenario that may change, until f is content with the
// documents and events so far.
func follow(t *testing.T, scenario string, f func(docs map[string][]string, events []string) bool) (*child.Stuck, error) {
	t.Helper()
	return followAs(t, scenario, gpu.FollowOptions{Every: 20 * time.Millisecond, Quick: 3, Full: 9}, f)
}

func followAs(t *testing.T, scenario string, o gpu.FollowOptions, f func(docs map[string][]string, events []string) bool) (*child.Stuck, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	docs, events := map[string][]string{}, []string{}
	look := func() {
		if f(docs, events) {
			cancel()
		}
	}
	s := &gpu.Splitter{
		Doc: func(level string, doc []byte) {
			mu.Lock()
			defer mu.Unlock()
			docs[level] = append(docs[level], string(doc))
			look()
		},
		Event: func(code uint64, pci string) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, pci)
			look()
		},
	}
	var r child.Runner
	return r.Run(ctx, child.Options{Task: gpu.FollowName, Args: o.Args(), Out: s, Alive: true, Call: 2 * time.Second, Total: time.Minute,
		Env: []string{"LD_LIBRARY_PATH=" + filepath.Join(libraries, "now"), "NVML_FAKE=" + scenario}})
}

// play writes a scenario in one step, as the fake library wants it.
func play(t *testing.T, path, text string) {
	t.Helper()
	healthy, err := filepath.Abs("testdata/scenarios/healthy.txt")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", []byte("include="+healthy+"\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestFollow(t *testing.T) {
	needFake(t)
	path := filepath.Join(t.TempDir(), "scenario.txt")
	play(t, path, "")
	stage := 0
	stuck, err := follow(t, path, func(docs map[string][]string, events []string) bool {
		last := func(level string) string {
			if l := docs[level]; len(l) > 0 {
				return l[len(l)-1]
			}
			return ""
		}
		switch {
		case stage == 0 && len(docs[gpu.LevelFull]) > 0 && len(docs[gpu.LevelQuick]) > 0 && len(docs[gpu.LevelVital]) > 1:
			if !strings.Contains(last(gpu.LevelVital), "temperature.gpu.celsius: 61") || strings.Contains(last(gpu.LevelVital), "serial") {
				t.Errorf("vital document: %s", last(gpu.LevelVital))
			}
			stage = 1
			play(t, path, "gpu.1.xid=79\ngpu.1.ret=15\n")
		case stage == 1 && slices.Contains(events, "0000:1a:00.0") && strings.Contains(last(gpu.LevelVital), "status: gpu is lost"):
			stage = 2
			play(t, path, "gpus=7\n") // the driver was loaded again without it
		case stage == 2 && strings.Contains(last(gpu.LevelFull), "attached_gpus: 7"):
			stage = 3
			play(t, path, "init=9\n")
		case stage == 3:
			return true
		}
		return false
	})
	if stage != 3 || stuck != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("ended at stage %d: %v, %v", stage, stuck, err)
	}
}

func TestFollowNamesTheCallThatHangs(t *testing.T) {
	needFake(t)
	path := filepath.Join(t.TempDir(), "scenario.txt")
	play(t, path, "")
	stuck, err := follow(t, path, func(docs map[string][]string, _ []string) bool {
		if len(docs[gpu.LevelVital]) == 2 {
			play(t, path, "hang=nvmlDeviceGetMemoryInfo_v2 2\n")
		}
		return false
	})
	if !errors.Is(err, child.ErrStuck) || stuck == nil || !strings.HasPrefix(stuck.Call, "nvmlDeviceGetMemoryInfo_v2 0000:") {
		t.Errorf("%+v, %v", stuck, err)
	}
}

// TestFollowReadsMoreAfterAnEvent: what decides fitness is read soon, not when it is due.
func TestFollowReadsMoreAfterAnEvent(t *testing.T) {
	needFake(t)
	path := filepath.Join(t.TempDir(), "scenario.txt")
	play(t, path, "")
	told := false
	_, err := followAs(t, path, gpu.FollowOptions{Every: 20 * time.Millisecond, Quick: 100000, Full: 100000}, func(docs map[string][]string, events []string) bool {
		if len(docs[gpu.LevelChange]) == 1 {
			play(t, path, "gpu.1.xid=31\ngpu.1.field.230=1\n")
		}
		for _, d := range docs[gpu.LevelQuick] {
			told = told || len(events) > 0 && strings.Contains(d, "recovery_action: reset")
		}
		return told
	})
	if !told || !errors.Is(err, context.Canceled) {
		t.Errorf("no quick document: %v", err)
	}
}

func TestSplitterBounds(t *testing.T) {
	s := &gpu.Splitter{Doc: func(string, []byte) {}, Event: func(uint64, string) {}}
	line := []byte(strings.Repeat("x", 1<<20) + "\n")
	var err error
	for range 8 {
		if _, err = s.Write(line); err != nil {
			return
		}
	}
	t.Error("a document without end is kept whole")
}
