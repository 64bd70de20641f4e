package section

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// derive adds the readings that follow from others: sums, comparisons with peers,
// whether the GPU was busy. Rules stay simple that way, and live sources get the
// same judgement. The sets given are not changed.
func derive(in []Readings) []Readings {
	sets := make([]Readings, len(in))
	for i, s := range in {
		values := make(map[string]Reading, len(s.Values)+8) // room for what is derived
		maps.Copy(values, s.Values)
		s.Values = values
		sets[i] = s
	}
	join(sets)
	for i := range sets {
		deriveOne(&sets[i])
	}
	peersOf(sets)
	return sets
}

// deriveOne adds what follows from the set alone.
func deriveOne(s *Readings) {
	sumECC(s, "uncorrected", "volatile")
	sumECC(s, "corrected", "volatile")
	sumECC(s, "uncorrected", "aggregate")
	sumECC(s, "corrected", "aggregate")
	if p, q := s.Values["retired_pages.single_bit"], s.Values["retired_pages.double_bit"]; p.Value != "" && q.Value != "" {
		a, ok1 := num(p.Value)
		b, ok2 := num(q.Value)
		if ok1 && ok2 {
			s.derived("retired_pages.total", strconv.Itoa(int(a+b)), q)
		}
	}
	deriveLink(s)
	if busy, r, ok := busyness(s); ok {
		s.derived("busy", gpumedic.YesNo(busy), r)
	}
	errorWords(s)
	if r, ok := s.Values["name"]; ok {
		s.derived("product.class", productClass(r.Value), r)
		s.derived("product.nvlink", gpumedic.YesNo(nvlinkBoard.MatchString(r.Value) && !noNVLink.MatchString(r.Value)), r)
	}
	if c, ok := num(s.Values["clocks.sm.mhz"].Value); ok {
		if m, ok := num(s.Values["clocks.max.sm.mhz"].Value); ok && m > 0 {
			s.derived("clocks.sm.share.percent", strconv.Itoa(int(c*100/m)), s.Values["clocks.sm.mhz"])
		}
	}
	if w, ok := num(s.Values["pcie.port.width"].Value); ok {
		if m, ok := num(s.Values["pcie.port.width.max"].Value); ok && w >= 1 && m > 0 {
			s.derived("pcie.port.width.share.percent", strconv.Itoa(int(w*100/m)), s.Values["pcie.port.width"])
		}
	}
	if n, k := s.Values["nvml.version"].Value, s.Values["driver.version"].Value; n != "" && k != "" && n != na && k != na {
		s.derived("driver.nvml_matches", gpumedic.YesNo(strings.HasPrefix(k, n)), s.Values["nvml.version"])
	}
}

func (r *Readings) derived(key, value string, from Reading) {
	if _, ok := r.Values[key]; !ok {
		r.Values[key] = Reading{Key: key, Value: value, Line: from.Line, Text: from.Text}
	}
}

// sumECC fills ecc.<what>.<span>.total. The sum stands on the line of the largest part.
func sumECC(s *Readings, what, span string) {
	prefix := "ecc." + what + "." + span + "."
	if _, ok := s.Values[prefix+"total"]; ok {
		return
	}
	total, best, any := 0.0, -1.0, false
	var from Reading
	for _, key := range eccParts(func(key string) string { return s.Values[key].Value }, prefix) {
		r := s.Values[key]
		v, _ := num(r.Value)
		any = true
		total += v
		if v > best {
			best, from = v, r
		}
	}
	if any && total < 1e15 {
		s.derived(prefix+"total", strconv.Itoa(int(total)), from)
	}
}

// eccParts are the readings below prefix that add up to the total. The parts of the
// SRAM count instead of its sum where they are given.
func eccParts(get func(key string) string, prefix string) []string {
	var out []string
	for _, part := range []string{"dram", "sram", "sram.parity", "sram.secded"} {
		if _, ok := num(get(prefix + part)); !ok {
			continue
		}
		if _, split := num(get(prefix + "sram.parity")); part == "sram" && split {
			continue
		}
		out = append(out, prefix+part)
	}
	return out
}

