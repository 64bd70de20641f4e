package literal

import "encoding/binary"

// short finds the literals of one class of less than 7 bytes: by the shuffle method
// where the machine has it, else by windows and a filter.
type short struct {
	*table
	teddy  *teddy
	filter [1 << 11]uint32 // one bit a window
}

func newShort(c class, lits []entry, ids []int32, vectors bool) *short {
	froms := rarestOf(lits, ids, c)
	if vectors && c == teddyClass {
		for i, id := range ids { // the kernel compares a byte more where there is one
			if text := lits[id].text; len(text) >= teddyWindow {
				froms[i] = rarest(text, class{teddyWindow, 1})
			}
		}
	}
	s := &short{table: newTable(c, lits, ids, froms)}
	if vectors && c == teddyClass {
		s.teddy = newTeddy(lits, ids, froms)
		s.fillSeats(1)
		return s // the kernel asks no filter
	}
	for i := range s.slots {
		if g := s.slots[i].gram; g != 0 {
			h := hash(uint32(g))
			s.filter[h>>21] |= 1 << (h >> 16 & 31)
		}
	}
	return s
}

func (s *short) maybe(g uint32) bool {
	h := hash(g)
	return s.filter[h>>21]>>(h>>16&31)&1 != 0
}

func (s *short) find(dst []Hit, b []byte, lits []entry) []Hit {
	i := 0
	switch {
	case s.teddy != nil:
		dst, i = s.findVector(dst, b, lits)
	case s.step == 2:
		dst, i = s.findPairs(dst, b, lits)
	default:
		dst, i = s.findAll(dst, b, lits)
	}
	for ; i+s.k <= len(b); i += s.step { // the end of a block, one window at a time
		dst = s.verify(dst, b, i, s.gram(b, i), lits)
	}
	return dst
}

// findPairs probes three windows of three, at bytes 0, 2 and 4, a load. It and its kin
// return where they stopped.
func (s *short) findPairs(dst []Hit, b []byte, lits []entry) ([]Hit, int) {
	const mask = 1<<24 - 1
	i := 0
	for ; i+8 <= len(b); i += 6 {
		v := binary.LittleEndian.Uint64(b[i:]) | foldBits<<32 | foldBits
		for j := 0; j < 6; j += 2 {
			if g := uint32(v) & mask; s.maybe(g) {
				dst = s.verify(dst, b, i+j, uint64(g), lits)
			}
			v >>= 16
		}
	}
	return dst, i
}

// findAll probes at every byte: as many windows a load as fit in it.
func (s *short) findAll(dst []Hit, b []byte, lits []entry) ([]Hit, int) {
	i, n := 0, 9-s.k
	for ; i+8 <= len(b); i += n {
		v := binary.LittleEndian.Uint64(b[i:]) | foldBits<<32 | foldBits
		for j := range n {
			if g := uint32(v & s.mask); s.maybe(g) {
				dst = s.verify(dst, b, i+j, uint64(g), lits)
			}
			v >>= 8
		}
	}
	return dst, i
}

// findVector lets the kernel say where to look, and returns where that ended.
func (s *short) findVector(dst []Hit, b []byte, lits []entry) ([]Hit, int) {
	var found teddyList
	i, n, done := 0, 0, stretch
	for done == stretch {
		n, done = s.teddy.probe(b[i:], i == 0, &found)
		n = s.sift(found[:n], b, i)
		for _, p := range found[:n] {
			dst = s.verifyAt(dst, b, i+int(p), lits)
		}
		i += done
	}
	return dst, max(0, i-(teddyWindow-1)) // a window may go on behind
}
