package scan

import (
	"hash/maphash"
	"maps"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/frame"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// build makes a signal of a match. It is on loan until the next message.
func (x *input) build(m *catalog.Pattern, p place, msg *frame.Message, part piece, text string, match catalog.Match) *proto {
	level, _ := gpumedic.ParseLevel(m.Level)
	pr := x.lendProto()
	pr.place(part, match)
	start, end := pr.start, min(part.at+min(match.End, len(part.text)), pr.end)
	sig := &pr.sig
	sig.Level, sig.Fields = level, match.Fields
	for k, v := range sig.Fields {
		if isAbsent(k, v) {
			delete(sig.Fields, k)
		}
	}
	x.fillSubject(&sig.Subject, sig.Fields)
	x.fillPlace(&sig.Subject, msg)
	ncclWriter(sig, msg.Text)
	sig.Kind = x.kindOf(m, sig.Fields)
	class := x.windowClass(p.line, msg.Stamp)
	x.name(pr, m, text, class)
	if statesAll(m, sig.Fields) && x.oneOfMany(pr) {
		return pr
	}
	x.decode(m, sig)
	sig.Kind = x.kindOf(m, sig.Fields)
	x.name(pr, m, text, class)
	if pr.decoded = true; x.oneOfMany(pr) {
		return pr
	}
	pr.group, pr.key = string(x.group), string(x.key)
	sig.Fields = maps.Clone(sig.Fields)
	if lo, hi := part.at+match.Mark[0], part.at+match.Mark[1]; lo < hi && lo >= start && hi <= end {
		start, end = lo, hi
	}
	sig.Evidence = gpumedic.Evidence{Input: x.src.Name, Mark: mark(p.text, msg, start, end, m), Msg: max(msg.Off, 0)}
	return pr
}

// oneOfMany says that a signal with the keys of now will only be counted.
func (x *input) oneOfMany(pr *proto) bool {
	if pr.rest = x.out.flooded(x.group, x.key); pr.rest == nil {
		return false
	}
	pr.hash = maphash.Bytes(keySeed, x.key)
	return true
}

// name makes the keys by which a signal is collapsed, in x.group and x.key.
func (x *input) name(p *proto, m *catalog.Pattern, text string, class byte) {
	sig := &p.sig
	b := append(append(x.group[:0], sig.Kind...), 0)
	b = append(append(b, sig.Subject.Node...), 0)
	x.group = appendGPUKey(b, &sig.Subject.GPU)
	b = append(append(x.key[:0], x.group...), 0)
	b = append(appendSubjectKey(b, &sig.Subject), 0)
	x.key = append(appendDistinction(b, m, sig.Fields, text), class)
}

// statesAll reports whether the kind and the key of a signal stand in its text, so
// that no decoder can change them.
func statesAll(m *catalog.Pattern, fields map[string]string) bool {
	for _, k := range m.Key {
		if _, ok := fields[k]; !ok {
			return false
		}
	}
	for rest := m.Kind; ; {
		hole, after, ok := nextHole(rest)
		if !ok {
			return true
		}
		if fields[hole] == "" {
			return false
		}
		rest = after
	}
}

// nextHole is the name of the first {field} of a kind, and what stands behind it.
func nextHole(kind string) (name, rest string, ok bool) {
	_, kind, ok = strings.Cut(kind, "{")
	if ok {
		name, rest, ok = strings.Cut(kind, "}")
	}
	return name, rest, ok
}

// decode calls the decoders of a matcher, the table of levels last.
func (x *input) decode(m *catalog.Pattern, sig *gpumedic.Signal) {
	if x.s.dec == nil {
		return
	}
	named := false
	for _, name := range m.Decode {
		x.s.dec.Decode(name, sig)
		named = named || name == m.LevelFrom
	}
	if m.LevelFrom != "" && !named {
		x.s.dec.Decode(m.LevelFrom, sig)
	}
}

// kindOf expands a kind; a field that is missing at its end leaves no dot behind.
func (x *input) kindOf(m *catalog.Pattern, fields map[string]string) string {
	hole, rest, ok := nextHole(m.Kind)
	if !ok {
		return strings.TrimRight(m.Kind, "._")
	}
	expand := func() string { return strings.TrimRight(catalog.ExpandKind(m.Kind, fields), "._") }
	if strings.IndexByte(rest, '{') >= 0 {
		return expand()
	}
	known := kindKey{m.Kind, fields[hole]}
	kind, ok := x.kinds[known]
	if !ok {
		kind = expand()
		if len(x.kinds) < maxKnown {
			known.value = strings.Clone(known.value)
			x.kinds[known] = kind
		}
	}
	return kind
}

// kindKey is a kind with one hole and what fills it.
type kindKey struct{ kind, value string }

// maxKnown bounds the kinds and addresses that are remembered in their final form.
const maxKnown = 4096

// pci is an address in its one spelling, "" for what is none.
func (x *input) pci(v string) string {
	out, ok := x.pcis[v]
	if !ok {
		out = gpumedic.NormalPCI(v)
		if len(x.pcis) < maxKnown && len(v) < 64 {
			x.pcis[strings.Clone(v)] = out
		}
	}
	return out
}

// isAbsent recognises the driver's ways to say that it does not know. Plain words
// for it count only where a name or number must stand.
func isAbsent(field, v string) bool {
	if len(v) > 16 {
		return false
	}
	v = strings.Trim(v, `'"`)
	switch {
	case v == "", strings.EqualFold(v, "<unknown>"), strings.EqualFold(v, "(null)"):
		return true
	case strings.EqualFold(v, "unknown"), strings.EqualFold(v, "n/a"), strings.EqualFold(v, "[n/a]"):
		return field == "pid" || field == "process" || field == "gpu" || field == "uuid" || field == "serial"
	}
	return false
}

// fillSubject names the subject by the fields with reserved names. PCI addresses
// are brought to one spelling in the fields too.
func (x *input) fillSubject(s *gpumedic.Subject, f map[string]string) {
	for _, name := range [...]string{"gpu", "port", "nvswitch", "pci"} {
		if v := f[name]; v != "" {
			if pci := x.pci(v); pci != "" {
				f[name] = pci
			}
		}
	}
	x.fillGPU(&s.GPU, f)
	s.Port, s.NVSwitch, s.Link = f["port"], f["nvswitch"], f["link"]
	s.Container, s.Unit, s.Node = f["container"], f["unit"], f["node"]
	s.Process.Name = f["process"]
	if pid := number(f["pid"]); pid != nil {
		s.Process.PID = *pid
	}
	s.Rank = number(f["rank"])
}

func (x *input) fillGPU(g *gpumedic.GPU, f map[string]string) {
	g.UUID, g.Serial = f["uuid"], f["serial"]
	g.Index, g.Minor = number(f["index"]), number(f["minor"])
	switch v := f["gpu"]; {
	case v == "":
	case x.pci(v) != "":
		g.PCI = v
	case strings.HasPrefix(v, "GPU-") && g.UUID == "":
		g.UUID = v
	case g.Index == nil:
		g.Index = number(v)
	}
	if gi := f["gi"]; gi != "" {
		g.MIG = gi
		if ci := f["ci"]; ci != "" {
			g.MIG += "/" + ci
		}
	}
}

func number(v string) *int {
	if v == "" || v[0] < '0' || v[0] > '9' {
		return nil // most of what is asked: an error would be made for each
	}
	n, err := strconv.ParseUint(v, 10, 31)
	if err != nil {
		return nil
	}
	i := int(n)
	return &i
}

// fillPlace adds what the framing told: node, container, rank and worker. What the
// message itself states is the more exact; of nodes, what the user said comes next, then
// what the logger wrote.
func (x *input) fillPlace(s *gpumedic.Subject, msg *frame.Message) {
	switch {
	case s.Node != "":
	case x.src.Node != "":
		s.Node = x.src.Node
	default:
		s.Node = msg.Host
	}
	if s.Container == "" {
		s.Container = msg.Container
		if msg.Pod != "" {
			s.Container = strings.TrimSuffix(msg.Pod+"/"+msg.Container, "/")
		}
	}
	if s.Rank == nil {
		s.Rank = number(msg.Rank)
	}
	if s.Rank == nil && msg.Origin != frame.Kernel {
		s.Rank = number(frame.RankInText(msg.Text))
	}
	if s.Process.PID == 0 && msg.Ident == "" && msg.Origin == frame.Unknown {
		s.Process.PID = msg.PID
	}
}

var ncclPrefix = lazyre.New(`^([\w.-]{1,80}):(\d{1,9}):\d{1,9} \[(\d{1,3})\] `)

// ncclWriter notes who wrote one of NCCL's own lines, "host:pid:tid [device] NCCL WARN":
// other lines of the same process may tell its rank. They are no part of the subject,
// since the number may be one inside a container.
func ncclWriter(sig *gpumedic.Signal, text string) {
	if !strings.Contains(text[:min(len(text), 300)], " NCCL ") {
		return
	}
	m := ncclPrefix.FindStringSubmatch(text)
	if m == nil {
		return
	}
	if sig.Fields == nil {
		sig.Fields = map[string]string{}
	}
	for k, v := range map[string]string{"nccl_host": m[1], "nccl_pid": m[2], "cuda_device": m[3]} {
		if sig.Fields[k] == "" {
			sig.Fields[k] = v
		}
	}
}

// mark places a range of the message in the line. Where the message was decoded
// and has no one place, the first literal of the matcher is marked.
func mark(line []byte, msg *frame.Message, start, end int, m *catalog.Pattern) [2]int {
	if msg.Off >= 0 && msg.Off+end <= len(line) && string(line[msg.Off+start:msg.Off+end]) == msg.Text[start:end] {
		return [2]int{msg.Off + start, msg.Off + end}
	}
	text := string(line)
	if i := strings.Index(text, msg.Text[start:end]); i >= 0 {
		return [2]int{i, i + end - start}
	}
	if plain := plainText(line); len(plain.cuts) > 0 {
		if i := strings.Index(string(plain.data), msg.Text[start:end]); i >= 0 {
			return [2]int{plain.raw(i), plain.raw(i + end - start)}
		}
	}
	low := strings.ToLower(text)
	for _, l := range m.Literals {
		if i := strings.Index(text, l); i >= 0 {
			return [2]int{i, i + len(l)}
		}
		if i := strings.Index(low, strings.ToLower(l)); m.Fold && i >= 0 && len(low) == len(text) {
			return [2]int{i, i + len(l)}
		}
	}
	return [2]int{}
}
