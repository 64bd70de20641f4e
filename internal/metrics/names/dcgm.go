package names

// DCGMLabels are dcgm-exporter's labels. Those after DCGM_FI_DRIVER_VERSION are only
// there when the GPU has one user that is known.
var DCGMLabels = []string{"gpu", "UUID", "pci_bus_id", "device", "modelName", "Hostname", "DCGM_FI_DRIVER_VERSION", "container", "namespace", "pod"}

// DCGM are the metrics of dcgm-exporter that the readings can answer, with the types
// and units of its own lists (etc/default-counters.csv and dcp-metrics-included.csv of
// https://github.com/NVIDIA/dcgm-exporter), for dashboards and alerts that were made for
// it. Its quirks are kept: some counters have no _total, and units are DCGM's.
var DCGM = []*Family{
	dcgm("SM_CLOCK", Gauge, "SM clock (MHz).", one("clocks.sm.mhz")),
	dcgm("MEM_CLOCK", Gauge, "Memory clock (MHz).", one("clocks.memory.mhz")),
	dcgm("GPU_TEMP", Gauge, "GPU temperature (C).", one("temperature.gpu.celsius")),
	dcgm("MEMORY_TEMP", Gauge, "Memory temperature (C).", one("temperature.memory.celsius")),
	dcgm("SLOWDOWN_TEMP", Gauge, "Temperature at which the GPU slows down (C).", one("temperature.gpu.slowdown.celsius")),
	dcgm("SHUTDOWN_TEMP", Gauge, "Temperature at which the GPU shuts down (C).", one("temperature.gpu.shutdown.celsius")),
	dcgm("POWER_USAGE", Gauge, "Power drawn (W).", one("power.draw.watts", "power.draw.instant.watts", "power.draw.average.watts")),
	dcgm("POWER_MGMT_LIMIT", Gauge, "Power limit that was asked for (W).", one("power.limit.watts")),
	dcgm("ENFORCED_POWER_LIMIT", Gauge, "Power limit in force (W).", one("power.limit.enforced.watts")),
	dcgm("FAN_SPEED", Gauge, "Fan speed (%).", one("fan.speed.percent")),
	dcgm("PSTATE", Gauge, "Performance state (0-15, 0 is the fastest).", []From{{Keys: []string{"pstate"}, Words: pstates()}}),
	dcgm("GPU_UTIL", Gauge, "GPU utilization (%).", one("utilization.gpu.percent")),
	dcgm("MEM_COPY_UTIL", Gauge, "Utilization of the memory controller (%).", one("utilization.memory.percent")),
	dcgm("ENC_UTIL", Gauge, "Encoder utilization (%).", one("utilization.encoder.percent")),
	dcgm("DEC_UTIL", Gauge, "Decoder utilization (%).", one("utilization.decoder.percent")),
	dcgm("FB_TOTAL", Gauge, "Framebuffer memory (MiB).", one("memory.total.mib")),
	dcgm("FB_FREE", Gauge, "Framebuffer memory that is free (MiB).", one("memory.free.mib")),
	dcgm("FB_USED", Gauge, "Framebuffer memory in use (MiB).", one("memory.used.mib")),
	dcgm("FB_RESERVED", Gauge, "Framebuffer memory that is reserved (MiB).", one("memory.reserved.mib")),
	dcgm("BAR1_TOTAL", Gauge, "BAR1 window (MiB).", one("bar1.total.mib")),
	dcgm("BAR1_USED", Gauge, "BAR1 window in use (MiB).", one("bar1.used.mib")),
	dcgm("BAR1_FREE", Gauge, "BAR1 window that is free (MiB).", one("bar1.free.mib")),
	DCGMReasons,
	DCGMXid,
	dcgm("ECC_SBE_VOL_TOTAL", Counter, "Corrected memory errors since the driver was loaded.", one("ecc.corrected.volatile.total")),
	dcgm("ECC_DBE_VOL_TOTAL", Counter, "Uncorrected memory errors since the driver was loaded.", one("ecc.uncorrected.volatile.total")),
	dcgm("ECC_SBE_AGG_TOTAL", Counter, "Corrected memory errors of the board's life.", one("ecc.corrected.aggregate.total")),
	dcgm("ECC_DBE_AGG_TOTAL", Counter, "Uncorrected memory errors of the board's life.", one("ecc.uncorrected.aggregate.total")),
	dcgm("RETIRED_SBE", Counter, "Pages retired for single-bit errors.", one("retired_pages.single_bit")),
	dcgm("RETIRED_DBE", Counter, "Pages retired for double-bit errors.", one("retired_pages.double_bit")),
	dcgm("RETIRED_PENDING", Counter, "Whether a page is to be retired.", flag("retired_pages.pending")),
	dcgm("CORRECTABLE_REMAPPED_ROWS", Counter, "Rows remapped for corrected errors.", one("remapped_rows.correctable")),
	dcgm("UNCORRECTABLE_REMAPPED_ROWS", Counter, "Rows remapped for uncorrected errors.", one("remapped_rows.uncorrectable")),
	dcgm("ROW_REMAP_FAILURE", Gauge, "Whether remapping of a row has failed.", flag("remapped_rows.failure")),
	dcgm("ROW_REMAP_PENDING", Gauge, "Whether a row is to be remapped.", flag("remapped_rows.pending")),
	dcgm("PCIE_REPLAY_COUNTER", Counter, "PCIe packets that were sent again.", one("pcie.replays")),
	dcgm("PCIE_LINK_GEN", Gauge, "PCIe generation now.", one("pcie.link.gen.current", "pcie.link.gen.device_current")),
	dcgm("PCIE_MAX_LINK_GEN", Gauge, "Highest PCIe generation.", one("pcie.link.gen.max")),
	dcgm("PCIE_LINK_WIDTH", Gauge, "PCIe lanes now.", one("pcie.link.width.current")),
	dcgm("PCIE_MAX_LINK_WIDTH", Gauge, "PCIe lanes at most.", one("pcie.link.width.max")),
	dcgm("NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", Counter, "NVLink CRC errors of flow control.", one("nvlink.errors.crc_flit")),
	dcgm("NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", Counter, "NVLink CRC errors of data.", one("nvlink.errors.crc")),
	dcgm("NVLINK_REPLAY_ERROR_COUNT_TOTAL", Counter, "NVLink replays.", one("nvlink.errors.replay")),
	dcgm("NVLINK_RECOVERY_ERROR_COUNT_TOTAL", Counter, "NVLink recoveries.", one("nvlink.errors.recovery")),
	dcgm("PERSISTENCE_MODE", Gauge, "Whether persistence mode is on.", flag("persistence_mode")),
	dcgm("MIG_MODE", Gauge, "Whether MIG is on.", flag("mig.mode.current")),
}

// The two metrics of DCGM that are made of several readings, or of none.
var (
	DCGMReasons = dcgm("CLOCK_THROTTLE_REASONS", Gauge, "Clocks event reasons as the driver's bit mask.", nil)
	DCGMXid     = dcgm("XID_ERRORS", Gauge, "The last Xid; 0 when there was none.", nil)
)

// ReasonBits are the bits of the clocks event reasons (nvml.h, nvmlClocksEventReason*).
var ReasonBits = map[string]uint64{
	"gpu_idle": 0x1, "applications_clocks_setting": 0x2, "sw_power_cap": 0x4, "hw_slowdown": 0x8, "sync_boost": 0x10,
	"sw_thermal_slowdown": 0x20, "hw_thermal_slowdown": 0x40, "hw_power_brake_slowdown": 0x80, "display_clock_setting": 0x100,
}

func dcgm(field string, t Type, help string, from []From) *Family {
	return &Family{Name: "DCGM_FI_DEV_" + field, Type: t, Help: help, Labels: DCGMLabels, From: from}
}
