package literal

import "encoding/binary"

// stride finds the literals of 7 bytes and more by probing at every fourth byte. Those
// of 9 and more have a whole window of six bytes there: common words share four bytes,
// few share six. The shorter have one of four.
type stride struct {
	filter filter
	wide   *table // windows of 6
	long   *table // windows of 4
	vector bool
}

var (
	wideClass = class{6, 4}
	longClass = class{4, 4}
)

// filterBits makes a filter of 64 KiB: more than some first-level caches have, and still
// faster than half of it, which lets a third more pass.
const filterBits = 14

// filter is a Bloom filter of words. The first four bytes of a window choose the word.
// In its lower half a wide window has two bits, by its last four bytes; in its upper
// half a long window has two, by its only four. So one load asks both.
type filter [1 << filterBits]uint32

func (f *filter) word(h uint32) *uint32 { return &f[h>>(32-filterBits)] }

func (f *filter) addWide(g uint64) {
	other := hash(uint32(g >> 16))
	*f.word(hash(uint32(g))) |= 1<<(other>>28) | 1<<(other>>24&15)
}

func (f *filter) addLong(g uint64) {
	h := hash(uint32(g))
	*f.word(h) |= 1<<(16|h>>15&15) | 1<<(16|h>>11&15)
}

// maybe says whether a window may begin eight bytes. What comes out is a bit.
func (f *filter) maybe(g uint64) uint32 {
	h, other := hash(uint32(g)), hash(uint32(g>>16))
	w := *f.word(h)
	wide := w >> (other >> 28) & (w >> (other >> 24 & 15))
	w >>= 16
	return (wide | w>>(h>>15&15)&(w>>(h>>11&15))) & 1
}

func newStride(lits []entry, wide, long []int32, vectors bool) *stride {
	s := &stride{vector: vectors}
	s.wide = newTable(wideClass, lits, wide, rarestOf(lits, wide, wideClass))
	s.long = newTable(longClass, lits, long, rarestOf(lits, long, longClass))
	if vectors {
		s.wide.fillSeats(1)
		s.long.fillSeats(4)
	}
	for i := range s.wide.slots {
		if g := s.wide.slots[i].gram; g != 0 {
			s.filter.addWide(g)
		}
	}
	for i := range s.long.slots {
		if g := s.long.slots[i].gram; g != 0 {
			s.filter.addLong(g)
		}
	}
	return s
}

func (s *stride) find(dst []Hit, b []byte, lits []entry) []Hit {
	i := 0
	if s.vector {
		dst, i = s.findVector(dst, b, lits)
	}
	for ; i+8 <= len(b); i += 4 {
		if g := binary.LittleEndian.Uint64(b[i:]) | foldBits<<32 | foldBits; s.filter.maybe(g) != 0 {
			dst = s.verify(dst, b, i, g, lits)
		}
	}
	// At the end fewer than eight bytes are left: a window of either kind may still fit.
	if i+s.wide.k <= len(b) {
		dst = s.wide.verify(dst, b, i, s.wide.gram(b, i), lits)
	}
	if i+s.long.k <= len(b) {
		dst = s.long.verify(dst, b, i, s.long.gram(b, i), lits)
	}
	return dst
}

func (s *stride) verify(dst []Hit, b []byte, i int, g uint64, lits []entry) []Hit {
	dst = s.wide.verify(dst, b, i, g&s.wide.mask, lits)
	return s.long.verify(dst, b, i, g&s.long.mask, lits)
}

// stretch is how much text a kernel probes at a time: its list of places is on the
// stack, and the text is still in the first-level cache when they are looked at.
const stretch = 8 << 10

// Lists of places, with room for those that a kernel writes in vain.
type (
	strideList [stretch/4 + 8]int32
	teddyList  [stretch + 4]int32
)

// findVector lets the kernel say where to look, and returns where that ended.
func (s *stride) findVector(dst []Hit, b []byte, lits []entry) ([]Hit, int) {
	var wide, long strideList
	i, done := 0, stretch
	for done == stretch {
		var nw, nl int
		nw, nl, done = probeFilter(&s.filter, b[i:], &wide, &long)
		nw, nl = s.wide.sift(wide[:nw], b, i), s.long.sift4(long[:nl], b, i)
		l := 0
		for _, p := range wide[:nw] {
			for ; l < nl && long[l] <= p; l++ { // in order, as far as it goes
				dst = s.long.verifyAt(dst, b, i+int(long[l]), lits)
			}
			dst = s.wide.verifyAt(dst, b, i+int(p), lits)
		}
		for _, p := range long[l:nl] {
			dst = s.long.verifyAt(dst, b, i+int(p), lits)
		}
		i += done
	}
	return dst, i
}
