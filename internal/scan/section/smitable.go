package section

import (
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// smiTable reads the table that plain `nvidia-smi` prints, old and new layouts, with
// its list of processes and the warnings below it. The columns moved over the
// years, so cells are read by their content.
var smiTable = parser{
	starts:  []string{"| NVIDIA-SMI ", "| GPU  Name", "|  GPU  Name", "| Processes:", "+-----------------------------", ".0 Off |", ".0  On |", ".0 On  |"},
	command: func(c Command) bool { return c.Tool == "nvidia-smi" && len(c.Args) == 0 },
	parse:   parseSMITable,
}

var (
	tableBanner = lazyre.New(`NVIDIA-SMI\s+(\S+)(?:\s+(?:Driver|KMD) Version:\s*(\S+))?(?:\s+CUDA (?:UMD )?Version:\s*(\S+))?`)
	tableGPU    = lazyre.New(`^\|\s*(\d+)\s+(\S.*?)\s*\|\s*([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s+(\S+)\s*\|\s*(.*?)\s*\|?$`)
	tableLost   = lazyre.New(`^\|\s*(\d+)\s+.*(GPU is lost|Unknown Error|requires reset)`)
	tableUse    = lazyre.New(`^\|\s*(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s*/\s*(\S+)\s*\|\s*(\S+)\s*/\s*(\S+)\s*\|\s*(\S+)`)
	tableProc   = lazyre.New(`^\|\s*(\d+)\s+(?:(\d+|N/A)\s+(\d+|N/A)\s+)?(\d+)\s+([CGM](?:\+[CGM])*)\s+(\S.*?)\s+(\d+\s*MiB|N/A)\s*\|?$`)
	tableMIG    = lazyre.New(`^\|\s*\d+\s+\d+\s+\d+\s+\d+\s+\|`)
	tableWarn   = lazyre.New(`(?i)^WARNING: infoROM is corrupted at gpu (\S+)`)
)

type tableReport struct {
	head  *builder
	sets  []*builder
	cur   *builder
	procs bool
	used  int
}

func parseSMITable(c *cursor) ([]Readings, int) {
	r := &tableReport{head: newSet("nvidia-smi")}
	end, blanks := 0, 0
	for i, text := range c.from(0) {
		t := strings.TrimSpace(text)
		if t == "" {
			if blanks++; blanks > 2 {
				break
			}
			continue
		}
		if !r.take(t, i, c.raw(i)) {
			if i == 0 && tableDate.MatchString(t) {
				continue // the date that heads the table
			}
			break
		}
		end, blanks = i+1, 0
	}
	if r.used == 0 {
		return nil, 0
	}
	var out []Readings
	if !r.head.empty() {
		out = append(out, r.head.Readings)
	}
	return append(out, readingsOf(r.sets)...), end
}

var tableDate = lazyre.New(`^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$`)

func (r *tableReport) take(t string, i int, raw string) bool {
	switch {
	case strings.HasPrefix(t, "+-"), strings.HasPrefix(t, "|-"), strings.HasPrefix(t, "|="), strings.HasPrefix(t, "+="):
		if strings.HasPrefix(t, "+-") || strings.HasPrefix(t, "|-") {
			r.cur = nil
		}
		return true
	case tableWarn.MatchString(t):
		pci := strings.TrimSuffix(tableWarn.FindStringSubmatch(t)[1], ".")
		b := newSet("nvidia-smi")
		b.put("pci", pci, i, raw)
		b.put("inforom.corrupt", "yes", i, raw)
		r.sets = append(r.sets, b)
		r.used++
		return true
	case !strings.HasPrefix(t, "|"):
		return false
	}
	r.row(t, i, raw)
	return true
}

func (r *tableReport) row(t string, i int, raw string) {
	if strings.Contains(t, "NVIDIA-SMI ") {
		if m := tableBanner.FindStringSubmatch(t); m != nil {
			r.head.put("smi.version", m[1], i, raw)
			if m[2] != "" {
				r.head.put("driver.version", m[2], i, raw)
			}
			if m[3] != "" {
				r.head.put("cuda.version", strings.TrimSuffix(m[3], "|"), i, raw)
			}
			r.used++
		}
		return
	}
	if strings.Contains(t, "Processes:") {
		r.procs, r.cur = true, nil
		r.used++
		return
	}
	if strings.Contains(t, "GPU  Name") || strings.Contains(t, "Persistence-M") {
		r.used++
		return
	}
	if r.procs {
		if m := tableProc.FindStringSubmatch(t); m != nil {
			r.process(m, i, raw)
		}
		return
	}
	if m := tableGPU.FindStringSubmatch(t); m != nil {
		r.gpu(m, i, raw)
		return
	}
	if m := tableLost.FindStringSubmatch(t); m != nil && r.cur == nil {
		b := newSet("nvidia-smi")
		b.put("index", m[1], i, raw)
		b.put("status", m[2], i, raw)
		r.sets = append(r.sets, b)
		r.cur = b
		r.used++
		return
	}
	if r.cur != nil && !tableMIG.MatchString(t) {
		r.second(t, i, raw)
	}
}

// gpu reads the first row of a GPU.
func (r *tableReport) gpu(m []string, i int, raw string) {
	b := newSet("nvidia-smi")
	r.cur = b
	r.sets = append(r.sets, b)
	r.used++
	b.put("index", m[1], i, raw)
	b.put("pci", m[3], i, raw)
	name, mode := m[2], ""
	if j := strings.LastIndexByte(name, ' '); j > 0 {
		mode = name[j+1:]
		name = strings.TrimSpace(name[:j])
	}
	switch mode {
	case "On":
		b.put("persistence_mode", "enabled", i, raw)
	case "Off":
		b.put("persistence_mode", "disabled", i, raw)
	case "N/A", "ERR!":
		b.put("persistence_mode", mode, i, raw)
	default:
		name = m[2]
	}
	if !strings.HasSuffix(name, "...") { // the table cuts long names
		b.put("name", name, i, raw)
	}
	// The last cell counts volatile uncorrected errors; with MIG it says On.
	ecc := strings.TrimRight(m[5], "* |")
	switch ecc {
	case "Off", "Disabled":
		b.put("ecc.mode.current", "disabled", i, raw)
	case "On", "Enabled":
	default:
		b.put("ecc.uncorrected.volatile.total", m[5], i, raw)
	}
}

// second reads the other rows of a GPU.
func (r *tableReport) second(t string, i int, raw string) {
	b := r.cur
	if strings.Contains(strings.ToLower(t), "requires reset") {
		b.put("status", "GPU requires reset", i, raw)
	}
	if strings.Contains(t, "GPU is lost") {
		b.put("status", "GPU is lost", i, raw)
	}
	if m := tableUse.FindStringSubmatch(t); m != nil {
		b.put("fan.speed.percent", m[1], i, raw)
		b.put("temperature.gpu.celsius", m[2], i, raw)
		b.put("pstate", m[3], i, raw)
		b.put("power.draw.watts", m[4], i, raw)
		b.put("power.limit.enforced.watts", m[5], i, raw)
		b.put("memory.used.mib", m[6], i, raw)
		b.put("memory.total.mib", m[7], i, raw)
		b.put("utilization.gpu.percent", m[8], i, raw)
		return
	}
	cells := strings.Split(strings.Trim(t, "|"), "|")
	last := strings.TrimSpace(cells[len(cells)-1])
	// The third row tells the MIG mode; a star marks a change that waits for a reset.
	switch strings.TrimSuffix(last, "*") {
	case "Enabled", "Disabled":
		b.put("mig.mode.current", strings.TrimSuffix(last, "*"), i, raw)
		if strings.HasSuffix(last, "*") {
			b.put("mig.mode.pending", map[string]string{"Enabled*": "Disabled", "Disabled*": "Enabled"}[last], i, raw)
		}
	}
}

func (r *tableReport) process(m []string, i int, raw string) {
	b := newSet("nvidia-smi")
	b.Subject.GPU = gpumedic.GPU{Index: smallInt(m[1])}
	if m[2] != "" && m[2] != "N/A" {
		b.Subject.GPU.MIG = m[2]
		if m[3] != "" && m[3] != "N/A" {
			b.Subject.GPU.MIG += "/" + m[3]
		}
	}
	b.put("process.pid", m[4], i, raw)
	b.put("process.type", m[5], i, raw)
	b.put("process.name", m[6], i, raw)
	b.put("process.used_memory.mib", m[7], i, raw)
	setProcess(b)
	r.sets = append(r.sets, b)
	r.used++
}
