// Package topo works out which names mean the same thing and what hangs below
// what: a GPU seen by PCI address, UUID, serial and index becomes one GPU; a bridge
// is tied to the GPUs below it. It learns only from signals (facts that state
// pairs), never from the machine it runs on, so that any log can be read anywhere.
package topo

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
)

// Map is what the signals of one run say about the machines they come from.
type Map struct {
	join    map[string]string   // union-find over name keys
	members map[string][]string // the keys of each root
	spelled map[string]string   // a UUID as the input writes it, by its key's lower case
	gpus    map[string]bool     // node|pci of known GPUs
	ports   map[string]bool     // node|pci
	below   map[string]map[string]bool
	buses   map[string][2]int // port -> secondary..subordinate bus
	node    string            // the only node name stated, if there is one
	onlyOne bool
}

// Learn builds the map. The signals' order does not matter.
func Learn(signals []gpumedic.Signal) *Map {
	m := &Map{
		join: map[string]string{}, members: map[string][]string{}, spelled: map[string]string{},
		gpus: map[string]bool{}, ports: map[string]bool{},
		below: map[string]map[string]bool{}, buses: map[string][2]int{},
	}
	m.learnNode(signals)
	for i := range signals {
		m.learnNames(&signals[i])
	}
	m.learnSerials(signals)
	m.learnReports(signals)
	for i := range signals {
		m.learnTree(&signals[i])
	}
	return m
}

// learnNode finds whether the inputs name just one node: then lines without a host
// are from it too.
func (m *Map) learnNode(signals []gpumedic.Signal) {
	seen := map[string]bool{}
	for i := range signals {
		if n := signals[i].Subject.Node; n != "" {
			seen[n] = true
		}
	}
	if len(seen) == 1 {
		for n := range seen {
			m.node, m.onlyOne = n, true
		}
	}
}

// Node is the node of a signal: the stated one, or the only one known.
func (m *Map) Node(s gpumedic.Subject) string {
	if s.Node == "" && m.onlyOne {
		return m.node
	}
	return s.Node
}

func (m *Map) learnNames(s *gpumedic.Signal) {
	node := m.Node(s.Subject)
	g := s.Subject.GPU
	keys := nameKeys(node, g)
	for _, k := range keys {
		m.find(k)
	}
	if low := strings.ToLower(g.UUID); low != "" {
		// Of several spellings the one with most capitals, so that order does not matter.
		if old, ok := m.spelled[low]; !ok || g.UUID < old {
			m.spelled[low] = g.UUID
		}
	}
	for i := 1; i < len(keys); i++ {
		m.union(keys[0], keys[i])
	}
	if g.PCI != "" {
		m.gpus[node+"|"+function0(g.PCI)] = true
	}
	if p := s.Subject.Port; p != "" {
		m.ports[node+"|"+p] = true
	}
	if p := gpumedic.NormalPCI(s.Field("pci")); p != "" && s.Kind == "pcie.device" {
		m.learnDevice(node, p, s)
	}
}

// learnDevice reads what the kernel printed when it found a device: vendor 10de with
// a display class is a GPU, class 06 a bridge.
func (m *Map) learnDevice(node, pci string, s *gpumedic.Signal) {
	class := strings.TrimPrefix(s.Field("class"), "0x")
	switch {
	case strings.HasPrefix(class, "03") && s.Field("vendor") == "10de":
		m.gpus[node+"|"+function0(pci)] = true
	case strings.HasPrefix(class, "06"):
		m.ports[node+"|"+pci] = true
	}
}

