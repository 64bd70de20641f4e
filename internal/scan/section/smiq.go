package section

import (
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// smiQuery reads `nvidia-smi -q` and what grep leaves of it. Indentation is not
// trusted: it gets lost in tickets. What says where a key belongs is the last known
// heading above it; keys that are unique in the whole report need none.
var smiQuery = parser{
	starts: []string{
		"NVSMI LOG", "Attached GPUs ", "GPU 000", "Bus Id ", "GPU Recovery Action", "Clocks Event Reasons",
		"Clocks Throttle Reasons", "Remapped Rows", "Remapping Failure Occurred", "Pending Page Blacklist", "MIG Mode",
		"ECC Errors", "    Fabric", "HW Slowdown ", "HW Power Brake Slowdown", "HW Thermal Slowdown", "SW Thermal Slowdown ",
		"SW Power Cap ", "GPU Link Info", "Channel Repair Pending", "TPC Repair Pending", "SRAM Threshold Exceeded",
		"GPU Reset Status", "Reset Required ", "Product Name  ", "GPU UUID  ", "Performance State ", "GPU Current Temp",
		"T.Limit Temp", "Power Draw  ", "PCIe Generation", "Link Width", "Retired Pages", "FB Memory Usage",
		"Persistence Mode  ", "Power Readings", "Minor Number ", "Serial Number  ",
	},
	command: func(c Command) bool {
		return c.Tool == "nvidia-smi" && len(c.Args) > 0 && strings.HasPrefix(c.Args[0], "-")
	},
	parse: parseSMIQuery,
}

var (
	smiGPUHead = lazyre.New(`^\s*GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])$`)
	smiLeaf    = lazyre.New(`^(\s*)([A-Za-z][\w .()/-]{0,60}?)(\s*):(?: +(.*))?$`)
	smiHeading = lazyre.New(`^(\s*)([A-Z][\w .()/-]{1,50})$`)
)

// smiReport is the state of one reading of a -q report.
type smiReport struct {
	cmd      Command
	sets     []*builder
	head     *builder // driver version and the like, before the first GPU
	cur      *builder
	section  string // last known heading, a path
	proc     *builder
	attached string
	headed   bool // GPU lines were seen
	used     int  // recognised lines
}

func parseSMIQuery(c *cursor) ([]Readings, int) {
	r := &smiReport{cmd: c.cmd, head: newSet("nvidia-smi -q")}
	end := c.report(3, r.take)
	if r.used == 0 {
		return nil, 0
	}
	return r.finish(), end
}

// take reads one line; false means that the report is over.
func (r *smiReport) take(text string, i int, raw string, afterBlank bool) bool {
	if strings.Contains(text, "NVSMI LOG") {
		if r.used > 0 && r.headed { // a second report is a section of its own
			return false
		}
		r.used++
		return true
	}
	if m := smiGPUHead.FindStringSubmatch(text); m != nil {
		r.startGPU(m[1], i, raw)
		return true
	}
	if m := smiLeaf.FindStringSubmatch(text); m != nil {
		return r.leaf(m, i, raw, afterBlank)
	}
	if m := smiHeading.FindStringSubmatch(text); m != nil {
		return r.heading(m[1], m[2], afterBlank)
	}
	return false
}

func (r *smiReport) startGPU(pci string, i int, raw string) {
	r.cur = newSet("nvidia-smi -q")
	r.cur.put("pci", pci, i, raw)
	r.sets = append(r.sets, r.cur)
	r.section, r.proc, r.headed = "", nil, true
	r.used++
}

// heading moves to a section. Unknown headings are skipped while the report has
// its indentation; without it they end the report.
func (r *smiReport) heading(indent, name string, afterBlank bool) bool {
	low := strings.ToLower(strings.TrimSpace(name))
	if next, ok := smiSection(r.section, low); ok {
		r.section = next
		if next != "processes" {
			r.proc = nil
		}
		if next != "" {
			r.used++
		}
		return true
	}
	if len(indent) >= 4 && r.used > 0 && !afterBlank {
		r.section = "?"
		return true
	}
	return false
}

func (r *smiReport) leaf(m []string, i int, raw string, afterBlank bool) bool {
	name, value := strings.ToLower(strings.TrimSpace(m[2])), strings.TrimSpace(m[4])
	spaced := m[3] != ""
	if r.section == "processes" || name == "process id" {
		if r.process(name, value, i, raw) {
			return true
		}
	}
	if _, isSection := smiSection(r.section, name); isSection && (value == "" || value == "N/A" || value == "None") {
		r.section = "?" // "Remapped Rows : N/A" is a section without content
		r.used++
		return true
	}
	key, known := smiKey(r.section, name)
	if key == "" && known && strings.HasPrefix(m[1], " ") {
		return true
	}
	if key == "" {
		// Keys that we do not use are part of the report while they look like it.
		return spaced && r.used > 0 && !afterBlank
	}
	if strings.HasPrefix(key, "clocks_event_reasons.") && strings.HasSuffix(value, "us") {
		return true // the counters repeat the reasons' names
	}
	if unsectioned[name] && r.section != "" && smiTop[name] != "" {
		r.section = ""
	}
	r.used++
	if smiHeadKeys[key] && !r.headed {
		r.head.put(key, value, i, raw)
		if key == "attached_gpus" {
			r.attached = value
		}
		return true
	}
	b := r.target(key)
	b.put(key, value, i, raw)
	return true
}

// target is the set that a reading goes to. In an excerpt without GPU lines a name
// that comes again begins the next GPU.
func (r *smiReport) target(key string) *builder {
	again := false
	if r.cur != nil {
		_, again = r.cur.Values[key]
	}
	if r.cur == nil || again && !r.headed {
		r.cur = newSet("nvidia-smi -q")
		r.sets = append(r.sets, r.cur)
	}
	return r.cur
}

// process reads the list of processes of the current GPU.
func (r *smiReport) process(name, value string, i int, raw string) bool {
	if name == "process id" {
		r.proc = newSet("nvidia-smi -q")
		if r.cur != nil {
			r.proc.Subject.GPU = r.cur.Subject.GPU
		}
		r.section = "processes"
		r.proc.put("process.pid", value, i, raw)
		r.sets = append(r.sets, r.proc)
		r.used++
		return true
	}
	key := map[string]string{"name": "process.name", "type": "process.type", "used gpu memory": "process.used_memory.mib"}[name]
	if name == "gpu instance id" || name == "compute instance id" || name == "process name" {
		return true
	}
	if key == "" || r.proc == nil {
		return false
	}
	r.proc.put(key, value, i, raw)
	return true
}

// finish gives every set its subject and the report's common readings.
func (r *smiReport) finish() []Readings {
	gpus := 0
	for _, b := range r.sets {
		if !b.has("process.pid") {
			gpus++
		}
	}
	inOrder := r.cmd.GPU.IsZero() && (r.headed && r.attached == strconv.Itoa(gpus) ||
		!r.headed && gpus > 1 && r.cmd.Tool == "nvidia-smi" && !r.cmd.has("-i"))
	n := 0
	var out []Readings
	if !r.head.empty() {
		out = append(out, r.head.Readings)
	}
	for _, b := range r.sets {
		if b.has("process.pid") {
			setProcess(b)
			out = append(out, b.Readings)
			continue
		}
		if gpus == 1 {
			nameGPU(&b.Subject.GPU, r.cmd.GPU)
		}
		if inOrder && b.Subject.GPU.Index == nil { // the tool lists GPUs by index
			b.Subject.GPU.Index = ptr(n)
		}
		n++
		out = append(out, b.Readings)
	}
	return out
}

// nameGPU adds the names of one statement to another, without replacing any. The
// index that a command gives is not trusted against an address: `-i 2` under a
// listing of other numbering happens.
func nameGPU(g *gpumedic.GPU, by gpumedic.GPU) {
	if g.PCI == "" && g.UUID == "" && g.Index == nil {
		g.PCI, g.UUID, g.Index = by.PCI, by.UUID, by.Index
	}
}

func setProcess(b *builder) {
	if r, ok := b.Values["process.pid"]; ok {
		if n := pid(r.Value); n > 0 {
			b.Subject.Process.PID = n
		}
	}
	if r, ok := b.Values["process.name"]; ok && r.Value != na {
		b.Subject.Process.Name = baseName(r.Value)
	}
}
