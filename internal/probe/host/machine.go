package host

import (
	"path"
	"strconv"
	"strings"
	"time"
)

// node writes what the rest needs to know of the machine and the kernel.
func (h *prober) node() {
	h.about("node", "")
	if s, err := h.read("/proc/sys/kernel/osrelease"); err == nil {
		h.w.Value("kernel.version", s)
	} else {
		failed(h.w, "kernel.version", "/proc/sys/kernel/osrelease", err)
	}
	if s, err := h.read("/proc/uptime"); err == nil {
		f, _, _ := strings.Cut(s, " ")
		if v, err := strconv.ParseFloat(f, 64); err == nil && v > 0 {
			h.uptime = v
			h.w.Value("host.uptime.seconds", int64(v))
		}
	}
	if t, ok := h.bootTime(); ok {
		h.w.Value("host.boot_time", t.UTC().Format(time.RFC3339))
	}
	if s, err := h.read("/sys/devices/system/clocksource/clocksource0/current_clocksource"); err == nil {
		h.w.Value("host.clocksource", s)
	}
	if n, err := h.number("/proc/sys/kernel/tainted"); err == nil {
		h.w.Value("kernel.tainted", n)
	}
	if n, err := h.number("/proc/sys/kernel/numa_balancing"); err == nil {
		h.w.Value("host.numa_balancing", n != 0)
	}
	h.secureBoot()
}

// bootTime reads btime of /proc/stat.
func (t tree) bootTime() (time.Time, bool) {
	s, err := t.read("/proc/stat")
	if err != nil {
		return time.Time{}, false
	}
	for line := range strings.Lines(s) {
		if v, ok := strings.CutPrefix(line, "btime "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			return time.Unix(n, 0), err == nil && n > 0
		}
	}
	return time.Time{}, false
}

// secureBoot reads the firmware's variable: four bytes of attributes, then the value.
func (h *prober) secureBoot() {
	const name = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
	b, err := h.head(name, 5)
	switch {
	case err != nil:
		h.w.Absent("kernel.secure_boot", "no EFI variable SecureBoot is readable")
	case len(b) < 5:
		h.w.Absent("kernel.secure_boot", "the EFI variable SecureBoot is short")
	case b[4] == 1:
		h.w.Value("kernel.secure_boot", "enabled")
	default:
		h.w.Value("kernel.secure_boot", "disabled")
	}
}

// memory writes the host's memory, its errors and how often it ran out.
func (h *prober) memory() {
	h.about("node", "")
	if s, err := h.read("/proc/meminfo"); err == nil {
		kib := colonNumbers(s)
		for _, f := range [][2]string{
			{"host.memory.total.mib", "MemTotal"}, {"host.memory.free.mib", "MemFree"}, {"host.memory.available.mib", "MemAvailable"},
			{"host.memory.shared.mib", "Shmem"}, {"host.swap.total.mib", "SwapTotal"}, {"host.swap.free.mib", "SwapFree"},
		} {
			if n, ok := kib[f[1]]; ok {
				h.w.Value(f[0], n>>10)
			}
		}
	} else {
		failed(h.w, "host.memory.total.mib", "/proc/meminfo", err)
	}
	if s, err := h.read("/proc/vmstat"); err == nil {
		for line := range strings.Lines(s) {
			if v, ok := strings.CutPrefix(line, "oom_kill "); ok {
				h.w.Value("host.oom_kills", strings.TrimSpace(v))
			}
		}
	}
	if s, err := h.read("/proc/self/cgroup"); err == nil {
		if n, err := h.oomKills(parseCgroup(s).Path); err == nil {
			h.w.Value("host.cgroup.oom_kills", n)
		}
	}
	h.edac()
	h.machineChecks()
}

// colonNumbers reads "MemTotal:  131072 kB" lines.
func colonNumbers(s string) map[string]uint64 {
	out := map[string]uint64{}
	for line := range strings.Lines(s) {
		k, v, ok := strings.Cut(line, ":")
		f := strings.Fields(v)
		if !ok || len(f) == 0 {
			continue
		}
		if n, err := strconv.ParseUint(f[0], 10, 64); err == nil {
			out[k] = n
		}
	}
	return out
}