// learnSerials pairs "GPU Board Serial Number" with the "GPU at" line just before it.
// Several GPUs that report in one instant interleave their lines; then the pairs
// cannot be known and none is made.
func (m *Map) learnSerials(signals []gpumedic.Signal) {
	byOrder := make([]*gpumedic.Signal, 0, 8)
	for i := range signals {
		if k := signals[i].Kind; k == "nvrm.gpu_at" || k == "nvrm.board_serial" {
			byOrder = append(byOrder, &signals[i])
		}
	}
	sort.SliceStable(byOrder, func(i, j int) bool { return byOrder[i].Order.Before(byOrder[j].Order) })
	for i := 1; i < len(byOrder); i++ {
		at, serial := byOrder[i-1], byOrder[i]
		if at.Kind != "nvrm.gpu_at" || serial.Kind != "nvrm.board_serial" || at.Order.Input != serial.Order.Input {
			continue
		}
		if serial.Order.Line-at.Order.Line > 2 || i >= 2 && byOrder[i-2].Kind == "nvrm.gpu_at" &&
			byOrder[i-2].Order.Input == at.Order.Input && at.Order.Line-byOrder[i-2].Order.Line <= 2 {
			continue
		}
		if i+1 < len(byOrder) && byOrder[i+1].Kind == "nvrm.board_serial" &&
			byOrder[i+1].Order.Input == serial.Order.Input && byOrder[i+1].Order.Line-serial.Order.Line <= 2 {
			continue
		}
		g := at.Subject.GPU
		g.Serial = serial.Subject.GPU.Serial
		keys := nameKeys(m.Node(at.Subject), g)
		for j := 1; j < len(keys); j++ {
			m.union(keys[0], keys[j])
		}
	}
}

func (m *Map) learnTree(s *gpumedic.Signal) {
	node := m.Node(s.Subject)
	port := s.Subject.Port
	if port == "" {
		return
	}
	if a, b := s.Field("bus_first"), s.Field("bus_last"); a != "" {
		lo, err1 := strconv.ParseInt(a, 16, 32)
		hi, err2 := strconv.ParseInt(b, 16, 32)
		if err2 != nil {
			hi = lo
		}
		if err1 == nil {
			m.buses[node+"|"+port] = [2]int{int(lo), int(hi)}
		}
	}
	for _, f := range []string{"source", "requester", "pci", "device"} {
		if p := gpumedic.NormalPCI(s.Field(f)); p != "" && p != port {
			m.addBelow(node, port, p)
		}
	}
	if s.Subject.GPU.PCI != "" && s.Field("unrelated") == "" {
		m.addBelow(node, port, function0(s.Subject.GPU.PCI))
	}
}

func (m *Map) addBelow(node, port, dev string) {
	k := node + "|" + port
	if m.below[k] == nil {
		m.below[k] = map[string]bool{}
	}
	m.below[k][dev] = true
}

// Answer is a yes, a no, or "the input does not say".
type Answer int8

const (
	Unknown Answer = iota
	Yes
	No
)

// maxBridges bounds the bridges that one looks through on the way down to a GPU.
const maxBridges = 8

// Above says whether a port lies on the path from the root complex to a GPU.
func (m *Map) Above(node, port, gpu string) Answer {
	if port == "" || gpu == "" {
		return Unknown
	}
	gpu = function0(gpu)
	answer, bridges := m.directlyAbove(node, port, gpu)
	seen := map[string]bool{port: true} // a log may state a circle
	for depth := 0; answer != Yes && depth < maxBridges && len(bridges) > 0; depth++ {
		var deeper []string
		for _, b := range bridges {
			if seen[b] {
				continue
			}
			seen[b] = true
			a, below := m.directlyAbove(node, b, gpu)
			if a == Yes {
				return Yes
			}
			deeper = append(deeper, below...)
		}
		bridges = deeper
	}
	return answer
}

// directlyAbove answers by what is known of the port itself, and lists the bridges right
// below it.
func (m *Map) directlyAbove(node, port, gpu string) (answer Answer, bridges []string) {
	if port == gpu || function0(port) == gpu {
		return Yes, nil
	}
	k := node + "|" + port
	if r, ok := m.buses[k]; ok {
		domain, rest, _ := strings.Cut(gpu, ":")
		if !strings.HasPrefix(port, domain+":") {
			return No, nil
		}
		bus, _, _ := strings.Cut(rest, ":")
		if b, err := strconv.ParseInt(bus, 16, 32); err == nil && int(b) >= r[0] && int(b) <= r[1] {
			return Yes, nil
		}
		return No, nil
	}
	for dev := range m.below[k] {
		switch {
		case function0(dev) == gpu:
			return Yes, nil
		case m.ports[node+"|"+dev]:
			bridges = append(bridges, dev)
		default:
			answer = No // other devices are known to sit there
		}
	}
	return answer, bridges
}