// ECCTotal is the number of memory errors of a kind (corrected, uncorrected) and span
// (volatile, aggregate): the driver's own total, or the sum of the parts that are given.
func ECCTotal(get func(key string) string, what, span string) (total float64, ok bool) {
	prefix := "ecc." + what + "." + span + "."
	if v, ok := num(get(prefix + "total")); ok {
		return v, true
	}
	for _, key := range eccParts(get, prefix) {
		v, _ := num(get(key))
		total, ok = total+v, true
	}
	return total, ok
}

// deriveLink settles the link's current and possible generation and the share of
// the width. The GPU's own current generation counts where the slot's is missing.
func deriveLink(s *Readings) {
	if _, ok := num(s.Values["pcie.link.gen.current"].Value); !ok {
		if r, ok := s.Values["pcie.link.gen.device_current"]; ok {
			r.Key = "pcie.link.gen.current"
			s.Values[r.Key] = r
		}
	}
	cur := s.Values["pcie.link.width.current"]
	w, ok1 := num(cur.Value)
	m, ok2 := num(s.Values["pcie.link.width.max"].Value)
	if ok1 && ok2 && w >= 1 && m >= 1 {
		s.derived("pcie.link.width.share.percent", strconv.Itoa(int(w*100/m)), cur)
	}
}

// busyness tells whether the GPU worked when it was read. Idle links and clocks are
// slow by design. A driver that holds a low performance state under "utilisation" of
// its video engines does so on purpose.
func busyness(s *Readings) (busy bool, from Reading, ok bool) {
	high := true
	if p := s.Values["pstate"]; len(p.Value) >= 2 {
		high = p.Value == "P0" || p.Value == "P1" || p.Value == "P2"
	}
	if r, found := s.Values["utilization.gpu.percent"]; found {
		if u, isNum := num(r.Value); isNum {
			return u >= 50 && high, r, true
		}
	}
	// With MIG there is no utilisation: power tells.
	for _, key := range []string{"power.draw.watts", "power.draw.average.watts", "power.draw.instant.watts"} {
		p, ok1 := num(s.Values[key].Value)
		for _, limit := range []string{"power.limit.enforced.watts", "power.limit.watts"} {
			l, ok2 := num(s.Values[limit].Value)
			if ok1 && ok2 && l > 0 && s.Values["pstate"].Value != "" {
				return high && p >= l/2, s.Values[key], true
			}
		}
	}
	return false, Reading{}, false
}

// errorWords counts values that are error words. Fan and power are apart: laptops and
// boards without those sensors show ERR! there all their life.
func errorWords(s *Readings) {
	var core, minor []string
	for _, key := range sortedKeys(s.Values) {
		r := s.Values[key]
		if !isError(r.Value) {
			continue
		}
		switch {
		case r.Value == errLost:
			s.derived("gpu.lost", "yes", r)
		case r.Value == errReset:
			s.derived("reset_required", "yes", r)
			s.derived("status.reset", "yes", r)
		case strings.HasPrefix(key, "fan.") || strings.HasPrefix(key, "power."):
			minor = append(minor, key)
		default:
			core = append(core, key)
		}
	}
	if len(core) > 0 && s.Tool == readingsTool && s.Subject.GPU == (gpumedic.GPU{}) {
		// A file system or a port that can't be read says nothing of a GPU.
		s.derived("unreadable.fields", strings.Join(append(core, minor...), ","), s.Values[core[0]])
		return
	}
	if len(core) > 0 {
		s.derived("error.fields", strings.Join(append(core, minor...), ","), s.Values[core[0]])
	} else if len(minor) > 0 {
		s.derived("error.minor_fields", strings.Join(minor, ","), s.Values[minor[0]])
	}
}

var (
	dataCentre  = lazyre.New(`\b(?:Tesla|V100|P100|P40|P4|T4|A2|A10|A10G|A16|A30|A40|A100|A800|L4|L20|L40|L40S|H20|H100|H200|H800|B100|B200|B300|GH200|GB200|GB300)\b`)
	nvlinkBoard = lazyre.New(`SXM|HGX|HBM3|HBM3e|\b(?:H20|H200|B100|B200|B300|GH200|GB200|GB300)\b`)
	noNVLink    = lazyre.New(`(?i)PCIe|\bNVL\b`)
)

