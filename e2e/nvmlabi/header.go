//go:build header

package nvmlabi

// The header comes with this module; nothing of its Go code is used.
import _ "github.com/NVIDIA/go-nvml/pkg/nvml"
