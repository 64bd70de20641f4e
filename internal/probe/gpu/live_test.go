package gpu_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/driver"
	"github.com/gpumedic/gpumedic/internal/probe/gpu"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

// TestLiveAgainstSMI compares, on a machine with a GPU, every reading of the probe with
// what nvidia-smi -q -x shows in the same moment. It needs no files beside the binary:
//
//	go test -c -o gpu.test ./internal/probe/gpu && ./gpu.test -test.v -test.run Live
func TestLiveAgainstSMI(t *testing.T) {
	if !driver.Available {
		t.Skip("this build has no access to drivers")
	}
	smi, err := exec.LookPath("nvidia-smi")
	if err != nil {
		t.Skip("no nvidia-smi on this machine")
	}
	full := live(t, "full")
	if s := full.value(-1, "nvml.status"); s != "ok" {
		t.Skipf("NVML cannot be used on this machine: %s\n%s", s, full.doc)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	xml, err := exec.CommandContext(ctx, smi, "-q", "-x").Output()
	if err != nil {
		t.Fatalf("nvidia-smi -q -x: %v", err)
	}
	compare(t, full, string(xml))
	quick := live(t, "quick")
	t.Logf("full %.3f s, quick %.3f s, %d GPUs", full.took.Seconds(), quick.took.Seconds(), len(byPCI(full.sets))-1)
	t.Logf("abnormal: full %v, quick %v", abnormal(t, full.sets), abnormal(t, quick.sets))
	if !slices.Equal(abnormal(t, full.sets), abnormal(t, quick.sets)) {
		t.Error("full and quick judge differently")
	}
	t.Log("\n" + full.doc)
}

func live(t *testing.T, mode string) checked {
	t.Helper()
	var r child.Runner
	var out bytes.Buffer
	begun := time.Now()
	stuck, err := r.Run(t.Context(), child.Options{Task: gpu.TaskName, Args: []string{mode}, Call: time.Minute, Out: &out})
	if err != nil {
		t.Fatalf("%v, %+v\n%s", err, stuck, out.String())
	}
	return checked{doc: out.String(), sets: parsed(t, out.String()), took: time.Since(begun)}
}

// TestAgainstRecordedSMI holds the comparison itself, and all the words, to a recording:
// the fake has what nvidia-smi showed of a real H200.
func TestAgainstRecordedSMI(t *testing.T) {
	var r child.Runner
	c := check(t, &r, "now", "h200", "full", patient)
	xml, err := os.ReadFile("testdata/h200-smi.xml")
	if err != nil {
		t.Fatal(err)
	}
	compare(t, c, string(xml))
}

// compare reports each reading of nvidia-smi that the probe has otherwise.
func compare(t *testing.T, c checked, xml string) {
	t.Helper()
	xml = xml[max(0, strings.Index(xml, "<nvidia_smi_log>")):]
	recorded, _ := section.Parse(section.TextOf(xml))
	theirs, ours := byPCI(recorded), byPCI(c.sets)
	gpus := len(theirs) - 1 // one set is the node's
	if len(theirs) != len(ours) {
		t.Errorf("nvidia-smi shows %d GPUs, the probe %d", gpus, len(ours)-1)
	}
	fields := 0
	for pci, their := range theirs {
		for _, key := range keysOf(their) {
			fields++
			if why := differs(key, their[key].Value, ours[pci][key].Value); why != "" {
				t.Errorf("%s %s: nvidia-smi %q, probe %q: %s", pci, key, their[key].Value, ours[pci][key].Value, why)
			}
		}
		var more []string
		for _, key := range keysOf(ours[pci]) {
			if _, ok := their[key]; !ok {
				more = append(more, key+"="+ours[pci][key].Value)
			}
		}
		t.Logf("%s: only the probe has %s", pci, strings.Join(more, ", "))
	}
	if fields < 60*gpus {
		t.Errorf("only %d fields compared", fields)
	}
	if a, b := users(recorded), users(c.sets); !slices.Equal(a, b) {
		t.Errorf("processes: nvidia-smi %v, probe %v", a, b)
	}
	t.Logf("%d fields compared on %d GPUs", fields, gpus)
}

// byPCI are the readings of each GPU; those of the node stand under "".
func byPCI(sets []section.Readings) map[string]map[string]section.Reading {
	out := map[string]map[string]section.Reading{}
	for _, s := range sets {
		v := s.Values
		if v["process.pid"].Value == "" && v["mig.uuid"].Value == "" {
			out[s.Subject.GPU.PCI] = v
		}
	}
	return out
}

func keysOf(m map[string]section.Reading) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// users are the processes as "PID PCI".
func users(sets []section.Readings) []string {
	var out []string
	for _, s := range sets {
		if p := s.Values["process.pid"].Value; p != "" {
			out = append(out, p+" "+s.Subject.GPU.PCI)
		}
	}
	slices.Sort(out)
	return out
}

// noPublicCall are readings for which NVML has no documented function.
var noPublicCall = []string{"timestamp", "pcie.link.gen.device_current", "pcie.link.gen.host_max"}

// moving are readings that change between two looks, by the beginning of their names,
// and by how much two looks may differ; -1 for "by anything".
var moving = []struct {
	prefix string
	by     float64
}{
	{"clocks.max.", 0}, {"clocks.applications.", 0}, {"clocks.", -1}, {"clocks_event_reasons", -1}, {"power.draw.", -1}, {"power.limit.", 0},
	{"utilization.", -1}, {"temperature.gpu.celsius", 8}, {"temperature.memory.celsius", 8}, {"temperature.gpu.tlimit.celsius", 8},
	{"memory.used.", -1}, {"memory.free.", -1}, {"memory.", 1}, {"bar1.used.", -1}, {"bar1.free.", -1}, {"pstate", -1},
	{"pcie.link.gen.current", -1}, {"pcie.replays", 4}, {"fan.speed", 20},
}

func differs(key, theirs, ours string) string {
	const none = "N/A"
	if slices.Contains(noPublicCall, key) || theirs == ours || theirs == none && ours == "" {
		return ""
	}
	if theirs == none || ours == none || ours == "" {
		return "one of them has no value"
	}
	for _, m := range moving {
		if !strings.HasPrefix(key, m.prefix) {
			continue
		}
		a, err1 := strconv.ParseFloat(theirs, 64)
		b, err2 := strconv.ParseFloat(ours, 64)
		switch numbers := err1 == nil && err2 == nil; {
		case m.by < 0 && (err1 == nil) == (err2 == nil):
			return ""
		case numbers && math.Abs(a-b) <= m.by:
			return ""
		}
		break
	}
	if strings.EqualFold(theirs, ours) {
		return ""
	}
	return "not equal"
}
