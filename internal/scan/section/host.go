package section

import (
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// iomem reads /proc/iomem where a console framebuffer lies inside a PCI device's BAR.
var iomem = parser{
	starts:  []string{": BOOTFB", ": simpledrm", ": simple-framebuffer", ": efifb", ": vesafb", ": simplefb"},
	command: func(c Command) bool { return c.has("/proc/iomem") },
	parse:   parseIomem,
}

var (
	iomemRow = lazyre.New(`^(\s*)([0-9a-f]{4,16})-([0-9a-f]{4,16}) : (.+)$`)
	iomemPCI = lazyre.New(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)
)

func parseIomem(c *cursor) ([]Readings, int) {
	// Look back for the device whose window this is.
	start := 0
	for start > -8 {
		s, ok := c.line(start - 1)
		if !ok || !iomemRow.MatchString(s) {
			break
		}
		start--
	}
	var out []Readings
	pci, end := "", 0
	for i, text := range c.from(start) {
		m := iomemRow.FindStringSubmatch(text)
		if m == nil {
			break
		}
		end = i + 1
		who := strings.TrimSpace(m[4])
		if iomemPCI.MatchString(who) {
			pci = who
			continue
		}
		switch {
		case pci == "":
		case who == "BOOTFB", strings.HasPrefix(who, "simple"), strings.HasPrefix(who, "efifb"), strings.HasPrefix(who, "vesafb"):
			b := newSet("/proc/iomem")
			b.Subject.GPU.PCI = gpumedic.NormalPCI(pci)
			b.put("bar.holder", who, i, c.raw(i))
			if n := len(out); n > 0 && out[n-1].Subject.GPU == b.Subject.GPU {
				out[n-1] = b.Readings // the innermost owner is the driver
				continue
			}
			out = append(out, b.Readings)
		case m[1] == "":
			pci = ""
		}
	}
	if len(out) == 0 || end <= 0 {
		return nil, 0
	}
	return out, end
}

// ipmiSEL reads `ipmitool sel list` and `sel elist`.
var ipmiSEL = parser{
	starts:  []string{"| Asserted", "| Deasserted", "Pre-Init "},
	command: func(c Command) bool { return c.Tool == "ipmitool" && c.has("sel") },
	parse:   parseIPMI,
}

func parseIPMI(c *cursor) ([]Readings, int) {
	var out []Readings
	end := 0
	for i, text := range c.from(0) {
		f := strings.Split(text, "|")
		if len(f) < 4 {
			break
		}
		for j := range f {
			f[j] = strings.TrimSpace(f[j])
		}
		if f[0] == "" || len(f[0]) > 8 || !isHexID(f[0]) {
			break
		}
		out = append(out, selEntry(f, i, c.raw(i)))
		end = i + 1
	}
	return out, endIf(len(out) > 0, end)
}

func isHexID(s string) bool {
	for i := 0; i < len(s); i++ {
		if !strings.ContainsRune("0123456789abcdefABCDEF", rune(s[i])) {
			return false
		}
	}
	return true
}

// selEntry reads "id | date | time | sensor | event | Asserted", or without a clock
// "id | Pre-Init | … ".
func selEntry(f []string, i int, raw string) Readings {
	b := newSet("ipmitool sel")
	rest := f[1:]
	if strings.HasPrefix(rest[0], "Pre-Init") {
		if len(rest) > 2 && allDigits(rest[1]) { // ticks of a clock that was not set yet
			rest = rest[1:]
		}
		rest = rest[1:]
	} else if len(rest) > 2 {
		b.put("event.time", rest[0]+" "+rest[1], i, raw)
		rest = rest[2:]
	}
	if len(rest) > 0 {
		b.put("event.sensor", rest[0], i, raw)
	}
	if len(rest) > 1 {
		b.put("event.text", rest[1], i, raw)
	}
	if len(rest) > 2 {
		b.put("event.state", rest[2], i, raw)
	}
	return b.Readings
}

// freeMemory reads `free`, also single lines of it.
var freeMemory = parser{
	starts:  []string{"Mem:  "},
	command: func(c Command) bool { return c.Tool == "free" },
	parse: func(c *cursor) ([]Readings, int) {
		return oneTable(c, "free", func(b *builder, t string, i int, raw string) bool {
			f := strings.Fields(t)
			switch {
			case len(f) >= 4 && f[0] == "total" && f[1] == "used":
				return true
			case len(f) >= 3 && (f[0] == "Mem:" || f[0] == "Swap:") && startsWithDigit(f[1]):
				p := "host.memory."
				if f[0] == "Swap:" {
					p = "host.swap."
				}
				unit := freeUnit(c.cmd, f[1])
				for j, name := range []string{"total.mib", "used.mib", "free.mib", "shared.mib", "cache.mib", "available.mib"} {
					if j+1 < len(f) {
						b.put(p+name, strings.TrimRight(f[j+1], "BKMGTi")+" "+unitOf(f[j+1], unit), i, raw)
					}
				}
				return true
			}
			return false
		})
	},
}

// freeUnit is the unit of bare numbers: what the option says, KiB by default.
func freeUnit(cmd Command, sample string) string {
	switch {
	case cmd.has("-g"):
		return "GiB"
	case cmd.has("-m"):
		return "MiB"
	case cmd.Tool == "" && len(sample) < 5:
		return "GiB"
	}
	return "KiB"
}

// unitOf is the unit that a figure bears ("1.5Gi", "503G"), else the one given.
func unitOf(s, dflt string) string {
	s = strings.TrimSuffix(s, "i")
	if s != "" && strings.IndexByte("KMGT", s[len(s)-1]) >= 0 {
		return s[len(s)-1:] + "iB"
	}
	return dflt
}

func startsWithDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

// oneTable reads consecutive lines into one set of the node.
func oneTable(c *cursor, tool string, take func(b *builder, t string, i int, raw string) bool) ([]Readings, int) {
	b := newSet(tool)
	end := 0
	for i := 0; ; i++ {
		text, ok := c.line(i)
		if !ok || i > tooFar || !take(b, strings.TrimSpace(text), i, c.raw(i)) {
			break
		}
		end = i + 1
	}
	if b.empty() {
		return nil, 0
	}
	return []Readings{b.Readings}, end
}

// ulimitAll reads `ulimit -a`, and `ulimit -l` and -n with the command above.
var ulimitAll = parser{
	starts:  []string{"max locked memory", "open files  "},
	command: func(c Command) bool { return c.Tool == "ulimit" },
	parse: func(c *cursor) ([]Readings, int) {
		return oneTable(c, "ulimit", func(b *builder, t string, i int, raw string) bool {
			if m := ulimitRow.FindStringSubmatch(t); m != nil {
				b.put("host.limit."+ulimitName(m[2], m[1]), m[3], i, raw)
				return true
			}
			if i == 0 && len(c.cmd.Args) == 1 && (allDigits(t) || t == "unlimited") {
				b.put("host.limit."+ulimitName(strings.TrimLeft(c.cmd.Args[0], "-SH"), ""), t, i, raw)
				return true
			}
			return false
		})
	},
}

var ulimitRow = lazyre.New(`^([a-z][a-z /-]+?)\s+\((?:[^)]*, )?-(\w)\)\s+(\d+|unlimited)$`)

func ulimitName(flag, name string) string {
	switch flag {
	case "l":
		return "memlock.kib"
	case "n":
		return "open_files"
	case "u":
		return "processes"
	case "v":
		return "virtual_memory.kib"
	case "s":
		return "stack.kib"
	case "c":
		return "core"
	}
	return strings.ReplaceAll(name+flag, " ", "_")
}

// diskFree reads `df`.
var diskFree = parser{
	starts:  []string{"Filesystem  "},
	command: func(c Command) bool { return c.Tool == "df" },
	parse:   parseDF,
}

var dfRow = lazyre.New(`^(\S+)\s+([\d.]+[BKMGTP]?i?)\s+([\d.]+[BKMGTP]?i?)\s+(-?[\d.]+[BKMGTP]?i?)\s+(\d+)%\s+(/\S*)$`)

func parseDF(c *cursor) ([]Readings, int) {
	var out []Readings
	end := 0
	for i, text := range c.from(0) {
		t := strings.TrimSpace(text)
		if strings.HasPrefix(t, "Filesystem ") {
			end = i + 1
			continue
		}
		m := dfRow.FindStringSubmatch(t)
		if m == nil {
			break
		}
		b := newSet("df")
		b.put("source", m[1], i, c.raw(i))
		b.put("mount", m[6], i, c.raw(i))
		b.put("disk.used.percent", m[5], i, c.raw(i))
		for j, name := range []string{"disk.total.mib", "disk.used.mib", "disk.available.mib"} {
			b.put(name, strings.TrimRight(m[2+j], "BKMGTPi")+" "+unitOf(m[2+j], "KiB"), i, c.raw(i))
		}
		b.Subject.Location = m[6]
		out = append(out, b.Readings)
		end = i + 1
	}
	return out, endIf(len(out) > 0, end)
}
