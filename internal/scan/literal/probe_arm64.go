package literal

// vectors: every arm64 has them. None gathers, so that windows at a stride are probed for
// in Go.
const (
	vectors = true
	gathers = false
)

func probeFilter(*filter, []byte, *strideList, *strideList) (nwide, nlong, done int) {
	return 0, 0, 0
}

// probe is as on amd64.
func (t *teddy) probe(text []byte, first bool, found *teddyList) (n, done int) {
	done = min(len(text), stretch) &^ 63
	if done <= 0 {
		return 0, 0
	}
	before := byte(0xff)
	if first {
		before = 0
	}
	return teddyNEON(&t.masks[0][0], &text[0], done, &found[0], before), done
}

// teddyNEON probes n bytes, a multiple of 16, as teddyAVX2 does.
//
//go:noescape
func teddyNEON(masks *byte, text *byte, n int, found *int32, before byte) int
