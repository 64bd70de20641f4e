package incident

import (
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
)

// NamesGPU reports whether a name that a person wrote is one of a GPU's: PCI address in
// any spelling, UUID, serial or index.
func NamesGPU(name string, g gpumedic.GPU) bool {
	if name == "" {
		return false
	}
	if pci := gpumedic.NormalPCI(name); pci != "" && pci == g.PCI {
		return true
	}
	return strings.EqualFold(name, g.UUID) || name == g.Serial || g.Index != nil && name == strconv.Itoa(*g.Index)
}
