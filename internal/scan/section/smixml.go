package section

import (
	"strconv"
	"strings"
)

// smiXML reads `nvidia-smi -q -x`. It walks the tags itself instead of using an XML
// decoder, since pasted reports lose their beginning, their end or both.
var smiXML = parser{
	starts: []string{"<nvidia_smi_log", "<!DOCTYPE nvidia_smi_log", "<gpu id="},
	parse:  parseSMIXML,
}

type xmlReport struct {
	path []string
	head *builder
	sets []*builder
	cur  *builder
	proc *builder
	done bool
	used int
}

func parseSMIXML(c *cursor) ([]Readings, int) {
	r := &xmlReport{head: newSet("nvidia-smi -q -x")}
	end, other := 0, 0
	for i := 0; !r.done; i++ {
		text, ok := c.line(i)
		if !ok {
			break
		}
		t := strings.TrimSpace(text)
		switch {
		case strings.HasPrefix(t, "<"):
			r.line(t, i, c.raw(i))
			end, other = i+1, 0
		case t == "":
		default:
			// Text between tags (a licence comment) is fine for a while; a log is not.
			if other++; other > 40 || looksLogged(t) || len(r.path) == 0 && r.used > 0 {
				return r.finish(), end
			}
		}
	}
	if r.used == 0 {
		return nil, 0
	}
	return r.finish(), end
}

// looksLogged reports a prompt or a stamped log line.
func looksLogged(t string) bool {
	if _, ok := ParseCommand(t); ok {
		return true
	}
	return len(t) > 4 && (t[0] == '[' || t[0] >= '0' && t[0] <= '9') && strings.Contains(t, ":")
}

// line walks the tags of one line.
func (r *xmlReport) line(t string, i int, raw string) {
	for t != "" {
		open := strings.IndexByte(t, '<')
		if open < 0 {
			return
		}
		shut := strings.IndexByte(t[open:], '>')
		if shut < 0 {
			return
		}
		tag, rest := t[open+1:open+shut], t[open+shut+1:]
		switch {
		case strings.HasPrefix(tag, "?"), strings.HasPrefix(tag, "!"), tag == "":
		case strings.HasPrefix(tag, "/"):
			r.pop(tag[1:])
		case strings.HasSuffix(tag, "/"):
		default:
			name, attr, _ := strings.Cut(tag, " ")
			value, after, leaf := strings.Cut(rest, "</"+name+">")
			if leaf && !strings.Contains(value, "<") {
				r.leaf(name, unescape(value), i, raw)
				rest = after
				break
			}
			r.push(name, attr, i, raw)
		}
		t = rest
	}
}

func (r *xmlReport) push(name, attr string, i int, raw string) {
	if len(r.path) > 64 {
		return
	}
	switch name {
	case "nvidia_smi_log":
		r.used++
		return
	case "gpu":
		r.cur, r.proc = newSet("nvidia-smi -q -x"), nil
		r.sets = append(r.sets, r.cur)
		r.path = r.path[:0]
		r.used++
		if id, ok := strings.CutPrefix(attr, `id="`); ok {
			r.cur.put("pci", strings.TrimSuffix(id, `"`), i, raw)
		}
		return
	case "process_info":
		r.proc = newSet("nvidia-smi -q -x")
		if r.cur != nil {
			r.proc.Subject.GPU = r.cur.Subject.GPU
		}
		r.sets = append(r.sets, r.proc)
	}
	r.path = append(r.path, name)
}

func (r *xmlReport) pop(name string) {
	switch name {
	case "nvidia_smi_log":
		r.done = true
	case "gpu":
		r.cur, r.path = nil, r.path[:0]
	case "process_info":
		if r.proc != nil {
			setProcess(r.proc)
		}
		r.proc = nil
	}
	for j := len(r.path) - 1; j >= 0; j-- {
		if r.path[j] == name {
			r.path = r.path[:j]
			return
		}
	}
}

func (r *xmlReport) leaf(name, value string, i int, raw string) {
	if r.proc != nil {
		r.proc.put(xmlProcess[name], value, i, raw)
		return
	}
	if r.cur == nil {
		if key := xmlHead[name]; key != "" {
			r.head.put(key, value, i, raw)
			r.used++
		}
		return
	}
	r.used++
	r.cur.put(xmlKey(r.path, name), value, i, raw)
}

