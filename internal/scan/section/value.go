package section

import (
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// na is the one spelling of "the tool has no value here": absent, never a fault.
const na = "N/A"

// absent are the tools' spellings of it.
var absent = map[string]bool{
	"": true, "n/a": true, "-": true, "not supported": true, "not available": true, "n/a n/a": true,
	"requested functionality has been deprecated": true, "deprecated": true, "not applicable": true,
	"insufficient permissions": true, "not found": true, "not active n/a": true, "function not found": true,
	"argument version mismatch": true, "no permission": true,
}

// Error words stand where a value should be: the driver could not read it.
const (
	errValue   = "err!"
	errUnknown = "unknown error"
	errLost    = "gpu is lost"
	errReset   = "gpu requires reset"
)

// isError reports whether a value is one of the error words.
func isError(v string) bool {
	return v == errValue || v == errUnknown || v == errLost || v == errReset
}

var number = lazyre.New(`^([-+]?\d+(?:\.\d+)?)\s*(%|[a-zA-Z/()µ]*)\*?$`)

// textKeys keep the tool's own spelling and case.
var textKeys = map[string]bool{
	"name": true, "uuid": true, "serial": true, "pci": true, "vbios.version": true, "pstate": true,
	"driver.version": true, "cuda.version": true, "kmd.version": true, "smi.version": true, "nvml.version": true,
	"gsp.version": true, "process.name": true, "timestamp": true, "board.part_number": true, "mig.uuid": true,
	"inforom.image": true, "unit": true, "unit.description": true, "ib.device": true, "ib.ca_type": true,
	"mount": true, "source": true, "user": true, "event.sensor": true, "test.name": true, "test.message": true,
	"kernel_module.version": true, "kernel_module.disk.version": true, "kernel_module.vermagic": true, "kernel_module.built_for": true,
	"kernel_module.file": true, "kernel_module.taint": true, "kernel.version": true, "toolkit.version": true, "library.nvml.version": true,
	"library.cuda.version": true, "service.fabricmanager.version": true, "host.boot_time": true, "host.edac.dimm": true,
	"process.container": true, "process.unit": true, "process.stuck.in": true, "container.id": true,
	"env.nvidia_visible_devices": true, "env.nvidia_driver_capabilities": true, "env.cuda_visible_devices": true,
	"lspci.class": true, "lspci.device": true, "bar.holder": true, "event.time": true, "dcgm.message": true,
	"nvlink.version": true, "probe.timeout": true, "probe.timeout.wait": true, "probe.timeout.state": true, "probe.timeout.stack": true,
}

// normal brings a value to its normal form for its name.
func normal(key, raw string) string {
	v := strings.TrimSpace(raw)
	if strings.HasPrefix(v, "[") && strings.HasSuffix(v, "]") {
		v = strings.TrimSpace(v[1 : len(v)-1])
	}
	low := strings.ToLower(v)
	if absent[low] || strings.HasPrefix(low, "deprecated,") {
		return na
	}
	switch {
	case low == "err!" || low == "error" || strings.HasPrefix(low, "err!"):
		return errValue
	case strings.HasPrefix(low, "unknown error"):
		return errUnknown
	case strings.Contains(low, "gpu is lost"):
		return errLost
	case strings.Contains(low, "requires reset"):
		return errReset
	}
	if i := strings.Index(v, " [Deprecated"); i > 0 {
		v = v[:i] // 610: "610.57.04 [Deprecated; will be removed …]"
		low = strings.ToLower(v)
	}
	if key == "pci" {
		if p := gpumedic.NormalPCI(v); p != "" {
			return p
		}
		return na
	}
	if key == "recovery_action" {
		return recovery(low)
	}
	if textKeys[key] {
		return v
	}
	if m := number.FindStringSubmatch(v); m != nil {
		return scaled(key, m[1], m[2])
	}
	return low
}

// recovery names the driver's recovery action as the driver's Xid 154 does.
func recovery(low string) string {
	has := func(s string) bool { return strings.Contains(low, s) }
	switch {
	case has("none"):
		return "none"
	case has("drain") && has("p2p"):
		return "drain_p2p"
	case has("drain"):
		return "drain_reset"
	case has("imex"):
		return "recover_imex"
	case has("reboot"):
		return "reboot"
	case has("reset"):
		return "reset"
	}
	return low
}

// scaled drops the unit of a number; sizes become MiB, which the names promise.
func scaled(key, num, unit string) string {
	factor := 1.0
	if strings.HasSuffix(key, ".mib") {
		switch strings.ToLower(unit) {
		case "kib", "kb":
			factor = 1.0 / 1024
		case "gib", "gb":
			factor = 1024
		case "tib":
			factor = 1024 * 1024
		}
	}
	f, err := strconv.ParseFloat(num, 64)
	if err != nil {
		return num
	}
	if factor == 1 && !strings.HasPrefix(num, "+") && !strings.Contains(num, ".") {
		return num // keep counters of any length exact
	}
	return strconv.FormatFloat(f*factor, 'f', -1, 64)
}

// num reads a normalised value as a number.
func num(v string) (float64, bool) {
	f, err := strconv.ParseFloat(v, 64)
	return f, err == nil
}

// A builder gathers the readings of one subject.
type builder struct{ Readings }

func newSet(tool string) *builder {
	return &builder{Readings{Tool: tool, Values: map[string]Reading{}}}
}

// put adds a reading; the first value of a name stays.
func (b *builder) put(key, raw string, line int, text string) {
	if key == "" {
		return
	}
	if old, dup := b.Values[key]; dup && old.Value != na {
		return
	}
	v := normal(key, raw)
	b.Values[key] = Reading{Key: key, Value: v, Line: line, Text: text}
	b.identify(key, v)
}

// identify lets readings that are names of the GPU name the subject too.
func (b *builder) identify(key, v string) {
	if v == na || isError(v) {
		return
	}
	g := &b.Subject.GPU
	switch key {
	case "pci":
		g.PCI = v
	case "uuid":
		if realID(v) {
			g.UUID = v
		}
	case "serial":
		if strings.Trim(v, "0") != "" {
			g.Serial = v
		}
	case "index":
		g.Index = smallInt(v)
	case "minor":
		g.Minor = smallInt(v)
	}
}

// realID rejects UUIDs whose digits were zeroed before the output was shared: they
// would join every GPU with every other.
func realID(uuid string) bool {
	return strings.HasPrefix(uuid, "GPU-") && strings.Trim(uuid[4:], "0-") != ""
}

func smallInt(s string) *int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 4095 {
		return nil
	}
	return &n
}

// has reports a reading with a value.
func (b *builder) has(key string) bool {
	r, ok := b.Values[key]
	return ok && r.Value != na
}

func (b *builder) empty() bool { return len(b.Values) == 0 }

// Unreadable reports whether a value says that the driver could not read it.
func Unreadable(value string) bool { return isError(value) }
