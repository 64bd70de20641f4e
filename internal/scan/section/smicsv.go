package section

import (
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// smiCSV reads --query-gpu and its sisters in CSV form, with the header or, when the
// command line above names the columns, without.
var smiCSV = parser{
	starts: []string{
		"pci.bus_id", "gpu_uuid", "gpu_bus_id", "utilization.gpu", "memory.used", "memory.total", "temperature.gpu",
		"power.draw", "index, ", "driver_version", "clocks_event_reasons", "clocks_throttle_reasons", "pcie.link.", "ecc.errors.",
		"name, ", "uuid, ", "remapped_rows.", "retired_pages.", "fabric.st", "gpu_recovery_action", "mig.mode", "persistence_mode", "used_gpu_memory", "used_memory [",
	},
	command: func(c Command) bool { return len(c.Query) > 0 },
	parse:   parseSMICSV,
}

var csvColumn = lazyre.New(`^([a-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)(?: \[[^\]]{1,8}\])?$`)

func parseSMICSV(c *cursor) ([]Readings, int) {
	first, _ := c.line(0)
	columns, header := csvHeader(first)
	i := 1
	if !header {
		if len(c.cmd.Query) == 0 {
			return nil, 0
		}
		columns, i = c.cmd.Query, 0
		for j := range columns {
			columns[j] = strings.TrimSpace(columns[j])
		}
	}
	keys := make([]string, len(columns))
	form := csvForm(columns)
	for j, col := range columns {
		keys[j] = csvKey(col, form)
	}
	var out []Readings
	for ; ; i++ {
		text, ok := c.line(i)
		if !ok {
			break
		}
		cells := strings.Split(text, ",")
		if len(cells) != len(columns) || len(columns) == 1 && !oneCell(keys[0], text) {
			break
		}
		b := newSet("nvidia-smi --query-" + form)
		for j := range cells {
			csvPut(b, keys[j], cells[j], i, c.raw(i))
		}
		if len(b.Values) == 0 {
			break
		}
		if b.has("process.pid") {
			setProcess(b)
		}
		out = append(out, b.Readings)
	}
	if len(out) == 0 {
		if form == "compute-apps" && header { // it ran, and nothing runs on the GPUs
			return []Readings{newSet("nvidia-smi --query-compute-apps").Readings}, 1
		}
		return nil, 0
	}
	if c.cmd.Tool != "" && len(out) == 1 {
		nameGPU(&out[0].Subject.GPU, c.cmd.GPU)
	}
	csvOrder(out, c.cmd)
	return out, i
}

// csvOrder numbers rows that name no GPU: one call lists the GPUs by index.
func csvOrder(rows []Readings, cmd Command) {
	if cmd.Form != "gpu" || !cmd.GPU.IsZero() || cmd.has("-i") || cmd.has("-l") || cmd.has("-lms") {
		return
	}
	for _, r := range rows {
		if !r.Subject.GPU.IsZero() {
			return
		}
	}
	if len(rows) == 1 {
		return
	}
	for i := range rows {
		rows[i].Subject.GPU.Index = ptr(i)
	}
}

// oneCell guards single-column output, where any line would fit.
func oneCell(key, text string) bool {
	v := normal(key, text)
	if v == na || isError(v) {
		return true
	}
	if _, ok := num(v); ok {
		return true
	}
	switch v {
	case "enabled", "disabled", "active", "not active", "yes", "no", "none", "reset", "reboot", "completed", "in progress":
		return true
	}
	return key == "name" && strings.Contains(text, "NVIDIA") || key == "uuid" && strings.HasPrefix(v, "GPU-") ||
		strings.HasPrefix(v, "0x") || key == "driver.version" && v != "" && v[0] >= '0' && v[0] <= '9'
}

// csvHeader reads a header line: every cell looks like a column and most are known.
func csvHeader(text string) ([]string, bool) {
	cells := strings.Split(text, ",")
	if len(cells) > 400 {
		return nil, false
	}
	known := 0
	out := make([]string, len(cells))
	for i, cell := range cells {
		m := csvColumn.FindStringSubmatch(strings.TrimSpace(cell))
		if m == nil {
			return nil, false
		}
		out[i] = m[1]
		if csvNames[m[1]] != "" || strings.Contains(m[1], ".") || m[1] == "pid" {
			known++
		}
	}
	if known*2 < len(cells) || len(cells) == 1 && !strings.Contains(out[0], ".") {
		return nil, false
	}
	return out, true
}

// csvForm tells the query's kind from its columns.
func csvForm(columns []string) string {
	for _, c := range columns {
		switch {
		case c == "pid":
			return "compute-apps"
		case c == "retired_pages.address" || c == "retired_pages.cause":
			return "retired-pages"
		}
	}
	return "gpu"
}

// csvPut adds one cell; a mask of reasons becomes single reasons.
func csvPut(b *builder, key, cell string, i int, raw string) {
	cell = strings.TrimSpace(cell)
	if key == "clocks_event_reasons.active" {
		putReasons(b, cell, i, raw)
		return
	}
	if strings.HasPrefix(cell, "0x") && strings.HasPrefix(key, "clocks_event_reasons.") {
		return // .supported
	}
	b.put(key, cell, i, raw)
}

// reasonBits are NVML's nvmlClocksEventReason bits.
var reasonBits = []struct {
	bit  uint64
	name string
}{
	{0x1, "gpu_idle"}, {0x2, "applications_clocks_setting"}, {0x4, "sw_power_cap"}, {0x8, "hw_slowdown"}, {0x10, "sync_boost"},
	{0x20, "sw_thermal_slowdown"}, {0x40, "hw_thermal_slowdown"}, {0x80, "hw_power_brake_slowdown"}, {0x100, "display_clock_setting"},
}

func putReasons(b *builder, cell string, i int, raw string) {
	mask, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(cell), "0x"), 16, 64)
	if err != nil {
		b.put("clocks_event_reasons.active", cell, i, raw)
		return
	}
	for _, r := range reasonBits {
		v := "not active"
		if mask&r.bit != 0 {
			v = "active"
		}
		b.put("clocks_event_reasons."+r.name, v, i, raw)
	}
}

