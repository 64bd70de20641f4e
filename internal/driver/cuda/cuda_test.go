package cuda

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic/internal/driver/cuda/cudafake"
)

func TestMain(m *testing.M) {
	if status, ok := cudafake.Main(); ok {
		os.Exit(status)
	}
	os.Exit(m.Run())
}

// again runs one test of this binary in a process with faults planted: the fake driver
// reads them once.
func again(t *testing.T, name, faults string) {
	t.Helper()
	if !cudafake.Present() {
		t.Skip("no fake driver could be built here")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+name+"$", "-test.v")
	cmd.Env = append(os.Environ(), cudafake.Env+"="+faults, "CUDA_TEST_SECOND=1")
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS")) {
		t.Errorf("with %s: %v\n%s", faults, err, out)
	}
}

func second() bool { return os.Getenv("CUDA_TEST_SECOND") != "" }

func fake(t *testing.T) *Driver {
	t.Helper()
	if !cudafake.Present() {
		t.Skip("no fake driver could be built here")
	}
	d, err := Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func context0(t *testing.T) *Context {
	t.Helper()
	d := fake(t)
	dev, err := d.ByPCI("0000:10:00.0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Context(dev)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestDevicesAreNamedByTheirAddress(t *testing.T) {
	if !second() {
		again(t, t.Name(), "devices=3 cc=86 sms=7 l2=4194304 name=NVIDIA_Some_GPU")
		return
	}
	d := fake(t)
	list, err := d.Devices()
	if err != nil || len(list) != 3 {
		t.Fatalf("%d devices, %v", len(list), err)
	}
	for i, dev := range list {
		same, err := d.ByPCI(dev.PCI)
		if err != nil || same != dev {
			t.Errorf("by its address %s: %+v, %v", dev.PCI, same, err)
		}
		if dev.PCI != fmt.Sprintf("0000:%02x:00.0", 0x10+i) || dev.Name != "NVIDIA Some GPU" || dev.Capability != 86 || dev.SMs != 7 || dev.L2 != 4<<20 || !dev.ECC {
			t.Errorf("%+v", dev)
		}
		if !strings.HasPrefix(dev.UUID, "GPU-4") || len(dev.UUID) != len("GPU-00000000-0000-0000-0000-000000000000") {
			t.Errorf("uuid %q", dev.UUID)
		}
	}
	if _, err := d.ByPCI("0000:99:00.0"); !Is(err, InvalidDevice) || !strings.Contains(err.Error(), "CUDA_ERROR_INVALID_DEVICE (101): invalid device ordinal") {
		t.Errorf("a GPU that is not there: %v", err)
	}
}

func TestLaunchPassesItsArguments(t *testing.T) {
	c := context0(t)
	m, err := c.Load("memory", ".version 6.4")
	if err != nil {
		t.Fatal(err)
	}
	f, err := m.Function("fill")
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Alloc(1 << 12)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Stream()
	if err != nil {
		t.Fatal(err)
	}
	// kind 2 with a = 0: every word is b
	if err := f.Launch(Shape{Grid: 1, Block: 32, Stream: s}, p, uint64(256), uint64(0), uint32(2), uint32(0), uint32(0xCAFEBABE), uint32(0)); err != nil {
		t.Fatal(err)
	}
	if err := s.Synchronize(); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 1<<12)
	if err := c.ToHost(got, p); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got[:4], binary.LittleEndian.AppendUint32(nil, 0xCAFEBABE)) || !bytes.Equal(got[:4], got[4092:]) {
		t.Errorf("%x … %x", got[:4], got[4092:])
	}
	if err := f.Launch(Shape{Grid: 1, Block: 32}, "text"); err == nil {
		t.Error("a parameter without a place in registers was taken")
	}
	if _, err := m.Function("nothing"); err == nil || !strings.Contains(err.Error(), "CUDA_ERROR_NOT_FOUND") {
		t.Errorf("a kernel that is not there: %v", err)
	}
}

func TestMemoryIsGivenBack(t *testing.T) {
	c := context0(t)
	before, total, err := c.MemInfo()
	if err != nil || before == 0 || total < before {
		t.Fatal(before, total, err)
	}
	p, err := c.Alloc(8 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if free, _, _ := c.MemInfo(); free != before-8<<20 {
		t.Errorf("%d free of %d", free, before)
	}
	if _, err := c.Alloc(total); !Is(err, OutOfMemory) {
		t.Errorf("more than there is: %v", err)
	}
	if err := c.Free(p); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Alloc(4 << 20); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AllocHost(1 << 16); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	again := context0(t)
	if free, _, _ := again.MemInfo(); free != before {
		t.Errorf("%d free after Close, before %d", free, before)
	}
}

func TestCompilerLogIsInTheError(t *testing.T) {
	if !second() {
		again(t, t.Name(), "fault=jit")
		return
	}
	_, err := context0(t).Load("memory", ".version 6.4")
	if !Is(err, InvalidPTX) || !strings.Contains(err.Error(), "line 9") {
		t.Errorf("%v", err)
	}
}

func TestErrorsStay(t *testing.T) {
	if !second() {
		again(t, t.Name(), "fault=error,after=0,code=214")
		return
	}
	c := context0(t)
	m, err := c.Load("memory", ".version 6.4")
	if err != nil {
		t.Fatal(err)
	}
	f, _ := m.Function("read")
	if err := f.Launch(Shape{Grid: 1, Block: 1}, Ptr(0), uint64(0), Ptr(0)); err != nil {
		t.Fatal(err)
	}
	if err := c.Synchronize(); !Is(err, ECCUncorrectable) || !strings.Contains(err.Error(), "uncorrectable ECC error encountered") {
		t.Errorf("%v", err)
	}
	if _, err := c.Alloc(512); !Is(err, ECCUncorrectable) {
		t.Errorf("after it: %v", err)
	}
}

func TestCallsAreMarked(t *testing.T) {
	if !cudafake.Present() {
		t.Skip("no fake driver could be built here")
	}
	var calls []string
	d, err := Open(func(c string) { calls = append(calls, c) })
	if err != nil {
		t.Fatal(err)
	}
	dev, err := d.ByPCI("0000:10:00.0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Context(dev)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	for _, want := range []string{"cuInit", "cuDeviceGetByPCIBusId 0000:10:00.0", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuDevicePrimaryCtxRelease_v2"} {
		if !slices.Contains(calls, want) {
			t.Errorf("%s is not in %v", want, calls)
		}
	}
}

func TestErrorNamesTheCall(t *testing.T) {
	e := &Error{Call: "cuMemAlloc_v2", Result: 2, Name: "CUDA_ERROR_OUT_OF_MEMORY", Text: "out of memory"}
	if e.Error() != "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory" || Is(context.Canceled, OutOfMemory) || !Is(errors.Join(e), OutOfMemory) {
		t.Error(e)
	}
}
