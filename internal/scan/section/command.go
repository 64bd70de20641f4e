package section

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// Command is a shell command as a transcript shows it above its output. It names
// what the output itself may not: the GPU that was asked for, the columns of a CSV
// without a header, the unit of a status.
type Command struct {
	Tool string   // nvidia-smi, lspci, …
	Args []string // words up to the first pipe
	GPU  gpumedic.GPU
	// Query holds the columns of --query-gpu and its sisters.
	Query []string
	// Form is the query's kind: gpu, compute-apps, retired-pages, remapped-rows.
	Form string
}

// commandStarts are the words that make a line worth a look as a command line.
var commandStarts = []string{
	"nvidia-smi ", "lspci ", "systemctl status", "fuser ", "lsof ", "ulimit -", "cat /proc/driver/nvidia",
	"dcgmi ", "ibstat", "cat /proc/iomem", "/proc/iomem", "ipmitool", "free -",
}

// toolNames keep the expression below from being tried on every line.
var toolNames = []string{
	"nvidia-smi", "lspci", "systemctl", "fuser", "lsof", "ulimit", "cat ", "dcgmi", "ibstat", "ipmitool", "free", "df ", "nvcc",
	"modinfo", "== /",
}

var commandLine = lazyre.New(`^(?:.{0,80}?[$#%>+❯])?\s*(?:(?:sudo|time|watch|timeout)(?: -\S+)*(?: \d\S*)? )*(?:\S*/)?(nvidia-smi|lspci|systemctl|fuser|lsof|ulimit|cat|dcgmi|ibstat|ibstatus|ipmitool|free|df|nvcc|modinfo)(?: (.*))?$`)

// ParseCommand reads a command line with or without a prompt before it.
func ParseCommand(line string) (Command, bool) {
	if len(line) > 1000 || !containsAny(line, toolNames) {
		return Command{}, false
	}
	line = strings.TrimSpace(line)
	rest, ok := strings.CutPrefix(line, "== ")
	if !ok {
		rest, ok = strings.CutPrefix(line, "*** ")
	}
	if ok {
		// Bug reports head a file with "*** /proc/iomem" (some collectors "== ").
		if strings.HasPrefix(rest, "/") && !strings.Contains(rest, " ") {
			return Command{Tool: "cat", Args: []string{rest}}, true
		}
	}
	m := commandLine.FindStringSubmatch(line)
	if m == nil {
		return Command{}, false
	}
	cmd := Command{Tool: m[1]}
	if !promptBefore(line, m[1]) && !looksLikeArgs(cmd.Tool, m[2]) {
		return Command{}, false
	}
	for _, w := range strings.Fields(m[2]) {
		if w == "|" || strings.HasPrefix(w, "|") || w == ";" || w == "&&" || strings.HasPrefix(w, ">") {
			break
		}
		cmd.Args = append(cmd.Args, strings.Trim(w, `"'`))
	}
	cmd.readArgs()
	return cmd, true
}

// promptBefore reports whether something like a prompt stands before the tool.
func promptBefore(line, tool string) bool {
	i := strings.Index(line, tool)
	return i > 0 && strings.ContainsAny(line[:i], "$#%>+❯")
}

// looksLikeArgs keeps prose ("nvidia-smi says that …", "free memory") from being
// taken for a command: without a prompt the first word must look like an argument.
func looksLikeArgs(tool, rest string) bool {
	f := strings.Fields(rest)
	if len(f) == 0 {
		return tool == "nvidia-smi" || tool == "ibstat" || tool == "ibstatus"
	}
	if strings.HasPrefix(f[0], "-") {
		return true
	}
	switch tool {
	case "nvidia-smi":
		return f[0] == "nvlink" || f[0] == "topo" || f[0] == "dmon" || f[0] == "pmon"
	case "systemctl":
		return f[0] == "status"
	case "dcgmi":
		return f[0] == "diag" || f[0] == "health" || f[0] == "nvlink"
	case "cat":
		return strings.HasPrefix(f[0], "/proc/")
	case "ipmitool":
		return f[0] == "sel"
	}
	return false
}

func (c *Command) readArgs() {
	for i, a := range c.Args {
		next := ""
		if i+1 < len(c.Args) {
			next = c.Args[i+1]
		}
		name, value, eq := strings.Cut(a, "=")
		if !eq {
			value = next
		}
		switch {
		case c.Tool == "nvidia-smi" && (name == "-i" || name == "--id"):
			c.GPU = gpuNamed(value)
		case c.Tool == "lspci" && name == "-s":
			c.GPU.PCI = gpumedic.NormalPCI(value)
		case c.Tool == "lspci" && strings.HasPrefix(a, "-") && strings.HasSuffix(a, "s"): // -vvs ADDR
			c.GPU.PCI = gpumedic.NormalPCI(next)
		case strings.HasPrefix(name, "--query-"):
			c.Form = strings.TrimPrefix(name, "--query-")
			c.Query = strings.Split(value, ",")
		}
	}
}

// gpuNamed reads what nvidia-smi -i accepts: index, UUID, PCI address; of a list
// nothing, since the output then speaks of several.
func gpuNamed(s string) gpumedic.GPU {
	if n, err := strconv.Atoi(s); err == nil && n >= 0 && n < 1024 {
		return gpumedic.GPU{Index: &n}
	}
	if strings.HasPrefix(s, "GPU-") {
		return gpumedic.GPU{UUID: s}
	}
	return gpumedic.GPU{PCI: gpumedic.NormalPCI(s)}
}

// commandAbove looks for the command a few lines up, for a scan that came upon the
// middle of an excerpt.
func commandAbove(lines Lines) (Command, bool) {
	for i := -1; i >= -4; i-- {
		s, ok := lines.Line(i)
		if !ok {
			break
		}
		if cmd, ok := ParseCommand(clean(s)); ok {
			return cmd, true
		}
	}
	return Command{}, false
}

func (c Command) has(arg string) bool { return slices.Contains(c.Args, arg) }

// smi reports a call of nvidia-smi with one of these first words ("" = no
// subcommand, a plain call or -q).
func (c Command) smi(sub ...string) bool {
	if c.Tool != "nvidia-smi" {
		return false
	}
	first := ""
	if len(c.Args) > 0 {
		first = c.Args[0]
	}
	return slices.Contains(sub, first)
}
