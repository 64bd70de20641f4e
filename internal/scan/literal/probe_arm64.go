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

// teddyKernel is as on amd64; n may be any multiple of 16.
//
//go:noescape
func teddyKernel(masks *byte, text *byte, n int, found *int32, before byte) int
