package gpu

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/driver"
	"github.com/gpumedic/gpumedic/internal/driver/nvml"
	"github.com/gpumedic/gpumedic/internal/probe"
)

// Options of a probe.
type Options struct {
	// Full reads everything. Without it only what decides fitness is read: identity,
	// health and links, in less than a second on eight GPUs.
	Full bool
	// After leaves out all GPUs up to and including the one with this address: an earlier
	// probe that hung there has read those before it.
	After string
	// Proc is where /proc is, for tests.
	Proc string
}

// Probe writes the readings of the node's GPUs. call hears of each driver call before
// it is made, as "FUNCTION PCI". A library or a driver that is not there is a reading
// too: the error is for answers that could not be written, or for ctx.
func Probe(ctx context.Context, w *probe.Writer, call func(string), o Options) error {
	if o.Proc == "" {
		o.Proc = "/proc"
	}
	w.Subject("node", "")
	w.Noted("driver.loaded", driverLoaded(o.Proc), "/proc/driver/nvidia/version")
	n, err := nvml.Open()
	if err != nil {
		w.Noted("nvml.status", openWord(err), err.Error())
		return w.Err()
	}
	where := ""
	n.Before = func(function string) { call(strings.TrimSpace(function + " " + where)) }
	if err := n.Init(); err != nil {
		w.Noted("nvml.status", initWord(nvml.CodeOf(err)), err.Error())
		return w.Err()
	}
	count := node(n, w)
	devices, failed := open(n, count, func(i int) { where = fmt.Sprintf("index %d", i) })
	skip := o.After != ""
	for _, d := range devices {
		if err := ctx.Err(); err != nil {
			return err
		}
		if skip {
			skip = d.pci != o.After
			continue
		}
		where = d.pci
		r := &reader{n: n, w: w, d: d.handle, pci: d.pci, full: o.Full, proc: o.Proc}
		r.read()
	}
	where = ""
	unopened(w, o.Proc, devices, failed)
	// The answer is written. A shutdown that fails, or never returns, takes nothing away.
	_ = n.Shutdown()
	return w.Err()
}

func driverLoaded(proc string) bool {
	_, err := os.Stat(filepath.Join(proc, "driver/nvidia/version"))
	return err == nil
}

// node writes what is about the whole node and gives the number of GPUs.
func node(n *nvml.NVML, w *probe.Writer) int {
	r := &reader{n: n, w: w}
	w.Value("nvml.status", "ok")
	v, err := n.DriverVersion()
	r.put("driver.version", v, err)
	lib, err := n.Version()
	r.put("nvml.version", libraryVersion(lib), err)
	cuda, err := n.CUDAVersion()
	r.put("cuda.version", fmt.Sprintf("%d.%d", cuda/1000, cuda%1000/10), err)
	count, err := n.Count()
	r.put("attached_gpus", count, err)
	return count
}

// libraryVersion drops the major version of CUDA that NVML puts before its own, which is
// the driver's: 13.580.95.05.
func libraryVersion(s string) string {
	if cuda, own, ok := strings.Cut(s, "."); ok && len(cuda) < 3 && strings.Contains(own, ".") {
		return own
	}
	return s
}

// openWord says why there is no library.
func openWord(err error) string {
	switch {
	case !driver.Available:
		return "not in this build"
	case nvml.NotFound(err):
		return "library not found"
	}
	return "library cannot be loaded"
}

// initWord says in nvml.status why the library did not start. None of these words is one
// that means "no such value" elsewhere.
func initWord(code nvml.Return) string {
	switch code {
	case nvml.DriverNotLoaded:
		return "driver not loaded"
	case nvml.LibRMVersionMismatch:
		return "version mismatch"
	case nvml.NoPermission:
		return "permission denied"
	case nvml.OperatingSystem:
		return "blocked by the operating system"
	case nvml.LibraryNotFound:
		return "library not found"
	case nvml.GPUNotFound:
		return "no gpu found"
	case nvml.GPUIsLost:
		return "gpu is lost"
	case nvml.ResetRequired:
		return "gpu requires reset"
	case nvml.Unknown:
		return "unknown failure"
	}
	return strings.ToLower(code.String())
}

// device is a GPU that could be opened.
type device struct {
	index  int
	pci    string
	handle nvml.Device
}

// failure is one that could not.
type failure struct {
	index int
	err   error
}

// open opens all GPUs first, so that the address of one that cannot be opened can be
// told from what the others leave over.
func open(n *nvml.NVML, count int, about func(index int)) (devices []device, failed []failure) {
	for i := range count {
		about(i)
		d, err := n.ByIndex(i)
		if err != nil {
			failed = append(failed, failure{i, err})
			continue
		}
		info, err := n.PCI(d)
		if err != nil {
			failed = append(failed, failure{i, err})
			continue
		}
		devices = append(devices, device{i, gpumedic.NormalPCI(info.Address()), d})
	}
	return devices, failed
}

// unopened writes the GPUs that NVML counts and does not open.
func unopened(w *probe.Writer, proc string, devices []device, failed []failure) {
	left := leftOver(proc, devices)
	for i, f := range failed {
		// NVML numbers GPUs by address, so that what is left over stands in the same order.
		if len(left) == len(failed) {
			w.Subject("gpu", left[i])
		} else {
			w.Subject("gpu", fmt.Sprint(f.index))
		}
		w.Value("index", f.index)
		r := &reader{w: w}
		r.put("status", "", f.err)
	}
}

// leftOver are the addresses of the driver's GPUs that were not opened.
func leftOver(proc string, devices []device) []string {
	entries, _ := os.ReadDir(filepath.Join(proc, "driver/nvidia/gpus"))
	var left []string
	for _, e := range entries {
		pci := gpumedic.NormalPCI(e.Name())
		if pci != "" && !slices.ContainsFunc(devices, func(d device) bool { return d.pci == pci }) {
			left = append(left, pci)
		}
	}
	slices.Sort(left)
	return left
}
