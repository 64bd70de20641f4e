package literal

// teddy holds the masks of the shuffle method: for each byte of a window and each half
// of that byte, which of 16 buckets have a window with it. Four bytes in a row that
// share a bucket are a place to look at. The masks of buckets 0 to 7 are in the lower
// half of a vector, those of 8 to 15 in the upper, so that one shuffle asks both.
type teddy struct {
	masks [2 * teddyWindow][32]byte // low and high half of bytes 0, 1, 2, 3
}

// teddyWindow is how many bytes the kernel compares; a literal that is shorter takes
// any byte for the last.
const teddyWindow = 4

const buckets = 16

// newTeddy distributes the windows of literals, one each, over the buckets. A bucket
// takes all combinations of the halves in it, so windows that share bytes go together.
func newTeddy(lits []entry, ids []int32, froms []int) *teddy {
	var b [buckets]bucket
	for i, id := range ids {
		e := &lits[id]
		w := newBucket(e.text[froms[i]:min(len(e.text), froms[i]+teddyWindow)], e.fold)
		best, least := 0, 0.0
		for k := range b {
			if grown := b[k].with(&w).cost() - b[k].cost(); k == 0 || grown < least {
				best, least = k, grown
			}
		}
		b[best] = *b[best].with(&w)
	}
	t := &teddy{}
	for k := range b {
		for j := range t.masks {
			for half := range 16 {
				if b[k].halves[j]>>half&1 != 0 {
					t.masks[j][k/8*16+half] |= 1 << (k % 8)
				}
			}
		}
	}
	return t
}

// bucket is the set of low and high halves that it has at each byte.
type bucket struct{ halves [2 * teddyWindow]uint16 }

func newBucket(window []byte, fold bool) bucket {
	var b bucket
	add := func(j int, c byte) {
		b.halves[2*j] |= 1 << (c & 15)
		b.halves[2*j+1] |= 1 << (c >> 4)
	}
	for j, c := range window {
		add(j, c)
		if fold && c >= 'a' && c <= 'z' {
			add(j, c-0x20)
		}
	}
	for j := len(window); j < teddyWindow; j++ {
		b.halves[2*j], b.halves[2*j+1] = 0xffff, 0xffff
	}
	return b
}

func (b *bucket) with(w *bucket) *bucket {
	out := *b
	for j := range out.halves {
		out.halves[j] |= w.halves[j]
	}
	return &out
}

// cost is how often the bucket is thought to raise a false alarm.
func (b *bucket) cost() float64 {
	cost := 1.0
	for j := 0; j < len(b.halves); j += 2 {
		sum := 0
		for hi := range 16 {
			if b.halves[j+1]>>hi&1 == 0 {
				continue
			}
			for lo := range 16 {
				if b.halves[j]>>lo&1 != 0 {
					sum += commonBytes[hi<<4|lo]
				}
			}
		}
		cost *= float64(sum)
	}
	return cost
}

// probe lists the bytes of text, at most stretch of it, at which a bucket may have a
// window that ends before `done`. They may be up to 3 bytes before the text, when first
// is not set: what stands there is not looked at, so that such a place is a guess.
func (t *teddy) probe(text []byte, first bool, found *teddyList) (n, done int) {
	done = min(len(text), stretch) &^ 63
	if done <= 0 {
		return 0, 0
	}
	before := byte(0xff)
	if first {
		before = 0
	}
	return teddyKernel(&t.masks[0][0], &text[0], done, &found[0], before), done
}
