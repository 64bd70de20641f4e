package burn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/driver/cuda/cudafake"
)

func arithmetic(t *testing.T, faults string) *Outcome {
	t.Helper()
	return runFake(t, TaskStress, StressOptions{PCI: gpu0, Duration: time.Hour, Launches: 3}, "sms=3 "+faults)
}

func TestStressOfAGoodGPU(t *testing.T) {
	o := arithmetic(t, "cc=90")
	if r, why := o.Result(); r != Pass {
		t.Fatalf("%s: %s", r, why)
	}
	var kernels []string
	for _, p := range o.Stress.Paths {
		kernels = append(kernels, p.Kernel)
		if p.Launches != 3 || p.Compared == 0 || p.FLOPs <= 0 || len(p.Digest) != 16 || p.Seconds <= 0 {
			t.Errorf("%+v", p)
		}
	}
	if fmt.Sprint(kernels) != "[wgmma fma32 fma64]" {
		t.Errorf("kernels %v", kernels)
	}
	// What an H200 printed: the reference in Go and real arithmetic agree.
	for i, want := range []string{"", "d067536c56ba570c", "9eb35623a8a47069"} {
		if p := o.Stress.Paths[i]; want != "" && p.Digest != want {
			t.Errorf("%s: digest %s, an H200 has %s", p.Name, p.Digest, want)
		}
	}
	again := arithmetic(t, "cc=90")
	for i, p := range again.Stress.Paths {
		if p.Digest != o.Stress.Paths[i].Digest {
			t.Errorf("%s: digest %s, then %s", p.Name, o.Stress.Paths[i].Digest, p.Digest)
		}
	}
}

// TestTensorPathFitsTheGPU: the path is chosen by the compute capability of the GPU.
func TestTensorPathFitsTheGPU(t *testing.T) {
	for cc, want := range map[int]string{61: "[fma32 fma64]", 75: "[fma32 fma64]", 80: "[mma fma32 fma64]", 89: "[mma fma32 fma64]", 100: "[mma fma32 fma64]", 120: "[mma fma32 fma64]"} {
		var kernels []string
		for _, p := range arithmetic(t, fmt.Sprint("cc=", cc)).Stress.Paths {
			kernels = append(kernels, p.Kernel)
		}
		if fmt.Sprint(kernels) != want {
			t.Errorf("capability %d: %v, want %s", cc, kernels, want)
		}
	}
}

func TestWrongArithmeticIsLocated(t *testing.T) {
	for _, c := range []struct {
		name, faults string
		once         bool
	}{
		{"always", "fault=compute,sm=1,lane=7,mask=0x40,times=0", false},
		{"once", "fault=compute,sm=1,lane=7,mask=0x40,after=3,times=1", true},
		{"from the known answer on", "fault=compute,sm=1,lane=7,mask=0x40,after=4,times=2", false},
	} {
		o := arithmetic(t, c.faults)
		if r, why := o.Result(); r != Fail || len(o.Mismatches) == 0 {
			t.Fatalf("%s: %s %s", c.name, r, why)
		}
		for _, m := range o.Mismatches {
			if m.SM != 1 || m.Lane != 7 || m.Want^m.Got != 0x40 || m.Path == "" || m.Time.IsZero() {
				t.Errorf("%s: %+v", c.name, m)
			}
		}
		var wrong uint64
		for _, p := range o.Stress.Paths {
			wrong += p.Wrong
		}
		if c.once && wrong != 8*8 && wrong != 2*8 && wrong != 8 { // one launch: every seventh lane of one SM's blocks
			t.Errorf("%s: %d wrong digests", c.name, wrong)
		}
	}
}

func TestNotANumberIsAnError(t *testing.T) {
	o := arithmetic(t, "fault=compute,sm=0,lane=0,mask=0,value=2,times=1,after=3")
	if r, _ := o.Result(); r != Fail {
		t.Errorf("%s: %+v", r, o.Stress)
	}
}

func rates(t *testing.T, o RateOptions, faults string) *Outcome {
	t.Helper()
	o.PCI = gpu0
	return runFake(t, TaskBandwidth, o, "mem=16777216 l2=262144 "+faults)
}

