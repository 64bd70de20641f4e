package literal

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

// New builds a searcher. An empty literal never occurs.
func New(lits []Literal) Searcher {
	m := &multi{of: lits, lits: make([]entry, len(lits))}
	ids := make([][]int32, len(classes))
	for i, l := range lits {
		m.lits[i] = entry{text: []byte(l.Text), fold: l.Fold}
		if l.Fold {
			m.lits[i].text = lower(m.lits[i].text)
		}
		for c, cl := range classes {
			if len(l.Text) >= cl.k+cl.step-1 {
				ids[c] = append(ids[c], int32(i))
				break
			}
		}
	}
	for c, cl := range classes {
		if len(ids[c]) > 0 {
			m.passes = append(m.passes, newPass(cl, m.lits, ids[c]))
		}
	}
	return m
}

// class is a way to probe: windows of k bytes at every step-th byte. A literal
// goes to the first class that it is long enough for.
type class struct{ k, step int }

var classes = []class{{4, 4}, {3, 2}, {3, 1}, {2, 1}, {1, 1}}

type entry struct {
	text []byte // lower case when fold
	fold bool
}

type multi struct {
	of     []Literal
	lits   []entry
	passes []*pass
}

func (m *multi) Find(dst []Hit, block []byte) []Hit {
	start := len(dst)
	for _, p := range m.passes {
		switch p.class {
		case classes[0]:
			dst = p.find4(dst, block, m.lits)
		case classes[1]:
			dst = p.find3(dst, block, m.lits)
		default:
			dst = p.findAll(dst, block, m.lits)
		}
	}
	// Each pass finds in the order of windows, so this is nearly sorted already.
	if got := dst[start:]; !slices.IsSortedFunc(got, compareHits) {
		slices.SortFunc(got, compareHits)
	}
	return dst
}

const (
	foldBits = 0x20202020
	hashMul  = 0x9E3779B1
	hashSize = 17 // bits: a table of 16 KiB
)

// pass is the tables of one class.
type pass struct {
	class
	mask  uint32 // of the k bytes of a window
	bits  [1 << hashSize / 64]uint64
	slots []slot // open addressing, by window
	shift uint
	at    []place
}

type slot struct {
	gram       uint32
	start, end int32 // of pass.at; start == end means free
}

// place says that a literal has the window at this offset.
type place struct {
	lit int32
	off int32
}

// newPass fills the tables in two rounds, first to count and then to place: a map of
// lists would take as long as scanning a small log.
func newPass(c class, lits []entry, ids []int32) *pass {
	p := &pass{class: c, mask: uint32(1<<(8*c.k) - 1)}
	froms := make([]int, len(ids))
	for i, id := range ids {
		froms[i] = rarest(lits[id].text, c)
	}
	n := len(ids) * c.step // windows in all
	size := bits.Len(uint(4 * n))
	p.slots, p.shift = make([]slot, 1<<size), uint(32-size)
	each := func(do func(s *slot, id int32, off int)) {
		for i, id := range ids {
			for o := froms[i]; o < froms[i]+c.step; o++ {
				do(p.claim(p.gram(lits[id].text, o)), id, o)
			}
		}
	}
	each(func(s *slot, _ int32, _ int) { s.end++ })
	at := int32(0)
	for i := range p.slots {
		if s := &p.slots[i]; s.end > 0 {
			s.start, s.end, at = at, at, at+s.end
		}
	}
	p.at = make([]place, n)
	each(func(s *slot, id int32, off int) {
		p.at[s.end] = place{id, int32(off)}
		s.end++
	})
	return p
}

// claim finds the slot of a window or takes a free one. No window is 0: the case bit
// is set.
func (p *pass) claim(g uint32) *slot {
	i := g * hashMul >> p.shift
	for p.slots[i].gram != g {
		if p.slots[i].gram == 0 {
			p.slots[i].gram = g
			h := g * hashMul >> (32 - hashSize)
			p.bits[h/64] |= 1 << (h % 64)
			break
		}
		i = (i + 1) % uint32(len(p.slots))
	}
	return &p.slots[i]
}