// oomKills reads how many processes of a control group the kernel has killed.
func (h *prober) oomKills(group string) (int, error) {
	s, err := h.read(path.Join("/sys/fs/cgroup", group, "memory.events"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(s) {
		if v, ok := strings.CutPrefix(line, "oom_kill "); ok {
			return strconv.Atoi(strings.TrimSpace(v))
		}
	}
	return 0, nil
}

// edac sums the memory controllers' counters and names the module that is worst.
func (h *prober) edac() {
	const dir = "/sys/devices/system/edac/mc"
	var ce, ue, worst int64
	controllers, label := 0, ""
	for _, mc := range h.list(dir) {
		if !strings.HasPrefix(mc, "mc") {
			continue
		}
		at := path.Join(dir, mc)
		c, err1 := h.number(path.Join(at, "ce_count"))
		u, err2 := h.number(path.Join(at, "ue_count"))
		if err1 != nil || err2 != nil {
			continue
		}
		controllers++
		ce, ue = ce+c, ue+u
		if c+u == 0 {
			continue
		}
		for _, name := range h.list(at) {
			if !strings.HasPrefix(name, "dimm") && !strings.HasPrefix(name, "rank") {
				continue
			}
			dc, _ := h.number(path.Join(at, name, "dimm_ce_count"))
			du, _ := h.number(path.Join(at, name, "dimm_ue_count"))
			if weight := dc + du<<32; weight > worst {
				worst = weight
				label, _ = h.read(path.Join(at, name, "dimm_label"))
			}
		}
	}
	if controllers == 0 {
		h.w.Absent("host.edac.ue", "no memory controller is watched by EDAC")
		return
	}
	h.w.Value("host.edac.ce", ce)
	h.w.Value("host.edac.ue", ue)
	if label != "" {
		h.w.Value("host.edac.dimm", label)
	}
}

// machineChecks counts machine check exceptions of all processors.
func (h *prober) machineChecks() {
	if h.Quick {
		return // /proc/interrupts is long on large machines
	}
	s, err := h.read("/proc/interrupts")
	if err != nil {
		return
	}
	for line := range strings.Lines(s) {
		v, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "MCE:")
		if !ok {
			continue
		}
		var sum uint64
		for _, f := range strings.Fields(v) {
			n, err := strconv.ParseUint(f, 10, 64)
			if err != nil {
				break
			}
			sum += n
		}
		h.w.Value("host.mce.exceptions", sum)
	}
}

// limits writes the limits of this process and of the named ones.
func (h *prober) limits() {
	s, err := h.read("/proc/self/limits")
	if err == nil {
		h.about("node", "")
		h.writeLimits("host.limit.", s)
	}
	for _, pid := range h.PIDs {
		name := path.Join("/proc", strconv.Itoa(pid), "limits")
		h.about("process", strconv.Itoa(pid))
		if s, err := h.read(name); err == nil {
			h.writeLimits("process.limit.", s)
		} else {
			failed(h.w, "process.limit.memlock.kib", name, err)
		}
	}
}

func (h *prober) writeLimits(prefix, s string) {
	l := parseLimits(s)
	if v, ok := l["Max locked memory"]; ok {
		if n, err := strconv.ParseUint(v, 10, 64); err == nil {
			v = strconv.FormatUint(n>>10, 10)
		}
		h.w.Value(prefix+"memlock.kib", v)
	}
	if v, ok := l["Max open files"]; ok {
		h.w.Value(prefix+"open_files", v)
	}
}

// parseLimits reads the soft limits of /proc/PID/limits: columns of fixed width.
func parseLimits(s string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(s) {
		if len(line) < 27 {
			continue
		}
		if f := strings.Fields(line[26:]); len(f) > 0 {
			out[strings.TrimSpace(line[:26])] = f[0]
		}
	}
	return out
}
