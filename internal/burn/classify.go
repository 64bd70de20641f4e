package burn

import (
	"math/bits"
)

// Classes of memory errors. What each says is in docs/memtest.md.
const (
	ClassStuck    = "stuck_bit"    // one bit index, wrong again after rewriting
	ClassWeak     = "weak_cell"    // stored wrong, but holds the right value once rewritten
	ClassTransfer = "transfer"     // memory holds the right value: it was wrong on the way
	ClassLane     = "lane"         // wrong only as one thread lane of one SM reads it
	ClassAddress  = "address"      // holds the value of another address
	ClassPage     = "page"         // a whole stretch of memory is wrong
	ClassMixed    = "several_bits" // stored wrong in bits that differ from word to word
)

// A Class is what the records of a test have in common.
type Class struct {
	Kind string `json:"kind"`
	// Bits are the indexes of the wrong bits over all records, lowest first.
	Bits []int `json:"bits"`
	// AddressBit is the bit of the byte offset that tells an address from the one whose
	// value it holds; -1 where there is none, or not one.
	AddressBit int `json:"address_bit"`
	SM         int `json:"sm"`   // -1 unless all records are of one SM
	Lane       int `json:"lane"` // -1 unless all are of one lane
	// Period divides all distances between wrong vectors, in bytes; 0 where it is no more
	// than the vector itself.
	Period   uint64 `json:"period_bytes,omitempty"`
	First    uint64 `json:"first_offset"`
	Last     uint64 `json:"last_offset"`
	Repeated bool   `json:"repeated"` // a word was wrong in more than one pass
}

// Classify finds out what kind of fault the records of a memory test show. dense is how
// many words the first pass with errors found wrong.
func Classify(list []Record, dense uint64) Class {
	c := Class{AddressBit: -1, SM: -1, Lane: -1}
	if len(list) == 0 {
		return c
	}
	list = inPlace(list)
	common(&c, list)
	var aliased, onTheWay, renewed int
	for _, r := range list {
		if r.Alias != nil {
			aliased++
		}
		if r.Late == r.Want {
			onTheWay++
		}
		if r.Renewed == r.Want {
			renewed++
		}
	}
	n := len(list)
	span := (c.Last-c.First)/4 + 1
	switch {
	case 2*aliased > n:
		c.Kind = ClassAddress
		c.AddressBit = addressBit(list)
	case 2*onTheWay > n && c.Lane >= 0 && distinct(list) >= 4:
		c.Kind = ClassLane
	case 2*onTheWay > n:
		c.Kind = ClassTransfer
	case dense >= 1024 && 2*dense > span && len(c.Bits) > 0:
		c.Kind = ClassPage
	case 2*renewed > n:
		c.Kind = ClassWeak
	case len(c.Bits) == 1:
		c.Kind = ClassStuck
	default:
		c.Kind = ClassMixed
	}
	return c
}

// inPlace leaves out what a block move found when other steps found errors too: its wrong
// word may have been wrong where it was copied from.
func inPlace(list []Record) []Record {
	var out []Record
	for _, r := range list {
		if r.Pattern != stepMove {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return list
	}
	return out
}

// common fills what does not depend on the kind.
func common(c *Class, list []Record) {
	var mask uint32
	c.First, c.Last, c.SM, c.Lane = list[0].Offset, list[0].Offset, list[0].SM, list[0].Lane
	pass := map[uint64]int{}
	for _, r := range list {
		mask |= r.Bits()
		c.First, c.Last = min(c.First, r.Offset), max(c.Last, r.Offset)
		if r.SM != c.SM {
			c.SM = -1
		}
		if r.Lane != c.Lane {
			c.Lane = -1
		}
		if p, seen := pass[r.Offset]; seen && p != r.Pass {
			c.Repeated = true
		}
		pass[r.Offset] = r.Pass
	}
	for ; mask != 0; mask &= mask - 1 {
		c.Bits = append(c.Bits, bits.TrailingZeros32(mask))
	}
	var period uint64
	for _, r := range list {
		period = gcd(period, (r.Offset-c.First)/vector*vector)
	}
	if len(pass) >= 8 && period > vector {
		c.Period = period
	}
	if len(list) < 2 { // one record says nothing of SM or lane
		c.SM, c.Lane = -1, -1
	}
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func distinct(list []Record) int {
	seen := map[uint64]bool{}
	for _, r := range list {
		seen[r.Offset/vector] = true
	}
	return len(seen)
}

// addressBit is the one bit by which all aliases differ from their address.
func addressBit(list []Record) int {
	var diff uint64
	for _, r := range list {
		if r.Alias != nil {
			diff |= (*r.Alias ^ r.Offset) / vector * vector
		}
	}
	if bits.OnesCount64(diff) == 1 {
		return bits.TrailingZeros64(diff)
	}
	return -1
}
