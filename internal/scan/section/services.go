package section

import (
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// systemctl reads `systemctl status UNIT`.
var systemctl = parser{
	starts:  []string{".service - ", ".socket - ", ".service\n", "Active: failed", "Active: active", "Active: inactive", "Active: activating"},
	command: func(c Command) bool { return c.Tool == "systemctl" },
	parse:   parseSystemctl,
}

var (
	unitHead   = lazyre.New(`^(?:[●○×x*↻?] ?)?([\w@.:-]+\.(?:service|socket|timer|target))(?: - (.*))?$`)
	unitActive = lazyre.New(`^Active: (\w+)(?: \(([^)]*)\))?(?: since (.+?))?(?:;.*)?$`)
	unitLoaded = lazyre.New(`^Loaded: (\S+)(?: \(([^;)]*)(?:; *(\w+))?)?`)
	unitDetail = lazyre.New(`^(Main PID|Process|Tasks|Memory|CPU|CGroup|Docs|Status|Invocation|TriggeredBy|Triggers|Drop-In|Duration|Condition|IP|IO|Mem peak|Until|Listen|Accepted):? `)
)

func parseSystemctl(c *cursor) ([]Readings, int) {
	b := newSet("systemctl status")
	end := 0
	for i := 0; i < 40; i++ {
		text, ok := c.line(i)
		if !ok {
			break
		}
		t := strings.TrimSpace(text)
		if t == "" {
			break
		}
		if m := unitHead.FindStringSubmatch(t); m != nil && i == 0 {
			b.put("unit", m[1], i, c.raw(i))
			b.put("unit.description", m[2], i, c.raw(i))
			end = i + 1
			continue
		}
		if !unitLine(b, t, i, c.raw(i)) {
			break
		}
		end = i + 1
	}
	if !b.has("unit.active") {
		return nil, 0
	}
	if !b.has("unit") {
		name := unitFromCommand(c.cmd)
		if name == "" {
			return nil, 0
		}
		b.put("unit", name, b.Values["unit.active"].Line, b.Values["unit.active"].Text)
	}
	b.Subject.Unit = strings.TrimSuffix(b.Values["unit"].Value, ".service")
	return []Readings{b.Readings}, end
}

func unitLine(b *builder, t string, i int, raw string) bool {
	if m := unitActive.FindStringSubmatch(t); m != nil {
		b.put("unit.active", m[1], i, raw)
		detail := m[2]
		if r, ok := strings.CutPrefix(detail, "Result: "); ok {
			b.put("unit.result", r, i, raw)
		} else if detail != "" {
			b.put("unit.substate", detail, i, raw)
		}
		if m[3] != "" {
			b.put("event.time", m[3], i, raw)
		}
		return true
	}
	if m := unitLoaded.FindStringSubmatch(t); m != nil {
		b.put("unit.loaded", m[1], i, raw)
		if m[3] != "" {
			b.put("unit.enabled", m[3], i, raw)
		}
		return true
	}
	return unitDetail.MatchString(t) || strings.HasPrefix(t, "└") || strings.HasPrefix(t, "├") || strings.HasPrefix(t, "│")
}

func unitFromCommand(cmd Command) string {
	if cmd.Tool != "systemctl" {
		return ""
	}
	for _, a := range cmd.Args {
		if a != "status" && !strings.HasPrefix(a, "-") {
			if !strings.Contains(a, ".") {
				a += ".service"
			}
			return a
		}
	}
	return ""
}

// ibstat reads `ibstat`; ibstatus its sister of another form.
var ibstat = parser{
	starts:  []string{"CA 'mlx", "CA 'ib", "CA type:", "CA '"},
	command: func(c Command) bool { return c.Tool == "ibstat" },
	parse:   parseIbstat,
}

var ibstatus = parser{
	starts:  []string{"Infiniband device '"},
	command: func(c Command) bool { return c.Tool == "ibstatus" },
	parse:   parseIbstatus,
}

var (
	ibCA     = lazyre.New(`^CA '([^']+)'$`)
	ibPort   = lazyre.New(`^Port (\d+):$`)
	ibLeaf   = lazyre.New(`^([A-Za-z][\w ]{1,24}): *(.*)$`)
	ibDevice = lazyre.New(`^Infiniband device '([^']+)' port (\d+) status:$`)
	ibState  = lazyre.New(`^\d+: `)
)

var ibNames = map[string]string{
	"state": "ib.state", "physical state": "ib.phys_state", "phys state": "ib.phys_state", "rate": "ib.rate.gbps",
	"link layer": "ib.link_layer", "link_layer": "ib.link_layer",
}

func parseIbstat(c *cursor) ([]Readings, int) {
	var sets []*builder
	var cur *builder
	device, caType, end := "", "", 0
	for i := 0; ; i++ {
		text, ok := c.line(i)
		t := strings.TrimSpace(text)
		if !ok || t == "" && i-end > 2 || i > tooFar && len(sets) == 0 {
			break
		}
		if t == "" {
			continue
		}
		if m := ibCA.FindStringSubmatch(t); m != nil {
			device, caType, cur, end = m[1], "", nil, i+1
			continue
		}
		if m := ibPort.FindStringSubmatch(t); m != nil && device != "" {
			cur = newPort("ibstat", device, m[1], i, c.raw(i))
			cur.put("ib.ca_type", caType, i, c.raw(i))
			sets, end = append(sets, cur), i+1
			continue
		}
		m := ibLeaf.FindStringSubmatch(t)
		if m == nil || device == "" {
			break
		}
		if m[1] == "CA type" {
			caType = m[2]
		}
		if key := ibNames[strings.ToLower(m[1])]; key != "" && cur != nil {
			cur.put(key, m[2], i, c.raw(i))
		}
		end = i + 1
	}
	return readingsOf(sets), endIf(len(sets) > 0, end)
}

func parseIbstatus(c *cursor) ([]Readings, int) {
	var sets []*builder
	var cur *builder
	end := 0
	for i := 0; ; i++ {
		text, ok := c.line(i)
		t := strings.TrimSpace(text)
		if !ok || t == "" && i-end > 2 || i > tooFar && len(sets) == 0 {
			break
		}
		if t == "" {
			continue
		}
		if m := ibDevice.FindStringSubmatch(t); m != nil {
			cur = newPort("ibstatus", m[1], m[2], i, c.raw(i))
			sets, end = append(sets, cur), i+1
			continue
		}
		m := ibLeaf.FindStringSubmatch(t)
		if m == nil || cur == nil {
			break
		}
		if key := ibNames[strings.ToLower(m[1])]; key != "" {
			v := ibState.ReplaceAllString(m[2], "")
			if key == "ib.rate.gbps" {
				v, _, _ = strings.Cut(v, " ")
			}
			cur.put(key, v, i, c.raw(i))
		}
		end = i + 1
	}
	return readingsOf(sets), endIf(len(sets) > 0, end)
}

func newPort(tool, device, port string, i int, raw string) *builder {
	b := newSet(tool)
	b.put("ib.device", device, i, raw)
	b.put("ib.port", port, i, raw)
	b.Subject.Location = device + "/" + port
	return b
}

func readingsOf(sets []*builder) []Readings {
	var out []Readings
	for _, b := range sets {
		out = append(out, b.Readings)
	}
	return out
}

func endIf(ok bool, end int) int {
	if ok {
		return end
	}
	return 0
}

// holders reads `fuser -v /dev/nvidia*`: who has a device open.
var holders = parser{
	starts:  []string{"USER        PID ACCESS COMMAND", "PID ACCESS COMMAND", "/dev/nvidia0:", "/dev/nvidiactl:", "/dev/nvidia-uvm:"},
	command: func(c Command) bool { return c.Tool == "fuser" },
	parse:   parseHolders,
}

var (
	fuserHead = lazyre.New(`^\s*USER\s+PID ACCESS COMMAND$`)
	fuserRow  = lazyre.New(`^(?:(/dev/[\w-]+):)?\s+(\S+)\s+(\d+)\s+([.FfemrcTr]{4,7})\s+(\S.*)$`)
	fuserPIDs = lazyre.New(`^(/dev/nvidia[\w-]*):((?:\s+\d+[a-z]*)+)$`)
	devMinor  = lazyre.New(`^/dev/nvidia(\d+)$`)
)

func parseHolders(c *cursor) ([]Readings, int) {
	var out []Readings
	device, end := "", 0
	for i, text := range c.from(0) {
		if fuserHead.MatchString(text) {
			end = i + 1
			continue
		}
		if m := fuserRow.FindStringSubmatch(text); m != nil && (m[1] != "" || device != "") {
			if m[1] != "" {
				device = m[1]
			}
			out = append(out, holder("fuser", device, m[3], m[5], m[2], i, c.raw(i)))
		} else if m := fuserPIDs.FindStringSubmatch(text); m != nil {
			for _, p := range strings.Fields(m[2]) {
				out = append(out, holder("fuser", m[1], strings.TrimRight(p, "abcdefghijklmnopqrstuvwxyz"), "", "", i, c.raw(i)))
			}
		} else {
			break
		}
		end = i + 1
	}
	return out, endIf(len(out) > 0, end)
}

func holder(tool, device, pid, command, user string, i int, raw string) Readings {
	b := newSet(tool)
	b.put("process.pid", pid, i, raw)
	b.put("process.name", command, i, raw)
	b.put("source", device, i, raw)
	b.put("user", user, i, raw)
	setProcess(b)
	if m := devMinor.FindStringSubmatch(device); m != nil {
		b.Subject.GPU = gpumedic.GPU{Minor: smallInt(m[1])}
	}
	return b.Readings
}

// lsof reads `lsof /dev/nvidia*`.
var lsof = parser{
	starts:  []string{"COMMAND     PID", "COMMAND    PID", "COMMAND   PID", "COMMAND  PID", "SIZE/OFF", "195,"},
	command: func(c Command) bool { return c.Tool == "lsof" },
	parse:   parseLsof,
}

var lsofRow = lazyre.New(`^(\S+)\s+(\d+)\s+(?:\d+ \S+ )?(\S+)\s+\S+\s+CHR\s+195,\d+\s+.*?(/dev/nvidia[\w-]*)$`)

func parseLsof(c *cursor) ([]Readings, int) {
	var out []Readings
	end := 0
	for i, text := range c.from(0) {
		if strings.HasPrefix(text, "COMMAND ") {
			end = i + 1
			continue
		}
		m := lsofRow.FindStringSubmatch(text)
		if m == nil {
			break
		}
		out = append(out, holder("lsof", m[4], m[2], m[1], m[3], i, c.raw(i)))
		end = i + 1
	}
	return out, endIf(len(out) > 0, end)
}