// GPUsBelow lists the GPUs that are known to sit below a port, sorted.
func (m *Map) GPUsBelow(node, port string) []string {
	var out []string
	for k := range m.gpus {
		n, g, _ := strings.Cut(k, "|")
		if n == node && m.Above(node, port, g) == Yes {
			out = append(out, g)
		}
	}
	sort.Strings(out)
	return out
}

// DevicesBelow lists whatever the input places directly below a port.
func (m *Map) DevicesBelow(node, port string) []string {
	var out []string
	for d := range m.below[node+"|"+port] {
		if !m.ports[node+"|"+d] {
			out = append(out, d)
		}
	}
	sort.Strings(out)
	return out
}

// IsGPU reports whether an address is known to be a GPU (any function of one).
func (m *Map) IsGPU(node, pci string) bool { return m.gpus[node+"|"+function0(pci)] }

// IsPort reports whether an address is known to be a bridge.
func (m *Map) IsPort(node, pci string) bool { return m.ports[node+"|"+pci] }

// ID is one stable key for a GPU under any of its names, "" when it has none.
func (m *Map) ID(node string, g gpumedic.GPU) string {
	keys := nameKeys(node, g)
	if len(keys) == 0 {
		return ""
	}
	return m.find(keys[0])
}

// Full returns all names known for a GPU.
func (m *Map) Full(node string, g gpumedic.GPU) gpumedic.GPU {
	keys := nameKeys(node, g)
	if len(keys) == 0 {
		return g
	}
	members := slices.Clone(m.members[m.find(keys[0])])
	slices.Sort(members)
	for _, k := range members {
		m.fill(&g, k)
	}
	return g
}

func (m *Map) fill(g *gpumedic.GPU, key string) {
	kind, v, _ := strings.Cut(key, ":")
	_, v, _ = strings.Cut(v, "|")
	switch kind {
	case "pci":
		if g.PCI == "" {
			g.PCI = v
		}
	case "uuid":
		if g.UUID == "" {
			g.UUID = m.spelled[v]
		}
	case "serial":
		if g.Serial == "" {
			g.Serial = v
		}
	case "index":
		if n, err := strconv.Atoi(v); err == nil && g.Index == nil {
			g.Index = &n
		}
	case "minor":
		if n, err := strconv.Atoi(v); err == nil && g.Minor == nil {
			g.Minor = &n
		}
	}
}

// nameKeys are the names of a GPU as keys, the strongest first. UUIDs and serials
// are unique everywhere; addresses and indices only on their node.
func nameKeys(node string, g gpumedic.GPU) []string {
	var out []string
	if g.PCI != "" {
		out = append(out, "pci:"+node+"|"+function0(g.PCI))
	}
	if g.UUID != "" {
		out = append(out, "uuid:|"+strings.ToLower(g.UUID))
	}
	if g.Serial != "" {
		out = append(out, "serial:|"+g.Serial)
	}
	if g.Index != nil {
		out = append(out, "index:"+node+"|"+strconv.Itoa(*g.Index))
	}
	if g.Minor != nil {
		out = append(out, "minor:"+node+"|"+strconv.Itoa(*g.Minor))
	}
	return out
}

func (m *Map) find(k string) string {
	p, ok := m.join[k]
	if !ok {
		m.join[k], m.members[k] = k, []string{k}
		return k
	}
	for p != m.join[p] {
		p = m.join[p]
	}
	m.join[k] = p
	return p
}

// union keeps the smaller key as root, so that the result does not depend on order;
// "pci:" sorts before "serial:" and "uuid:", "index:" and "minor:" before it.
func (m *Map) union(a, b string) {
	a, b = m.find(a), m.find(b)
	if a == b {
		return
	}
	if b < a {
		a, b = b, a
	}
	m.join[b] = a
	m.members[a] = append(m.members[a], m.members[b]...)
	delete(m.members, b)
}

// function0 maps any function of a device to its function 0: audio, USB and UCSI
// functions of a card stand for the GPU.
func function0(pci string) string {
	if i := strings.LastIndexByte(pci, '.'); i >= 0 {
		return pci[:i] + ".0"
	}
	return pci
}

// Near reports whether two stamps are closer than d; unknown distances count as near
// only when both lie in one input.
func Near(a, b *gpumedic.Signal, d time.Duration) bool {
	if dt, ok := a.First.Sub(b.First); ok {
		return dt <= d && dt >= -d
	}
	return a.Order.Input == b.Order.Input
}
