package section

import (
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// lspci reads `lspci -vv`, whole or the lines that grep left. A device's head line
// may be missing: then the address comes from the command, and its kind is unknown.
var lspci = parser{
	starts: []string{
		"LnkCap:", "LnkSta:", "LnkCtl2:", "ACSCtl:", "UESta:", "DevSta:", "3D controller", "VGA compatible controller: NVIDIA",
		"PCI bridge", "Unknown header type", "Host bridge", "Infiniband controller", "Ethernet controller",
	},
	command: func(c Command) bool { return c.Tool == "lspci" },
	parse:   parseLspci,
}

var (
	lspciHead   = lazyre.New(`^((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ([A-Z0-9][\w /&+.()-]{2,60}?)(?: \[([0-9a-f]{4})\])?: (.+)$`)
	lspciInline = lazyre.New(`^(?:lspci )?((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]):? +((?:LnkCap|LnkSta|LnkCtl2|ACSCtl|DevSta|UESta|CESta):.*)$`)
	lspciLink   = lazyre.New(`Speed ([\d.]+)GT/s(?: \((\w+)\))?, Width x(\d+)(?: \((\w+)\))?`)
	lspciKey    = lazyre.New(`^(LnkCap2?|LnkSta2?|LnkCtl2?|ACSCtl|ACSCap|DevSta|DevCap2?|DevCtl2?|UESta|UEMsk|UESvrt|CESta|CEMsk):\s*(.*)$`)
)

func parseLspci(c *cursor) ([]Readings, int) {
	r := &lspciReport{cmd: c.cmd}
	end := c.report(2, r.take)
	if !r.found {
		return nil, 0
	}
	return r.finish(), end
}

type lspciReport struct {
	cmd   Command
	sets  []*builder
	cur   *builder
	found bool
}

func (r *lspciReport) take(text string, i int, raw string, afterBlank bool) bool {
	if m := lspciHead.FindStringSubmatch(text); m != nil {
		r.device(m, i, raw)
		return true
	}
	t := strings.TrimSpace(text)
	if m := lspciInline.FindStringSubmatch(t); m != nil {
		if r.cur == nil || r.cur.Values["lspci.address"].Value != gpumedic.NormalPCI(m[1]) {
			r.start()
			r.address(m[1], i, raw)
		}
		t = m[2]
	}
	if strings.HasPrefix(t, "!!! Unknown header type") && r.cur != nil {
		r.cur.put("pci.config", "unreadable", i, raw)
		return true
	}
	if m := lspciKey.FindStringSubmatch(t); m != nil {
		if afterBlank && r.cur != nil && r.headless() {
			r.cur = nil
		}
		if r.cur == nil || r.headless() && r.hasLine(m[1]) {
			r.start()
		}
		r.line(m[1], m[2], i, raw)
		r.found = true
		return true
	}
	// Other lines of a device are indented.
	return r.cur != nil && !afterBlank && text != t
}

func (r *lspciReport) start() {
	r.cur = newSet("lspci")
	r.sets = append(r.sets, r.cur)
}

// headless reports an excerpt, where a repeated key begins the next device.
func (r *lspciReport) headless() bool { return r.cur.Values["lspci.address"].Value == "" }

func (r *lspciReport) hasLine(name string) bool {
	_, ok := r.cur.Values["lspci."+strings.ToLower(name)]
	return ok
}

func (r *lspciReport) address(addr string, i int, raw string) {
	p := gpumedic.NormalPCI(addr)
	r.cur.Values["lspci.address"] = Reading{Key: "lspci.address", Value: p, Line: i, Text: raw}
}

// device begins a device with its head line.
func (r *lspciReport) device(m []string, i int, raw string) {
	r.start()
	r.found = true
	r.address(m[1], i, raw)
	r.cur.put("lspci.class", m[2], i, raw)
	r.cur.put("lspci.device", m[4], i, raw)
	kind := "other"
	nvidia := strings.Contains(m[4], "NVIDIA") || strings.Contains(m[4], "[10de:")
	switch {
	case nvidia && (m[2] == "3D controller" || m[2] == "VGA compatible controller" || m[2] == "Display controller" || strings.HasPrefix(m[3], "03")):
		kind = "gpu"
		r.cur.put("name", m[4], i, raw)
	case nvidia && (m[2] == "Bridge" || m[3] == "0680"):
		kind = "nvswitch"
	case strings.Contains(m[2], "PCI bridge"):
		kind = "port"
	case m[2] == "Infiniband controller" || m[2] == "Ethernet controller" || m[2] == "Network controller":
		kind = "nic"
	}
	r.cur.put("device.kind", kind, i, raw)
	if strings.HasSuffix(m[4], "(rev ff)") {
		r.cur.put("pci.config", "unreadable", i, raw)
	}
}

func (r *lspciReport) line(name, value string, i int, raw string) {
	b := r.cur
	b.Values["lspci."+strings.ToLower(name)] = Reading{Key: "lspci." + strings.ToLower(name), Value: value, Line: i, Text: raw}
	switch name {
	case "LnkCap":
		if m := lspciLink.FindStringSubmatch(value); m != nil {
			b.put("pcie.port.speed.max.gts", m[1], i, raw)
			b.put("pcie.port.width.max", m[3], i, raw)
		}
	case "LnkSta":
		if m := lspciLink.FindStringSubmatch(value); m != nil {
			b.put("pcie.port.speed.gts", m[1], i, raw)
			b.put("pcie.port.width", m[3], i, raw)
			b.put("pcie.port.speed.state", m[2], i, raw)
			b.put("pcie.port.width.state", m[4], i, raw)
		}
	case "LnkCtl2":
		if strings.Contains(value, "SpeedDis+") {
			b.put("pcie.port.speed_disabled", "yes", i, raw)
		} else if strings.Contains(value, "SpeedDis-") {
			b.put("pcie.port.speed_disabled", "no", i, raw)
		}
	case "ACSCtl":
		b.put("pcie.acs.redirect", gpumedic.YesNo(strings.Contains(value, "ReqRedir+") || strings.Contains(value, "CmpltRedir+")), i, raw)
	case "UESta", "CESta", "DevSta":
		b.put("pcie."+strings.ToLower(name)+".set", setFlags(value), i, raw)
	}
}

// setFlags lists the flags that stand with a plus.
func setFlags(s string) string {
	var out []string
	for _, f := range strings.Fields(s) {
		if flag, ok := strings.CutSuffix(f, "+"); ok {
			out = append(out, flag)
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ",")
}

// finish gives each device its subject. A device of unknown kind takes the
// command's address.
func (r *lspciReport) finish() []Readings {
	var out []Readings
	for _, b := range r.sets {
		addr := b.Values["lspci.address"].Value
		if addr == "" && len(r.sets) == 1 {
			addr = r.cmd.GPU.PCI
		}
		switch b.Values["device.kind"].Value {
		case "port":
			b.Subject.Port = addr
		case "nvswitch":
			b.Subject.NVSwitch = addr
		case "gpu", "":
			b.Subject.GPU.PCI = addr
			if _, ok := b.Values["pcie.acs.redirect"]; ok && !b.has("device.kind") {
				b.Subject.GPU.PCI, b.Subject.Port = "", addr // only ports have access control
			}
			if addr != "" && b.Subject.GPU.PCI != "" {
				b.Values["pci"] = Reading{Key: "pci", Value: addr, Line: b.Values["lspci.address"].Line, Text: b.Values["lspci.address"].Text}
			}
			if !b.has("device.kind") && addr != "" { // who asked for one address asked for a GPU or its port
				b.Values["device.kind"] = Reading{Key: "device.kind", Value: "unknown"}
			}
		default:
			if !b.has("pcie.port.width") {
				continue // a device of no interest
			}
		}
		out = append(out, b.Readings)
	}
	return out
}
