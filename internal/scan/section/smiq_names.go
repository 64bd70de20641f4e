package section

import "strings"

// smiTop are the keys that mean one thing wherever they stand.
var smiTop = map[string]string{
	"driver version": "driver.version", "kmd version": "driver.version", "cuda version": "cuda.version",
	"cuda umd version": "cuda.version", "attached gpus": "attached_gpus", "timestamp": "timestamp",
	"product name": "name", "product architecture": "architecture", "persistence mode": "persistence_mode",
	"serial number": "serial", "gpu uuid": "uuid", "minor number": "minor", "vbios version": "vbios.version",
	"gpu recovery action": "recovery_action", "gsp firmware version": "gsp.version", "bus id": "pci",
	"replays since reset": "pcie.replays", "replay number rollovers": "pcie.replay_rollovers",
	"fan speed": "fan.speed.percent", "performance state": "pstate", "compute mode": "compute_mode",
	"hw slowdown":             "clocks_event_reasons.hw_slowdown",
	"hw thermal slowdown":     "clocks_event_reasons.hw_thermal_slowdown",
	"hw power brake slowdown": "clocks_event_reasons.hw_power_brake_slowdown",
	"sw power cap":            "clocks_event_reasons.sw_power_cap",
	"sw thermal slowdown":     "clocks_event_reasons.sw_thermal_slowdown",
	"hw power braking":        "clocks_event_reasons_counters.hw_power_brake_slowdown.us",
	"sw power capping":        "clocks_event_reasons_counters.sw_power_cap.us",
	"sram threshold exceeded": "ecc.sram_threshold_exceeded",
	"channel repair pending":  "channel_repair_pending", "tpc repair pending": "tpc_repair_pending",
	"unrepairable memory":    "unrepairable_memory",
	"pending page blacklist": "retired_pages.pending", "pending page retirement": "retired_pages.pending",
	"remapping failure occurred": "remapped_rows.failure", "inactive uncorrectable error": "remapped_rows.uncorrectable_inactive",
	"inactive correctable error": "remapped_rows.correctable_inactive",
	"gpu current temp":           "temperature.gpu.celsius", "gpu t.limit temp": "temperature.gpu.tlimit.celsius",
	"gpu shutdown temp": "temperature.gpu.shutdown.celsius", "gpu slowdown temp": "temperature.gpu.slowdown.celsius",
	"gpu max operating temp":         "temperature.gpu.max_operating.celsius",
	"gpu shutdown t.limit temp":      "temperature.gpu.shutdown_tlimit.celsius",
	"gpu slowdown t.limit temp":      "temperature.gpu.slowdown_tlimit.celsius",
	"gpu max operating t.limit temp": "temperature.gpu.max_operating_tlimit.celsius",
	"memory current temp":            "temperature.memory.celsius", "memory max operating temp": "temperature.memory.max_operating.celsius",
	"memory max operating t.limit temp": "temperature.memory.max_operating_tlimit.celsius",
	"reset required":                    "reset_required", "drain and reset recommended": "drain_reset_recommended",
	"power draw": "power.draw.watts", "power limit": "power.limit.watts", "enforced power limit": "power.limit.enforced.watts",
	"board part number": "board.part_number",
}

// smiHeadKeys belong to the report, not to a GPU.
var smiHeadKeys = map[string]bool{"driver.version": true, "cuda.version": true, "attached_gpus": true, "timestamp": true}

// unsectioned are top-level keys that follow a section and so end it.
var unsectioned = map[string]bool{
	"fan speed": true, "performance state": true, "compute mode": true, "serial number": true, "gpu uuid": true,
	"minor number": true, "gpu recovery action": true, "persistence mode": true, "product name": true,
	"vbios version": true, "gsp firmware version": true, "board part number": true,
}

