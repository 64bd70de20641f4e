package names

// Metrics of a GPU. Those that other rooms name have a variable.
var (
	Info = &Family{Name: "gpumedic_gpu_info", Scope: GPU, Type: Gauge,
		Help:   "The GPU and its versions; always 1.",
		Labels: []string{"serial", "minor", "architecture", "brand", "vbios", "part_number", "inforom", "gsp_version", "driver", "compute_mode", "virtualization_mode"}}
	Up = &Family{Name: "gpumedic_gpu_up", Scope: GPU, Type: Gauge,
		Help: "1 when the driver answers for the GPU, 0 when it is lost, cannot be opened, or was seen before and is gone."}
	State = &Family{Name: "gpumedic_gpu_state", Scope: GPU, Type: Gauge,
		Help: "State of the GPU: 0 ok, 1 warning, 2 fault, 3 unknown."}
	UnreadGPU = &Family{Name: "gpumedic_gpu_unread_readings", Scope: GPU, Type: Gauge,
		Help: "Readings of the GPU that should be there and could not be read."}

	MemoryUsed = &Family{Name: "gpumedic_gpu_memory_used_bytes", Scope: GPU, Type: Gauge,
		Help: "GPU memory in use, in steps of 1 MiB.", From: bytesOf("memory.used.mib")}
	MemoryTotal = &Family{Name: "gpumedic_gpu_memory_total_bytes", Scope: GPU, Type: Gauge,
		Help: "GPU memory.", From: bytesOf("memory.total.mib")}
	Utilization = &Family{Name: "gpumedic_gpu_utilization_ratio", Scope: GPU, Type: Gauge,
		Help: "Share of time in which the GPU ran a kernel.", From: ratio("utilization.gpu.percent")}
	Temperature = &Family{Name: "gpumedic_gpu_temperature_celsius", Scope: GPU, Type: Gauge,
		Help: "GPU temperature.", From: one("temperature.gpu.celsius")}
	Margin = &Family{Name: "gpumedic_gpu_temperature_margin_celsius", Scope: GPU, Type: Gauge,
		Help: "Degrees left to the temperature limit (T.Limit); 0 is at the limit.", From: one("temperature.gpu.tlimit.celsius")}
	Power = &Family{Name: "gpumedic_gpu_power_watts", Scope: GPU, Type: Gauge,
		Help: "Power drawn.", From: one("power.draw.watts", "power.draw.instant.watts", "power.draw.average.watts")}
	PowerLimit = &Family{Name: "gpumedic_gpu_power_limit_watts", Scope: GPU, Type: Gauge,
		Help: "Power limit in force.", From: one("power.limit.enforced.watts", "power.limit.watts")}
	Gen = &Family{Name: "gpumedic_gpu_pcie_link_generation", Scope: GPU, Type: Gauge,
		Help: "PCIe generation now; an idle link is slow on purpose.", From: one("pcie.link.gen.current", "pcie.link.gen.device_current")}
	GenMax = &Family{Name: "gpumedic_gpu_pcie_link_generation_max", Scope: GPU, Type: Gauge,
		Help: "Highest PCIe generation of GPU and slot together.", From: one("pcie.link.gen.max")}
	Width = &Family{Name: "gpumedic_gpu_pcie_link_width", Scope: GPU, Type: Gauge,
		Help: "PCIe lanes now.", From: one("pcie.link.width.current", "pcie.port.width")}
	WidthMax = &Family{Name: "gpumedic_gpu_pcie_link_width_max", Scope: GPU, Type: Gauge,
		Help: "PCIe lanes of GPU and slot together.", From: one("pcie.link.width.max", "pcie.port.width.max")}
	ECC = &Family{Name: "gpumedic_gpu_ecc_errors_total", Scope: GPU, Type: Counter, Labels: []string{"kind", "span"},
		Help: "Memory errors by kind (corrected, uncorrected) and span: volatile since the driver was loaded, aggregate of the board's life.",
		From: eccTotals()}
	LinksUp = &Family{Name: "gpumedic_gpu_nvlinks_active", Scope: GPU, Type: Gauge,
		Help: "NVLinks that are up.", From: one("nvlink.links.active")}
	LinksDown = &Family{Name: "gpumedic_gpu_nvlinks_inactive", Scope: GPU, Type: Gauge,
		Help: "NVLinks that are down.", From: one("nvlink.links.inactive")}
	ProcessMemory = &Family{Name: "gpumedic_process_memory_used_bytes", Scope: Process, Type: Gauge,
		Help: "GPU memory that a process uses. The largest are listed; the rest of each GPU is one series with the process \"(others)\" and no pid.",
		From: bytesOf("process.used_memory.mib")}
	ProcessUtilization = &Family{Name: "gpumedic_process_utilization_ratio", Scope: Process, Type: Gauge,
		Help: "Share of time in which the process ran a kernel.", From: ratio("process.utilization.gpu.percent")}
)

