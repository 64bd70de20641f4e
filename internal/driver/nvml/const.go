package nvml

// Constants of nvml.h, by their names there without the prefix.

// Clocks of nvmlClockType_t.
const (
	ClockGraphics = 0
	ClockSM       = 1
	ClockMem      = 2
	ClockVideo    = 3
)

// Thresholds of nvmlTemperatureThresholds_t.
const (
	ThresholdShutdown = 0
	ThresholdSlowdown = 1
	ThresholdMemMax   = 2
	ThresholdGPUMax   = 3
)

// Error counters: nvmlMemoryErrorType_t, nvmlEccCounterType_t, nvmlMemoryLocation_t.
const (
	ErrorCorrected   = 0
	ErrorUncorrected = 1

	CounterVolatile  = 0
	CounterAggregate = 1

	LocationL1Cache       = 0
	LocationL2Cache       = 1
	LocationDRAM          = 2
	LocationRegisterFile  = 3
	LocationTextureMemory = 4
	LocationCBU           = 6
	LocationSRAM          = 7
)

// Causes of nvmlPageRetirementCause_t.
const (
	RetiredSingleBit = 0
	RetiredDoubleBit = 1
)

// Counters of nvmlNvLinkErrorCounter_t.
const (
	LinkReplay   = 0
	LinkRecovery = 1
	LinkCRCFlit  = 2
	LinkCRCData  = 3
	LinkECCData  = 4
)

// MaxLinks is NVML_NVLINK_MAX_LINKS.
const MaxLinks = 36

// LinkVersion5 is NVML_NVLINK_VERSION_5_0: from here on links have other counters.
const LinkVersion5 = 7

// Devices at the other end of a link: nvmlIntNvLinkDeviceType_t.
const (
	RemoteGPU    = 0
	RemoteNPU    = 1
	RemoteSwitch = 2
)

// States of a GPU's registration with the fabric: nvmlGpuFabricState_t.
const (
	FabricNotSupported = 0
	FabricNotStarted   = 1
	FabricInProgress   = 2
	FabricCompleted    = 3
)

// Reasons of nvmlClocksEventReasons.
const (
	ReasonGPUIdle           uint64 = 0x1
	ReasonApplicationClocks uint64 = 0x2
	ReasonSWPowerCap        uint64 = 0x4
	ReasonHWSlowdown        uint64 = 0x8
	ReasonSyncBoost         uint64 = 0x10
	ReasonSWThermal         uint64 = 0x20
	ReasonHWThermal         uint64 = 0x40
	ReasonHWPowerBrake      uint64 = 0x80
	ReasonDisplayClock      uint64 = 0x100
)

// Events of nvmlEventType.
const (
	EventXid            uint64 = 0x8
	EventDoubleBitECC   uint64 = 0x2
	EventRecoveryAction uint64 = 0x8000
)

// Recovery actions: nvmlDeviceGpuRecoveryAction_t.
const (
	RecoveryNone         = 0
	RecoveryReset        = 1
	RecoveryReboot       = 2
	RecoveryDrainP2P     = 3
	RecoveryDrainReset   = 4
	RecoveryIMEX         = 5
	RecoveryBusReset     = 6
	RecoverySystemReboot = 7
)

// Fields of nvmlDeviceGetFieldValues: NVML_FI_DEV_*.
const (
	FieldPerfPolicyPower     = 74
	FieldPerfPolicySyncBoost = 76
	FieldMemoryTemp          = 82
	FieldPCIeReplayRollover  = 95

	FieldLinkReplay   = 161
	FieldLinkRecovery = 162
	FieldLinkCRC      = 163

	FieldPowerAverage = 185
	FieldPowerInstant = 186

	FieldShutdownTLimit = 193
	FieldSlowdownTLimit = 194
	FieldMemMaxTLimit   = 195
	FieldGPUMaxTLimit   = 196

	FieldLinkMalformed      = 206
	FieldLinkBufferOverrun  = 207
	FieldLinkRcvErrors      = 208
	FieldLinkRcvRemote      = 209
	FieldLinkRcvGeneral     = 210
	FieldLinkLocalIntegrity = 211
	FieldLinkRecoveryOK     = 213
	FieldLinkRecoveryFailed = 214
	FieldLinkRecoveryEvents = 215
	FieldLinkEffective      = 219
	FieldLinkSymbol         = 221

	FieldResetStatus         = 226
	FieldDrainAndResetStatus = 227
	FieldRecoveryAction      = 230

	FieldSWThermalSlowdown = 269
	FieldHWThermalSlowdown = 270
	FieldHWPowerBrake      = 271

	FieldRemappedCorInactive = 301
	FieldRemappedUncInactive = 302
)

// Types of a field's value: nvmlValueType_t.
const (
	TypeDouble           = 0
	TypeUnsignedInt      = 1
	TypeUnsignedLong     = 2
	TypeUnsignedLongLong = 3
	TypeSignedLongLong   = 4
	TypeSignedInt        = 5
	TypeUnsignedShort    = 6
)
