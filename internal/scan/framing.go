package scan

import (
	"bytes"

	"github.com/gpumedic/gpumedic/internal/frame"
	"github.com/gpumedic/gpumedic/internal/scan/literal"
)

const (
	// longRow is the length above which a row is cut to the surroundings of its
	// hits before anything costly looks at it.
	longRow = 64 << 10
	// around is how much of a long row is kept on each side of a hit.
	around = 8 << 10
	// maxSpans is how many such surroundings one row may have: a giant row that is
	// nothing but hits must not cost hours.
	maxSpans = 16
)

// span is a part of a row to be framed by itself, with the hits in it.
type span struct {
	text []byte
	off  int64 // of text in the input
	hits []literal.Hit
}

// spans cuts a candidate row into what can be framed. Progress bars return the
// carriage and write over their line, so each stretch between carriage returns is
// what its writer meant as a line; a giant row is cut around its hits. start is the
// offset of the row in the block that the hits count from.
func spans(dst []span, row []byte, start int, off int64, hits []literal.Hit) []span {
	returns := bytes.IndexByte(row, '\r') >= 0
	if !returns && len(row) <= longRow {
		return append(dst, span{row, off, hits})
	}
	for n := 0; len(hits) > 0 && (n < maxSpans || len(row) <= longRow); n++ {
		at := int(hits[0].Off) - start
		if at >= len(row) {
			break // a literal that ends in the end of the line
		}
		lo, hi := 0, len(row)
		if returns {
			lo = bytes.LastIndexByte(row[:at], '\r') + 1
			if n := bytes.IndexByte(row[at:], '\r'); n >= 0 {
				hi = at + n
			}
		}
		if hi-lo > longRow {
			lo, hi = max(lo, at-around), min(hi, at+around)
		}
		n := 1
		for n < len(hits) && int(hits[n].Off)-start < hi {
			n++
		}
		dst = append(dst, span{row[lo:hi], off + int64(lo), hits[:n]})
		hits = hits[n:]
	}
	return dst
}

// framed remembers the messages of some rows: a row is often asked for as the
// neighbour of another before its own turn.
type framed struct {
	fr   *frame.Framer
	t    *text
	v    view
	ring [16]struct {
		row  int
		msgs []frame.Message
	}
}

func newFramed(fr *frame.Framer, t *text) *framed {
	f := &framed{fr: fr, t: t}
	for i := range f.ring {
		f.ring[i].row = -1
	}
	return f
}

// frame appends the messages of one span of a row.
func (f *framed) frame(out []frame.Message, row int, off int64, own []byte) []frame.Message {
	f.v = view{t: f.t, row: row, off: off, own: own}
	return f.fr.Append(out, &f.v)
}

// at returns the messages of a whole row near the place from.
func (f *framed) at(row int, from int64) ([]frame.Message, bool) {
	slot := &f.ring[row%len(f.ring)]
	if slot.row == row {
		return slot.msgs, true
	}
	r, ok := f.t.row(row, from, lookAhead)
	if !ok {
		return nil, false
	}
	return f.whole(row, r.off, r.text), true
}

// whole returns the messages of a row of which place and text are known.
func (f *framed) whole(row int, off int64, own []byte) []frame.Message {
	slot := &f.ring[row%len(f.ring)]
	if slot.row == row {
		return slot.msgs
	}
	if b := f.t.blockOf(row); b != nil {
		if msgs, ok := b.framedAhead(row); ok {
			return msgs
		}
	}
	slot.row = row
	slot.msgs = f.frame(slot.msgs[:0], row, off, own[:min(len(own), longRow)])
	return slot.msgs
}
