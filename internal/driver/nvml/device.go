package nvml

// Names, versions and modes of a GPU.

// PCI is where the GPU sits.
func (n *NVML) PCI(d Device) (PciInfo, error) {
	return value[PciInfo](n, d, "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2")
}

// Index is the GPU's number in this boot.
func (n *NVML) Index(d Device) (uint32, error) { return value[uint32](n, d, "nvmlDeviceGetIndex") }

// Minor is N of /dev/nvidiaN.
func (n *NVML) Minor(d Device) (uint32, error) {
	return value[uint32](n, d, "nvmlDeviceGetMinorNumber")
}

// Name is the product's name.
func (n *NVML) Name(d Device) (string, error) { return text(n, d, 96, "nvmlDeviceGetName") }

// UUID is GPU-… or MIG-….
func (n *NVML) UUID(d Device) (string, error) { return text(n, d, 96, "nvmlDeviceGetUUID") }

// Serial is the number printed on the board.
func (n *NVML) Serial(d Device) (string, error) { return text(n, d, 30, "nvmlDeviceGetSerial") }

// VBIOS is the version of the board's firmware.
func (n *NVML) VBIOS(d Device) (string, error) {
	return text(n, d, 32, "nvmlDeviceGetVbiosVersion")
}

// BoardPartNumber names the board's build.
func (n *NVML) BoardPartNumber(d Device) (string, error) {
	return text(n, d, 80, "nvmlDeviceGetBoardPartNumber")
}

// InforomImage is the version of the board's stored data.
func (n *NVML) InforomImage(d Device) (string, error) {
	return text(n, d, 16, "nvmlDeviceGetInforomImageVersion")
}

// ValidateInforom reads the stored data from flash and checks it, which takes a while.
// The code CorruptedInforom is its bad answer.
func (n *NVML) ValidateInforom(d Device) error {
	const name = "nvmlDeviceValidateInforom"
	f, _ := use[func(Device) Return](n, name)
	if f == nil {
		return missing(name)
	}
	n.begin(name)
	return result(name, f(d))
}

// GSPVersion is the version of the firmware on the GPU's own processor.
func (n *NVML) GSPVersion(d Device) (string, error) {
	const name = "nvmlDeviceGetGspFirmwareVersion"
	f, _ := use[func(Device, *byte) Return](n, name)
	if f == nil {
		return "", missing(name)
	}
	buf := make([]byte, 0x40) // NVML_GSP_FIRMWARE_VERSION_BUF_SIZE; the call takes no size
	n.begin(name)
	if err := result(name, f(d, &buf[0])); err != nil {
		return "", err
	}
	return cString(buf), nil
}

// GSPMode says whether that firmware is in use.
func (n *NVML) GSPMode(d Device) (bool, error) {
	on, _, err := pair[uint32, uint32](n, d, "nvmlDeviceGetGspFirmwareMode")
	return on != 0, err
}

// Architecture is nvmlDeviceArchitecture_t.
func (n *NVML) Architecture(d Device) (uint32, error) {
	return value[uint32](n, d, "nvmlDeviceGetArchitecture")
}

// Brand is nvmlBrandType_t.
func (n *NVML) Brand(d Device) (uint32, error) { return value[uint32](n, d, "nvmlDeviceGetBrand") }

// Persistence says whether the driver keeps the GPU initialised without users.
func (n *NVML) Persistence(d Device) (bool, error) {
	v, err := value[uint32](n, d, "nvmlDeviceGetPersistenceMode")
	return v != 0, err
}

// ComputeMode is nvmlComputeMode_t.
func (n *NVML) ComputeMode(d Device) (uint32, error) {
	return value[uint32](n, d, "nvmlDeviceGetComputeMode")
}

// VirtualizationMode is nvmlGpuVirtualizationMode_t.
func (n *NVML) VirtualizationMode(d Device) (uint32, error) {
	return value[uint32](n, d, "nvmlDeviceGetVirtualizationMode")
}

// PState is the performance state: 0 to 15, 32 for unknown.
func (n *NVML) PState(d Device) (uint32, error) {
	return value[uint32](n, d, "nvmlDeviceGetPerformanceState", "nvmlDeviceGetPowerState")
}

// MigMode is the mode now and after the next reset.
func (n *NVML) MigMode(d Device) (current, pending bool, err error) {
	a, b, err := pair[uint32, uint32](n, d, "nvmlDeviceGetMigMode")
	return a != 0, b != 0, err
}

// MaxMigDevices is how many MIG instances the GPU can have.
func (n *NVML) MaxMigDevices(d Device) (uint32, error) {
	return value[uint32](n, d, "nvmlDeviceGetMaxMigDeviceCount")
}

// MigDevice opens a MIG instance; the code NotFoundCode says that there is none of this
// number.
func (n *NVML) MigDevice(d Device, i uint32) (Device, error) {
	return chosen[Device](n, d, i, "nvmlDeviceGetMigDeviceHandleByIndex")
}

// GPUInstance is the instance that a MIG device belongs to.
func (n *NVML) GPUInstance(mig Device) (uint32, error) {
	return value[uint32](n, mig, "nvmlDeviceGetGpuInstanceId")
}

// ComputeInstance is its part of that instance.
func (n *NVML) ComputeInstance(mig Device) (uint32, error) {
	return value[uint32](n, mig, "nvmlDeviceGetComputeInstanceId")
}

// TopologyAncestor is nvmlGpuTopologyLevel_t: what two GPUs share.
func (n *NVML) TopologyAncestor(a, b Device) (uint32, error) {
	const name = "nvmlDeviceGetTopologyCommonAncestor"
	f, _ := use[func(Device, Device, *uint32) Return](n, name)
	if f == nil {
		return 0, missing(name)
	}
	var v uint32
	n.begin(name)
	err := result(name, f(a, b, &v))
	return v, err
}
