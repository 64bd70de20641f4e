package host

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"path"
	"strconv"
	"strings"
)

// config says whether the device answers: configuration space of a device that is gone
// reads as ones.
func (h *prober) config(d device) {
	name := path.Join(d.dir, "config")
	b, err := h.head(name, 64)
	switch {
	case err != nil:
		failed(h.w, "pci.config", "config", err)
	case len(b) < 4:
		h.w.Unknown("pci.config", "unknown error", "read config: "+strconv.Itoa(len(b))+" bytes")
	case allOnes(b[:4]):
		h.w.Noted("pci.config", "unreadable", "configuration space reads as ones")
	default:
		h.w.Value("pci.config", "ok")
	}
}

func allOnes(b []byte) bool {
	for _, c := range b {
		if c != 0xff {
			return false
		}
	}
	return len(b) > 0
}

const (
	capACS      = 0x000d
	acsRedirect = 1<<2 | 1<<3 // P2P request and completion redirect
)

var (
	errNoCap  = errors.New("no such capability")
	errNoExt  = errors.New("extended configuration space is not readable: only root may")
	errBadCap = errors.New("capability list is damaged")
)

// extendedCap finds an extended capability in a device's configuration space.
func extendedCap(config []byte, id uint16) (offset int, err error) {
	const first, space = 0x100, 0x1000
	if len(config) < first+4 {
		return 0, errNoExt
	}
	at := first
	for range (space - first) / 4 { // no list is longer
		if at < first || at+4 > len(config) {
			return 0, errBadCap
		}
		head := binary.LittleEndian.Uint32(config[at:])
		if head == 0 || head == 0xffffffff {
			return 0, errNoCap
		}
		if uint16(head) == id {
			return at, nil
		}
		at = int(head >> 20)
		if at == 0 {
			return 0, errNoCap
		}
	}
	return 0, errBadCap
}

// acsRedirects reads ACS control: whether a port sends peer traffic upwards.
func acsRedirects(config []byte) (bool, error) {
	at, err := extendedCap(config, capACS)
	if err != nil {
		return false, err
	}
	if at+8 > len(config) {
		return false, errBadCap
	}
	return binary.LittleEndian.Uint16(config[at+6:])&acsRedirect != 0, nil
}

func (h *prober) acs(dir string) {
	b, err := h.head(path.Join(dir, "config"), 4096)
	if err != nil {
		failed(h.w, "pcie.acs.redirect", "config", err)
		return
	}
	on, err := acsRedirects(b)
	if err != nil {
		h.w.Absent("pcie.acs.redirect", err.Error())
		return
	}
	h.w.Value("pcie.acs.redirect", on)
}

// A bar is one line of a device's resource file.
type bar struct{ start, end, flags uint64 }

// Flags of the kernel's include/linux/ioport.h: a memory window, and one without an address.
const (
	ioMem   = 0x00000200
	ioMem64 = 0x00100000
	ioUnset = 0x20000000
)

func (b bar) size() uint64 {
	if b.end <= b.start {
		return 0
	}
	return b.end - b.start + 1
}

func parseResource(s string) []bar {
	var out []bar
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		if len(f) != 3 {
			break
		}
		var v [3]uint64
		for i := range v {
			n, err := strconv.ParseUint(f[i], 0, 64)
			if err != nil {
				return out
			}
			v[i] = n
		}
		out = append(out, bar{v[0], v[1], v[2]})
	}
	return out
}

// bars writes the size of the window to the GPU's memory (BAR1), windows without an
// address, and to what BAR1 could be enlarged.
func (h *prober) bars(d device) {
	s, err := h.read(path.Join(d.dir, "resource"))
	if err != nil {
		failed(h.w, "pci.bar1.mib", "resource", err)
		return
	}
	list := parseResource(s)
	// BAR1 is the second window; from Hopper on BAR0 has 64 bits and takes two places.
	second := 1
	if len(list) > 0 && list[0].flags&ioMem64 != 0 {
		second = 2
	}
	if second < len(list) && list[second].size() > 0 {
		h.w.Value("pci.bar1.mib", list[second].size()>>20)
	}
	for i, b := range list {
		if i < 6 && b.flags&ioUnset != 0 && b.flags&ioMem != 0 { // the I/O window is not needed
			h.w.Value("pci.bar.unassigned", "BAR "+strconv.Itoa(i))
			break
		}
	}
	// The file holds a bit for each size that the board offers, bit 0 = 1 MiB.
	if s, err := h.read(path.Join(d.dir, "resource"+strconv.Itoa(second)+"_resize")); err == nil {
		if mask, err := strconv.ParseUint(strings.TrimSpace(s), 16, 64); err == nil && mask != 0 {
			h.w.Value("pci.bar1.resizable.max.mib", uint64(1)<<(bits.Len64(mask)-1))
		}
	}
}