// productClass tells boards for servers, whose slots are full width, from boards for
// desktops, whose slots often are not.
func productClass(name string) string {
	if dataCentre.MatchString(strings.ReplaceAll(name, "-", " ")) && !strings.Contains(name, "GeForce") {
		return "datacenter"
	}
	return "desktop"
}

// join fills in names that other sets pair: index with address, address with UUID.
// Two nodes in one input use the same indices; an index with two addresses joins
// nothing.
func join(sets []Readings) {
	pciOf := map[string]string{}
	clash := map[string]bool{}
	pair := func(name, pci string) {
		if old, ok := pciOf[name]; ok && old != pci {
			clash[name] = true
		}
		pciOf[name] = pci
	}
	for _, s := range sets {
		g := s.Subject.GPU
		if g.PCI == "" || s.Values["process.pid"].Value != "" {
			continue
		}
		if g.Index != nil {
			pair("index "+strconv.Itoa(*g.Index), g.PCI)
		}
		if g.UUID != "" {
			pair(g.UUID, g.PCI)
		}
	}
	for i := range sets {
		g := &sets[i].Subject.GPU
		if g.PCI != "" {
			continue
		}
		name := g.UUID
		if name == "" && g.Index != nil {
			name = "index " + strconv.Itoa(*g.Index)
		}
		if p, ok := pciOf[name]; ok && !clash[name] {
			g.PCI = p
		}
	}
}

// peersOf compares each GPU with the others that the same tool listed. Peers are
// other GPUs of the same product.
func peersOf(sets []Readings) {
	groups := map[string]*peers{}
	for i := range sets {
		if id := peerID(&sets[i]); id != "" {
			k := peerGroup(&sets[i])
			if groups[k] == nil {
				groups[k] = &peers{shows: map[string]shown{}}
			}
			last := show(&sets[i]) // of several samples the last
			if old := groups[k].shows[id]; !last.hasCopies {
				last.copies, last.hasCopies = old.copies, old.hasCopies
			}
			groups[k].shows[id] = last
		}
	}
	for _, g := range groups {
		g.sum()
	}
	for i := range sets {
		s := &sets[i]
		if id := peerID(s); id != "" {
			comparePeers(s, id, groups[peerGroup(s)])
			continue
		}
		comparePeers(s, "", &peers{})
	}
}

// shown is what counts of one GPU or port when others are compared with it.
type shown struct {
	fullWidth, active bool
	links             float64
	hasLinks          bool
	rate              float64 // of an active port
	clock             float64
	busy              bool // clock is that of a GPU at work
	copies            float64
	hasCopies         bool
	versions          [len(firmware)]string
}

func show(s *Readings) shown {
	var out shown
	width, ok := num(s.Values["pcie.link.width.share.percent"].Value)
	out.fullWidth = ok && width >= 100
	out.active = s.Values["ib.state"].Value == "active"
	out.links, out.hasLinks = num(s.Values["nvlink.links.active"].Value)
	for i, key := range firmware {
		if v := s.Values[key].Value; v != na && !isError(v) {
			out.versions[i] = v
		}
	}
	out.copies, out.hasCopies = num(s.Values["bandwidth.h2d.gbs"].Value)
	if out.active {
		out.rate, _ = num(s.Values["ib.rate.gbps"].Value)
	}
	out.clock, ok = num(s.Values["clocks.sm.mhz"].Value)
	out.busy = ok && s.Values["busy"].Value == "yes"
	return out
}

// peers are the members of a group with their sums, from which each one's own part is
// taken off again: comparing all pairs would take hours on the list of a whole fleet.
type peers struct {
	shows             map[string]shown
	fullWidth, active int
	links, clocks     []float64                 // sorted
	copies            []float64                 // sorted: host-to-device bandwidth
	versions          map[string]map[string]int // of firmware, how many have which
	rates             []float64
}

// firmware are versions that equal boards of one node share.
var firmware = [...]string{"vbios.version", "gsp.version", "inforom.image"}

