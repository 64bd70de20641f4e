package scan

import (
	"encoding/binary"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/frame"
)

// cacheBytes bounds the memory of remembered outcomes; a full cache starts anew.
const (
	cacheBytes = 16 << 20
	protoBytes = 1 << 10 // about what a signal takes
)

// outcome is what a matcher makes of a message text, worked out once.
type outcome struct {
	protos []proto
	joined int // following records that belong to it
}

// proto is a signal ready to be counted.
type proto struct {
	sig        gpumedic.Signal
	group      string // what overflow collapses by
	key        string // what equal signals share
	start, end int    // of the match in the message
	light      bool   // not decoded, since its group floods
	entry      *entry
}

// extent is a range of a message that gave a kind already.
type extent struct {
	kind       string
	start, end int
}

// message tries the wanted matchers, in the order of the catalog, on one message.
func (x *input) message(p place, msgs []frame.Message, i int) {
	msg := &msgs[i]
	var done []extent
	var found []*proto
	for _, mid := range x.mids {
		m := x.s.matchers[mid]
		if !x.mayMatch(m, msg, len(msgs) > 1) || x.isUsed(mid, p.row, i) {
			continue
		}
		out := x.outcome(mid, m, p, msgs, i)
		for j := range out.protos {
			pr := &out.protos[j]
			if overlaps(done, pr) {
				continue
			}
			done = append(done, extent{pr.sig.Kind, pr.start, pr.end})
			x.count(p, msg, pr)
			found = append(found, pr)
		}
	}
	if len(found) > 0 {
		x.tell(p, msg, found)
	}
}

func overlaps(done []extent, p *proto) bool {
	for _, d := range done {
		if d.kind == p.sig.Kind && p.start < d.end && d.start < p.end {
			return true
		}
	}
	return false
}

// mayMatch says whether the writer of a message may have written what m matches.
func (x *input) mayMatch(m *catalog.Pattern, msg *frame.Message, several bool) bool {
	if m.Origin == "kernel" && msg.Origin == frame.Service {
		return false
	}
	return m.WrittenBy(msg.Ident) && (!several || m.HasLiteral(msg.Text))
}

// outcome looks up or works out what m makes of a message and its followers.
func (x *input) outcome(mid int32, m *catalog.Pattern, p place, msgs []frame.Message, i int) *outcome {
	msg := &msgs[i]
	var more []record
	if m.Join != nil {
		more = x.following(m, p, msgs, i)
	}
	x.key = binary.LittleEndian.AppendUint32(x.key[:0], uint32(mid))
	x.key = append(x.key, byte(msg.Origin), x.windowClass(p.line, msg.Stamp))
	for _, s := range [...]string{msg.Host, msg.Ident, msg.Container, msg.Pod, msg.Rank, msg.Task, msg.Text} {
		x.key = append(append(x.key, s...), 0)
	}
	if msg.Ident == "" {
		x.key = binary.AppendUvarint(x.key, uint64(msg.PID))
	}
	for _, r := range more {
		x.key = append(append(x.key, r.rest...), 0)
	}
	out, ok := x.cache[string(x.key)]
	if !ok {
		out = x.work(m, p, msg, more)
		cost := len(x.key) + 128 + protoBytes*len(out.protos)
		if x.cacheLen += cost; x.cacheLen > cacheBytes {
			clear(x.cache)
			x.cacheLen = cost
		}
		x.cache[string(x.key)] = out
	}
	if len(out.protos) > 0 {
		for _, r := range more[:out.joined] {
			x.used = append(x.used, usedRecord{mid, r.row, r.msg})
		}
	}
	return out
}

// work matches a message in earnest: split, joined with as many followers as the
// pattern allows.
func (x *input) work(m *catalog.Pattern, p place, msg *frame.Message, more []record) *outcome {
	out := &outcome{}
	parts := split(msg.Text, m.Split)
	for k, part := range parts {
		last := k == len(parts)-1
		tries := 0
		if last {
			tries = len(more)
		}
		for n := tries; n >= 0; n-- {
			text := part.text
			for _, r := range more[:n] {
				text = appended(text, r.rest)
			}
			found, ok := match(m, text)
			if !ok {
				continue
			}
			if last {
				out.joined = n
			}
			out.protos = append(out.protos, x.build(m, p, msg, part, text, found))
			break
		}
	}
	return out
}

type piece struct {
	text string
	at   int // in the message
}

// split cuts a message before each further occurrence of sep. A message that does
// not begin as the event does only quotes it and stays whole.
func split(text, sep string) []piece {
	var out []piece
	at := 0
	word, _, _ := strings.Cut(sep, " ")
	for sep != "" && strings.HasPrefix(text, word) && at < len(text) {
		n := strings.Index(text[at+1:], sep)
		if n < 0 {
			break
		}
		out = append(out, piece{strings.TrimRight(text[at:at+1+n], " "), at})
		at += 1 + n
	}
	return append(out, piece{text[at:], at})
}
