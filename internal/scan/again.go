package scan

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/frame"
)

// Of a match, its kind, its subject and its key fields decide which signal counts it; all
// else (an address, a length, a time) is told of the first one only. So where these are
// as they were, the match is counted by the signal of then, and none is made for it.
//
// That holds for ever: a signal that is kept apart stays so, and one that became one of
// the rest of its group does too. It does not hold when a match differs in what the
// members of its group have in common so far, when a decoder has a say in the subject or
// the key, or where the whole text is the key.

// maxAgain bounds how many such outcomes are remembered.
const maxAgain = 1 << 14

// deciding are the fields of a matcher that decide who counts its matches; nil, false when
// they do not decide it.
type deciding struct {
	fields  []string
	decoded bool // a decoder may change what they say, while signals are made
	quiet   bool // of no account to a traceback (tell)
	ok      bool
}

// subjectFields are those that fillSubject reads.
var subjectFields = []string{
	"gpu", "port", "nvswitch", "pci", "link", "container", "unit", "node", "process", "pid", "rank",
	"uuid", "serial", "index", "minor", "gi", "ci",
}

// deciding are the deciding fields of a matcher, worked out on first use: at a start that
// is most of them for nothing.
func (s *Scanner) deciding(mid int32) *deciding {
	d := s.decide[mid].Load()
	if d == nil {
		of := decidingOf(s.matchers[mid])
		d = &of
		s.decide[mid].Store(d)
	}
	return d
}

// decidingOf works out the deciding fields of a matcher.
func decidingOf(m *catalog.Pattern) deciding {
	d := deciding{ok: len(m.Key) > 0, decoded: len(m.Decode) > 0 || m.LevelFrom != ""}
	if !d.ok {
		return d
	}
	level, _ := gpumedic.ParseLevel(m.Level)
	d.quiet = level < gpumedic.LevelAbnormal && m.LevelFrom == "" && m.Kind != bareException
	d.fields = append(slices.Clone(subjectFields), m.Key...)
	for rest := m.Kind; ; {
		hole, after, more := nextHole(rest)
		if !more {
			break
		}
		d.fields = append(d.fields, hole)
		rest = after
	}
	slices.Sort(d.fields)
	d.fields = slices.DeleteFunc(slices.Compact(d.fields), func(name string) bool {
		return !strings.Contains(m.Matcher.Pattern, "<"+name+">") // set ones are always the same
	})
	return d
}

// again makes the key of a match in x.decides, and looks up who counted its like.
func (x *input) again(mid int32, p place, msg *frame.Message, fields map[string]string) *entry {
	d := x.s.deciding(mid)
	if !d.ok || x.detailed() && !d.quiet {
		x.decides = x.decides[:0]
		return nil
	}
	b := binary.LittleEndian.AppendUint32(x.decides[:0], uint32(mid))
	b = append(b, byte(msg.Origin), x.windowClass(p.line, msg.Stamp))
	for _, s := range [...]string{msg.Host, msg.Container, msg.Pod, msg.Rank} {
		b = append(append(b, s...), 0)
	}
	if msg.Rank == "" && msg.Origin != frame.Kernel {
		b = append(b, frame.RankInText(msg.Text)...)
	}
	if msg.Ident == "" && msg.Origin == frame.Unknown {
		b = binary.AppendUvarint(b, uint64(msg.PID))
	}
	for _, name := range d.fields {
		b = append(append(b, 0), fields[name]...)
	}
	x.decides = b
	e := x.counted[string(b)]
	if e != nil && e.out != nil && !keepsCommon(e.out.common, fields) {
		return nil
	}
	return e
}

// keepsCommon says that a match does not differ in what the members of a group have in
// common: one of which no more texts are told apart still looks at that. What only a
// finished signal says is not known.
func keepsCommon(common []field, fields map[string]string) bool {
	for i := range common {
		f := &common[i]
		switch f.name {
		case "nccl_host", "nccl_pid", "cuda_device":
			return false // ncclWriter adds them
		}
		if v, ok := fields[f.name]; ok && v != f.value {
			return false
		}
	}
	return true
}

// detailed says that the fields of signals will be asked for: a traceback is open.
func (x *input) detailed() bool { return x.tb.Active() || x.over }

// sameAgain remembers who counts a match, when its like will be counted by the same.
func (x *input) sameAgain(mid int32, m *catalog.Pattern, pr *proto) {
	e := pr.rest
	switch d := x.s.deciding(mid); {
	case len(x.decides) == 0 || len(x.counted) >= maxAgain:
		return
	case e == nil: // one that is kept apart, if there is one by now
		if d.decoded {
			return
		}
		if e = x.out.byKey[pr.key]; e == nil {
			return
		}
	case !statesAll(m, pr.sig.Fields) || pr.decoded && d.decoded:
		return
	}
	if x.counted == nil {
		x.counted = map[string]*entry{}
	}
	x.counted[string(x.decides)] = e
}
