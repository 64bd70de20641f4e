package literal

import "encoding/binary"

// Most places that a kernel lists hold no literal, and each that is looked up exactly
// costs some branches that no processor foresees. So the places of a stretch are sifted
// first, without a branch: by the window, and by four more bytes of what has it. What is
// sifted out has no literal; what stays may have one.

// seat is what a window's home says of the places that have it: of one of them, or what
// several have in common. A home has as many seats as its table has ways.
type seat struct {
	tag      uint32 // of the window
	is, mask uint32 // of the four bytes that are `more` bytes from the window
	more     int16
	open     uint16 // 1 when more want to sit here than can: all pass
}

// reach is how far from a window its seat may look.
const reach = 120

// tagOf tells windows apart that have the same home.
func tagOf(g uint64) uint32 { return uint32(g) ^ uint32(g>>32)*hashMul }

// fillSeats makes the seats of a table.
func (t *table) fillSeats(ways int) {
	t.seats = make([]seat, ways*len(t.slots))
	taken := make([]uint8, len(t.slots))
	for i := range t.slots {
		sl := &t.slots[i]
		for j := range t.at[sl.start:sl.end] {
			home := int(t.place(sl.gram))
			s := seatOf(tagOf(sl.gram), &t.at[int(sl.start)+j])
			at := t.seats[home*ways:][:ways]
			if n := taken[home]; int(n) < ways {
				at[n] = s
				taken[home]++
				continue
			}
			if !at[ways-1].share(&s) {
				at[ways-1].open = 1
			}
		}
	}
}

func seatOf(tag uint32, p *place) seat {
	s := seat{tag: tag, is: p.is, mask: p.isMask, more: int16(p.more)}
	if p.more < -reach || p.more > reach {
		s.is, s.mask, s.more = 0, 0, 0
	}
	return s
}

// share lets another with the same window sit here as well: what differs is not asked.
func (s *seat) share(other *seat) bool {
	if s.tag != other.tag {
		return false
	}
	if s.more != other.more {
		s.mask = 0
	}
	s.mask &= other.mask &^ (s.is ^ other.is)
	s.is &= s.mask
	return true
}

// sift keeps of the places, which count from i, those that may have a window of the
// table, and returns how many. Places too near an end of the text for a look around stay.
func (t *table) sift(places []int32, b []byte, i int) int {
	n := 0
	for _, p := range places {
		at := i + int(p)
		places[n] = p
		if at < reach || at+reach+8 > len(b) {
			n++
			continue
		}
		g := (binary.LittleEndian.Uint64(b[at:]) | foldBits<<32 | foldBits) & t.mask
		s := &t.seats[t.place(g)]
		n += int(s.differs(b, at, tagOf(g))>>31 ^ 1 | uint32(s.open))
	}
	return n
}

// sift4 is sift for a table with four seats a home and windows of four bytes.
func (t *table) sift4(places []int32, b []byte, i int) int {
	n := 0
	for _, p := range places {
		at := i + int(p)
		places[n] = p
		if at < reach || at+reach+8 > len(b) {
			n++
			continue
		}
		g := binary.LittleEndian.Uint32(b[at:]) | foldBits
		home := (*[4]seat)(t.seats[4*t.place(uint64(g)):])
		none := home[0].differs(b, at, g) & home[1].differs(b, at, g) & home[2].differs(b, at, g) & home[3].differs(b, at, g)
		n += int(none>>31 ^ 1 | uint32(home[3].open))
	}
	return n
}

// differs has its highest bit set when a window is not the seat's, or what is around it.
func (s *seat) differs(b []byte, at int, tag uint32) uint32 {
	d := (s.tag ^ tag) | ((binary.LittleEndian.Uint32(b[at+int(s.more):])|foldBits)&s.mask ^ s.is)
	return d | -d
}
