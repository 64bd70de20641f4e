package scan

import (
	"bytes"
	"slices"
	"sort"

	"github.com/gpumedic/gpumedic/internal/source"
)

// How far around a row anything may look, in bytes of text. They bound memory, and
// as they count from the row, the answer does not depend on block borders.
const (
	lookBehind   = 256 << 10
	lookAhead    = 256 << 10
	sectionAhead = 4 << 20
	sectionRows  = 20_000
	frameRows    = 256
)

// text is the part of an input that is in memory: some blocks before the one being
// scanned, that block, and whatever was read ahead on demand.
type text struct {
	feed   feed
	blocks []*block
	rows   int // rows loaded so far, also of blocks that are gone
	end    bool
}

// block is a block with the place of its rows. A row is a line, or a piece of one
// that is longer than a block may be.
type block struct {
	source.Block
	firstRow int
	starts   []int32 // of rows; made when first asked for
	found    *examined
}

func (b *block) endOff() int64 { return b.Offset + int64(len(b.Data)) }

// line is the number of the line that a row of the block is in: a cut row is alone
// in its block, so that rows and lines go in step.
func (b *block) line(row int) int { return b.FirstLine + row - b.firstRow }

func (b *block) index() []int32 {
	if b.starts == nil {
		if b.found != nil {
			b.starts = b.found.starts[:0]
		}
		b.starts = slices.Grow(b.starts, b.Rows)
		for at := 0; at < len(b.Data); {
			b.starts = append(b.starts, int32(at))
			n := bytes.IndexByte(b.Data[at:], '\n')
			if n < 0 {
				break
			}
			at += n + 1
		}
		if b.found != nil {
			b.found.starts = b.starts
		}
	}
	return b.starts
}

// load reads one more block.
func (t *text) load() bool {
	if t.end {
		return false
	}
	b := t.feed.next()
	if b == nil {
		t.end = true
		return false
	}
	t.blocks = append(t.blocks, b)
	t.rows += b.Rows
	return true
}

// after returns the block behind b (the first one for nil), nil at the end, and
// lets go of what no row from there on may look back at.
func (t *text) after(b *block) *block {
	i := 0
	if b != nil {
		i = sort.Search(len(t.blocks), func(i int) bool { return t.blocks[i].firstRow > b.firstRow })
	}
	if i == len(t.blocks) && !t.load() {
		return nil
	}
	next := t.blocks[i]
	drop := 0
	for t.blocks[drop].endOff() <= next.Offset-lookBehind {
		t.blocks[drop].release()
		t.feed.free(t.blocks[drop].Block)
		t.blocks[drop] = nil
		drop++
	}
	t.blocks = t.blocks[drop:]
	return next
}

// rowText is a row without its newline, and where it is.
type rowText struct {
	text []byte
	off  int64
	line int
}

// blockOf is the block in memory that a row is in, nil for none.
func (t *text) blockOf(row int) *block {
	i := sort.Search(len(t.blocks), func(i int) bool { return t.blocks[i].firstRow > row }) - 1
	if i < 0 || row >= t.rows {
		return nil
	}
	return t.blocks[i]
}

// row returns a row near the place from: not further than lookBehind before it and
// not starting further than ahead after it.
func (t *text) row(n int, from, ahead int64) (rowText, bool) {
	for n >= t.rows {
		if last := len(t.blocks) - 1; last >= 0 && t.blocks[last].endOff()-from > ahead {
			return rowText{}, false
		}
		if !t.load() {
			return rowText{}, false
		}
	}
	i := sort.Search(len(t.blocks), func(i int) bool { return t.blocks[i].firstRow > n }) - 1
	if i < 0 {
		return rowText{}, false
	}
	b := t.blocks[i]
	starts := b.index()
	k := n - b.firstRow
	lo, hi := int(starts[k]), len(b.Data)
	if k+1 < len(starts) {
		hi = int(starts[k+1])
	}
	r := rowText{text: trimEOL(b.Data[lo:hi]), off: b.Offset + int64(lo), line: b.line(n)}
	if r.off < from-lookBehind || r.off > from+ahead {
		return rowText{}, false
	}
	return r, true
}

// trimEOL removes the end of line in any of its forms.
func trimEOL(row []byte) []byte {
	if n := len(row); n > 0 && row[n-1] == '\n' {
		row = row[:n-1]
	}
	for n := len(row); n > 0 && row[n-1] == '\r'; n-- {
		row = row[:n-1]
	}
	return row
}

// view is a row with its surroundings, as a framer sees it.
type view struct {
	t   *text
	row int
	off int64
	// own is the text of the row itself: a part of it where carriage returns or
	// sheer length made one necessary.
	own []byte
}

// Line implements frame.Window.
func (v *view) Line(delta int) ([]byte, bool) {
	if delta == 0 {
		return v.own, true
	}
	if delta < -frameRows || delta > frameRows || v.row+delta < 0 {
		return nil, false
	}
	r, ok := v.t.row(v.row+delta, v.off, lookAhead)
	return r.text, ok
}

// lines is a row with its surroundings, as a section parser sees it.
type lines struct {
	t   *text
	row int
	off int64
}

// Line implements section.Lines.
func (l lines) Line(i int) (string, bool) {
	if i < -sectionRows || i > sectionRows || l.row+i < 0 {
		return "", false
	}
	r, ok := l.t.row(l.row+i, l.off, sectionAhead)
	return string(r.text), ok
}
