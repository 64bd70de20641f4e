package literal

import (
	"encoding/binary"
	"math/bits"
)

const (
	foldBits = 0x20202020
	hashMul  = 0x9E3779B1
	// filterBits is the size of the Bloom filter, 2^13 words of 32 bits. Twice the
	// size passes no less on real logs, where most of what passes is a true window.
	filterBits = 13
)

// pass is the tables of one class.
type pass struct {
	class
	mask   uint32                  // of the k bytes of a window
	filter *[1 << filterBits]uint32 // two bits a window, in one word
	teddy  *teddy                  // instead of the filter, where shuffles probe
	vector bool
	slots  []slot // open addressing, by window
	shift  uint
	at     []place
}

// slot is a window and the places that have it.
type slot struct {
	gram       uint32
	start, end int32 // of pass.at; start == end means free
}

// place says that a literal has the window at this offset. Four more of its bytes are
// beside it, as far from the window as they can be: they end most false alarms without
// a look at the literal itself.
type place struct {
	lit    int32
	off    int32
	size   int32 // of the literal
	more   int32 // where the four bytes are, from the window
	is     uint32
	isMask uint32
}

// newPass fills the tables in two rounds, first to count and then to place: a map of
// lists would take as long as scanning a small log.
func newPass(c class, lits []entry, ids []int32, vectors bool) *pass {
	p := &pass{class: c, mask: uint32(1<<(8*c.k) - 1)}
	froms := make([]int, len(ids))
	for i, id := range ids {
		froms[i] = rarest(lits[id].text, c)
	}
	n := len(ids) * c.step // windows in all
	size := bits.Len(uint(2 * n))
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
		p.at[s.end] = newPlace(id, lits[id].text, off, c.k)
		s.end++
	})
	p.prepare(lits, ids, froms, vectors)
	return p
}

// prepare makes the filter, in the form that the machine probes.
func (p *pass) prepare(lits []entry, ids []int32, froms []int, vectors bool) {
	p.vector = vectors && (p.class == long || p.k == 3)
	if p.vector && p.k == 3 {
		p.teddy = newTeddy(lits, ids, froms)
	}
	p.filter = new([1 << filterBits]uint32)
	for i := range p.slots {
		if g := p.slots[i].gram; g != 0 {
			h := hash(g)
			p.filter[h>>(32-filterBits)] |= 1<<(h>>14&31) | 1<<(h>>9&31)
		}
	}
}

func newPlace(id int32, text []byte, off, k int) place {
	p := place{lit: id, off: int32(off), size: int32(len(text))}
	from := 0
	if rest := len(text) - off - k; rest > off {
		from = max(0, len(text)-4)
	}
	p.more = int32(from - off)
	for j := range min(4, len(text)-from) {
		p.is |= (uint32(text[from+j]) | 0x20) << (8 * j)
		p.isMask |= 0xff << (8 * j)
	}
	return p
}

// hash spreads a window so that each bit of the result depends on all its bytes.
func hash(g uint32) uint32 { return (g ^ g>>16) * hashMul }

// claim finds the slot of a window or takes a free one. No window is 0: the case bit
// is set.
func (p *pass) claim(g uint32) *slot {
	i := hash(g) >> p.shift
	for p.slots[i].gram != g {
		if p.slots[i].gram == 0 {
			p.slots[i].gram = g
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

// maybe says whether a window passes the filter.
func (p *pass) maybe(g uint32) bool {
	h := hash(g)
	w := p.filter[h>>(32-filterBits)]
	return w>>(h>>14&31)&(w>>(h>>9&31))&1 != 0
}

// verify compares the literals that have window g, given that it stands at i.
func (p *pass) verify(dst []Hit, b []byte, i int, g uint32, lits []entry) []Hit {
	s := hash(g) >> p.shift
	for ; p.slots[s].gram != g; s = (s + 1) % uint32(len(p.slots)) {
		if p.slots[s].gram == 0 {
			return dst
		}
	}
	sl := &p.slots[s]
	for j := range p.at[sl.start:sl.end] {
		at := &p.at[int(sl.start)+j]
		from := i - int(at.off)
		if from < 0 || from+int(at.size) > len(b) {
			continue
		}
		if k := i + int(at.more); k+4 <= len(b) && (binary.LittleEndian.Uint32(b[k:])|foldBits)&at.isMask != at.is {
			continue
		}
		if lits[at.lit].at(b[from:]) {
			dst = append(dst, Hit{at.lit, int32(from)})
		}
	}
	return dst
}
