package literal

import (
	"encoding/binary"
	"math/bits"
)

const (
	foldBits = 0x20202020
	hashMul  = 0x9E3779B1
)

// class is a way to probe: windows of k bytes at every step-th byte. A literal
// goes to the first class that it is long enough for.
type class struct{ k, step int }

// fits says whether a literal of n bytes has a window wherever it stands.
func (c class) fits(n int) bool { return n >= c.k+c.step-1 }

// table says exactly which literals have a window, for one class.
type table struct {
	class
	mask  uint64 // of the k bytes of a window
	slots []slot // open addressing, by window
	shift uint
	at    []place
	seats []seat // by home of a window
}

// slot is a window and the places that have it.
type slot struct {
	gram       uint64
	start, end int32 // of table.at; start == end means free
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

// newTable fills a table in two rounds, first to count and then to place: a map of
// lists would take as long as scanning a small log. froms says where the windows of
// each literal begin.
func newTable(c class, lits []entry, ids []int32, froms []int) *table {
	t := &table{class: c, mask: 1<<(8*c.k) - 1}
	n := len(ids) * c.step // windows in all
	size := bits.Len(uint(n + n/2))
	t.slots, t.shift = make([]slot, 1<<size), uint(32-size)
	each := func(do func(s *slot, id int32, off int)) {
		for i, id := range ids {
			for o := froms[i]; o < froms[i]+c.step; o++ {
				do(t.claim(t.gram(lits[id].text, o)), id, o)
			}
		}
	}
	each(func(s *slot, _ int32, _ int) { s.end++ })
	at := int32(0)
	for i := range t.slots {
		if s := &t.slots[i]; s.end > 0 {
			s.start, s.end, at = at, at, at+s.end
		}
	}
	t.at = make([]place, n)
	each(func(s *slot, id int32, off int) {
		t.at[s.end] = newPlace(id, lits[id].text, off, c.k)
		s.end++
	})
	return t
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

// hash spreads four bytes so that each bit of the result depends on all of them.
func hash(g uint32) uint32 { return (g ^ g>>16) * hashMul }

// place is where the search for a window begins.
func (t *table) place(g uint64) uint32 {
	return (hash(uint32(g)) ^ hash(uint32(g>>32))>>7) >> t.shift
}

// claim finds the slot of a window or takes a free one. No window is 0: the case bit
// is set.
func (t *table) claim(g uint64) *slot {
	i := t.place(g)
	for t.slots[i].gram != g {
		if t.slots[i].gram == 0 {
			t.slots[i].gram = g
			break
		}
		i = (i + 1) % uint32(len(t.slots))
	}
	return &t.slots[i]
}

// gram is the window at i with the case bit set in every byte.
func (t *table) gram(b []byte, i int) uint64 {
	var g uint64
	for j := range t.k {
		g |= uint64(b[i+j]) << (8 * j)
	}
	return (g | foldBits<<32 | foldBits) & t.mask
}

// verifyAt is verify with the window that stands at i.
func (t *table) verifyAt(dst []Hit, b []byte, i int, lits []entry) []Hit {
	if i+8 > len(b) {
		return t.verify(dst, b, i, t.gram(b, i), lits)
	}
	return t.verify(dst, b, i, (binary.LittleEndian.Uint64(b[i:])|foldBits<<32|foldBits)&t.mask, lits)
}

// verify compares the literals that have window g, given that it stands at i.
func (t *table) verify(dst []Hit, b []byte, i int, g uint64, lits []entry) []Hit {
	s := t.place(g)
	for ; t.slots[s].gram != g; s = (s + 1) % uint32(len(t.slots)) {
		if t.slots[s].gram == 0 {
			return dst
		}
	}
	sl := &t.slots[s]
	for j := range t.at[sl.start:sl.end] {
		at := &t.at[int(sl.start)+j]
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
