package section

import (
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// smiMonitor reads dmon and pmon: columns named by a "# gpu …" header.
var smiMonitor = parser{
	starts:  []string{"# gpu ", "#gpu "},
	command: func(c Command) bool { return c.smi("dmon", "pmon") },
	parse:   parseSMIMonitor,
}

var dmonNames = map[string]string{
	"gpu": "index", "pwr": "power.draw.watts", "gtemp": "temperature.gpu.celsius", "temp": "temperature.gpu.celsius",
	"mtemp": "temperature.memory.celsius", "sm": "utilization.gpu.percent", "mem": "utilization.memory.percent",
	"enc": "utilization.encoder.percent", "dec": "utilization.decoder.percent", "mclk": "clocks.memory.mhz", "pclk": "clocks.graphics.mhz",
	"pviol": "violation.power.percent", "tviol": "violation.thermal", "fb": "memory.used.mib", "bar1": "bar1.used.mib",
	"sbecc": "ecc.corrected.aggregate.total", "dbecc": "ecc.uncorrected.aggregate.total", "pci": "pcie.replays",
}

var pmonNames = map[string]string{
	"gpu": "index", "pid": "process.pid", "type": "process.type", "command": "process.name", "name": "process.name",
	"sm": "process.utilization.gpu.percent", "mem": "process.utilization.memory.percent", "fb": "process.used_memory.mib",
}

func parseSMIMonitor(c *cursor) ([]Readings, int) {
	first, _ := c.line(0)
	columns := strings.Fields(strings.TrimPrefix(strings.TrimSpace(first), "#"))
	if len(columns) < 2 || columns[0] != "gpu" || !strings.HasPrefix(strings.TrimSpace(first), "#") {
		return nil, 0
	}
	names, tool := dmonNames, "nvidia-smi dmon"
	for _, col := range columns {
		if col == "pid" {
			names, tool = pmonNames, "nvidia-smi pmon"
		}
	}
	var out []Readings
	end := 1
	for i, text := range c.from(1) {
		t := strings.TrimSpace(text)
		if strings.HasPrefix(t, "#") {
			if !strings.HasPrefix(t, "# gpu") && !strings.HasPrefix(t, "# Idx") {
				break
			}
			end = i + 1
			continue
		}
		cells := strings.Fields(t)
		if len(cells) > len(columns) && names["command"] != "" { // a command with blanks
			cells = append(cells[:len(columns)-1:len(columns)-1], strings.Join(cells[len(columns)-1:], " "))
		}
		if len(cells) != len(columns) || !allDigits(cells[0]) {
			break
		}
		if set, ok := monitorRow(tool, columns, names, cells, i, c.raw(i)); ok {
			out = append(out, set)
		}
		end = i + 1
	}
	if len(out) == 0 && end > 2 { // it ran, and nothing runs on the GPUs
		out = append(out, newSet(tool).Readings)
	}
	return out, end
}

func monitorRow(tool string, columns []string, names map[string]string, cells []string, i int, raw string) (Readings, bool) {
	b := newSet(tool)
	for j, col := range columns {
		if key := names[col]; key != "" {
			b.put(key, cells[j], i, raw)
		}
	}
	if tool == "nvidia-smi pmon" {
		if !b.has("process.pid") {
			return Readings{}, false // "-": nothing runs on this GPU
		}
		setProcess(b)
	}
	return b.Readings, true
}

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// smiTopo reads `nvidia-smi topo -m`: how each pair of GPUs and NICs is connected.
var smiTopo = parser{
	starts:  []string{"CPU Affinity", "\tGPU0\t"},
	command: func(c Command) bool { return c.smi("topo") },
	parse:   parseSMITopo,
}

var topoDevice = lazyre.New(`^(?:GPU|NIC|mlx)\w*$`)

func parseSMITopo(c *cursor) ([]Readings, int) {
	first, _ := c.line(0)
	var columns []string
	for _, f := range strings.Fields(first) {
		if topoDevice.MatchString(f) {
			columns = append(columns, f)
			continue
		}
		break
	}
	if len(columns) == 0 {
		return nil, 0
	}
	var out []Readings
	end := 1
	legend := false
	for i, text := range c.from(1) {
		f := strings.Fields(text)
		switch {
		case len(f) == 0:
			continue
		case text == "Legend:" || text == "NIC Legend:":
			legend = true
		case legend && len(f) >= 2 && (f[1] == "=" || strings.HasSuffix(f[0], ":")):
		case !legend && topoDevice.MatchString(f[0]):
			if set, ok := topoRow(columns, f, i, c.raw(i)); ok {
				out = append(out, set)
			}
		default:
			return out, end
		}
		end = i + 1
	}
	return out, end
}

func topoRow(columns, f []string, i int, raw string) (Readings, bool) {
	index, ok := strings.CutPrefix(f[0], "GPU")
	if !ok || !allDigits(index) {
		return Readings{}, false
	}
	b := newSet("nvidia-smi topo")
	b.put("index", index, i, raw)
	for j, col := range columns {
		if j+1 < len(f) && f[j+1] != "X" {
			b.put("topo."+strings.ToLower(col), f[j+1], i, raw)
		}
	}
	return b.Readings, true
}