// gram is the window at i with the case bit set in every byte.
func (p *pass) gram(b []byte, i int) uint32 {
	var g uint32
	for j := range p.k {
		g |= uint32(b[i+j]) << (8 * j)
	}
	return (g | foldBits) & p.mask
}

func (p *pass) maybe(g uint32) bool {
	h := g * hashMul >> (32 - hashSize)
	return p.bits[h/64]>>(h%64)&1 != 0
}

// find4 probes two windows a load.
func (p *pass) find4(dst []Hit, b []byte, lits []entry) []Hit {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		v := binary.LittleEndian.Uint64(b[i:]) | foldBits<<32 | foldBits
		if g := uint32(v); p.maybe(g) {
			dst = p.verify(dst, b, i, g, lits)
		}
		if g := uint32(v >> 32); p.maybe(g) {
			dst = p.verify(dst, b, i+4, g, lits)
		}
	}
	return p.findFrom(dst, b, lits, i)
}

// find3 probes three windows, at bytes 0, 2 and 4, a load.
func (p *pass) find3(dst []Hit, b []byte, lits []entry) []Hit {
	const mask = 1<<24 - 1
	i := 0
	for ; i+8 <= len(b); i += 6 {
		v := binary.LittleEndian.Uint64(b[i:]) | foldBits<<32 | foldBits
		if g := uint32(v) & mask; p.maybe(g) {
			dst = p.verify(dst, b, i, g, lits)
		}
		if g := uint32(v>>16) & mask; p.maybe(g) {
			dst = p.verify(dst, b, i+2, g, lits)
		}
		if g := uint32(v>>32) & mask; p.maybe(g) {
			dst = p.verify(dst, b, i+4, g, lits)
		}
	}
	return p.findFrom(dst, b, lits, i)
}

// findAll probes at every byte: as many windows a load as fit in it.
func (p *pass) findAll(dst []Hit, b []byte, lits []entry) []Hit {
	i, n := 0, 9-p.k
	for ; i+8 <= len(b); i += n {
		v := binary.LittleEndian.Uint64(b[i:]) | foldBits<<32 | foldBits
		for j := range n {
			if g := uint32(v) & p.mask; p.maybe(g) {
				dst = p.verify(dst, b, i+j, g, lits)
			}
			v >>= 8
		}
	}
	return p.findFrom(dst, b, lits, i)
}

// findFrom probes one window at a time: the end of a block.
func (p *pass) findFrom(dst []Hit, b []byte, lits []entry, i int) []Hit {
	for ; i+p.k <= len(b); i += p.step {
		if g := p.gram(b, i); p.maybe(g) {
			dst = p.verify(dst, b, i, g, lits)
		}
	}
	return dst
}

// verify compares the literals that have window g, given that it stands at i.
func (p *pass) verify(dst []Hit, b []byte, i int, g uint32, lits []entry) []Hit {
	s := g * hashMul >> p.shift
	for ; ; s = (s + 1) % uint32(len(p.slots)) {
		sl := p.slots[s]
		if sl.start == sl.end {
			return dst
		}
		if sl.gram == g {
			for _, at := range p.at[sl.start:sl.end] {
				from := i - int(at.off)
				if from >= 0 && lits[at.lit].at(b[from:]) {
					dst = append(dst, Hit{at.lit, int32(from)})
				}
			}
			return dst
		}
	}
}

// at reports whether b begins with the literal.
func (e *entry) at(b []byte) bool {
	if len(b) < len(e.text) {
		return false
	}
	if !e.fold {
		return bytes.Equal(b[:len(e.text)], e.text)
	}
	for i, c := range e.text {
		d := b[i]
		if d >= 'A' && d <= 'Z' {
			d += 0x20
		}
		if c != d {
			return false
		}
	}
	return true
}
