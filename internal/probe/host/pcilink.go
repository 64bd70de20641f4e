package host

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A link is one end's view of a PCIe link; 0 is unknown.
type link struct {
	gts, maxGTs     float64
	width, maxWidth int
}

// linkOf reads the four files of a device. A device that does not answer reads as ones:
// 63 lanes and "Unknown".
func (h *prober) linkOf(dir string) link {
	speed := func(name string) float64 {
		s, _ := h.read(path.Join(dir, name))
		return speedOf(s)
	}
	lanes := func(name string) int {
		n, err := h.number(path.Join(dir, name))
		if err != nil || n < 1 || n > 32 {
			return 0
		}
		return int(n)
	}
	return link{speed("current_link_speed"), speed("max_link_speed"), lanes("current_link_width"), lanes("max_link_width")}
}

// speedOf reads "16.0 GT/s PCIe".
func speedOf(s string) float64 {
	f, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	v, err := strconv.ParseFloat(f, 64)
	if err != nil || v <= 0 || v > 1024 {
		return 0
	}
	return v
}

var generations = map[float64]int{2.5: 1, 5: 2, 8: 3, 16: 4, 32: 5, 64: 6, 128: 7}

// lesser is the smaller of two capabilities, of which one may be unknown.
func lesser[T int | float64](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// link2 writes the link between the GPU and the port above it. The maximum is the
// lesser of both ends' own: a slot with fewer lanes is no fault.
func (h *prober) link2(d device) {
	l := h.linkOf(d.dir)
	var up link
	if len(d.above) > 0 {
		up = h.linkOf(h.deviceDir(d.above[0]))
	}
	if l.width == 0 && l.gts == 0 {
		h.w.Absent("pcie.link.width.current", "no current_link_width of this device")
		h.w.Absent("pcie.link.gen.current", "no current_link_speed of this device")
		return
	}
	put := func(key string, n int) {
		if n > 0 {
			h.w.Value(key, n)
		}
	}
	put("pcie.link.width.current", l.width)
	put("pcie.link.width.max", lesser(l.maxWidth, up.maxWidth))
	put("pcie.link.gen.current", generations[l.gts])
	put("pcie.link.gen.max", generations[lesser(l.maxGTs, up.maxGTs)])
	put("pcie.link.gen.device_max", generations[l.maxGTs])
	put("pcie.link.gen.host_max", generations[up.maxGTs])
}

// port writes what a bridge above a GPU says.
func (h *prober) port(dir string, root bool) {
	h.w.Value("device.kind", "port")
	l := h.linkOf(dir)
	put := func(key string, v float64) {
		if v > 0 {
			h.w.Value(key, v)
		}
	}
	put("pcie.port.speed.gts", l.gts)
	put("pcie.port.speed.max.gts", l.maxGTs)
	put("pcie.port.width", float64(l.width))
	put("pcie.port.width.max", float64(l.maxWidth))
	h.acs(dir)
	h.aer(dir)
	if root {
		for _, kind := range []string{"cor", "fatal", "nonfatal"} {
			if n, err := h.number(path.Join(dir, "aer_rootport_total_err_"+kind)); err == nil {
				h.w.Value("pcie.aer.root."+kind, n)
			}
		}
	}
}

// aerFiles are the kernel's counters of a device since it was found, by severity.
var aerFiles = []struct{ name, key string }{
	{"aer_dev_correctable", "pcie.aer.correctable"},
	{"aer_dev_nonfatal", "pcie.aer.nonfatal"},
	{"aer_dev_fatal", "pcie.aer.fatal"},
}

// linkBits are the correctable errors of the wire; the others are advisory.
var linkBits = []string{"rxerr", "badtlp", "baddllp", "rollover", "timeout"}

// aer writes the counters of Advanced Error Reporting. They have no time: what counts
// is the kind of an uncorrectable error and the rate of correctable ones of the wire.
func (h *prober) aer(dir string) {
	for _, f := range aerFiles {
		s, err := h.read(path.Join(dir, f.name))
		if err != nil {
			failed(h.w, f.key+".total", f.name, err)
			continue
		}
		counts, total, ok := parseAER(s)
		if !ok {
			h.w.Unknown(f.key+".total", "unknown error", "read "+f.name+": no counters in it")
			continue
		}
		h.w.Value(f.key+".total", total)
		if bits := nonzero(counts); len(bits) > 0 {
			h.w.Value(f.key+".bits", strings.Join(bits, "|"))
		}
		if f.key != "pcie.aer.correctable" {
			continue
		}
		var wire uint64
		for _, b := range linkBits {
			wire += counts[b]
		}
		h.w.Value("pcie.aer.correctable.link", wire)
		if h.uptime > 0 {
			// A burst at power-on must not look like a rate.
			h.w.Value("pcie.aer.correctable.link.per_hour", int64(float64(wire)/max(1, h.uptime/3600)))
		}
	}
}

func nonzero(counts map[string]uint64) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		if counts[k] > 0 {
			out = append(out, k)
		}
	}
	return out
}

// parseAER reads "RxErr 0" lines up to "TOTAL_ERR_COR 0". Names are in lower case.
func parseAER(s string) (counts map[string]uint64, total uint64, ok bool) {
	counts = map[string]uint64{}
	sum, stated := uint64(0), false
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		if len(f) != 2 {
			continue
		}
		n, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil {
			continue
		}
		if strings.HasPrefix(f[0], "TOTAL_ERR_") {
			total, stated = n, true
			continue
		}
		counts[strings.ToLower(f[0])] = n
		sum += n
		ok = true
	}
	if !stated {
		total = sum
	}
	return counts, total, ok || stated
}
