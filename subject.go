package gpumedic

import (
	"cmp"
	"strconv"
	"strings"
)

// Subject is what a signal or finding is about. Empty parts are unknown. The same
// GPU may be named by PCI address, UUID, serial, index or minor number;
// internal/topo joins the names that an input pairs with each other.
type Subject struct {
	Node      string  `json:"node"`
	GPU       GPU     `json:"gpu"`
	Port      string  `json:"port,omitempty"`     // upstream bridge, PCI address with function
	NVSwitch  string  `json:"nvswitch,omitempty"` // PCI address of the switch
	Link      string  `json:"link,omitempty"`     // NVLink number on the GPU or switch
	Process   Process `json:"process"`
	Rank      *int    `json:"rank,omitempty"`
	Container string  `json:"container,omitempty"`
	Unit      string  `json:"unit,omitempty"` // service or job name
	Location  string  `json:"location,omitempty"`
}

// Part is a part of the subject by the name that catalog rules and their examples use;
// known is false for other names. An unknown number is "".
func (s *Subject) Part(name string) (value string, known bool) {
	switch name {
	case "node":
		return s.Node, true
	case "gpu":
		return s.GPU.PCI, true
	case "uuid":
		return s.GPU.UUID, true
	case "serial":
		return s.GPU.Serial, true
	case "index":
		return number(s.GPU.Index), true
	case "minor":
		return number(s.GPU.Minor), true
	case "mig":
		return s.GPU.MIG, true
	case "port":
		return s.Port, true
	case "nvswitch":
		return s.NVSwitch, true
	case "link":
		return s.Link, true
	case "process":
		return s.Process.Name, true
	case "pid":
		if s.Process.PID == 0 {
			return "", true
		}
		return strconv.Itoa(s.Process.PID), true
	case "rank":
		return number(s.Rank), true
	case "container":
		return s.Container, true
	case "unit":
		return s.Unit, true
	}
	return "", false
}

func number(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// GPU names one GPU. PCI is lower case, domain of four digits (more only when
// they are not zero), with function: 0000:3b:00.0.
type GPU struct {
	PCI    string `json:"pci,omitempty"`
	UUID   string `json:"uuid,omitempty"`
	Serial string `json:"serial,omitempty"`
	Index  *int   `json:"index,omitempty"`
	Minor  *int   `json:"minor,omitempty"`
	// MIG names the GPU instance (and compute instance) the line stated, "5" or "5/0".
	MIG string `json:"mig,omitempty"`
}

// IsZero reports whether nothing names the GPU.
func (g GPU) IsZero() bool {
	return g.PCI == "" && g.UUID == "" && g.Serial == "" && g.Index == nil && g.Minor == nil
}

// Same reports whether two names mean one GPU of a node, by the strongest name that both
// have.
func (g GPU) Same(b GPU) bool {
	switch {
	case g.PCI != "" && b.PCI != "":
		return g.PCI == b.PCI
	case g.UUID != "" && b.UUID != "":
		return g.UUID == b.UUID
	case g.Index != nil && b.Index != nil:
		return *g.Index == *b.Index
	}
	return false
}

// Join adds the names that g lacks and b has.
func (g *GPU) Join(b GPU) {
	g.PCI = cmp.Or(g.PCI, b.PCI)
	g.UUID = cmp.Or(g.UUID, b.UUID)
	g.Serial = cmp.Or(g.Serial, b.Serial)
	g.Index = cmp.Or(g.Index, b.Index)
	g.Minor = cmp.Or(g.Minor, b.Minor)
}

// String is the shortest name that a person can use in a command.
func (g GPU) String() string {
	switch {
	case g.PCI != "":
		return g.PCI
	case g.UUID != "":
		return g.UUID
	case g.Index != nil:
		return "GPU " + strconv.Itoa(*g.Index)
	case g.Minor != nil:
		return "/dev/nvidia" + strconv.Itoa(*g.Minor)
	case g.Serial != "":
		return "serial " + g.Serial
	}
	return ""
}

// Process names an operating-system process of the subject's node.
type Process struct {
	PID  int    `json:"pid,omitempty"`
	Name string `json:"name,omitempty"`
}

// NormalPCI brings any spelling of a PCI address to 0000:3b:00.0: optional "PCI:",
// domains of 1 to 8 digits or none, missing function, capital letters. It returns
// "" when s is none. A bare bus:device needs two hex digits each ("3b:00").
func NormalPCI(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	s = strings.TrimPrefix(s, "pci:")
	fn := "0"
	if i := strings.LastIndexByte(s, '.'); i >= 0 {
		fn = s[i+1:]
		s = s[:i]
		if len(fn) != 1 || !isHex(fn) || fn > "7" {
			return ""
		}
	}
	parts := strings.Split(s, ":")
	dom := "0000"
	switch len(parts) {
	case 2:
	case 3:
		dom = parts[0]
		parts = parts[1:]
		if dom == "" || len(dom) > 8 || !isHex(dom) {
			return ""
		}
		dom = strings.TrimLeft(dom, "0")
		if len(dom) < 4 {
			dom = strings.Repeat("0", 4-len(dom)) + dom
		}
	default:
		return ""
	}
	bus, dev := parts[0], parts[1]
	if len(bus) != 2 || len(dev) != 2 || !isHex(bus) || !isHex(dev) || dev > "1f" {
		return ""
	}
	return dom + ":" + bus + ":" + dev + "." + fn
}

func isHex(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return false
		}
	}
	return len(s) > 0
}
