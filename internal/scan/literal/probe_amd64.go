package literal

import "golang.org/x/sys/cpu"

// vectors says whether the kernels may run on this machine.
var vectors = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasPOPCNT

const gathers = true

// leftPack are, for each set of eight windows, the offsets of those in it, in order: a
// byte each.
//
//lint:ignore U1000 the kernel reads it
var leftPack = func() (t [256]uint64) {
	for set := range t {
		n := 0
		for i := range 8 {
			if set>>i&1 != 0 {
				t[set] |= uint64(4*i) << (8 * n)
				n++
			}
		}
	}
	return t
}()

// probeFilter lists the multiples of 4 in text, at most stretch of it, at which the
// filter may have a window. It stops at `done` bytes: before the last vector and the
// bytes that its windows go on in.
func probeFilter(f *filter, text []byte, wide, long *strideList) (nwide, nlong, done int) {
	done = min(len(text)-4, stretch) &^ 31
	if done <= 0 {
		return 0, 0, 0
	}
	nwide, nlong = filterAVX2(&f[0], &text[0], done, &wide[0], &long[0])
	return nwide, nlong, done
}

// filterAVX2 probes n bytes, a multiple of 32, reads two more, and returns how many
// places of either class it found. It writes up to eight places more.
//
//go:noescape
func filterAVX2(filter *uint32, text *byte, n int, wide, long *int32) (nwide, nlong int)

// teddyKernel probes n bytes, a multiple of 64, and returns how many places it found: where
// a window begins that ends in them. Of the bytes before, it takes all buckets to have
// the bits of before. It writes up to four places more.
//
//go:noescape
func teddyKernel(masks *byte, text *byte, n int, found *int32, before byte) int