func (p *peers) sum() {
	p.versions = map[string]map[string]int{}
	for _, s := range p.shows {
		for i, key := range firmware {
			if s.versions[i] == "" {
				continue
			}
			if p.versions[key] == nil {
				p.versions[key] = map[string]int{}
			}
			p.versions[key][s.versions[i]]++
		}
		if s.fullWidth {
			p.fullWidth++
		}
		if s.active {
			p.active++
		}
		if s.hasLinks {
			p.links = append(p.links, s.links)
		}
		if s.hasCopies {
			p.copies = append(p.copies, s.copies)
		}
		if s.rate > 0 {
			p.rates = append(p.rates, s.rate)
		}
		if s.busy {
			p.clocks = append(p.clocks, s.clock)
		}
	}
	slices.Sort(p.copies)
	slices.Sort(p.links)
	slices.Sort(p.clocks)
	slices.Sort(p.rates)
}

// without is the n-th of sorted figures when one of them is left out.
func without(sorted []float64, own float64, n int) float64 {
	if at, found := slices.BinarySearch(sorted, own); found && n >= at {
		n++
	}
	return sorted[n]
}

// peerGroup is equal for what one tool listed of one product.
func peerGroup(s *Readings) string {
	return s.Tool + "\x00" + s.Values["name"].Value + s.Values["ib.ca_type"].Value + "\x00" + s.Values["ib.link_layer"].Value
}

// peerID names the GPU or port that a set is about, "" where it is about none.
func peerID(s *Readings) string {
	if s.Values["ib.device"].Value != "" {
		return s.Subject.Location
	}
	if s.Values["process.pid"].Value != "" {
		return ""
	}
	return s.Subject.GPU.String()
}

func comparePeers(s *Readings, id string, p *peers) {
	own := p.shows[id]
	if r, ok := s.Values["pcie.link.width.share.percent"]; ok {
		s.derived("peers.full_width", strconv.Itoa(p.fullWidth-count(own.fullWidth)), r)
	}
	for i, key := range firmware {
		if own.versions[i] != "" {
			if v := p.common(key, own.versions[i]); v != "" {
				s.derived("peers."+key, v, s.Values[key])
			}
		}
	}
	if r, ok := s.Values["ib.state"]; ok {
		s.derived("peers.ib_active", strconv.Itoa(p.active-count(own.active)), r)
	}
	if r, ok := s.Values["ib.rate.gbps"]; ok && own.rate > 0 {
		// The slowest of at least two others: fewer are no norm.
		if n := len(p.rates) - 1; n >= 2 {
			s.derived("peers.ib_rate.gbps", strconv.FormatFloat(without(p.rates, own.rate, 0), 'f', -1, 64), r)
		}
	}
	if r, ok := s.Values["nvlink.links.active"]; ok {
		if n := len(p.links) - count(own.hasLinks); n > 0 {
			best := p.links[len(p.links)-1]
			if own.hasLinks {
				best = without(p.links, own.links, n-1)
			}
			s.derived("peers.nvlink_active", strconv.Itoa(int(max(0, best))), r)
		}
	}
	if r, ok := s.Values["bandwidth.h2d.gbs"]; ok && own.hasCopies && len(p.copies) >= 3 {
		if mid := without(p.copies, own.copies, (len(p.copies)-1)/2); mid > 0 {
			s.derived("peers.h2d_share.percent", strconv.Itoa(int(own.copies*100/mid)), r)
		}
	}
	if v, ok := num(s.Values["clocks.sm.mhz"].Value); ok {
		if n := len(p.clocks) - count(own.busy); n > 0 {
			mid := p.clocks[n/2]
			if own.busy {
				mid = without(p.clocks, own.clock, n/2)
			}
			if mid > 0 {
				s.derived("peers.clock_share.percent", strconv.Itoa(int(v*100/mid)), s.Values["clocks.sm.mhz"])
			}
		}
	}
}

// common is the version that all others have, when there are two or more.
func (p *peers) common(key, own string) string {
	others, found := 0, ""
	for v, n := range p.versions[key] {
		if v == own {
			n--
		}
		if n > 0 {
			if found != "" {
				return ""
			}
			others, found = n, v
		}
	}
	if others < 2 {
		return ""
	}
	return found
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
