package scan

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/frame"
)

// cacheBytes bounds the memory of remembered outcomes; a full cache starts anew.
const (
	cacheBytes = 2 << 20
	protoBytes = 1 << 10 // about what a signal takes
)

// outcome is what a matcher makes of a message text, worked out once.
type outcome struct {
	protos []*proto
	joined int  // following records that belong to it
	again  bool // of a signal, nothing but who counts it is known
}

// proto is a signal ready to be counted.
type proto struct {
	sig        gpumedic.Signal
	group      string // what overflow collapses by
	key        string // what equal signals share
	start, end int    // of the match in the message
	entry      *entry
	// rest counts a signal whose group floods; hash is of its key. Its fields are on loan
	// until the next message, and not all there when it was not decoded.
	rest    *entry
	hash    uint64
	decoded bool
	// again: entry is of a signal like it, which was made before.
	again bool
}

// place notes where in the message the match is.
func (pr *proto) place(part piece, match catalog.Match) {
	end := part.at + min(match.End, len(part.text))
	start := min(part.at+match.Start, end)
	pr.start, pr.end = start, max(end, start+1)
}

// extent is a range of a message that gave a kind already.
type extent struct {
	kind       string
	start, end int
}

// message tries the wanted matchers, in the order of the catalog, on one message.
func (x *input) message(p place, msgs []frame.Message, i int) {
	msg := &msgs[i]
	x.lent, x.lentProtos = 0, 0
	done, found := x.done[:0], x.found[:0]
	for _, mid := range x.mids {
		m := x.s.matchers[mid]
		if !x.mayMatch(m, msg, len(msgs) > 1) || x.isUsed(mid, p.row, i) {
			continue
		}
		out := x.outcome(mid, m, p, msgs, i)
		for j := range out.protos {
			pr := out.protos[j]
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
	x.done, x.found = done, found
}

// lend gives an empty map for the fields of a match.
func (x *input) lend() map[string]string {
	if x.lent == len(x.loans) {
		x.loans = append(x.loans, map[string]string{})
	}
	f := x.loans[x.lent]
	clear(f)
	x.lent++
	return f
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
	out := x.remembered(mid, m, p, msg, more)
	if len(out.protos) > 0 {
		for _, r := range more[:out.joined] {
			x.used = append(x.used, usedRecord{mid, r.row, r.msg})
		}
	}
	return out
}

// remembered looks up the outcome of a message, or works it out and remembers it.
func (x *input) remembered(mid int32, m *catalog.Pattern, p place, msg *frame.Message, more []record) *outcome {
	use := &x.memoUse[mid]
	if use.vain() {
		return x.work(mid, m, p, msg, more)
	}
	x.memo = binary.LittleEndian.AppendUint32(x.memo[:0], uint32(mid))
	x.memo = append(x.memo, byte(msg.Origin), x.windowClass(p.line, msg.Stamp))
	for _, s := range [...]string{msg.Host, msg.Ident, msg.Container, msg.Pod, msg.Rank, msg.Task, msg.Text} {
		x.memo = append(append(x.memo, s...), 0)
	}
	if msg.Ident == "" {
		x.memo = binary.AppendUvarint(x.memo, uint64(msg.PID))
	}
	for _, r := range more {
		x.memo = append(append(x.memo, r.rest...), 0)
	}
	if out, ok := x.cache[string(x.memo)]; ok && !(out.again && x.detailed()) {
		use.found++
		return out
	}
	lent := x.work(mid, m, p, msg, more)
	if slices.ContainsFunc(lent.protos, func(pr *proto) bool { return pr.rest != nil }) {
		return lent
	}
	out := &outcome{joined: lent.joined}
	for _, pr := range lent.protos {
		out.again = out.again || pr.again && !x.s.deciding(mid).quiet
		own := *pr
		out.protos = append(out.protos, &own)
	}
	cost := len(x.memo) + 128 + protoBytes*len(out.protos)
	if x.cacheLen += cost; x.cacheLen > cacheBytes {
		clear(x.cache)
		x.cacheLen = cost
	}
	x.cache[string(x.memo)] = out
	return out
}

// memoUse is how often the outcomes of a matcher were looked up, and found.
type memoUse struct{ asked, found uint32 }

// vain says that a matcher's messages are hardly ever the same, so that remembering them
// is not worth it. Every 16th is still tried: a storm of equal lines may come.
func (u *memoUse) vain() bool {
	u.asked++
	if u.asked == 1<<16 {
		u.asked, u.found = u.asked/2, u.found/2
	}
	return u.asked > 256 && u.found*8 < u.asked/8 && u.asked%16 != 0
}

// lendProto gives an empty signal.
func (x *input) lendProto() *proto {
	if x.lentProtos == len(x.protos) {
		x.protos = append(x.protos, new(proto))
	}
	pr := x.protos[x.lentProtos]
	*pr = proto{}
	x.lentProtos++
	return pr
}

// work matches a message in earnest: split, joined with as many followers as the
// pattern allows. What comes out is on loan until the next call.
func (x *input) work(mid int32, m *catalog.Pattern, p place, msg *frame.Message, more []record) *outcome {
	out := &x.worked
	*out = outcome{protos: out.protos[:0]}
	x.parts = split(x.parts[:0], msg.Text, m.Split)
	for k, part := range x.parts {
		last := k == len(x.parts)-1
		tries := 0
		if last {
			tries = len(more)
		}
		for n := tries; n >= 0; n-- {
			text := part.text
			for _, r := range more[:n] {
				text = appended(text, r.rest)
			}
			found, ok := match(m, text, x.lend())
			if !ok {
				x.lent--
				continue
			}
			if last {
				out.joined = n
			}
			var pr *proto
			if e := x.again(mid, p, msg, found.Fields); e != nil {
				pr = x.lendProto()
				pr.entry, pr.again = e, true
				pr.sig.Kind = e.sig.Kind
				pr.sig.Level, _ = gpumedic.ParseLevel(m.Level)
				pr.place(part, found)
			} else {
				pr = x.build(m, p, msg, part, text, found)
				x.sameAgain(mid, m, pr)
			}
			out.protos = append(out.protos, pr)
			break
		}
	}
	return out
}

type piece struct {
	text string
	at   int // in the message
}

// split appends the parts of a message, cut before each further occurrence of sep. A
// message that does not begin as the event does only quotes it and stays whole.
func split(out []piece, text, sep string) []piece {
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
