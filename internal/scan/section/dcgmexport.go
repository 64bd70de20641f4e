package section

import (
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// dcgmExport reads the metrics of dcgm-exporter: one value of one GPU a line, grouped
// by metric. The last Xid is left to the matchers, since the table of Xids decides
// what it means; a line with one ends the section.
var dcgmExport = parser{
	starts: []string{"DCGM_FI_DEV_"},
	parse:  parseDcgmExport,
}

var (
	exportLine  = lazyre.New(`^(DCGM_FI_\w+)\{([^}]*)\}\s+(?:=>\s*)?([-+0-9.eE]+)(?:\s.*)?$`)
	exportLabel = lazyre.New(`(\w+)="([^"]*)"`)
	exportXid   = "DCGM_FI_DEV_XID_ERRORS"
)

// exportNames are the normal names of DCGM's fields. A trailing "?" makes a figure
// yes or no; a leading "+" adds figures of one GPU up.
var exportNames = map[string]string{
	"ECC_SBE_VOL_TOTAL": "ecc.corrected.volatile.total", "ECC_DBE_VOL_TOTAL": "ecc.uncorrected.volatile.total",
	"ECC_SBE_AGG_TOTAL": "ecc.corrected.aggregate.total", "ECC_DBE_AGG_TOTAL": "ecc.uncorrected.aggregate.total",
	"RETIRED_SBE": "retired_pages.single_bit", "RETIRED_DBE": "retired_pages.double_bit", "RETIRED_PENDING": "retired_pages.pending?",
	"CORRECTABLE_REMAPPED_ROWS": "remapped_rows.correctable", "UNCORRECTABLE_REMAPPED_ROWS": "remapped_rows.uncorrectable",
	"ROW_REMAP_FAILURE": "remapped_rows.failure?", "ROW_REMAP_PENDING": "remapped_rows.pending?",
	"PCIE_REPLAY_COUNTER": "pcie.replays", "GPU_TEMP": "temperature.gpu.celsius", "MEMORY_TEMP": "temperature.memory.celsius",
	"POWER_USAGE": "power.draw.watts", "GPU_UTIL": "utilization.gpu.percent", "MEM_COPY_UTIL": "utilization.memory.percent",
	"SM_CLOCK": "clocks.sm.mhz", "MEM_CLOCK": "clocks.memory.mhz", "FB_USED": "memory.used.mib", "FB_FREE": "memory.free.mib",
	"FB_TOTAL": "memory.total.mib", "FB_RESERVED": "memory.reserved.mib",
	"CLOCK_THROTTLE_REASONS": "clocks_event_reasons.active", "CLOCKS_EVENT_REASONS": "clocks_event_reasons.active",
	"NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": "+nvlink.errors.crc", "NVLINK_CRC_DATA_ERROR_COUNT_TOTAL": "+nvlink.errors.crc",
	"NVLINK_REPLAY_ERROR_COUNT_TOTAL": "nvlink.errors.replay", "NVLINK_RECOVERY_ERROR_COUNT_TOTAL": "nvlink.errors.recovery",
}

func parseDcgmExport(c *cursor) ([]Readings, int) {
	sets := map[string]*builder{}
	var order []*builder
	end := 0
	for i := 0; ; i++ {
		t, ok := c.line(i)
		if !ok || i > tooFar && len(order) == 0 {
			break
		}
		if strings.HasPrefix(t, "# HELP DCGM_") || strings.HasPrefix(t, "# TYPE DCGM_") {
			continue
		}
		m := exportLine.FindStringSubmatch(t)
		if m == nil {
			break
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil || m[1] == exportXid && v != 0 {
			break
		}
		labels := exportLabels(m[2])
		name := exportNames[strings.TrimPrefix(m[1], "DCGM_FI_DEV_")]
		if name == "" || labels["GPU_I_ID"] != "" { // of a MIG instance: not the GPU's
			end = i + 1
			continue
		}
		id := labels["Hostname"] + "\x00" + labels["gpu"] + "\x00" + labels["UUID"] + "\x00" + labels["pci_bus_id"]
		b := sets[id]
		if b == nil {
			b = newSet("dcgm-exporter")
			b.nameExport(labels, i, c.raw(i))
			sets[id] = b
			order = append(order, b)
		}
		b.putExport(name, v, i, c.raw(i))
		end = i + 1
	}
	return readingsOf(order), endIf(len(order) > 0, end)
}

func exportLabels(s string) map[string]string {
	out := map[string]string{}
	for _, m := range exportLabel.FindAllStringSubmatch(s, 64) {
		out[m[1]] = m[2]
	}
	return out
}

// nameExport names the GPU. Hostname is the node, or the pod of an old exporter.
func (b *builder) nameExport(labels map[string]string, i int, raw string) {
	for label, key := range map[string]string{"gpu": "index", "UUID": "uuid", "pci_bus_id": "pci", "modelName": "name"} {
		if v := labels[label]; v != "" {
			b.put(key, v, i, raw)
		}
	}
	if h := labels["Hostname"]; h != "" && !strings.Contains(h, "exporter") {
		b.Subject.Node = h
	}
}

// exportBlank is where DCGM's figures for "no value" begin (DCGM_INT64_BLANK), and
// those of 32 bits.
func exportBlank(v float64) bool {
	return v >= 9.2e18 || v >= 2147483632 && v <= 2147483643
}

func (b *builder) putExport(name string, v float64, i int, raw string) {
	whole := strconv.FormatFloat(v, 'f', -1, 64)
	switch {
	case exportBlank(v) || v < 0:
		b.put(strings.Trim(name, "+?"), na, i, raw)
	case strings.HasSuffix(name, "?"):
		b.put(strings.TrimSuffix(name, "?"), gpumedic.YesNo(v > 0), i, raw)
	case strings.HasPrefix(name, "+"):
		key := name[1:]
		if old, ok := num(b.Values[key].Value); ok {
			if v > 0 {
				b.Values[key] = Reading{Key: key, Value: strconv.FormatFloat(old+v, 'f', -1, 64), Line: i, Text: raw}
			}
			return
		}
		b.put(key, whole, i, raw)
	case name == "clocks_event_reasons.active":
		putReasons(b, strconv.FormatUint(uint64(v), 16), i, raw)
	default:
		b.put(name, whole, i, raw)
	}
}
