package literal

import "encoding/binary"

// find reports the literals of one class, by kernel where there is one.
func (p *pass) find(dst []Hit, b []byte, lits []entry) []Hit {
	i := 0
	switch {
	case p.vector:
		dst, i = p.findVector(dst, b, lits)
	case p.class == long:
		dst, i = p.find4(dst, b, lits)
	case p.k == 3 && p.step == 2:
		dst, i = p.find3(dst, b, lits)
	default:
		dst, i = p.findAll(dst, b, lits)
	}
	for ; i+p.k <= len(b); i += p.step { // the end of a block, one window at a time
		if g := p.gram(b, i); p.maybe(g) {
			dst = p.verify(dst, b, i, g, lits)
		}
	}
	return dst
}

// find4 probes two windows a load. It and its kin return where they stopped.
func (p *pass) find4(dst []Hit, b []byte, lits []entry) ([]Hit, int) {
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
	return dst, i
}

// find3 probes three windows, at bytes 0, 2 and 4, a load.
func (p *pass) find3(dst []Hit, b []byte, lits []entry) ([]Hit, int) {
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
	return dst, i
}

// findAll probes at every byte: as many windows a load as fit in it.
func (p *pass) findAll(dst []Hit, b []byte, lits []entry) ([]Hit, int) {
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
	return dst, i
}

// stretch is how much text a kernel probes at a time: its list of places is on the
// stack, and the text is still in the first-level cache when they are looked at.
const stretch = 8 << 10

// findVector lets a kernel say where to look.
func (p *pass) findVector(dst []Hit, b []byte, lits []entry) ([]Hit, int) {
	var found [stretch]int32 // as many as there can be, with Teddy
	i := 0
	for i < len(b) {
		text := b[i:min(len(b), i+stretch+kernelAhead)]
		var n, done int
		if p.teddy != nil {
			n, done = p.teddy.probe(text, &found)
		} else {
			n, done = probeFilter(p.filter, text, &found)
		}
		for _, at := range found[:n] {
			at := i + int(at)
			g := binary.LittleEndian.Uint32(b[at:])
			dst = p.verify(dst, b, at, (g|foldBits)&p.mask, lits)
		}
		if i += done; done < stretch {
			break
		}
	}
	return dst, i
}
