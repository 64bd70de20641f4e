package literal

import "golang.org/x/sys/cpu"

// vectors says whether the kernels may run on this machine.
var vectors = cpu.X86.HasAVX2 && cpu.X86.HasBMI1

// probeFilter lists the multiples of 4 in text, at most stretch of it, at which the
// filter may have a window. It stops at `done` bytes: before the last vector and the
// bytes that its windows go on in.
func probeFilter(f *filter, text []byte, found *[stretch / 4]int32) (n, done int) {
	done = min(len(text)-4, stretch) &^ 31
	if done <= 0 {
		return 0, 0
	}
	return filterAVX2(&f[0], &text[0], done, &found[0]), done
}

// probe lists the bytes of text, at most stretch of it, at which a bucket may have a
// window. Behind each it leaves four bytes to look at.
func (t *teddy) probe(text []byte, found *[stretch]int32) (n, done int) {
	done = min(len(text)-(teddyWindow-1), stretch) &^ 15
	if done <= 0 {
		return 0, 0
	}
	return teddyAVX2(&t.masks[0][0], &text[0], done, &found[0]), done
}

// filterAVX2 probes n bytes, a multiple of 32, reads four more, and returns how many
// places it found.
//
//go:noescape
func filterAVX2(filter *uint32, text *byte, n int, found *int32) int

// teddyAVX2 probes n bytes, a multiple of 16, reads three more, and returns how many
// places it found.
//
//go:noescape
func teddyAVX2(masks *byte, text *byte, n int, found *int32) int
