package frame

import "strings"

// plainStarts are the words with which messages of the kernel and of its drivers
// begin and which could be taken for a host or an identifier. By first byte, to
// look at few of them.
var plainStarts = func() (by [256][]string) {
	for _, s := range []string{
		"NVRM:", "nvidia:", "nvidia-nvswitch", "nvidia-modeset:", "nvidia-uvm:", "nvidia-nvlink:", "nvidia-peermem", "nvidia-gpu ",
		"nvidia-fs:", "nv_peer_mem", "nouveau ", "nova-core", "NovaCore", "[drm", "[Hardware Error]", "[UFW ", "[Firmware Bug]", "mce:", "EDAC ", "GHES:",
		"INFO: task ", "INFO: rcu", "Out of memory", "Memory cgroup out of memory", "oom-kill:", "oom_reaper:", "watchdog: BUG", "BUG:",
		"rcu:", "DMAR:", "DMAR-IR:", "AMD-Vi:", "AER:", "ACPI", "audit:", "Call Trace:", "CPU: ", "traps:", "RPC:", "Linux version ",
		"Kernel panic", "Command line:", "Kernel command line:", "usb ", "device ", "pci ", "pcieport ", "mlx5_core", "nvme ", "NMI ", "PM: ",
		"BAR ", "EXT4-fs", "XFS ", "Modules linked in", "RIP:", "__ratelimit:", "Lockdown:", "x86/", "vfio-pci ", "IPv6:", "TCP:", "Hardware name",
	} {
		by[s[0]] = append(by[s[0]], s)
	}
	return by
}()

// startsMessage reports whether s begins as messages of the kernel do, so that
// nothing more may be peeled from it.
func startsMessage(s string) bool {
	if s == "" {
		return false
	}
	for _, p := range plainStarts[s[0]] {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return startsDevice(s) || startsGHES(s)
}

// startsDistinct is the narrow form for what may follow a prefix of unknown form:
// messages that nothing but the kernel writes.
func startsDistinct(s string) bool {
	return s != "" && (startsDriver(s) || !decides(s[0]) && startsDevice(s))
}

// decides says that of the texts that begin with a byte only the forms of startsDriver
// count.
func decides(c byte) bool { return strings.IndexByte("N{EIOM", c) >= 0 }

// startsDriver is startsDistinct without the messages that begin with a device's name.
func startsDriver(s string) bool {
	switch s[0] {
	case 'N':
		return strings.HasPrefix(s, "NVRM: ")
	case 'n':
		if rest, ok := strings.CutPrefix(s, "nvidia-nvswitch"); ok {
			d := digits(rest, 3)
			return strings.HasPrefix(rest[d:], ": ")
		}
		for _, p := range [...]string{"nvidia-modeset: ", "nvidia-uvm: ", "nvidia-nvlink: ", "nvidia-peermem "} {
			if strings.HasPrefix(s, p) {
				return true
			}
		}
	case '{':
		return startsGHES(s)
	case 'm':
		if strings.HasPrefix(s, "mce: [Hardware Error]: ") {
			return true
		}
	case 'E':
		return strings.HasPrefix(s, "EDAC MC")
	case 'I':
		return strings.HasPrefix(s, "INFO: task ")
	case 'O':
		return strings.HasPrefix(s, "Out of memory: Kill")
	case 'M':
		return strings.HasPrefix(s, "Memory cgroup out of memory: Kill")
	}
	return false
}

// startsDevice recognises "driver 0000:3b:00.0" as dev_printk writes it: a driver's
// name, a PCI address and a colon, a blank or the end.
func startsDevice(s string) bool {
	n := 0
	for n < len(s) && n < 32 && (isAlnum(s[n]) || s[n] == '_' || s[n] == '-') {
		n++
	}
	if n == 0 || n >= len(s) || s[n] != ' ' || !isAlpha(s[0]) {
		return false
	}
	a := pciLen(s[n+1:])
	if a == 0 {
		return false
	}
	end := n + 1 + a
	return end == len(s) || s[end] == ':' || s[end] == ' '
}

// pciLen is the length of a full PCI address (domain:bus:device.function) at the
// start of s.
func pciLen(s string) int {
	d := 0
	for d < len(s) && d < 9 && isHexDigit(s[d]) {
		d++
	}
	if d < 4 || d > 8 || len(s) < d+8 {
		return 0
	}
	t := s[d : d+8]
	if t[0] == ':' && isHexDigit(t[1]) && isHexDigit(t[2]) && t[3] == ':' && isHexDigit(t[4]) && isHexDigit(t[5]) && t[6] == '.' && octal(t[7]) {
		return d + 8
	}
	return 0
}

func isHexDigit(c byte) bool { _, ok := hexVal(c); return ok }

// startsGHES recognises "{1}[Hardware Error]:" of firmware-first error reports.
func startsGHES(s string) bool {
	if len(s) < 4 || s[0] != '{' {
		return false
	}
	d := digits(s[1:], 9)
	return d > 0 && strings.HasPrefix(s[1+d:], "}[")
}
