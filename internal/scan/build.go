package scan

import (
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/frame"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// build makes a signal of a match.
func (x *input) build(m *catalog.Pattern, p place, msg *frame.Message, part piece, text string, match catalog.Match) proto {
	level, _ := gpumedic.ParseLevel(m.Level)
	end := part.at + min(match.End, len(part.text))
	start := min(part.at+match.Start, end)
	pr := proto{start: start, end: max(end, start+1)}
	pr.sig = gpumedic.Signal{Level: level, Fields: match.Fields}
	sig := &pr.sig
	for k, v := range sig.Fields {
		if isAbsent(k, v) {
			delete(sig.Fields, k)
		}
	}
	fillSubject(&sig.Subject, sig.Fields)
	x.fillPlace(&sig.Subject, msg)
	ncclWriter(sig, msg.Text)
	sig.Kind = kindOf(m, sig.Fields)
	class := x.windowClass(p.line, msg.Stamp)
	if pr.name(m, text, class); x.out.flooded(&pr) && statesAll(m, sig.Fields) {
		pr.light = true // one of very many: it will only be counted
		return pr
	}
	x.decode(m, sig)
	sig.Kind = kindOf(m, sig.Fields)
	pr.name(m, text, class)
	if lo, hi := part.at+match.Mark[0], part.at+match.Mark[1]; lo < hi && lo >= start && hi <= end {
		start, end = lo, hi
	}
	sig.Evidence = gpumedic.Evidence{Input: x.src.Name, Mark: mark(p.text, msg, start, end, m), Msg: max(msg.Off, 0)}
	return pr
}

// name gives a signal the keys by which it is collapsed.
func (p *proto) name(m *catalog.Pattern, text string, class byte) {
	p.group = p.sig.Kind + "\x00" + p.sig.Subject.Node + "\x00" + gpuKey(&p.sig.Subject.GPU)
	p.key = p.group + "\x00" + subjectKey(&p.sig.Subject) + "\x00" + distinction(m, p.sig.Fields, text) + string(rune(class))
}

// statesAll reports whether the kind and the key of a signal stand in its text, so
// that no decoder can change them.
func statesAll(m *catalog.Pattern, fields map[string]string) bool {
	for _, k := range m.Key {
		if _, ok := fields[k]; !ok {
			return false
		}
	}
	for _, hole := range kindHole.FindAllStringSubmatch(m.Kind, -1) {
		if fields[hole[1]] == "" {
			return false
		}
	}
	return true
}

var kindHole = lazyre.New(`\{(\w+)\}`)

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
func kindOf(m *catalog.Pattern, fields map[string]string) string {
	return strings.TrimRight(catalog.ExpandKind(m.Kind, fields), "._")
}

// isAbsent recognises the driver's ways to say that it does not know. Plain words
// for it count only where a name or number must stand.
func isAbsent(field, v string) bool {
	switch strings.ToLower(strings.Trim(v, `'"`)) {
	case "", "<unknown>", "(null)":
		return true
	case "unknown", "n/a", "[n/a]":
		return field == "pid" || field == "process" || field == "gpu" || field == "uuid" || field == "serial"
	}
	return false
}

// fillSubject names the subject by the fields with reserved names. PCI addresses
// are brought to one spelling in the fields too.
func fillSubject(s *gpumedic.Subject, f map[string]string) {
	for _, name := range []string{"gpu", "port", "nvswitch", "pci"} {
		if v := f[name]; v != "" {
			if pci := gpumedic.NormalPCI(v); pci != "" {
				f[name] = pci
			}
		}
	}
	fillGPU(&s.GPU, f)
	s.Port, s.NVSwitch, s.Link = f["port"], f["nvswitch"], f["link"]
	s.Container, s.Unit, s.Node = f["container"], f["unit"], f["node"]
	s.Process.Name = f["process"]
	if pid := number(f["pid"]); pid != nil {
		s.Process.PID = *pid
	}
	s.Rank = number(f["rank"])
}

func fillGPU(g *gpumedic.GPU, f map[string]string) {
	g.UUID, g.Serial = f["uuid"], f["serial"]
	g.Index, g.Minor = number(f["index"]), number(f["minor"])
	switch v := f["gpu"]; {
	case v == "":
	case gpumedic.NormalPCI(v) != "":
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
