package nvml

// A Process is a user of a GPU.
type Process struct {
	PID         uint32
	Memory      uint64 // bytes
	HasMemory   bool
	GPUInstance uint32 // of MIG
	Compute     uint32
	InInstance  bool
}

// ComputeProcesses are those with a compute context.
func (n *NVML) ComputeProcesses(d Device) ([]Process, error) {
	return n.processes(d, "nvmlDeviceGetComputeRunningProcesses")
}

// GraphicsProcesses are those with a graphics context.
func (n *NVML) GraphicsProcesses(d Device) ([]Process, error) {
	return n.processes(d, "nvmlDeviceGetGraphicsRunningProcesses")
}

// MPSProcesses are compute processes that go through an MPS server.
func (n *NVML) MPSProcesses(d Device) ([]Process, error) {
	return n.processes(d, "nvmlDeviceGetMPSComputeRunningProcesses")
}

func (n *NVML) processes(d Device, name string) ([]Process, error) {
	f, found := use[func(Device, *uint32, *ProcessInfo) Return](n, name+"_v3", name+"_v2")
	if f == nil {
		return n.oldProcesses(d, name)
	}
	list, err := listed(n, d, f, found)
	out := make([]Process, len(list))
	for i, p := range list {
		out[i] = Process{
			PID: p.PID, Memory: p.UsedMemory, HasMemory: p.UsedMemory != notAvailable,
			GPUInstance: p.GPUInstance, Compute: p.ComputeInstance, InInstance: p.GPUInstance != notAvailableInstance32,
		}
	}
	return out, err
}

func (n *NVML) oldProcesses(d Device, name string) ([]Process, error) {
	f, _ := use[func(Device, *uint32, *ProcessInfoV1) Return](n, name)
	if f == nil {
		return nil, missing(name)
	}
	list, err := listed(n, d, f, name)
	out := make([]Process, len(list))
	for i, p := range list {
		out[i] = Process{PID: p.PID, Memory: p.UsedMemory, HasMemory: p.UsedMemory != notAvailable}
	}
	return out, err
}

// listed asks again with more room while processes come faster than it asks.
func listed[T any](n *NVML, d Device, f func(Device, *uint32, *T) Return, name string) ([]T, error) {
	size := uint32(32)
	for range 6 {
		list := make([]T, size)
		count := size
		n.begin(name)
		r := f(d, &count, &list[0])
		if r == InsufficientSize {
			size = max(count, size) * 2
			continue
		}
		if err := result(name, r); err != nil {
			return nil, err
		}
		return list[:min(count, size)], nil
	}
	return nil, result(name, InsufficientSize)
}
