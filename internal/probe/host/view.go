package host

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// view writes whether we are in a container and what it lets us see.
func (h *prober) view() {
	h.about("node", "")
	env := h.environ()
	runtime, id := h.container(env)
	h.outside = runtime == "none"
	h.w.Value("container.inside", !h.outside)
	h.w.Value("container.runtime", runtime)
	if id != "" {
		h.w.Value("container.id", id)
	}
	for _, f := range [][2]string{
		{"env.nvidia_visible_devices", "NVIDIA_VISIBLE_DEVICES"}, {"env.nvidia_driver_capabilities", "NVIDIA_DRIVER_CAPABILITIES"},
		{"env.cuda_visible_devices", "CUDA_VISIBLE_DEVICES"},
	} {
		v, ok := env[f[1]]
		if ok && v == "" && f[1] != "NVIDIA_DRIVER_CAPABILITIES" { // which means its default
			v = "none"
		}
		if v != "" {
			h.w.Value(f[0], v)
		}
	}
	if s, err := h.read("/proc/self/status"); err == nil {
		if mask, err := strconv.ParseUint(statusField(s, "CapEff"), 16, 64); err == nil {
			h.w.Value("container.capabilities", capabilities(mask))
		}
	}
	if !h.outside {
		h.deviceRules()
	}
}

// environ is the environment that this process was started with.
func (t tree) environ() map[string]string {
	out := map[string]string{}
	s, err := t.read("/proc/self/environ")
	if err != nil {
		return out
	}
	for e := range strings.SplitSeq(s, "\x00") {
		if k, v, ok := strings.Cut(e, "="); ok {
			out[k] = v
		}
	}
	return out
}

// container tells the runtime from the marks that each leaves.
func (h *prober) container(env map[string]string) (runtime, id string) {
	own, _ := h.read("/proc/self/cgroup")
	o := parseCgroup(own)
	switch {
	case env["KUBERNETES_SERVICE_HOST"] != "" || o.Pod != "":
		return "kubernetes", o.Container
	case o.Container != "":
		return o.Runtime, o.Container
	case h.exists("/.dockerenv"):
		return "docker", ""
	case h.exists("/run/.containerenv"):
		return "podman", ""
	}
	if s, err := h.read("/run/systemd/container"); err == nil && s != "" {
		return s, ""
	}
	if kind := rootLayers(h); kind != "" {
		return kind, ""
	}
	return "none", ""
}

// rootLayers looks whether / is the stack of layers of an image.
func rootLayers(h *prober) string {
	s, err := h.read("/proc/self/mounts")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		if len(f) < 4 || f[1] != "/" || f[2] != "overlay" {
			continue
		}
		for _, k := range [][2]string{
			{"/docker/", "docker"}, {"containerd", "containerd"}, {"/containers/storage/", "podman"}, {"buildkit", "docker"}, {"/enroot", "enroot"},
		} {
			if strings.Contains(f[3], k[0]) {
				return k[1]
			}
		}
	}
	return ""
}

// deviceRules looks whether the container's control group refuses the GPUs. Version 1
// lists its rules; version 2 keeps them in a program, so only an attempt tells.
func (h *prober) deviceRules() {
	if s, err := h.read("/sys/fs/cgroup/devices/devices.list"); err == nil {
		h.w.Value("container.devices.allowed", allowsNVIDIA(s))
		return
	}
	if h.Quick || !h.live() || !isDevice(h.at("/dev/nvidiactl")) {
		h.w.Absent("container.devices.allowed", "the rules are not readable")
		return
	}
	_, err := guarded(h.tree, "/dev", func() (struct{}, error) { return struct{}{}, openDevice(h.at("/dev/nvidiactl")) })
	switch {
	case err == nil:
		h.w.Value("container.devices.allowed", true)
	case errors.Is(err, syscall.EPERM): // the mode alone would give EACCES
		h.w.Noted("container.devices.allowed", false, "open /dev/nvidiactl: operation not permitted")
	case errors.Is(err, fs.ErrPermission):
		h.w.Absent("container.devices.allowed", "no permission to open /dev/nvidiactl")
	default:
		h.w.Absent("container.devices.allowed", "open /dev/nvidiactl: "+err.Error())
	}
}

// allowsNVIDIA reads "c 195:* rw" lines of a version 1 control group: 195 is the
// driver's major number.
func allowsNVIDIA(list string) bool {
	for line := range strings.Lines(list) {
		f := strings.Fields(line)
		if len(f) != 3 || !strings.ContainsAny(f[2], "rw") {
			continue
		}
		if f[0] == "a" || f[0] == "c" && (strings.HasPrefix(f[1], "195:") || strings.HasPrefix(f[1], "*:")) {
			return true
		}
	}
	return false
}

// capabilityBits are those that matter to GPU work, by number.
var capabilityBits = map[int]string{
	1: "dac_override", 12: "net_admin", 14: "ipc_lock", 16: "sys_module", 17: "sys_rawio", 19: "sys_ptrace", 21: "sys_admin",
	22: "sys_boot", 23: "sys_nice", 24: "sys_resource", 27: "mknod", 34: "syslog", 38: "perfmon",
}

func capabilities(mask uint64) string {
	var out []string
	for n, name := range capabilityBits {
		if mask&(1<<n) != 0 {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return "none"
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}
