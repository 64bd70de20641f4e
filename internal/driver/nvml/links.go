package nvml

// PCIe, NVLink and the fabric.

// PCIeGen is the link's generation now.
func (n *NVML) PCIeGen(d Device) (uint32, error) {
	return value[uint32](n, d, "nvmlDeviceGetCurrPcieLinkGeneration")
}

// PCIeMaxGen is the best of GPU and slot together.
func (n *NVML) PCIeMaxGen(d Device) (uint32, error) {
	return value[uint32](n, d, "nvmlDeviceGetMaxPcieLinkGeneration")
}

// PCIeDeviceMaxGen is the best of the GPU alone.
func (n *NVML) PCIeDeviceMaxGen(d Device) (uint32, error) {
	return value[uint32](n, d, "nvmlDeviceGetGpuMaxPcieLinkGeneration")
}

// PCIeWidth is the number of lanes in use.
func (n *NVML) PCIeWidth(d Device) (uint32, error) {
	return value[uint32](n, d, "nvmlDeviceGetCurrPcieLinkWidth")
}

// PCIeMaxWidth is the number of lanes of GPU and slot together.
func (n *NVML) PCIeMaxWidth(d Device) (uint32, error) {
	return value[uint32](n, d, "nvmlDeviceGetMaxPcieLinkWidth")
}

// PCIeReplays counts retransmissions.
func (n *NVML) PCIeReplays(d Device) (uint32, error) {
	return value[uint32](n, d, "nvmlDeviceGetPcieReplayCounter")
}

// LinkActive is the state of an NVLink.
func (n *NVML) LinkActive(d Device, link uint32) (bool, error) {
	v, err := chosen[uint32](n, d, link, "nvmlDeviceGetNvLinkState")
	return v != 0, err
}

// LinkVersion is nvmlNvlinkVersion_t.
func (n *NVML) LinkVersion(d Device, link uint32) (uint32, error) {
	return chosen[uint32](n, d, link, "nvmlDeviceGetNvLinkVersion")
}

// LinkRemoteType is what is at the other end.
func (n *NVML) LinkRemoteType(d Device, link uint32) (uint32, error) {
	return chosen[uint32](n, d, link, "nvmlDeviceGetNvLinkRemoteDeviceType")
}

// LinkRemotePCI is where that is.
func (n *NVML) LinkRemotePCI(d Device, link uint32) (PciInfo, error) {
	return chosen[PciInfo](n, d, link, "nvmlDeviceGetNvLinkRemotePciInfo_v2", "nvmlDeviceGetNvLinkRemotePciInfo")
}

// LinkErrors is a counter of an NVLink up to the fourth generation.
func (n *NVML) LinkErrors(d Device, link, counter uint32) (uint64, error) {
	const name = "nvmlDeviceGetNvLinkErrorCounter"
	f, _ := use[func(Device, uint32, uint32, *uint64) Return](n, name)
	if f == nil {
		return 0, missing(name)
	}
	var v uint64
	n.begin(name)
	err := ofKind(name, f(d, link, counter, &v))
	return v, err
}

// Fabric is the GPU's registration with the NVLink fabric. Older drivers know nothing
// of its health: HealthMask and HealthSummary are then zero, which means unsupported.
func (n *NVML) Fabric(d Device) (FabricInfo, error) {
	v3 := FabricInfo{Version: VersionOf[FabricInfo](3)}
	err := get(n, d, &v3, "nvmlDeviceGetGpuFabricInfoV")
	if CodeOf(err) != ArgVersionMismatch && CodeOf(err) != FunctionNotFound {
		return v3, err
	}
	v2 := FabricInfoV2{Version: VersionOf[FabricInfoV2](2)}
	err = n.fabricV2(d, &v2)
	if CodeOf(err) != ArgVersionMismatch && CodeOf(err) != FunctionNotFound {
		return FabricInfo{ClusterUUID: v2.ClusterUUID, Status: v2.Status, CliqueID: v2.CliqueID, State: v2.State, HealthMask: v2.HealthMask}, err
	}
	v1, err := value[FabricInfoV1](n, d, "nvmlDeviceGetGpuFabricInfo")
	return FabricInfo{ClusterUUID: v1.ClusterUUID, Status: v1.Status, CliqueID: v1.CliqueID, State: v1.State}, err
}

// fabricV2 calls the same function with the smaller struct: the driver goes by its
// version word.
func (n *NVML) fabricV2(d Device, v *FabricInfoV2) error {
	const name = "nvmlDeviceGetGpuFabricInfoV"
	var f func(Device, *FabricInfoV2) Return
	if n.lib.Bind(&f, name) != nil {
		return missing(name)
	}
	n.begin(name)
	return result(name, f(d, v))
}
