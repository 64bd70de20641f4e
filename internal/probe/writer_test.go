package probe_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic/internal/probe"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

// TestDocumentReadsBack: what a probe writes is what the scan reads, subject by subject.
func TestDocumentReadsBack(t *testing.T) {
	var b bytes.Buffer
	w := probe.NewWriter(&b)
	w.Subject("node", "")
	w.Value("attached_gpus", 2)
	w.Subject("gpu", "00000000:3B:00.0")
	w.Noted("remapped_rows.pending", true, "nvmlDeviceGetRemappedRows")
	w.Value("power.draw.watts", 71.25)
	w.Absent("fan.speed.percent", "nvmlDeviceGetFanSpeed: not supported")
	w.Unknown("memory.used.mib", "gpu is lost", "nvmlDeviceGetMemoryInfo_v2")
	w.Value("name", "NVIDIA\nH200  # odd")
	w.Subject("process", "4242")
	w.Value("process.name", "python: train")
	w.Subject("gpu", "00000000:3B:00.0")
	w.Value("index", uint32(3))
	if w.Err() != nil {
		t.Fatal(w.Err())
	}
	lines := strings.Split(b.String(), "\n")
	sets, n := section.Parse(section.Text(lines))
	if n != len(lines)-1 && n != len(lines) {
		t.Errorf("%d of %d lines read", n, len(lines))
	}
	if len(sets) != 3 {
		t.Fatalf("%d subjects: %+v", len(sets), sets)
	}
	g := sets[1]
	if g.Subject.GPU.PCI != "0000:3b:00.0" || g.Subject.GPU.Index == nil || *g.Subject.GPU.Index != 3 {
		t.Errorf("subject %+v", g.Subject)
	}
	for key, want := range map[string]string{
		"remapped_rows.pending": "yes", "power.draw.watts": "71.25", "fan.speed.percent": "N/A",
		"memory.used.mib": "gpu is lost", "name": "NVIDIA H200 # odd", "index": "3",
	} {
		if got := g.Values[key].Value; got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	if p := sets[2]; p.Subject.Process.PID != 4242 || p.Values["process.name"].Value != "python: train" {
		t.Errorf("process %+v", p)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriterKeepsTheFirstError(t *testing.T) {
	w := probe.NewWriter(broken{})
	w.Value("index", 1)
	if w.Err() == nil || !strings.Contains(w.Err().Error(), "disk full") {
		t.Errorf("error %v", w.Err())
	}
}
