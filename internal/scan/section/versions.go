package section

import (
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// smiVersion reads `nvidia-smi --version`.
var smiVersion = parser{
	starts:  []string{"NVIDIA-SMI version", "NVML version"},
	command: func(c Command) bool { return c.smi("--version") },
	parse: func(c *cursor) ([]Readings, int) {
		return oneTable(c, "nvidia-smi --version", func(b *builder, t string, i int, raw string) bool {
			name, value, ok := strings.Cut(t, ":")
			key := smiVersionNames[strings.ToLower(strings.TrimSpace(name))]
			if !ok || key == "" {
				return false
			}
			b.put(key, value, i, raw)
			return true
		})
	},
}

var smiVersionNames = map[string]string{
	"nvidia-smi version": "smi.version", "nvml version": "nvml.version", "driver version": "driver.version",
	"kmd version": "driver.version", "cuda version": "cuda.version", "cuda umd version": "cuda.version",
}

// driverVersion reads /proc/driver/nvidia/version.
var driverVersion = parser{
	starts:  []string{"NVRM version: "},
	command: func(c Command) bool { return c.has("/proc/driver/nvidia/version") },
	parse: func(c *cursor) ([]Readings, int) {
		return oneTable(c, "/proc/driver/nvidia/version", func(b *builder, t string, i int, raw string) bool {
			if m := nvrmVersion.FindStringSubmatch(t); m != nil {
				b.put("kernel_module.version", m[2], i, raw)
				flavor := "proprietary"
				if strings.Contains(m[1], "Open") {
					flavor = "open"
				}
				b.put("kernel_module.flavor", flavor, i, raw)
				return true
			}
			return strings.HasPrefix(t, "GCC version:") && !b.empty()
		})
	},
}

var nvrmVersion = lazyre.New(`^NVRM version: (NVIDIA UNIX .*?Kernel Module)(?: for \S+)?\s+(\d[\d.]+)`)

// nvcc reads `nvcc --version`.
var nvcc = parser{
	starts:  []string{"nvcc: NVIDIA (R) Cuda", "Cuda compilation tools, release"},
	command: func(c Command) bool { return c.Tool == "nvcc" },
	parse: func(c *cursor) ([]Readings, int) {
		return oneTable(c, "nvcc", func(b *builder, t string, i int, raw string) bool {
			if m := nvccRelease.FindStringSubmatch(t); m != nil {
				b.put("toolkit.version", m[1], i, raw)
				return true
			}
			return strings.HasPrefix(t, "nvcc: NVIDIA") || strings.HasPrefix(t, "Copyright (c)") || strings.HasPrefix(t, "Built on") || strings.HasPrefix(t, "Build cuda_")
		})
	},
}

var nvccRelease = lazyre.New(`^Cuda compilation tools, release ([\d.]+)`)

// modinfo reads `modinfo nvidia`.
var modinfo = parser{
	starts:  []string{"nvidia.ko"},
	command: func(c Command) bool { return c.Tool == "modinfo" },
	parse: func(c *cursor) ([]Readings, int) {
		return oneTable(c, "modinfo", func(b *builder, t string, i int, raw string) bool {
			m := modinfoRow.FindStringSubmatch(t)
			if m == nil {
				return false
			}
			switch m[1] {
			case "version":
				b.put("kernel_module.version", m[2], i, raw)
			case "filename":
				b.put("kernel_module.file", m[2], i, raw)
			case "vermagic":
				b.put("kernel_module.vermagic", m[2], i, raw)
			}
			return true
		})
	},
}

var modinfoRow = lazyre.New(`^(filename|version|license|srcversion|alias|depends|retpoline|name|vermagic|sig_id|signer|sig_key|sig_hashalgo|signature|parm|firmware|import_ns|supported|description|author|intree):\s+(.+)$`)
