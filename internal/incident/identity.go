package incident

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
)

// Identity is what makes two findings one incident: the fault, its case, and the parts
// of the subject that the fault is about. Where is text that must be equal; a GPU is
// compared by its names, of which one answer may know more than another.
type Identity struct {
	Fault string       `json:"fault"`
	Case  string       `json:"case,omitempty"`
	Node  string       `json:"node"`
	Where string       `json:"where,omitempty"`
	GPU   gpumedic.GPU `json:"gpu"`
}

// identity chooses the parts of a subject by the scope of the fault. A program is known
// by its name and owner, not by its pid: one that crashes and is started again, a
// thousand times, is one incident.
func identity(fault, kase, scope, layer string, s gpumedic.Subject) Identity {
	id := Identity{Fault: fault, Case: kase, Node: s.Node}
	if scope == "" {
		scope = guessScope(layer, s)
	}
	switch scope {
	case "node":
	case "port", "nic":
		id.Where = s.Port
		if s.Port == "" {
			id.GPU = s.GPU
		}
	case "nvswitch":
		id.Where = s.NVSwitch
		if s.NVSwitch == "" {
			id.GPU = s.GPU
		}
	case "process", "rank", "job":
		id.GPU = s.GPU
		id.Where = program(scope, s)
	default:
		id.GPU = s.GPU
		if s.GPU.IsZero() {
			id.Where = cmp.Or(s.Port, s.NVSwitch)
		}
	}
	return id
}

func program(scope string, s gpumedic.Subject) string {
	owner := cmp.Or(s.Container, s.Unit)
	if scope == "job" && owner != "" {
		return owner
	}
	parts := []string{owner, s.Process.Name}
	if s.Process.Name == "" && s.Rank != nil {
		parts = append(parts, "rank "+strconv.Itoa(*s.Rank))
	}
	if s.GPU.MIG != "" {
		parts = append(parts, "mig "+s.GPU.MIG)
	}
	return strings.Trim(strings.Join(parts, "/"), "/")
}

func guessScope(layer string, s gpumedic.Subject) string {
	switch {
	case layer == "software" && (s.Process.Name != "" || s.Process.PID != 0):
		return "process"
	case !s.GPU.IsZero():
		return "gpu"
	case s.NVSwitch != "":
		return "nvswitch"
	case s.Port != "":
		return "port"
	}
	return "node"
}

// Same reports whether two identities are one. No GPU equals only no GPU.
func (a Identity) Same(b Identity) bool {
	if a.Fault != b.Fault || a.Case != b.Case || a.Node != b.Node || a.Where != b.Where {
		return false
	}
	if a.GPU.IsZero() || b.GPU.IsZero() {
		return a.GPU.IsZero() && b.GPU.IsZero()
	}
	return SameGPU(a.GPU, b.GPU)
}

// SameGPU compares the best name that both have: a card by UUID or serial, which stay
// with it, before the slot by PCI address, before the index, which a reboot may change.
func SameGPU(a, b gpumedic.GPU) bool {
	for _, pair := range [][2]string{{a.UUID, b.UUID}, {a.Serial, b.Serial}, {a.PCI, b.PCI}} {
		if pair[0] != "" && pair[1] != "" {
			return strings.EqualFold(pair[0], pair[1])
		}
	}
	for _, pair := range [][2]*int{{a.Index, b.Index}, {a.Minor, b.Minor}} {
		if pair[0] != nil && pair[1] != nil {
			return *pair[0] == *pair[1]
		}
	}
	return false
}

// fillGPU adds the names that b knows to a. A card may have been moved: the address is
// that of b.
func fillGPU(a *gpumedic.GPU, b gpumedic.GPU) {
	a.PCI = cmp.Or(b.PCI, a.PCI)
	a.Join(b)
}

// key orders identities, so that numbers do not depend on the order of an answer.
func (a Identity) key() string {
	return strings.Join([]string{a.Fault, a.Case, a.Node, a.Where, a.GPU.PCI, a.GPU.UUID, a.GPU.Serial, a.GPU.String()}, "\x00")
}

// Identity is the incident's own.
func (i *Incident) Identity() Identity {
	return identity(i.Fault, i.Case, i.Scope, i.Layer, i.Subject)
}

// has reports whether an identity is the incident's, by its subject or by one that was
// hit together with it.
func (i *Incident) has(id Identity) bool {
	if i.Identity().Same(id) {
		return true
	}
	for _, s := range i.Also {
		if identity(i.Fault, i.Case, i.Scope, i.Layer, s).Same(id) {
			return true
		}
	}
	return false
}
