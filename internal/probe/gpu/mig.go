package gpu

import (
	"fmt"
	"strings"

	"github.com/gpumedic/gpumedic/internal/driver/nvml"
)

// migDevices writes the MIG instances of the GPU, each under its own subject. Their
// readings have names of their own: what an instance has of memory must not pass for
// the GPU's.
func (r *reader) migDevices() {
	if !r.full {
		return
	}
	on, _, err := r.n.MigMode(r.d)
	if err != nil || !on {
		return // modes has said so
	}
	most, err := r.n.MaxMigDevices(r.d)
	if err != nil {
		r.put("mig.devices", "", err)
		return
	}
	var found []nvml.Device
	for i := range most {
		d, err := r.n.MigDevice(r.d, i)
		if err == nil {
			found = append(found, d)
			continue
		}
		if code := nvml.CodeOf(err); code != nvml.NotFoundCode && !nvml.IsAbsent(err) {
			r.put("mig.devices", "", err)
			return
		}
	}
	r.mig = found
	r.w.Value("mig.devices", len(found))
	for i, d := range found {
		r.migDevice(i, d)
	}
	r.w.Subject("gpu", r.pci)
}

func (r *reader) migDevice(i int, d nvml.Device) {
	id, err := r.n.UUID(d)
	if err != nil {
		id = fmt.Sprintf("%s/%d", r.pci, i)
	}
	r.w.Subject("mig", id)
	r.w.Value("pci", r.pci)
	r.put("mig.uuid", id, err)
	r.w.Value("mig.index", i)
	gi, err := r.n.GPUInstance(d)
	r.put("mig.gpu_instance", gi, err)
	ci, err := r.n.ComputeInstance(d)
	r.put("mig.compute_instance", ci, err)
	name, err := r.n.Name(d)
	r.put("mig.profile", profile(name), err)
	m, _, err := r.n.Memory(d)
	r.put("mig.memory.total.mib", mib(m.Total), err)
	r.put("mig.memory.used.mib", mib(m.Used), err)
}

// profile is the last part of an instance's name: "NVIDIA H100 80GB HBM3 MIG 1g.10gb".
func profile(name string) string {
	_, p, _ := strings.Cut(name, " MIG ")
	return p
}