// csvKey brings a column's name to the normal name. Most columns already have it,
// save for the unit.
func csvKey(col, form string) string {
	col = strings.TrimSpace(col)
	if rest, ok := strings.CutPrefix(col, "clocks_throttle_reasons"); ok {
		col = "clocks_event_reasons" + rest
	}
	if form == "retired-pages" && strings.HasPrefix(col, "retired_pages.") {
		return "" // single pages, not counts
	}
	if k, ok := csvNames[col]; ok {
		return k
	}
	switch {
	case strings.HasPrefix(col, "clocks_event_reasons_counters."):
		return col + ".us"
	case strings.HasPrefix(col, "clocks_event_reasons."), strings.HasPrefix(col, "remapped_rows."), strings.HasPrefix(col, "fabric.health."):
		return col
	case strings.HasPrefix(col, "utilization."):
		return col + ".percent"
	}
	if rest, ok := strings.CutPrefix(col, "ecc.errors."); ok {
		rest = strings.Replace(rest, ".device_memory", ".dram", 1)
		if rest == "uncorrected.aggregate.sram.thresholdExceeded" {
			return "ecc.sram_threshold_exceeded"
		}
		return "ecc." + rest
	}
	return ""
}

var csvNames = map[string]string{
	"timestamp": "timestamp", "driver_version": "driver.version", "count": "attached_gpus", "index": "index",
	"name": "name", "gpu_name": "name", "serial": "serial", "gpu_serial": "serial", "uuid": "uuid", "gpu_uuid": "uuid",
	"pci.bus_id": "pci", "gpu_bus_id": "pci", "vbios_version": "vbios.version", "pstate": "pstate", "compute_mode": "compute_mode",
	"persistence_mode": "persistence_mode", "fan.speed": "fan.speed.percent", "inforom.img": "inforom.image", "inforom.image": "inforom.image",
	"inforom.checksum_validation": "inforom.checksum", "gpu_recovery_action": "recovery_action",
	"pcie.link.gen.current": "pcie.link.gen.current", "pcie.link.gen.gpucurrent": "pcie.link.gen.device_current",
	"pcie.link.gen.max": "pcie.link.gen.max", "pcie.link.gen.gpumax": "pcie.link.gen.device_max", "pcie.link.gen.hostmax": "pcie.link.gen.host_max",
	"pcie.link.width.current": "pcie.link.width.current", "pcie.link.width.max": "pcie.link.width.max",
	"memory.total": "memory.total.mib", "memory.reserved": "memory.reserved.mib", "memory.used": "memory.used.mib", "memory.free": "memory.free.mib",
	"ecc.mode.current": "ecc.mode.current", "ecc.mode.pending": "ecc.mode.pending", "mig.mode.current": "mig.mode.current", "mig.mode.pending": "mig.mode.pending",
	"retired_pages.single_bit_ecc.count": "retired_pages.single_bit", "retired_pages.sbe": "retired_pages.single_bit",
	"retired_pages.double_bit.count": "retired_pages.double_bit", "retired_pages.dbe": "retired_pages.double_bit",
	"retired_pages.pending": "retired_pages.pending", "remapped_rows.sbe": "remapped_rows.correctable", "remapped_rows.dbe": "remapped_rows.uncorrectable",
	"temperature.gpu": "temperature.gpu.celsius", "temperature.gpu.tlimit": "temperature.gpu.tlimit.celsius", "temperature.memory": "temperature.memory.celsius",
	"power.draw": "power.draw.watts", "power.draw.average": "power.draw.average.watts", "gpu.power.draw.average": "power.draw.average.watts",
	"power.draw.instant": "power.draw.instant.watts", "gpu.power.draw.instant": "power.draw.instant.watts",
	"power.limit": "power.limit.watts", "gpu.power.requested_limit": "power.limit.watts", "enforced.power.limit": "power.limit.enforced.watts",
	"gpu.power.current_limit": "power.limit.enforced.watts", "power.default_limit": "power.limit.default.watts",
	"power.min_limit": "power.limit.min.watts", "power.max_limit": "power.limit.max.watts",
	"clocks.current.graphics": "clocks.graphics.mhz", "clocks.gr": "clocks.graphics.mhz", "clocks.current.sm": "clocks.sm.mhz", "clocks.sm": "clocks.sm.mhz",
	"clocks.current.memory": "clocks.memory.mhz", "clocks.mem": "clocks.memory.mhz", "clocks.current.video": "clocks.video.mhz", "clocks.video": "clocks.video.mhz",
	"clocks.max.graphics": "clocks.max.graphics.mhz", "clocks.max.gr": "clocks.max.graphics.mhz", "clocks.max.sm": "clocks.max.sm.mhz",
	"clocks.max.memory": "clocks.max.memory.mhz", "clocks.max.mem": "clocks.max.memory.mhz",
	"fabric.state": "fabric.state", "fabric.status": "fabric.status", "pid": "process.pid", "process_name": "process.name",
	"used_gpu_memory": "process.used_memory.mib", "used_memory": "process.used_memory.mib",
}
