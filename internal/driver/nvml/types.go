package nvml

import "unsafe"

// The structs of nvml.h that we pass. Fields stand in the header's order; Go and C lay
// them out alike on linux/amd64 and linux/arm64 (compared by e2e/nvmlabi).

// PciInfo is nvmlPciInfo_t.
type PciInfo struct {
	BusIDLegacy [16]byte
	Domain      uint32
	Bus         uint32
	Device      uint32
	DeviceID    uint32 // device<<16 | vendor
	SubSystemID uint32
	BusID       [32]byte
}

// Address is the PCI address as NVML writes it: 00000000:3B:00.0.
func (p *PciInfo) Address() string { return cString(p.BusID[:]) }

// MemoryV1 is nvmlMemory_t: Used includes what the driver reserves.
type MemoryV1 struct{ Total, Free, Used uint64 }

// MemoryInfo is nvmlMemory_v2_t, in bytes.
type MemoryInfo struct {
	Version                     uint32
	Total, Reserved, Free, Used uint64
}

// BAR1Memory is nvmlBAR1Memory_t, in bytes.
type BAR1Memory struct{ Total, Free, Used uint64 }

// Utilization is nvmlUtilization_t, in percent.
type Utilization struct{ GPU, Memory uint32 }

// Temperature is nvmlTemperature_v1_t.
type Temperature struct {
	Version, Sensor uint32
	Celsius         int32
}

// MarginTemperature is nvmlMarginTemperature_v1_t.
type MarginTemperature struct {
	Version uint32
	Celsius int32
}

// RepairStatus is nvmlRepairStatus_v1_t.
type RepairStatus struct{ Version, ChannelPending, TPCPending uint32 }

// UnrepairableMemory is nvmlUnrepairableMemoryStatus_v1_t.
type UnrepairableMemory struct{ Flag uint32 }

// SramEccErrorStatus is nvmlEccSramErrorStatus_v1_t.
type SramEccErrorStatus struct {
	Version                                            uint32
	AggregateUncParity, AggregateUncSecDed             uint64
	AggregateCor                                       uint64
	VolatileUncParity, VolatileUncSecDed, VolatileCor  uint64
	BucketL2, BucketSM, BucketPCIe, BucketMCU, BucketX uint64
	ThresholdExceeded                                  uint32
}

// RemappedRows is nvmlRemappedRowsInfo_v2_t.
type RemappedRows struct {
	CorrectableActive, CorrectableInactive     uint32
	UncorrectableActive, UncorrectableInactive uint32
	Pending, Failure                           uint32
}

// RowRemapperHistogram is nvmlRowRemapperHistogramValues_t.
type RowRemapperHistogram struct{ Max, High, Partial, Low, None uint32 }

// FieldValue is nvmlFieldValue_t.
type FieldValue struct {
	FieldID, ScopeID       uint32
	Timestamp, LatencyUsec int64
	Type                   uint32
	Code                   Return
	Value                  uint64 // a C union; Type says what it holds
}

// ProcessInfoV1 is nvmlProcessInfo_v1_t.
type ProcessInfoV1 struct {
	PID        uint32
	UsedMemory uint64
}

// ProcessInfo is nvmlProcessInfo_t (v2 and v3).
type ProcessInfo struct {
	PID                          uint32
	UsedMemory                   uint64
	GPUInstance, ComputeInstance uint32
}

// FabricInfoV1 is nvmlGpuFabricInfo_t.
type FabricInfoV1 struct {
	ClusterUUID [16]byte
	Status      Return
	CliqueID    uint32
	State       uint8
}

// FabricInfoV2 is nvmlGpuFabricInfo_v2_t.
type FabricInfoV2 struct {
	Version     uint32
	ClusterUUID [16]byte
	Status      Return
	CliqueID    uint32
	State       uint8
	HealthMask  uint32
}

// FabricInfo is nvmlGpuFabricInfo_v3_t.
type FabricInfo struct {
	Version       uint32
	ClusterUUID   [16]byte
	Status        Return
	CliqueID      uint32
	State         uint8
	HealthMask    uint32
	HealthSummary uint8
}

// EventData is nvmlEventData_t.
type EventData struct {
	Device                       Device
	Type, Data                   uint64
	GPUInstance, ComputeInstance uint32
}

// VersionOf is the version word of a versioned struct, NVML_STRUCT_VERSION in C.
func VersionOf[T any](version uint32) uint32 {
	var v T
	return uint32(unsafe.Sizeof(v)) | version<<24
}
