package cuda

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/driver"
)

// libraries are the names under which the driver is looked for: WSL and some containers
// keep it beside the loader's path.
var libraries = []string{"libcuda.so.1", "libcuda.so", "/usr/lib/wsl/lib/libcuda.so.1"}

// A Driver is the opened and initialised library.
type Driver struct {
	api     api
	mark    func(call string)
	Version int // 13000 is CUDA 13.0
}

// Open opens the driver library and initialises it. mark, when not nil, is told the name
// of each call that begins.
func Open(mark func(call string)) (*Driver, error) {
	if mark == nil {
		mark = func(string) {}
	}
	d := &Driver{mark: mark}
	if !driver.Available {
		return nil, fmt.Errorf("open libcuda.so.1: %w: this program was built without access to GPU drivers", driver.ErrNoDriver)
	}
	l, err := driver.Open(libraries...)
	if errors.Is(err, driver.ErrNoDriver) {
		return nil, fmt.Errorf("open libcuda.so.1: %w", driver.ErrNoDriver) // the loader's words for each place are no help
	}
	if err != nil {
		return nil, err
	}
	if err := d.api.bind(l); err != nil {
		return nil, err
	}
	mark("cuInit")
	if err := d.fail("cuInit", d.api.init(0)); err != nil {
		return nil, err
	}
	var v int32
	if err := d.fail("cuDriverGetVersion", d.api.driverVersion(&v)); err != nil {
		return nil, err
	}
	d.Version = int(v)
	return d, nil
}

// A Device is a GPU that CUDA shows to this process.
type Device struct {
	Handle     int32
	PCI        string
	UUID       string
	Name       string
	Total      uint64 // bytes that programs can have at most
	SMs        int
	L2         uint64 // bytes
	Capability int    // 90 is compute capability 9.0
	ECC        bool
	Threads    int // resident threads of one SM
	Shared     int // bytes of shared memory that a block may ask for
}

// Attributes of cuDeviceGetAttribute.
const (
	attrSMs       = 16
	attrECC       = 32
	attrL2        = 38
	attrThreads   = 39
	attrMajor     = 75
	attrMinor     = 76
	attrSharedOpt = 97
)

// Devices lists the GPUs that this process may use.
func (d *Driver) Devices() ([]Device, error) {
	var n int32
	d.mark("cuDeviceGetCount")
	if err := d.fail("cuDeviceGetCount", d.api.deviceCount(&n)); err != nil {
		return nil, err
	}
	var out []Device
	for i := range n {
		var h int32
		if err := d.fail("cuDeviceGet", d.api.deviceGet(&h, i)); err != nil {
			return nil, err
		}
		dev, err := d.device(h)
		if err != nil {
			return nil, err
		}
		out = append(out, dev)
	}
	return out, nil
}

// ByPCI finds the GPU at a PCI address. A GPU that exists but is hidden from this process
// (CUDA_VISIBLE_DEVICES) gives [InvalidDevice] or [InvalidValue].
func (d *Driver) ByPCI(pci string) (Device, error) {
	var h int32
	d.mark("cuDeviceGetByPCIBusId " + pci)
	if err := d.fail("cuDeviceGetByPCIBusId", d.api.deviceByPCI(&h, cString(pci))); err != nil {
		return Device{}, err
	}
	return d.device(h)
}

func (d *Driver) device(h int32) (Device, error) {
	dev := Device{Handle: h}
	text := make([]byte, 256)
	d.mark("cuDeviceGetPCIBusId")
	if err := d.fail("cuDeviceGetPCIBusId", d.api.devicePCI(&text[0], int32(len(text)), h)); err != nil {
		return dev, err
	}
	dev.PCI = gpumedic.NormalPCI(cut(text))
	clear(text)
	if err := d.fail("cuDeviceGetName", d.api.deviceName(&text[0], int32(len(text)), h)); err != nil {
		return dev, err
	}
	dev.Name = cut(text)
	var id [16]byte
	if err := d.fail("cuDeviceGetUuid", d.api.deviceUUID(&id, h)); err != nil {
		return dev, err
	}
	dev.UUID = fmt.Sprintf("GPU-%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	if err := d.fail("cuDeviceTotalMem_v2", d.api.deviceTotalMem(&dev.Total, h)); err != nil {
		return dev, err
	}
	var major, minor, ecc, l2 int
	for _, a := range []struct {
		to   *int
		attr int32
	}{{&dev.SMs, attrSMs}, {&ecc, attrECC}, {&l2, attrL2}, {&dev.Threads, attrThreads}, {&major, attrMajor}, {&minor, attrMinor}, {&dev.Shared, attrSharedOpt}} {
		var v int32
		if err := d.fail("cuDeviceGetAttribute", d.api.deviceAttribute(&v, a.attr, h)); err != nil {
			return dev, err
		}
		*a.to = int(v)
	}
	dev.L2, dev.ECC, dev.Capability = uint64(max(l2, 0)), ecc != 0, major*10+minor
	return dev, nil
}

// PeerPossible reports whether a GPU can reach another's memory directly.
func (d *Driver) PeerPossible(from, to Device) (bool, error) {
	var yes int32
	d.mark("cuDeviceCanAccessPeer")
	err := d.fail("cuDeviceCanAccessPeer", d.api.canAccessPeer(&yes, from.Handle, to.Handle))
	return yes != 0, err
}

func cut(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