var gpuFamilies = []*Family{
	Info, Up, State, UnreadGPU,
	MemoryUsed, MemoryTotal,
	{Name: "gpumedic_gpu_memory_free_bytes", Scope: GPU, Type: Gauge, Help: "GPU memory that is free.", From: bytesOf("memory.free.mib")},
	{Name: "gpumedic_gpu_memory_reserved_bytes", Scope: GPU, Type: Gauge, Help: "GPU memory that the driver and firmware keep.", From: bytesOf("memory.reserved.mib")},
	{Name: "gpumedic_gpu_bar1_used_bytes", Scope: GPU, Type: Gauge, Help: "Part of the BAR1 window in use.", From: bytesOf("bar1.used.mib")},
	{Name: "gpumedic_gpu_bar1_total_bytes", Scope: GPU, Type: Gauge, Help: "Size of the BAR1 window.", From: bytesOf("bar1.total.mib")},

	Utilization,
	{Name: "gpumedic_gpu_engine_utilization_ratio", Scope: GPU, Type: Gauge, Labels: []string{"engine"},
		Help: "Share of time in which a part of the GPU was in use; memory is the memory controller, not the space.",
		From: each("utilization.", ".percent", From{Div: 100}, "memory", "encoder", "decoder", "jpeg", "ofa")},
	{Name: "gpumedic_gpu_processes", Scope: GPU, Type: Gauge, Labels: []string{"type"}, Help: "Processes on the GPU by type.",
		From: each("processes.", "", From{}, "compute", "graphics", "mps")},

	Temperature,
	{Name: "gpumedic_gpu_memory_temperature_celsius", Scope: GPU, Type: Gauge, Help: "Temperature of the GPU's memory.", From: one("temperature.memory.celsius")},
	Margin,
	{Name: "gpumedic_gpu_temperature_limit_celsius", Scope: GPU, Type: Gauge, Labels: []string{"limit"},
		Help: "Temperatures at which the GPU slows down, shuts down, or should not stay above (before Ada and Hopper).",
		From: each("temperature.gpu.", ".celsius", From{}, "shutdown", "slowdown", "max_operating")},
	{Name: "gpumedic_gpu_temperature_margin_limit_celsius", Scope: GPU, Type: Gauge, Labels: []string{"limit"},
		Help: "Values of the margin at which the GPU slows down, shuts down, or should not stay below; mostly negative.",
		From: each("temperature.gpu.", "_tlimit.celsius", From{}, "shutdown", "slowdown", "max_operating")},
	{Name: "gpumedic_gpu_memory_temperature_limit_celsius", Scope: GPU, Type: Gauge,
		Help: "Temperature above which the GPU's memory should not stay.", From: one("temperature.memory.max_operating.celsius")},
	{Name: "gpumedic_gpu_fan_speed_ratio", Scope: GPU, Type: Gauge, Help: "Fan speed as a share of the highest.", From: ratio("fan.speed.percent")},

	Power,
	{Name: "gpumedic_gpu_power_average_watts", Scope: GPU, Type: Gauge, Help: "Power drawn, mean of the last second.", From: one("power.draw.average.watts")},
	PowerLimit,
	{Name: "gpumedic_gpu_power_limit_bound_watts", Scope: GPU, Type: Gauge, Labels: []string{"bound"},
		Help: "Bounds of the power limit that can be set, and its default.",
		From: each("power.limit.", ".watts", From{}, "default", "min", "max")},

	{Name: "gpumedic_gpu_clock_hertz", Scope: GPU, Type: Gauge, Labels: []string{"clock"}, Help: "Clock now.",
		From: each("clocks.", ".mhz", From{Mul: 1e6}, "graphics", "sm", "memory", "video")},
	{Name: "gpumedic_gpu_clock_max_hertz", Scope: GPU, Type: Gauge, Labels: []string{"clock"}, Help: "Highest clock.",
		From: each("clocks.max.", ".mhz", From{Mul: 1e6}, "graphics", "sm", "memory")},
	{Name: "gpumedic_gpu_clock_application_hertz", Scope: GPU, Type: Gauge, Labels: []string{"clock"}, Help: "Clock that was asked for.",
		From: each("clocks.applications.", ".mhz", From{Mul: 1e6}, "graphics", "memory")},
	{Name: "gpumedic_gpu_clock_event_reason_active", Scope: GPU, Type: Gauge, Labels: []string{"reason"},
		Help: "1 for each reason why the clocks are what they are now (clocks event reasons, once called throttle reasons).",
		From: each("clocks_event_reasons.", "", From{Words: onOff}, "gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "sync_boost",
			"sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "display_clock_setting")},
	{Name: "gpumedic_gpu_clock_event_reason_seconds_total", Scope: GPU, Type: Counter, Labels: []string{"reason"},
		Help: "Time for which a reason held.",
		From: each("clocks_event_reasons_counters.", ".us", From{Div: 1e6}, "sw_power_cap", "sync_boost", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")},
	{Name: "gpumedic_gpu_performance_state", Scope: GPU, Type: Gauge, Help: "Performance state: 0 (P0) is the fastest, 15 the slowest.",
		From: []From{{Keys: []string{"pstate"}, Words: pstates()}}},

	Gen, GenMax, Width, WidthMax,
	{Name: "gpumedic_gpu_pcie_replays_total", Scope: GPU, Type: Counter, Help: "PCIe packets that were sent again; a few are no fault.", From: one("pcie.replays")},
	{Name: "gpumedic_gpu_pcie_aer_errors_total", Scope: GPU, Type: Counter, Labels: []string{"severity"},
		Help: "PCIe errors that the GPU reported since it was found (advanced error reporting).",
		From: each("pcie.aer.", ".total", From{}, "correctable", "nonfatal", "fatal")},

	LinksUp, LinksDown,
	{Name: "gpumedic_gpu_nvlink_errors_total", Scope: GPU, Type: Counter, Labels: []string{"error"},
		Help: "Errors of all NVLinks together. Which kinds exist depends on the generation.",
		From: each("nvlink.errors.", "", From{}, "replay", "recovery", "crc", "crc_flit", "ecc", "link_recovery", "link_recovery_ok", "link_recovery_failed",
			"effective", "symbol", "packet")},
	{Name: "gpumedic_gpu_fabric_state", Scope: GPU, Type: Gauge, Labels: []string{"state"},
		Help: "Registration with the NVLink fabric; 1 for the state it is in.", From: set("fabric.state", "not started", "in progress", "completed")},
	{Name: "gpumedic_gpu_fabric_healthy", Scope: GPU, Type: Gauge, Help: "1 when the driver calls the GPU's place in the fabric healthy.",
		From: []From{{Keys: []string{"fabric.health.summary"}, Words: map[string]float64{"healthy": 1, "unhealthy": 0, "limited capacity": 0}}}},

	ECC,
	{Name: "gpumedic_gpu_ecc_location_errors_total", Scope: GPU, Type: Counter, Labels: []string{"kind", "span", "location"},
		Help: "Memory errors by kind, span and place. Not every place is counted on every product; sram is the sum of sram.parity and sram.secded.",
		From: eccLocations()},
	{Name: "gpumedic_gpu_ecc_enabled", Scope: GPU, Type: Gauge, Help: "1 when ECC is on.", From: flag("ecc.mode.current")},
	{Name: "gpumedic_gpu_sram_threshold_exceeded", Scope: GPU, Type: Gauge,
		Help: "1 when the uncorrected errors of on-chip memory are too many.", From: flag("ecc.sram_threshold_exceeded")},
	{Name: "gpumedic_gpu_remapped_rows", Scope: GPU, Type: Gauge, Labels: []string{"cause"},
		Help: "Rows of memory replaced by spare ones, by cause.",
		From: each("remapped_rows.", "", From{}, "correctable", "uncorrectable", "correctable_inactive", "uncorrectable_inactive")},
	{Name: "gpumedic_gpu_row_remap_pending", Scope: GPU, Type: Gauge, Help: "1 when a row is to be replaced at the next reset.", From: flag("remapped_rows.pending")},
	{Name: "gpumedic_gpu_row_remap_failure", Scope: GPU, Type: Gauge, Help: "1 when a row could not be replaced.", From: flag("remapped_rows.failure")},
	{Name: "gpumedic_gpu_row_remap_banks", Scope: GPU, Type: Gauge, Labels: []string{"spare"},
		Help: "Memory banks by how many spare rows they have left.",
		From: each("remapped_rows.histogram.", "", From{}, "max", "high", "partial", "low", "none")},
	{Name: "gpumedic_gpu_retired_pages", Scope: GPU, Type: Gauge, Labels: []string{"cause"}, Help: "Pages of memory taken out of use (before Ampere).",
		From: each("retired_pages.", "", From{}, "single_bit", "double_bit")},
	{Name: "gpumedic_gpu_page_retirement_pending", Scope: GPU, Type: Gauge, Help: "1 when a page is to be retired at the next reset.", From: flag("retired_pages.pending")},
	{Name: "gpumedic_gpu_repair_pending", Scope: GPU, Type: Gauge, Labels: []string{"repair"}, Help: "1 when a repair of the memory waits for a reset.",
		From: each("", "_repair_pending", From{Words: onOff}, "channel", "tpc")},
	{Name: "gpumedic_gpu_unrepairable_memory", Scope: GPU, Type: Gauge, Help: "1 when memory can no longer be repaired.", From: flag("unrepairable_memory")},

	{Name: "gpumedic_gpu_recovery_action", Scope: GPU, Type: Gauge, Labels: []string{"action"},
		Help: "What the driver says that the GPU needs; 1 for that action.",
		From: set("recovery_action", "none", "reset", "reboot", "drain_p2p", "drain_reset", "recover_imex")},
	{Name: "gpumedic_gpu_reset_required", Scope: GPU, Type: Gauge, Help: "1 when the GPU needs a reset (drivers before the recovery action).", From: flag("reset_required")},
	{Name: "gpumedic_gpu_persistence_mode", Scope: GPU, Type: Gauge, Help: "1 when persistence mode is on.", From: flag("persistence_mode")},
	{Name: "gpumedic_gpu_mig_mode", Scope: GPU, Type: Gauge, Help: "1 when MIG is on.", From: flag("mig.mode.current")},
	{Name: "gpumedic_gpu_mig_mode_pending", Scope: GPU, Type: Gauge, Help: "1 when MIG is on after the next reset.", From: flag("mig.mode.pending")},
	{Name: "gpumedic_gpu_mig_devices", Scope: GPU, Type: Gauge, Help: "MIG instances of the GPU.", From: one("mig.devices")},

	{Name: "gpumedic_mig_memory_used_bytes", Scope: MIG, Type: Gauge, Help: "Memory in use in a MIG instance.", From: bytesOf("mig.memory.used.mib")},
	{Name: "gpumedic_mig_memory_total_bytes", Scope: MIG, Type: Gauge, Help: "Memory of a MIG instance.", From: bytesOf("mig.memory.total.mib")},

	ProcessMemory,
	ProcessUtilization,
}

func eccTotals() []From {
	var out []From
	for _, kind := range []string{"corrected", "uncorrected"} {
		for _, span := range []string{"volatile", "aggregate"} {
			out = append(out, From{Keys: []string{"ecc." + kind + "." + span + ".total"}, Labels: []string{kind, span}})
		}
	}
	return out
}

func eccLocations() []From {
	var out []From
	for _, total := range eccTotals() {
		kind, span := total.Labels[0], total.Labels[1]
		for _, f := range each("ecc."+kind+"."+span+".", "", From{},
			"dram", "sram", "sram.parity", "sram.secded", "register_file", "l1_cache", "l2_cache", "cbu", "texture_memory") {
			f.Labels = []string{kind, span, f.Labels[0]}
			out = append(out, f)
		}
	}
	return out
}

func pstates() map[string]float64 {
	m := map[string]float64{}
	for i, n := range []string{"P0", "P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P12", "P13", "P14", "P15"} {
		m[n] = float64(i)
	}
	return m
}
