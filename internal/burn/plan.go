package burn

import (
	"fmt"
	"time"
)

// An op is one traversal of all tested memory.
type op struct {
	do      opKind
	pattern Pattern
	inv     uint32 // opCheck: what is put back is the value ^ inv
	half    int    // opMoveHalf and opCheckHalf: which half holds the copy
	wait    time.Duration
}

type opKind int

const (
	opFill opKind = iota
	opCheck
	opMoveHalf  // copy the other half of each chunk over this one
	opCheckHalf // this half must hold the pattern of the other one
	opWait
)

// A step is a pattern and what is done with it. Every step begins by writing, so that each
// can stand alone, and every word is read again only after the whole memory (many times
// the L2 cache) was passed over in between: reads come from the memory itself.
type step struct {
	Name string
	ops  []op
}

// traversals is how many bytes a step moves, in units of the tested memory.
func (s step) traversals() float64 {
	var n float64
	for _, o := range s.ops {
		switch {
		case o.do == opWait:
		case o.do == opCheck && o.inv != 0, o.do == opMoveHalf:
			n += 2
		case o.do == opCheckHalf:
			n += 0.5
		default:
			n++
		}
	}
	return n
}

const ones = 0xFFFFFFFF

// inverted is the pattern that stands in memory after a check with inv.
func (p Pattern) inverted(inv uint32) Pattern {
	p.B ^= inv
	if p.Kind == kindOwn || p.Kind == kindModulo {
		p.A ^= inv
	}
	return p
}

// marching writes p, then reads it and writes its inverse, times over, and reads the last.
// Each read is followed by its own write in the same pass, which couples neighbours.
func marching(name string, p Pattern, inversions int) step {
	s := step{Name: name, ops: []op{{do: opFill, pattern: p}}}
	for range inversions {
		s.ops = append(s.ops, op{do: opCheck, pattern: p, inv: ones})
		p = p.inverted(ones)
	}
	s.ops = append(s.ops, op{do: opCheck, pattern: p})
	return s
}

func random(seed uint32) step {
	return marching("random", Pattern{Name: "random", Kind: kindHash, S: seed}, 1)
}

// ownAddress finds two addresses that are one cell.
func ownAddress() step {
	return marching("own address", Pattern{Name: "own address", Kind: kindOwn}, 1)
}

func constant(name string, word uint32, inversions int) step {
	return marching(name, Pattern{Name: name, Kind: kindRotate, B: word}, inversions)
}

// walking has the ones of a in another place in each word of a row of 32.
func walking(name string, a, shift uint32) step {
	return marching(name, Pattern{Name: name, Kind: kindRotate, A: a, S: shift}, 1)
}

// modulo writes every twentieth word apart from the rest, which no cache line hides.
func modulo(at, word uint32) step {
	return marching("modulo 20", Pattern{Name: "modulo 20", Kind: kindModulo, A: word, B: ^word, S: at}, 0)
}

const stepMove = "block move"

// moving copies halves over each other and checks that all of it arrived.
func moving(seed uint32) step {
	p := Pattern{Name: stepMove, Kind: kindHash, S: seed}
	return step{Name: stepMove, ops: []op{
		{do: opFill, pattern: p},
		{do: opMoveHalf, half: 1}, {do: opCheckHalf, pattern: p, half: 1},
		{do: opFill, pattern: p.inverted(ones)},
		{do: opMoveHalf, half: 0}, {do: opCheckHalf, pattern: p.inverted(ones), half: 0},
	}}
}

// fading leaves a pattern alone for a while: cells that lose their charge show.
func fading(word uint32, wait time.Duration) step {
	p := Pattern{Name: "bit fade", Kind: kindRotate, B: word}
	return step{Name: "bit fade", ops: []op{{do: opFill, pattern: p}, {do: opWait, wait: wait}, {do: opCheck, pattern: p}}}
}

// Plan is the row of steps of a mode. round makes the random sequences of each round of a
// soak differ. Random data come first: they tell faults of addresses from faults of bits.
func plan(mode string, round int, fade time.Duration) []step {
	seed := func(i int) uint32 { return mix(uint32(round)<<8|uint32(i), 0x6D656467) }
	var s []step
	add := func(more ...step) { s = append(s, more...) }
	add(random(seed(0)), ownAddress())
	if mode == ModeQuick {
		add(constant("zeros and ones", 0, 2), constant("checkerboard", 0xAAAAAAAA, 2))
		for i := range uint32(4) {
			add(walking("walking bit", 1, 8*i), constant(fmt.Sprintf("8-bit pattern %02x", 1<<(2*i)), 0x01010101<<(2*i), 1), modulo(5*i+2, seed(40+int(i))))
		}
		add(random(seed(1)), moving(seed(2)))
		return s
	}
	add(constant("zeros and ones", 0, 2), constant("checkerboard", 0xAAAAAAAA, 2))
	for i := range uint32(8) {
		add(constant(fmt.Sprintf("8-bit pattern %02x", 1<<i), 0x01010101<<i, 2))
	}
	for i := range uint32(32) {
		add(walking("walking bit", 1, i))
	}
	for i := range uint32(20) {
		add(modulo(i, seed(40+int(i))))
	}
	for i := range 16 {
		add(random(seed(1 + i)))
	}
	add(moving(seed(20)), moving(seed(21)), ownAddress())
	if fade > 0 {
		add(fading(0, fade/2), fading(ones, fade/2))
	}
	return s
}

// Modes of the memory test.
const (
	ModeQuick = "quick"
	ModeFull  = "full"
	ModeSoak  = "soak"
)
