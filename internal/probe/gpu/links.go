package gpu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/driver/nvml"
)

var pcie = []question{
	{"pcie.link.gen.current", true, of((*nvml.NVML).PCIeGen)},
	{"pcie.link.gen.max", true, of((*nvml.NVML).PCIeMaxGen)},
	{"pcie.link.gen.device_max", false, of((*nvml.NVML).PCIeDeviceMaxGen)},
	{"pcie.link.width.current", true, of((*nvml.NVML).PCIeWidth)},
	{"pcie.link.width.max", true, of((*nvml.NVML).PCIeMaxWidth)},
	{"pcie.replays", true, of((*nvml.NVML).PCIeReplays)},
}

func (r *reader) rollovers() {
	v, err := r.n.Field(r.d, nvml.FieldPCIeReplayRollover)
	r.put("pcie.replay_rollovers", v.Uint(), err)
}

// nvlink counts the links by their state and adds up their errors.
func (r *reader) nvlink() {
	var active, down []uint32
	var first error
	for link := range uint32(nvml.MaxLinks) {
		on, err := r.n.LinkActive(r.d, link)
		switch {
		case err == nil && on:
			active = append(active, link)
		case err == nil:
			down = append(down, link)
		case first == nil:
			first = err
		}
		if err != nil && (!nvml.IsAbsent(err) || nvml.CodeOf(err) == nvml.InvalidArgument) {
			first = err // the last link was passed, or the GPU does not answer
			break
		}
	}
	if first != nil && !nvml.IsAbsent(first) || len(active)+len(down) == 0 {
		r.put("nvlink.links.active", "", first)
		return
	}
	r.w.Value("nvlink.links.active", len(active))
	r.w.Value("nvlink.links.inactive", len(down))
	if len(down) > 0 {
		r.w.Value("nvlink.links.down", list(down))
	}
	if len(active) == 0 {
		return
	}
	version, err := r.n.LinkVersion(r.d, active[0])
	r.put("nvlink.version", word(linkVersions)(version), err)
	if r.gone {
		return
	}
	if r.full {
		r.remotes(active)
	}
	r.linkErrors(slices.Concat(active, down), version)
}

var linkVersions = map[uint32]string{1: "1.0", 2: "2.0", 3: "2.2", 4: "3.0", 5: "3.1", 6: "4.0", 7: "5.0", 8: "6.0"}

func list(links []uint32) string {
	s := make([]string, len(links))
	for i, l := range links {
		s[i] = fmt.Sprint(l)
	}
	return strings.Join(s, ",")
}

// remotes says what is at the other ends.
func (r *reader) remotes(links []uint32) {
	var kinds, addresses []string
	add := func(to *[]string, s string) {
		if s != "" && !slices.Contains(*to, s) {
			*to = append(*to, s)
		}
	}
	var kindErr, addressErr error
	for _, link := range links {
		t, err := r.n.LinkRemoteType(r.d, link)
		if err == nil {
			add(&kinds, map[uint32]string{nvml.RemoteGPU: "gpu", nvml.RemoteNPU: "npu", nvml.RemoteSwitch: "switch"}[t])
		} else {
			kindErr = err
		}
		p, err := r.n.LinkRemotePCI(r.d, link)
		if err == nil {
			add(&addresses, gpumedic.NormalPCI(p.Address()))
		} else {
			addressErr = err
		}
		if nvml.CodeOf(err) == nvml.GPUIsLost {
			break
		}
	}
	if len(kinds) > 0 {
		kindErr = nil
	}
	if len(addresses) > 0 {
		addressErr = nil
	}
	r.put("nvlink.remote.type", strings.Join(kinds, ","), kindErr)
	if !r.gone {
		r.put("nvlink.remote.pci", strings.Join(addresses, ","), addressErr)
	}
}

// linkCounter is a field that counts errors of a link; several may add up to a reading.
type linkCounter struct {
	name string
	id   uint32
	old  []uint32 // counters of the older call
}

var (
	counters4 = []linkCounter{
		{"replay", nvml.FieldLinkReplay, []uint32{nvml.LinkReplay}}, {"recovery", nvml.FieldLinkRecovery, []uint32{nvml.LinkRecovery}},
		{"crc", nvml.FieldLinkCRC, []uint32{nvml.LinkCRCData}},
	}
	counters5 = []linkCounter{
		{"link_recovery", nvml.FieldLinkRecoveryEvents, nil}, {"link_recovery_ok", nvml.FieldLinkRecoveryOK, nil},
		{"link_recovery_failed", nvml.FieldLinkRecoveryFailed, nil}, {"effective", nvml.FieldLinkEffective, nil}, {"symbol", nvml.FieldLinkSymbol, nil},
		{"packet", nvml.FieldLinkMalformed, nil}, {"packet", nvml.FieldLinkBufferOverrun, nil}, {"packet", nvml.FieldLinkRcvErrors, nil},
		{"packet", nvml.FieldLinkRcvRemote, nil}, {"packet", nvml.FieldLinkRcvGeneral, nil}, {"packet", nvml.FieldLinkLocalIntegrity, nil},
	}
)

// sum adds up one reading over links, and remembers the worst of them.
type sum struct {
	total, most uint64
	link        uint32
	counted     bool
	err         error
}

func (s *sum) add(link uint32, v uint64) {
	s.total += v
	if v > s.most {
		s.most, s.link = v, link
	}
	s.counted = true
}

func (r *reader) linkErrors(links []uint32, version uint32) {
	counters := counters4
	if version >= nvml.LinkVersion5 {
		counters = counters5
	}
	var asked []nvml.Field
	for _, c := range counters {
		for _, link := range links {
			asked = append(asked, nvml.Field{ID: c.id, Scope: link})
		}
	}
	values, err := r.n.Fields(r.d, asked...)
	var names []string
	sums := map[string]*sum{}
	for i, c := range counters {
		s := sums[c.name]
		if s == nil {
			s = &sum{err: err}
			sums[c.name] = s
			names = append(names, c.name)
		}
		for j, link := range links {
			switch {
			case err != nil:
			case values[i*len(links)+j].Available():
				s.add(link, values[i*len(links)+j].Uint())
			case s.err == nil || nvml.IsAbsent(s.err):
				s.err = values[i*len(links)+j].Err()
			}
		}
		if !s.counted && nvml.IsAbsent(s.err) {
			r.oldLinkErrors(s, links, c.old)
		}
	}
	for _, name := range names {
		r.putSum("nvlink.errors."+name, sums[name])
	}
}

// oldLinkErrors asks the call of older drivers, link by link.
func (r *reader) oldLinkErrors(s *sum, links, counters []uint32) {
	for _, counter := range counters {
		for _, link := range links {
			v, err := r.n.LinkErrors(r.d, link, counter)
			if err == nil {
				s.add(link, v)
				continue
			}
			s.err = err
			if !nvml.IsAbsent(err) {
				return
			}
		}
	}
}

func (r *reader) putSum(key string, s *sum) {
	switch {
	case r.gone:
	case s.err != nil && !nvml.IsAbsent(s.err), !s.counted:
		r.put(key, "", s.err)
	case s.most > 0:
		r.w.Noted(key, s.total, fmt.Sprintf("most on link %d: %d", s.link, s.most))
	default:
		r.w.Value(key, s.total)
	}
}