// smiHeadings maps a heading to its section. "parent>child" headings exist only
// inside their parent.
var smiHeadings = map[string]string{
	"mig mode": "mig", "ecc mode": "eccmode", "driver model": "?", "gpu operation mode": "?", "inforom version": "inforom",
	"gpu virtualization mode": "virt", "gpu reset status": "reset", "pci": "pci", "gpu link info": "link", "platform info": "?",
	"pcie generation": "gen", "link width": "width", "bridge chip": "?", "fb memory usage": "fb", "bar1 memory usage": "bar1",
	"clocks event reasons": "reasons", "clocks throttle reasons": "reasons", "clocks event reasons counters": "counters",
	"utilization": "util", "encoder stats": "?", "fbc stats": "?", "dram encryption mode": "?", "conf compute protected memory usage": "?",
	"ecc errors": "ecc", "retired pages": "retired", "remapped rows": "remap", "temperature": "temp",
	"power readings": "power", "gpu power readings": "power", "gpu memory power readings": "mempower",
	"module power readings": "modpower", "clocks": "clocks", "applications clocks": "appclocks",
	"default applications clocks": "?", "deferred clocks": "?", "max clocks": "maxclocks", "max customer boost clocks": "?",
	"clock policy": "?", "fabric": "fabric", "processes": "processes", "capabilities": "?", "workload power profiles": "?",
	"edpp multiplier": "?", "voltage": "?", "inforom bbx object flush": "?", "ibmnpu": "?", "accounting mode": "",
	"ecc>volatile": "ecc.volatile", "ecc>aggregate": "ecc.aggregate",
	"ecc>aggregate uncorrectable sram sources": "ecc.sources",
	"ecc.volatile>single bit":                  "ecc.volatile.corrected", "ecc.volatile>double bit": "ecc.volatile.uncorrected",
	"ecc.aggregate>single bit": "ecc.aggregate.corrected", "ecc.aggregate>double bit": "ecc.aggregate.uncorrected",
	"remap>bank remap availability histogram": "histogram", "fabric>health": "fabric.health",
	"mig devices": "migdevices",
	// What grep leaves: headings that are unique even without their parents.
	"volatile": "ecc.volatile", "aggregate": "ecc.aggregate", "bank remap availability histogram": "histogram",
}

// smiSection finds the section of a heading, seen from the current section.
func smiSection(cur, name string) (string, bool) {
	for up := cur; ; {
		if s, ok := smiHeadings[up+">"+name]; ok {
			return s, true
		}
		i := strings.LastIndexByte(up, '.')
		if i < 0 {
			break
		}
		up = up[:i]
	}
	s, ok := smiHeadings[name]
	return s, ok
}

