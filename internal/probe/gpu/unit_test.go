package gpu

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/driver/nvml"
	"github.com/gpumedic/gpumedic/internal/probe"
)

func TestLibraryVersion(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := libraryVersion(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	f("13.580.95.05", "580.95.05")
	f("12.535.161.07", "535.161.07")
	f("9.390.48", "390.48")
	f("580.95.05", "580.95.05")
	f("", "")
}

// TestAddressOfALostGPU: it is what the driver lists and the others leave over.
func TestAddressOfALostGPU(t *testing.T) {
	proc := t.TempDir()
	for _, pci := range []string{"0000:3b:00.0", "0000:0a:00.0", "0000:1a:00.0"} {
		if err := os.MkdirAll(filepath.Join(proc, "driver/nvidia/gpus", pci), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f := func(devices []device, failed []failure, want string) {
		t.Helper()
		var b bytes.Buffer
		unopened(probe.NewWriter(&b), proc, devices, failed)
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	err := &nvml.Error{Function: "nvmlDeviceGetHandleByIndex_v2", Code: nvml.GPUIsLost}
	f([]device{{0, "0000:0a:00.0", 1}, {2, "0000:3b:00.0", 3}}, []failure{{1, err}},
		"[gpu 0000:1a:00.0]\nindex: 1\nstatus: gpu is lost  # nvmlDeviceGetHandleByIndex_v2: NVML_ERROR_GPU_IS_LOST\n")
	f([]device{{0, "0000:0a:00.0", 1}}, []failure{{1, err}, {2, err}}, "[gpu 0000:3b:00.0]\nindex: 2\n")
	f(nil, []failure{{1, err}}, "[gpu 1]\nindex: 1\n") // three are left over: no guess
}

func TestWatts(t *testing.T) {
	f := func(milliwatts uint32, want float64) {
		t.Helper()
		if got := watts(milliwatts); got != want {
			t.Errorf("%d: %v, want %v", milliwatts, got, want)
		}
	}
	f(127987, 127.99)
	f(700000, 700)
	f(4, 0)
	f(4294967295, 4294967.3)
}

func TestTimeout(t *testing.T) {
	f := func(s child.Stuck, want string) {
		t.Helper()
		var b bytes.Buffer
		Timeout(probe.NewWriter(&b), &s)
		if _, got, _ := strings.Cut(b.String(), "\n"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(child.Stuck{Call: "nvmlDeviceGetName 0000:0a:00.0", For: 5012 * time.Millisecond, PID: 7, Unkillable: true, State: "D (disk sleep)", Wait: "os_acquire_mutex", Stack: "[<0>] os_acquire_mutex+0x8/0x10 [nvidia]\n[<0>] ioctl"},
		"[gpu 0000:0a:00.0]\nprobe.timeout: nvmlDeviceGetName 0000:0a:00.0\nprobe.timeout.seconds: 5\nprobe.timeout.pid: 7\nprobe.timeout.unkillable: yes\n"+
			"probe.timeout.state: D (disk sleep)\nprobe.timeout.wait: os_acquire_mutex\nprobe.timeout.stack: [<0>] os_acquire_mutex+0x8/0x10 [nvidia] [<0>] ioctl\n")
	f(child.Stuck{For: time.Second, PID: 7, State: "S (sleeping)"},
		"[node]\nprobe.timeout: start of the probe\nprobe.timeout.seconds: 1\nprobe.timeout.pid: 7\nprobe.timeout.unkillable: no\nprobe.timeout.state: S (sleeping)\n")
}