// xmlKey finds the normal name of an element: by its section and tag first, then
// by the tag alone.
func xmlKey(path []string, tag string) string {
	top, parent := "", ""
	if len(path) > 0 {
		top, parent = path[0], path[len(path)-1]
	}
	if k, ok := xmlPaths[parent+"/"+tag]; ok {
		return k
	}
	if top == "ecc_errors" && len(path) == 3 {
		what := map[string]string{"single_bit": "corrected", "double_bit": "uncorrected"}[path[2]]
		part := map[string]string{"device_memory": "dram", "register_file": "register_file", "l1_cache": "l1_cache", "l2_cache": "l2_cache", "cbu": "cbu", "total": "total"}[tag]
		if what != "" && part != "" {
			return "ecc." + what + "." + path[1] + "." + part
		}
		return ""
	}
	if top == "ecc_errors" && len(path) == 2 {
		return smiECCKeys["ecc."+path[1]+"/"+xmlECC[tag]]
	}
	if rest, ok := cutAnyPrefix(tag, "clocks_event_reason_", "clocks_throttle_reason_"); ok && parent != "clocks_event_reasons_counters" {
		return "clocks_event_reasons." + strings.Replace(rest, "display_clocks", "display_clock", 1)
	}
	if strings.HasPrefix(parent, "clocks_event_reasons_counters") {
		return ""
	}
	switch top {
	case "module_power_readings", "gpu_memory_power_readings", "supported_clocks", "applications_clocks", "default_applications_clocks",
		"max_customer_boost_clocks", "deferred_clocks", "mig_devices", "accounted_processes", "supported_gpu_target_temp":
		return ""
	}
	return xmlTags[tag]
}

func cutAnyPrefix(s string, prefixes ...string) (string, bool) {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(s, p); ok {
			return rest, true
		}
	}
	return s, false
}

func (r *xmlReport) finish() []Readings {
	var out []Readings
	if !r.head.empty() {
		out = append(out, r.head.Readings)
	}
	gpus := 0
	for _, b := range r.sets {
		if !b.has("process.pid") {
			gpus++
		}
	}
	inOrder := r.head.Values["attached_gpus"].Value == strconv.Itoa(gpus)
	n := 0
	for _, b := range r.sets {
		if !b.has("process.pid") {
			if inOrder && b.Subject.GPU.Index == nil {
				b.Subject.GPU.Index = ptr(n)
			}
			n++
		}
		out = append(out, b.Readings)
	}
	return out
}

var xmlEntities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&amp;", "&")

func unescape(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	return xmlEntities.Replace(s)
}

var xmlHead = map[string]string{
	"timestamp": "timestamp", "driver_version": "driver.version", "kmd_version": "driver.version", "cuda_version": "cuda.version",
	"cuda_umd_version": "cuda.version", "attached_gpus": "attached_gpus",
}

var xmlProcess = map[string]string{
	"pid": "process.pid", "type": "process.type", "process_name": "process.name", "used_memory": "process.used_memory.mib",
}

var xmlECC = map[string]string{
	"sram_correctable": "sram correctable", "sram_uncorrectable": "sram uncorrectable",
	"sram_uncorrectable_parity": "sram uncorrectable parity", "sram_uncorrectable_secded": "sram uncorrectable sec-ded",
	"dram_correctable": "dram correctable", "dram_uncorrectable": "dram uncorrectable",
}

// xmlPaths are tags whose meaning depends on the element around them.
var xmlPaths = map[string]string{
	"fb_memory_usage/total": "memory.total.mib", "fb_memory_usage/reserved": "memory.reserved.mib",
	"fb_memory_usage/used": "memory.used.mib", "fb_memory_usage/free": "memory.free.mib",
	"bar1_memory_usage/total": "bar1.total.mib", "bar1_memory_usage/used": "bar1.used.mib", "bar1_memory_usage/free": "bar1.free.mib",
	"multiple_single_bit_retirement/retired_count": "retired_pages.single_bit", "double_bit_retirement/retired_count": "retired_pages.double_bit",
	"clocks/graphics_clock": "clocks.graphics.mhz", "clocks/sm_clock": "clocks.sm.mhz", "clocks/mem_clock": "clocks.memory.mhz",
	"max_clocks/graphics_clock": "clocks.max.graphics.mhz", "max_clocks/sm_clock": "clocks.max.sm.mhz", "max_clocks/mem_clock": "clocks.max.memory.mhz",
	"aggregate/sram_threshold_exceeded": "ecc.sram_threshold_exceeded",
	"fabric/state":                      "fabric.state", "fabric/status": "fabric.status",
	"health/summary": "fabric.health.summary", "health/bandwidth": "fabric.health.bandwidth",
	"health/route_recovery_in_progress": "fabric.health.route_recovery_in_progress",
	"health/route_unhealthy":            "fabric.health.route_unhealthy",
	"health/access_timeout_recovery":    "fabric.health.access_timeout_recovery",
	"health/incorrect_configuration":    "fabric.health.incorrect_configuration",
	"gpu_reset_status/reset_required":   "reset_required", "gpu_reset_status/drain_and_reset_recommended": "drain_reset_recommended",
	"clocks_event_reasons_counters/clocks_event_reasons_counters_hw_power_brake": "clocks_event_reasons_counters.hw_power_brake_slowdown.us",
}

