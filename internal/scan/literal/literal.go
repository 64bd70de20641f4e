// Package literal finds all occurrences of many short literals in a block of text
// at once. It is the first stage of the scan and touches every byte of every
// input, so it is the one place where speed decides: what it does not report is
// never looked at again.
//
// # Method
//
// Of each literal one stretch of bytes is chosen that is rare in logs (rare.go). Its
// windows of k bytes are put into a small filter, and the text is probed for windows
// that pass it. What passes is looked up exactly (table.go), and then the literals that
// have the window are compared.
//
// Long literals need few probes: a literal of at least k+s-1 bytes has exactly one of
// s neighbouring windows at a multiple of s, whatever its alignment. All literals of 7
// bytes and more are found by probing at every 4th byte (stride.go): those of 9 and more
// by windows of six bytes, which ordinary words hardly share, the others by windows of
// four. Both are asked with one load from a Bloom filter. Literals of 4 to 6 bytes are
// probed for at every 2nd byte, shorter ones at every byte (short.go).
//
// Probing ignores the bit that tells capital letters from small ones, so that
// literals with and without case share a pass; the comparison is exact.
//
// # Vectors
//
// On amd64 with AVX2 the probing is in assembly (probe_amd64.s), and everything behind
// it is shared with the loops in Go. The stride hashes eight windows at once and gathers
// from the filter. Literals of 3 to 6 bytes are too short for a stride that pays, and
// few: they are found at every byte by the shuffle method known as Teddy (teddy.go). arm64
// cannot gather and has the second only (probe_arm64.s), which is half of the work. A
// kernel only says where to look, so that a wrong one could lose hits but not invent
// any; the tests compare both ways with [Naive]. No branch of the AVX2 kernels depends on
// what they find, nor does the sifting of their places (sift.go): a tenth of all rounds
// find one, so that a branch would be foreseen badly and cost more than the round.
//
// Measured on 2,200 literals and not taken: Teddy for all of them (their nibbles fill
// the masks of 16 buckets, and nearly every byte passes); windows of four bytes for all
// (a tenth of all probes passes, as ordinary words share them); of eight (too few
// literals are so long); three bytes in Teddy (three times as many places as with four).
package literal

import (
	"bytes"
	"slices"
)

// Literal is a text to find. Fold ignores the case of ASCII letters.
type Literal struct {
	Text string
	Fold bool
}

// Hit is one occurrence: the index of the literal and the offset of its first byte.
type Hit struct {
	ID  int32
	Off int32
}

// Searcher finds literals in blocks. It is safe for use by several goroutines.
type Searcher interface {
	// Find appends all occurrences, overlapping ones too, ordered by offset and
	// then by literal. Blocks are smaller than 2 GiB.
	Find(dst []Hit, block []byte) []Hit
}

// Of returns the literals that a Searcher of this package was made for.
func Of(s Searcher) []Literal {
	switch s := s.(type) {
	case naive:
		return s
	case *multi:
		return s.of
	}
	return nil
}

// Naive is the definition of Find, slow: what every Searcher must equal.
func Naive(lits []Literal) Searcher { return naive(lits) }

type naive []Literal

func (n naive) Find(dst []Hit, block []byte) []Hit {
	start := len(dst)
	low := lower(block)
	for id, l := range n {
		text, in := []byte(l.Text), block
		if l.Fold {
			text, in = lower(text), low
		}
		for from := 0; len(text) > 0; {
			i := bytes.Index(in[from:], text)
			if i < 0 {
				break
			}
			dst = append(dst, Hit{int32(id), int32(from + i)})
			from += i + 1
		}
	}
	slices.SortFunc(dst[start:], compareHits)
	return dst
}

func compareHits(a, b Hit) int {
	if a.Off != b.Off {
		return int(a.Off) - int(b.Off)
	}
	return int(a.ID) - int(b.ID)
}

// lower maps ASCII capitals only: offsets must not move.
func lower(b []byte) []byte {
	out := bytes.Clone(b)
	for i, c := range out {
		if c >= 'A' && c <= 'Z' {
			out[i] = c + 0x20
		}
	}
	return out
}