func TestRates(t *testing.T) {
	o := rates(t, RateOptions{}, "")
	if r, why := o.Result(); r != Pass {
		t.Fatalf("%s: %s", r, why)
	}
	var names []string
	for _, r := range o.Rates {
		names = append(names, r.Name)
		if r.Rate <= 0 || r.Best < r.Rate || r.Samples != samples || r.Bytes == 0 || r.PCI != gpu0 {
			t.Errorf("%+v", r)
		}
	}
	if fmt.Sprint(names) != "[device_write device_read device_copy host_to_device device_to_host host_both]" {
		t.Errorf("%v", names)
	}
}

func TestCopiesThatArriveWrong(t *testing.T) {
	o := rates(t, RateOptions{}, "fault=copy,offset=100,mask=4,len=1048576,after=0")
	if r, _ := o.Result(); r != Fail {
		t.Fatalf("%s", r)
	}
	wrong := map[string]uint64{}
	for _, r := range o.Rates {
		wrong[r.Name] = r.Wrong
	}
	if wrong["host_to_device"] == 0 || wrong["device_to_host"] == 0 || wrong["device_write"] != 0 {
		t.Errorf("%v", wrong)
	}
}

func TestPeersOfAnyNumberOfGPUs(t *testing.T) {
	pcis := []string{"0000:10:00.0", "0000:11:00.0", "0000:12:00.0"}
	o := rates(t, RateOptions{Peers: pcis}, "devices=3")
	if r, why := o.Result(); r != Pass || len(o.Rates) != 6 {
		t.Fatalf("%s %s: %d pairs", r, why, len(o.Rates))
	}
	seen := map[string]bool{}
	for _, r := range o.Rates {
		seen[r.From+r.PCI] = true
		if r.Verified == 0 || r.Rate <= 0 || r.Direct == nil || !*r.Direct {
			t.Errorf("%+v", r)
		}
	}
	if len(seen) != 6 {
		t.Errorf("pairs %v", seen)
	}
	bad := rates(t, RateOptions{Peers: pcis}, "devices=3 fault=copy,gpu=1,offset=64,len=1048576")
	for _, r := range bad.Rates {
		if (r.Wrong > 0) != (r.PCI == pcis[1]) {
			t.Errorf("only copies to the second GPU go wrong: %+v", r)
		}
	}
}

// TestHangIsGivenUpOn: a kernel that never ends is reported with the call that waits for
// it, what was done before is kept, and the result is not good.
func TestHangIsGivenUpOn(t *testing.T) {
	if !cudafake.Present() {
		t.Skip("no fake driver could be built here")
	}
	for task, j := range map[string]Job{
		TaskMemory: {Options: MemOptions{PCI: gpu0, Mode: ModeQuick}, Env: []string{cudafake.Env + "=" + small + "fault=hang,after=60"}},
		TaskStress: {Options: StressOptions{PCI: gpu0, Duration: time.Hour, Launches: 3}, Env: []string{cudafake.Env + "=sms=2 fault=hang,after=5"}},
	} {
		j.Task, j.PCI, j.Call = task, gpu0, 700*time.Millisecond
		var r child.Runner
		o, err := Run(t.Context(), &r, j, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, why := o.Result()
		if res != Incomplete || o.Stuck == nil || !strings.Contains(why, "gave up on cu") {
			t.Errorf("%s: %s %q, stuck %+v", task, res, why, o.Stuck)
		}
		if o.GPU.Name == "" || task == TaskMemory && o.Memory.Verified == 0 {
			t.Errorf("%s: what was done before the hang is gone: %+v", task, o)
		}
	}
}

func TestInterruptedTestSaysSo(t *testing.T) {
	if !cudafake.Present() {
		t.Skip("no fake driver could be built here")
	}
	ctx, cancel := context.WithCancel(t.Context())
	var r child.Runner
	j := Job{Task: TaskMemory, PCI: gpu0, Options: MemOptions{PCI: gpu0, Mode: ModeSoak, Soak: time.Hour}, Env: []string{cudafake.Env + "=" + small}}
	o, err := Run(ctx, &r, j, func(p Progress) {
		if p.Share >= 0 && p.Rate > 0 {
			cancel()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if res, why := o.Result(); (res != Incomplete && res != NotRun) || why != "interrupted" {
		t.Errorf("%s %q", res, why)
	}
	if errors.Is(ctx.Err(), context.Canceled) != true {
		t.Error("the test ended by itself")
	}
}
