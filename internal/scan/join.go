package scan

import (
	"bytes"
	"strings"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/frame"
)

const (
	// skipRecords is how many records of others may stand between those of one
	// message: several processors write to one log.
	skipRecords = 2
	// recordRows is how many rows one record of a journal export may take.
	recordRows = 200
)

// record is a following record that may belong to a message.
type record struct {
	rest     string
	row, msg int
}

// usedRecord says that a matcher has taken a record into an earlier message.
type usedRecord struct {
	mid      int32
	row, msg int
}

func (x *input) isUsed(mid int32, row, msg int) bool {
	keep := x.used[:0]
	found := false
	for _, u := range x.used {
		if u.row >= row {
			keep = append(keep, u)
			found = found || u == usedRecord{mid, row, msg}
		}
	}
	x.used = keep
	return found
}

// following collects the records that continue message i of its row, by the
// matcher's join: from the same writer, in order, with few others in between.
func (x *input) following(m *catalog.Pattern, p place, msgs []frame.Message, i int) []record {
	head := &msgs[i]
	var out []record
	soFar, skipped := head.Text, 0
	consider := func(msg *frame.Message, row, k int) (more bool) {
		switch joined, ends := x.joins(m, head, msg, soFar, x.indent(row, msg, p.off)); {
		case ends:
			return false
		case joined == nil:
			skipped++
			return skipped <= skipRecords
		default:
			soFar = appended(soFar, joined.rest)
			out = append(out, record{joined.rest, row, k})
			return !joined.last && len(out) < m.Join.Lines
		}
	}
	for k := i + 1; k < len(msgs); k++ {
		if !consider(&msgs[k], p.row, k) {
			return out
		}
	}
	export := bytes.HasPrefix(p.text, []byte("MESSAGE="))
	for row, n := p.row+1, 0; n < m.Join.Lines+skipRecords; row++ {
		if export {
			r, ok := x.t.row(row, p.off, lookAhead)
			if !ok || row-p.row > recordRows*(m.Join.Lines+skipRecords) {
				return out
			}
			if !bytes.HasPrefix(r.text, []byte("MESSAGE=")) {
				continue
			}
		}
		n++
		next, ok := x.fr.at(row, p.off)
		if !ok {
			return out
		}
		for k := range next {
			if !consider(&next[k], row, k) {
				return out
			}
		}
	}
	return out
}

type joinedText struct {
	rest string
	last bool
}

// joins judges one following record: part of the message (joined), the end of it
// (ends), or neither: a record of somebody else, to be skipped.
func (x *input) joins(m *catalog.Pattern, head, msg *frame.Message, soFar, indent string) (joined *joinedText, ends bool) {
	if !sameWriter(head, msg) {
		return nil, false
	}
	rest, ok, last := m.Joins(msg.Text)
	if !ok && indent != "" {
		rest, ok, last = m.Joins(indent + msg.Text)
	}
	if !ok {
		// The kernel is many writers under one name: another subsystem may cut in.
		return nil, head.Origin == frame.Service || subsystem(head.Text) == subsystem(msg.Text)
	}
	if m.HasLiteral(msg.Text) {
		_, own := m.Match(msg.Text)
		_, whole := m.Match(soFar)
		if own && whole {
			return nil, true // it begins a message of its own
		}
	}
	return &joinedText{rest, last}, false
}

// indent is the white space before a message, which framing takes off and by which
// some continuations are told.
func (x *input) indent(row int, msg *frame.Message, from int64) string {
	if msg.Off <= 0 {
		return ""
	}
	r, ok := x.t.row(row, from, lookAhead)
	if !ok || msg.Off > len(r.text) {
		return ""
	}
	head := r.text[:msg.Off]
	return string(head[len(bytes.TrimRight(head, " \t")):])
}

// appended is a message with one more record.
func appended(text, rest string) string {
	return strings.TrimRight(text, " ") + " " + strings.TrimSpace(rest)
}

func sameWriter(a, b *frame.Message) bool {
	return a.Origin == b.Origin && a.Ident == b.Ident && a.PID == b.PID && a.Host == b.Host &&
		a.Pod == b.Pod && a.Container == b.Container && a.Rank == b.Rank && a.Task == b.Task
}

// subsystem is the first word of a message, by which parts of the kernel sign:
// "NVRM", "pcieport", "nvidia".
func subsystem(text string) string {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return text[:i]
		}
	}
	return text
}
