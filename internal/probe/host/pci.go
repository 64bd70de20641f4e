package host

import (
	"path"
	"strconv"
	"strings"
)

const pciDevices = "/sys/bus/pci/devices"

// A device is one PCI function that matters here.
type device struct {
	address string
	dir     string // below /sys/devices when the link could be followed
	class   string // "0302"
	driver  string // "" when none is bound
	above   []string
}

// isAddress tells "0000:3b:00.0" from other names.
func isAddress(s string) bool {
	if len(s) < 12 || len(s) > 16 {
		return false
	}
	n := len(s)
	if s[n-2] != '.' || s[n-5] != ':' || s[n-8] != ':' {
		return false
	}
	for i := range n {
		switch {
		case i == n-2 || i == n-5 || i == n-8:
		case !isHex(s[i]):
			return false
		}
	}
	return s[n-1] <= '7'
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// pci reads NVIDIA's devices and the ports above them.
func (h *prober) pci() {
	gpus, switches := h.nvidiaDevices()
	h.countDevices(gpus, switches)
	seen := map[string]bool{}
	for _, d := range gpus {
		h.isGPU[d.address] = true
		h.about("gpu", d.address)
		h.gpu(d)
	}
	for _, d := range switches {
		h.about("nvswitch", d.address)
		h.w.Value("device.kind", "nvswitch")
		h.w.Value("pci.driver", orNone(d.driver))
		h.config(d)
		h.aer(d.dir)
	}
	for _, d := range append(gpus, switches...) {
		for i, port := range d.above {
			if seen[port] {
				continue
			}
			seen[port] = true
			h.about("port", port)
			h.port(h.deviceDir(port), i == len(d.above)-1)
		}
	}
}

// nvidiaDevices finds GPUs (VGA and 3D controllers) and NVSwitches (bridges of class
// "other") by NVIDIA's vendor id.
func (h *prober) nvidiaDevices() (gpus, switches []device) {
	for _, address := range h.list(pciDevices) {
		if !isAddress(address) {
			continue
		}
		dir := path.Join(pciDevices, address)
		vendor, err := h.read(path.Join(dir, "vendor"))
		if err != nil || strings.TrimSpace(vendor) != "0x10de" {
			continue
		}
		class, _ := h.read(path.Join(dir, "class")) // "0x030200"
		class = strings.TrimPrefix(strings.TrimSpace(class), "0x")
		if len(class) < 4 || h.exists(path.Join(dir, "physfn")) {
			continue // a slice of a GPU for a virtual machine is no GPU of its own
		}
		d := device{address: strings.ToLower(address), dir: h.deviceDir(address), class: class[:4]}
		switch d.class {
		case "0300", "0302":
		case "0680":
			d.driver = h.boundDriver(dir)
			d.above = portsAbove(d.dir)
			switches = append(switches, d)
			continue
		default:
			continue
		}
		d.driver = h.boundDriver(dir)
		d.above = portsAbove(d.dir)
		gpus = append(gpus, d)
	}
	return gpus, switches
}

// deviceDir follows the link of /sys/bus/pci/devices: its path names the ports above.
func (h *prober) deviceDir(address string) string {
	at := path.Join(pciDevices, address)
	target, err := h.link(at)
	if err != nil {
		return at
	}
	if path.IsAbs(target) {
		return path.Clean(target)
	}
	return path.Join(pciDevices, target)
}

// portsAbove gives the bridges on the way to a device, the nearest first.
func portsAbove(dir string) []string {
	var out []string
	for d := path.Dir(dir); strings.HasPrefix(d, "/sys/devices/"); d = path.Dir(d) {
		if isAddress(path.Base(d)) {
			out = append(out, strings.ToLower(path.Base(d)))
		}
	}
	return out
}

func (h *prober) boundDriver(dir string) string {
	target, err := h.link(path.Join(dir, "driver"))
	if err != nil {
		return ""
	}
	return path.Base(target)
}

// countDevices writes how many GPUs the bus holds and who drives them.
func (h *prober) countDevices(gpus, switches []device) {
	h.about("node", "")
	if !h.exists(pciDevices) {
		h.w.Absent("pci.gpus", "no "+pciDevices)
		return
	}
	by := map[string]int{}
	usable := 0
	for _, d := range gpus {
		by[d.driver]++
		if d.driver == "nvidia" && h.information(d.address)["GPU Excluded"] != "Yes" {
			usable++
		}
	}
	h.w.Value("pci.gpus", len(gpus))
	h.w.Value("pci.gpus.nvidia", by["nvidia"])
	h.w.Value("pci.gpus.usable", usable)
	h.w.Value("pci.gpus.unbound", by[""])
	h.w.Value("pci.gpus.other_driver", len(gpus)-by["nvidia"]-by[""])
	h.w.Value("pci.nvswitches", len(switches))
	ours := 0
	for _, d := range switches {
		if d.driver == "nvidia-nvswitch" {
			ours++
		}
	}
	h.w.Value("pci.nvswitches.nvidia", ours)
}

// gpu writes the readings of one GPU.
func (h *prober) gpu(d device) {
	h.w.Value("device.kind", "gpu")
	h.w.Value("pci.class", d.class)
	if s, err := h.read(path.Join(d.dir, "device")); err == nil {
		h.w.Value("pci.device", "10de:"+strings.TrimPrefix(strings.TrimSpace(s), "0x"))
	}
	h.w.Value("pci.driver", orNone(d.driver))
	if h.loaded {
		h.w.Value("pci.driver.expected", "nvidia")
	}
	h.fromDriver(d.address)
	asleep := h.power(d)
	if asleep {
		// Reading the configuration would wake a laptop's GPU.
		h.w.Absent("pci.config", "powered down")
		h.w.Absent("pcie.link.width.current", "powered down")
	} else {
		h.config(d)
		h.link2(d)
	}
	h.bars(d)
	h.aer(d.dir)
	h.iommu(d)
	if n, err := h.number(path.Join(d.dir, "numa_node")); err == nil && n >= 0 {
		h.w.Value("pci.numa_node", n)
	} else if err == nil {
		h.w.Absent("pci.numa_node", "the firmware names none")
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// information reads what the driver says of a GPU without being asked through a library.
func (h *prober) information(address string) map[string]string {
	out := map[string]string{}
	s, err := h.read(path.Join("/proc/driver/nvidia/gpus", address, "information"))
	if err != nil {
		return out
	}
	for line := range strings.Lines(s) {
		if k, v, ok := strings.Cut(line, ":"); ok {
			out[strings.TrimSpace(k)] = strings.TrimSpace(v)
		}
	}
	return out
}

func (h *prober) fromDriver(address string) {
	info := h.information(address)
	for _, f := range [][2]string{{"name", "Model"}, {"vbios.version", "Video BIOS"}} {
		if v := info[f[1]]; v != "" && !strings.Contains(v, "?") {
			h.w.Value(f[0], v)
		}
	}
	if v := info["GPU UUID"]; strings.HasPrefix(v, "GPU-") && !strings.Contains(v, "?") {
		h.w.Value("uuid", v)
	}
	if n, err := strconv.Atoi(info["Device Minor"]); err == nil {
		h.w.Value("minor", n)
	}
	if v := info["GPU Excluded"]; v != "" {
		h.w.Value("gpu.excluded", strings.ToLower(v))
	}
}

// power writes the power state and reports whether the device sleeps.
func (h *prober) power(d device) (asleep bool) {
	if s, err := h.read(path.Join(d.dir, "power_state")); err == nil {
		h.w.Value("pci.power_state", s)
		asleep = s == "D3cold" || s == "D3hot"
	}
	if s, err := h.read(path.Join(d.dir, "power/runtime_status")); err == nil {
		h.w.Value("pci.runtime_status", s)
		asleep = asleep || s == "suspended"
	}
	if s, err := h.read(path.Join(d.dir, "reset_method")); err == nil && s != "" {
		h.w.Value("pci.reset_method", s)
	}
	return asleep
}

// iommu writes the device's group and how its addresses are translated.
func (h *prober) iommu(d device) {
	target, err := h.link(path.Join(d.dir, "iommu_group"))
	if err != nil {
		h.w.Absent("iommu.group", "no IOMMU over this device")
		return
	}
	group := path.Base(target)
	h.w.Value("iommu.group", group)
	if s, err := h.read(path.Join("/sys/kernel/iommu_groups", group, "type")); err == nil {
		h.w.Value("iommu.type", s)
	}
}
