package scan

import (
	"bytes"
	"sync"

	"github.com/gpumedic/gpumedic/internal/frame"
	"github.com/gpumedic/gpumedic/internal/scan/literal"
)

// What a block alone tells is found out without a look at the blocks around it: which of
// its rows are candidates, which of those are dull, and the messages of the rest, as far
// as the block holds all that framing asks for. Several blocks are examined at the same
// time (ahead.go); what follows goes through the rows in order and takes what is there.

// examined is what a block alone tells.
type examined struct {
	rows   []candidate
	hits   []literal.Hit
	msgs   []frame.Message
	starts []int32 // of block.index, kept for the next block
}

// candidate is a row with hits.
type candidate struct {
	row        int // in the block
	start, end int // in its data, without the newline
	hits       [2]int
	msgs       [2]int // framed ahead
	framed     bool
	dull       bool
}

var examinedPool = sync.Pool{New: func() any { return new(examined) }}

// examiner examines blocks for one goroutine.
type examiner struct {
	s      *Scanner
	fr     *frame.Framer // nil: rows are framed when it is their turn
	marked []int         // by matcher: the row that last asked it
	rowNo  int
}

func newExaminer(s *Scanner, fr *frame.Framer) *examiner {
	return &examiner{s: s, fr: fr, marked: make([]int, len(s.matchers))}
}

// examine fills in what a block tells.
func (x *examiner) examine(b *block) {
	f := examinedPool.Get().(*examined)
	f.rows, f.msgs = f.rows[:0], f.msgs[:0]
	plain := plainText(b.Data)
	f.hits = x.s.search.Find(f.hits[:0], plain.data)
	if len(plain.cuts) > 0 {
		for i := range f.hits {
			f.hits[i].Off = int32(plain.raw(int(f.hits[i].Off)))
		}
	}
	row, at := 0, 0 // the row that starts at byte `at`
	for i := 0; i < len(f.hits); {
		off := int(f.hits[i].Off)
		start := bytes.LastIndexByte(b.Data[at:off], '\n') + 1 + at
		row += bytes.Count(b.Data[at:start], []byte{'\n'})
		at = start
		end := len(b.Data)
		if n := bytes.IndexByte(b.Data[off:], '\n'); n >= 0 {
			end = off + n
		}
		n := i + 1
		for n < len(f.hits) && int(f.hits[n].Off) <= end {
			n++
		}
		c := candidate{row: row, start: start, end: end, hits: [2]int{i, n}}
		c.dull = x.dull(trimEOL(b.Data[start:end]), f.hits[i:n])
		f.rows = append(f.rows, c)
		i = n
	}
	b.found = f
	if x.fr != nil {
		x.frame(b)
	}
}

// frame frames the rows of a block that will be asked for.
func (x *examiner) frame(b *block) {
	f := b.found
	v := inBlock{b: b}
	for i := range f.rows {
		c := &f.rows[i]
		own := trimEOL(b.Data[c.start:c.end])
		if c.dull || len(own) > longRow || bytes.IndexByte(own, '\r') >= 0 {
			continue
		}
		v.k, v.own, v.missed = c.row, own, false
		c.msgs[0] = len(f.msgs)
		f.msgs = x.fr.Append(f.msgs, &v)
		if v.missed {
			f.msgs = f.msgs[:c.msgs[0]]
			continue
		}
		c.msgs[1], c.framed = len(f.msgs), true
	}
}

// inBlock is a row with its surroundings, as far as its block holds them.
type inBlock struct {
	b      *block
	k      int // the row in the block
	own    []byte
	missed bool // something outside was asked for
}

// Line implements frame.Window; what it answers, [view.Line] answers too.
func (v *inBlock) Line(delta int) ([]byte, bool) {
	if delta == 0 {
		return v.own, true
	}
	k, starts := v.k+delta, v.b.index()
	switch {
	case delta < -frameRows || delta > frameRows || v.b.firstRow+k < 0:
		return nil, false
	case k < 0 || k >= len(starts):
		v.missed = true
		return nil, false
	}
	lo, hi := int(starts[k]), len(v.b.Data)
	if k+1 < len(starts) {
		hi = int(starts[k+1])
	}
	if own := int(starts[v.k]); lo < own-lookBehind || lo > own+lookAhead {
		return nil, false
	}
	return trimEOL(v.b.Data[lo:hi]), true
}

// framedAhead returns the messages of a row that were framed when its block was examined.
func (b *block) framedAhead(row int) ([]frame.Message, bool) {
	rows := b.found.rows
	lo, hi := 0, len(rows)
	for want := row - b.firstRow; lo < hi; {
		mid := int(uint(lo+hi) >> 1)
		if rows[mid].row < want {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(rows) || rows[lo].row != row-b.firstRow || !rows[lo].framed {
		return nil, false
	}
	return b.found.msgs[rows[lo].msgs[0]:rows[lo].msgs[1]], true
}

// release gives back what a block told.
func (b *block) release() {
	if b.found != nil {
		examinedPool.Put(b.found)
		b.found, b.starts = nil, nil
	}
}