// xmlTags are tags with one meaning.
var xmlTags = map[string]string{
	"product_name": "name", "product_architecture": "architecture", "persistence_mode": "persistence_mode", "serial": "serial",
	"uuid": "uuid", "minor_number": "minor", "vbios_version": "vbios.version", "gpu_recovery_action": "recovery_action",
	"gsp_firmware_version": "gsp.version", "pci_bus_id": "pci", "max_link_gen": "pcie.link.gen.max", "current_link_gen": "pcie.link.gen.current",
	"pcie_current_link_gen": "pcie.link.gen.current", "device_current_link_gen": "pcie.link.gen.device_current",
	"max_device_link_gen": "pcie.link.gen.device_max", "max_host_link_gen": "pcie.link.gen.host_max",
	"max_link_width": "pcie.link.width.max", "current_link_width": "pcie.link.width.current", "replay_counter": "pcie.replays",
	"replay_rollover_counter": "pcie.replay_rollovers", "fan_speed": "fan.speed.percent", "performance_state": "pstate",
	"compute_mode": "compute_mode", "gpu_util": "utilization.gpu.percent", "memory_util": "utilization.memory.percent",
	"encoder_util": "utilization.encoder.percent", "decoder_util": "utilization.decoder.percent",
	"current_mig": "mig.mode.current", "pending_mig": "mig.mode.pending", "current_ecc": "ecc.mode.current", "pending_ecc": "ecc.mode.pending",
	"pending_retirement": "retired_pages.pending", "pending_blacklist": "retired_pages.pending",
	"remapped_row_corr": "remapped_rows.correctable", "remapped_row_corr_inactive": "remapped_rows.correctable_inactive",
	"remapped_row_unc": "remapped_rows.uncorrectable", "remapped_row_unc_inactive": "remapped_rows.uncorrectable_inactive",
	"remapped_row_pending": "remapped_rows.pending", "remapped_row_failure": "remapped_rows.failure",
	"row_remapper_histogram_max": "remapped_rows.histogram.max", "row_remapper_histogram_high": "remapped_rows.histogram.high",
	"row_remapper_histogram_partial": "remapped_rows.histogram.partial", "row_remapper_histogram_low": "remapped_rows.histogram.low",
	"row_remapper_histogram_none": "remapped_rows.histogram.none",
	"channel_repair_pending":      "channel_repair_pending", "tpc_repair_pending": "tpc_repair_pending", "unrepairable_memory": "unrepairable_memory",
	"gpu_temp": "temperature.gpu.celsius", "gpu_temp_tlimit": "temperature.gpu.tlimit.celsius",
	"gpu_temp_max_threshold": "temperature.gpu.shutdown.celsius", "gpu_temp_slow_threshold": "temperature.gpu.slowdown.celsius",
	"gpu_temp_max_gpu_threshold": "temperature.gpu.max_operating.celsius", "memory_temp": "temperature.memory.celsius",
	"gpu_temp_max_mem_threshold":    "temperature.memory.max_operating.celsius",
	"gpu_temp_max_tlimit_threshold": "temperature.gpu.shutdown_tlimit.celsius", "gpu_temp_slow_tlimit_threshold": "temperature.gpu.slowdown_tlimit.celsius",
	"gpu_temp_max_gpu_tlimit_threshold": "temperature.gpu.max_operating_tlimit.celsius",
	"gpu_temp_max_mem_tlimit_threshold": "temperature.memory.max_operating_tlimit.celsius",
	"power_draw":                        "power.draw.watts", "average_power_draw": "power.draw.average.watts", "instant_power_draw": "power.draw.instant.watts",
	"power_limit": "power.limit.watts", "requested_power_limit": "power.limit.watts", "enforced_power_limit": "power.limit.enforced.watts",
	"current_power_limit": "power.limit.enforced.watts", "default_power_limit": "power.limit.default.watts",
	"min_power_limit": "power.limit.min.watts", "max_power_limit": "power.limit.max.watts", "board_part_number": "board.part_number",
	"img_version": "inforom.image", "virtualization_mode": "virtualization_mode",
}
