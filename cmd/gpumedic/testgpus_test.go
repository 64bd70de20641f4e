package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/internal/burn"
	"github.com/gpumedic/gpumedic/internal/probe"
)

const twoGPUs = `# gpumedic readings 1
[node]
nvml.status: ok
[gpu 0000:10:00.0]
pci: 0000:10:00.0
index: 0
name: NVIDIA H200
uuid: GPU-40404040-4040-4040-4040-404040404040
memory.total.mib: 143771
pcie.link.gen.max: 5
pcie.link.width.max: 16
[gpu 0000:11:00.0]
pci: 0000:11:00.0
index: 1
name: NVIDIA H200
uuid: GPU-41414141-4141-4141-4141-414141414141
[process 4242 0000:11:00.0]
process.pid: 4242
pci: 0000:11:00.0
process.type: C
process.name: python: train
[process 77 0000:11:00.0]
process.pid: 77
pci: 0000:11:00.0
process.type: C
process.name: N/A  # another PID namespace
`

func TestGPUsAndTheirProcessesOfAProbe(t *testing.T) {
	all := fromReadings([]byte(twoGPUs))
	if len(all) != 2 {
		t.Fatalf("%d GPUs: %+v", len(all), all)
	}
	if len(all[0].others) != 0 || fmt.Sprint(all[1].others) != "[python: train (4242) process 77]" {
		t.Errorf("processes %v and %v", all[0].others, all[1].others)
	}
	for _, name := range []string{"1", "0000:11:00.0", "11:00.0", "00000000:11:00.0", "gpu-41414141-4141-4141-4141-414141414141"} {
		if g, err := pick(all, name); err != nil || g.PCI != "0000:11:00.0" {
			t.Errorf("%s is %s, %v", name, g.PCI, err)
		}
	}
	for _, name := range []string{"2", "0000:12:00.0", "GPU-1", "first", ""} {
		if _, err := pick(all, name); err == nil {
			t.Errorf("%q is a GPU", name)
		}
	}
}

func TestLimitsComeFromProductAndLink(t *testing.T) {
	o := &burn.Outcome{GPU: burn.Identity{PCI: "0000:10:00.0", Name: "NVIDIA H200"}, Begun: time.Unix(100, 0), Ended: time.Unix(200, 0)}
	samples := []probe.Sample{{At: time.Unix(50, 0)}, {At: time.Unix(150, 0), Power: 600}, {At: time.Unix(250, 0)}}
	o.Watch = watchOf([]byte(twoGPUs), []byte(twoGPUs), samples, o)
	if len(o.Watch.Samples) != 1 || o.Watch.Before["memory.total.mib"] != "143771" || o.Watch.After["index"] != "0" {
		t.Errorf("%+v", o.Watch)
	}
	if l := limitsOf(o); l.Memory != 4800 || l.Link < 63 || l.Link > 63.1 {
		t.Errorf("%+v", l)
	}
}

func TestOnlyTestedGPUsAreJudged(t *testing.T) {
	doc := onlyGPUs([]byte(twoGPUs), []string{"0000:10:00.0"})
	if !strings.Contains(doc, "nvml.status: ok") || !strings.Contains(doc, "[gpu 0000:10:00.0]\npci: 0000:10:00.0") || strings.Contains(doc, "0000:11") || strings.Contains(doc, "# gpumedic") {
		t.Errorf("%s", doc)
	}
}

func TestNewLinesOfTheKernelLog(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"a\nb\n", "a\nb\nc\nd\n", "c\nd\n"},
		{"a\nb\n", "a\nb\n", ""},
		{"", "a\n", "a\n"},
		{"a\nb\n", "b\nc\n", "c\n"},    // the buffer lost its beginning
		{"a\nb\n", "x\ny\n", "x\ny\n"}, // all of it
	} {
		if got := string(newLines([]byte(c.before), []byte(c.after))); got != c.want {
			t.Errorf("%q then %q: %q, want %q", c.before, c.after, got, c.want)
		}
	}
}
