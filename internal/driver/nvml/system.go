package nvml

// DriverVersion is the version of the loaded kernel driver.
func (n *NVML) DriverVersion() (string, error) { return n.system("nvmlSystemGetDriverVersion") }

// Version is the version of this library, with the major version of CUDA before it:
// 13.580.95.05.
func (n *NVML) Version() (string, error) { return n.system("nvmlSystemGetNVMLVersion") }

func (n *NVML) system(name string) (string, error) {
	f, _ := use[func(*byte, uint32) Return](n, name)
	if f == nil {
		return "", missing(name)
	}
	buf := make([]byte, 80)
	n.begin(name)
	if err := result(name, f(&buf[0], uint32(len(buf)))); err != nil {
		return "", err
	}
	return cString(buf), nil
}

// CUDAVersion is the newest CUDA that the driver supports: 13000 is 13.0.
func (n *NVML) CUDAVersion() (int, error) {
	var v int32
	f, name := use[func(*int32) Return](n, "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion")
	if f == nil {
		return 0, missing(name)
	}
	n.begin(name)
	err := result(name, f(&v))
	return int(v), err
}

// Count is the number of GPUs in the system, those that the caller may not open
// included.
func (n *NVML) Count() (int, error) {
	var v uint32
	f, name := use[func(*uint32) Return](n, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount")
	if f == nil {
		return 0, missing(name)
	}
	n.begin(name)
	err := result(name, f(&v))
	return int(v), err
}

// ByIndex opens the GPU of that index.
func (n *NVML) ByIndex(i int) (Device, error) {
	var d Device
	f, name := use[func(uint32, *Device) Return](n, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex")
	if f == nil {
		return 0, missing(name)
	}
	n.begin(name)
	err := result(name, f(uint32(i), &d))
	return d, err
}

// ByPCI opens the GPU at a PCI address.
func (n *NVML) ByPCI(address string) (Device, error) {
	var d Device
	f, name := use[func(*byte, *Device) Return](n, "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId")
	if f == nil {
		return 0, missing(name)
	}
	b := append([]byte(address), 0)
	n.begin(name)
	err := result(name, f(&b[0], &d))
	return d, err
}