// smiKeys are the keys whose meaning depends on the section.
var smiKeys = map[string]string{
	"mig/current": "mig.mode.current", "mig/pending": "mig.mode.pending",
	"eccmode/current": "ecc.mode.current", "eccmode/pending": "ecc.mode.pending",
	"inforom/image version":    "inforom.image",
	"virt/virtualization mode": "virtualization_mode",
	"gen/max":                  "pcie.link.gen.max", "gen/current": "pcie.link.gen.current", "gen/device current": "pcie.link.gen.device_current",
	"gen/device max": "pcie.link.gen.device_max", "gen/host max": "pcie.link.gen.host_max",
	"width/max": "pcie.link.width.max", "width/current": "pcie.link.width.current",
	"fb/total": "memory.total.mib", "fb/reserved": "memory.reserved.mib", "fb/used": "memory.used.mib", "fb/free": "memory.free.mib",
	"bar1/total": "bar1.total.mib", "bar1/used": "bar1.used.mib", "bar1/free": "bar1.free.mib",
	"reasons/idle": "clocks_event_reasons.gpu_idle", "reasons/applications clocks setting": "clocks_event_reasons.applications_clocks_setting",
	"reasons/sync boost": "clocks_event_reasons.sync_boost", "reasons/display clock setting": "clocks_event_reasons.display_clock_setting",
	"reasons/unknown":              "clocks_event_reasons.unknown",
	"counters/sw power capping":    "clocks_event_reasons_counters.sw_power_cap.us",
	"counters/sync boost":          "clocks_event_reasons_counters.sync_boost.us",
	"counters/sw thermal slowdown": "clocks_event_reasons_counters.sw_thermal_slowdown.us",
	"counters/hw thermal slowdown": "clocks_event_reasons_counters.hw_thermal_slowdown.us",
	"counters/hw power braking":    "clocks_event_reasons_counters.hw_power_brake_slowdown.us",
	"util/gpu":                     "utilization.gpu.percent", "util/memory": "utilization.memory.percent",
	"util/encoder": "utilization.encoder.percent", "util/decoder": "utilization.decoder.percent",
	"retired/single bit ecc": "retired_pages.single_bit", "retired/double bit ecc": "retired_pages.double_bit",
	"retired/pending":         "retired_pages.pending",
	"remap/correctable error": "remapped_rows.correctable", "remap/uncorrectable error": "remapped_rows.uncorrectable",
	"remap/pending": "remapped_rows.pending", "histogram/max": "remapped_rows.histogram.max",
	"histogram/high": "remapped_rows.histogram.high", "histogram/partial": "remapped_rows.histogram.partial",
	"histogram/low": "remapped_rows.histogram.low", "histogram/none": "remapped_rows.histogram.none",
	"power/average power draw": "power.draw.average.watts", "power/instantaneous power draw": "power.draw.instant.watts",
	"power/power draw": "power.draw.watts", "power/power limit": "power.limit.watts", "power/current power limit": "power.limit.enforced.watts",
	"power/requested power limit": "power.limit.watts", "power/default power limit": "power.limit.default.watts",
	"power/min power limit": "power.limit.min.watts", "power/max power limit": "power.limit.max.watts",
	"clocks/graphics": "clocks.graphics.mhz", "clocks/sm": "clocks.sm.mhz", "clocks/memory": "clocks.memory.mhz", "clocks/video": "clocks.video.mhz",
	"maxclocks/graphics": "clocks.max.graphics.mhz", "maxclocks/sm": "clocks.max.sm.mhz", "maxclocks/memory": "clocks.max.memory.mhz",
	"appclocks/graphics": "clocks.applications.graphics.mhz", "appclocks/memory": "clocks.applications.memory.mhz",
	"fabric/state": "fabric.state", "fabric/status": "fabric.status", "fabric/cliqueid": "fabric.clique_id",
	"fabric.health/summary": "fabric.health.summary", "fabric.health/bandwidth": "fabric.health.bandwidth",
	"fabric.health/route recovery in progress": "fabric.health.route_recovery_in_progress",
	"fabric.health/route unhealthy":            "fabric.health.route_unhealthy",
	"fabric.health/access timeout recovery":    "fabric.health.access_timeout_recovery",
	"fabric.health/incorrect configuration":    "fabric.health.incorrect_configuration",
}

func eccNames() map[string]string { // both layouts of the ECC counters
	out := map[string]string{}
	for _, span := range []string{"volatile", "aggregate"} {
		s := "ecc." + span + "/"
		out[s+"sram correctable"] = "ecc.corrected." + span + ".sram"
		out[s+"sram uncorrectable"] = "ecc.uncorrected." + span + ".sram"
		out[s+"sram uncorrectable parity"] = "ecc.uncorrected." + span + ".sram.parity"
		out[s+"sram uncorrectable sec-ded"] = "ecc.uncorrected." + span + ".sram.secded"
		out[s+"dram correctable"] = "ecc.corrected." + span + ".dram"
		out[s+"dram uncorrectable"] = "ecc.uncorrected." + span + ".dram"
		for _, what := range []string{"corrected", "uncorrected"} {
			for name, part := range map[string]string{
				"device memory": "dram", "register file": "register_file", "l1 cache": "l1_cache",
				"l2 cache": "l2_cache", "cbu": "cbu", "total": "total",
			} {
				out["ecc."+span+"."+what+"/"+name] = "ecc." + what + "." + span + "." + part
			}
		}
	}
	return out
}

var smiECCKeys = eccNames()

// smiPrivate are sections inside which a top-level name has its own or no meaning.
var smiPrivate = map[string]bool{"modpower": true, "mempower": true, "counters": true, "migdevices": true}

// smiKey finds the normal name of a key in a section. known says that the key
// belongs to the report though it has no normal name.
func smiKey(section, name string) (key string, known bool) {
	if k, ok := smiECCKeys[section+"/"+name]; ok {
		return k, true
	}
	if k, ok := smiKeys[section+"/"+name]; ok {
		return k, true
	}
	// Repair and retirement states stand below the counters of the ECC section.
	if smiPrivate[section] && !unsectioned[name] {
		return "", true
	}
	k, ok := smiTop[name]
	return k, ok
}
