package scan

import (
	"path"
	"strings"

	"github.com/gpumedic/gpumedic/internal/frame"
	"github.com/gpumedic/gpumedic/internal/source"
)

// Kinds of the sections of a bug report that are no kind of a whole input.
const (
	kindHeader  = "header"
	kindPCI     = "lspci"
	kindXorg    = "xorg"
	kindSystemd = "systemd"
	kindSysfs   = "sysfs"
	kindProcfs  = "procfs"
	kindConfig  = "config"
	kindBinary  = "binary" // base64 of something: there are no lines in it
	kindAbsent  = "absent" // the script says that it has nothing
)

// part is a section of a bug report: the output of one command or one file.
type part struct {
	name   string // as reports show it: dmesg, nvidia-smi, /proc/iomem
	kind   string
	origin frame.Origin
	line   int // where it begins
	// logs says that it holds excerpts of several logs, each below its name.
	logs bool
}

const (
	reportStart = "Start of NVIDIA bug report"
	reportEnd   = "End of NVIDIA bug report"
	kernelLogs  = "Scanning kernel log files"
	// maxPartName is enough for the names of the script's files and commands.
	maxPartName = 48
)

// isBanner recognises the line between two sections: 44 underscores in all versions.
func isBanner(row []byte) bool {
	row = trimEOL(row)
	if len(row) < 40 || len(row) > 50 {
		return false
	}
	for _, c := range row {
		if c != '_' {
			return false
		}
	}
	return true
}

// isLogName recognises the name of an excerpt in the section of kernel logs:
// "  /var/log/kern.log:" or "  journalctl -b -0:".
func isLogName(row []byte) bool {
	name, ok := strings.CutSuffix(string(trimEOL(row[:min(len(row), 128)])), ":")
	name, indented := strings.CutPrefix(name, "  ")
	return ok && indented && (strings.HasPrefix(name, "/") || strings.HasPrefix(name, "journalctl -b")) && !strings.Contains(name, ": ")
}

// partOf tells what a section is by its title: "*** /proc/iomem" (before 2010 without the
// stars), "/usr/bin/nvidia-smi --query", "dmesg:", "journalctl -b -0 _COMM=Xorg".
func partOf(title string) part {
	title = strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(title), "*** ")), ":")
	p := part{name: title, kind: source.KindUnknown}
	if len(p.name) > maxPartName {
		p.name = strings.ToValidUTF8(p.name[:maxPartName], "") + "…"
	}
	word, rest, _ := strings.Cut(title, " ")
	if program := path.Base(word); strings.HasPrefix(word, "/") && isProgram(word) {
		p.name = program
		p.program(program, rest)
		return p
	}
	switch {
	case strings.HasPrefix(title, reportStart):
		p.name, p.kind = "header", kindHeader
	case strings.HasPrefix(title, kernelLogs):
		p.name, p.kind, p.logs = "kernel logs", source.KindKernlog, true
	case strings.HasPrefix(title, "Skipping"), strings.HasSuffix(title, " does not exist"), strings.HasSuffix(title, " is not readable"), strings.HasSuffix(title, " not found)"):
		p.kind = kindAbsent
	case strings.HasPrefix(word, "/sys/"):
		p.kind = kindSysfs
	case strings.HasPrefix(word, "/proc/"):
		p.kind = kindProcfs
	case strings.HasPrefix(word, "/etc/"), strings.HasPrefix(word, "/home/"), strings.HasPrefix(word, "/root/"), strings.HasPrefix(word, "/usr/share/"):
		p.kind = kindConfig
	case strings.HasPrefix(word, "/var/log/Xorg."), strings.HasPrefix(word, "/var/log/XFree86."):
		p.kind, p.origin = kindXorg, frame.Service
	case word == "/var/log/messages", strings.HasPrefix(word, "/var/log/kern"), strings.HasPrefix(word, "/var/log/syslog"):
		p.kind = source.KindKernlog
	case word == "/var/log/dmesg":
		p.kind, p.origin = source.KindKernlog, frame.Kernel
	default:
		p.program(word, rest)
	}
	return p
}

// isProgram tells the path of a program from that of a file that is printed.
func isProgram(file string) bool {
	dir := path.Dir(file)
	return strings.HasSuffix(dir, "/bin") || strings.HasSuffix(dir, "/sbin")
}

// program knows the commands whose output is in a report.
func (p *part) program(name, args string) {
	switch name {
	case "dmesg":
		p.kind, p.origin = source.KindKernlog, frame.Kernel
	case "journalctl":
		p.kind = source.KindKernlog
	case "nvidia-smi":
		p.kind = source.KindSMI
	case "lspci":
		p.kind = kindPCI
	case "systemctl":
		p.kind = kindSystemd
	case "base64", "nvidia-debugdump", "acpidump":
		p.kind = kindBinary
	}
}
