package literal

import "golang.org/x/sys/cpu"

// vectors says whether the kernels may run on this machine.
var vectors = cpu.X86.HasAVX2 && cpu.X86.HasBMI1

// kernelAhead is how far behind its last window a kernel may read.
const kernelAhead = 32

// probeFilter lists the multiples of 4 in text at which a window passes the filter.
// It stops at `done` bytes, where less than a vector is left.
func probeFilter(filter *[1 << filterBits]uint32, text []byte, found *[stretch]int32) (n, done int) {
	done = min(len(text), stretch) &^ 31
	if done == 0 {
		return 0, 0
	}
	return filterAVX2(&filter[0], &text[0], done, &found[0]), done
}

// probe lists the bytes of text at which a bucket has a window.
func (t *teddy) probe(text []byte, found *[stretch]int32) (n, done int) {
	done = min(len(text)-2, stretch) &^ 15
	if done <= 0 {
		return 0, 0
	}
	return teddyAVX2(&t.masks[0][0], &text[0], done, &found[0]), done
}

// filterAVX2 probes n bytes, a multiple of 32, and returns how many places it found.
//
//go:noescape
func filterAVX2(filter *uint32, text *byte, n int, found *int32) int

// teddyAVX2 probes n bytes, a multiple of 16, reads two more, and returns how many
// places it found.
//
//go:noescape
func teddyAVX2(masks *byte, text *byte, n int, found *int32) int
