package lazyre

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
)

// Numbers of states that are answers, and none.
const (
	unknown = iota // not worked out yet
	matched
	dead
	firstState
)

// state is what may follow: instructions before their empty-width tests, and the byte
// before (-1 at the beginning).
type state struct {
	pcs    []uint32
	before rune
	next   []uint16 // by class; the last is for the end of the text
}

type automaton struct {
	f       *Filter
	states  []state
	ids     map[string]uint16
	renewed int

	// Scratch of one step.
	seen  []uint32 // by instruction: the step that last reached it
	step  uint32
	stack []uint32
	out   []uint32
	key   []byte
}

func newAutomaton(f *Filter) *automaton {
	a := &automaton{f: f, seen: make([]uint32, len(f.prog.Inst))}
	a.renew()
	return a
}

// renew forgets all states but the first.
func (a *automaton) renew() {
	a.states = append(a.states[:0], make([]state, firstState)...)
	a.ids = map[string]uint16{}
	a.state([]uint32{uint32(a.f.prog.Start)}, -1)
}

// read reads a text to its end or to the end of a match.
func read[T string | []byte](a *automaton, text T) uint16 {
	s := uint16(firstState)
	for i := range len(text) {
		c := text[i]
		if c >= 128 {
			return unknown
		}
		class := a.f.class[c]
		next := a.states[s].next[class]
		if next < firstState {
			if next == unknown {
				next = a.work(s, int(class))
			}
			if next < firstState {
				return next
			}
		}
		s = next
	}
	end := len(a.f.sample)
	if next := a.states[s].next[end]; next != unknown {
		return next
	}
	return a.work(s, end)
}

// work finds where a class leads from a state. Unknown means that there are too many
// states; after that the automaton is as new, or gives up.
func (a *automaton) work(s uint16, class int) uint16 {
	if len(a.states) >= maxStates {
		if a.renewed++; a.renewed <= maxRenewed {
			a.renew()
		}
		return unknown
	}
	c := rune(-1)
	if class < len(a.f.sample) {
		c = rune(a.f.sample[class])
	}
	from := a.states[s]
	next := uint16(dead)
	pcs, done := a.advance(from.pcs, syntax.EmptyOpContext(from.before, c), c)
	switch {
	case done:
		next = matched
	case c < 0:
	case len(pcs) > 0 || !a.f.anchored:
		if !a.f.anchored {
			pcs = append(pcs, uint32(a.f.prog.Start)) // a match may begin at each byte
		}
		next = a.state(pcs, c)
	}
	from.next[class] = next
	return next
}

// advance closes a set over the empty-width tests that hold here and takes it over c;
// done says that a match ends here.
func (a *automaton) advance(pcs []uint32, holds syntax.EmptyOp, c rune) (_ []uint32, done bool) {
	a.step++
	a.stack = append(a.stack[:0], pcs...)
	a.out = a.out[:0]
	for len(a.stack) > 0 {
		pc := a.stack[len(a.stack)-1]
		a.stack = a.stack[:len(a.stack)-1]
		if a.seen[pc] == a.step {
			continue
		}
		a.seen[pc] = a.step
		in := &a.f.prog.Inst[pc]
		switch in.Op {
		case syntax.InstMatch:
			return nil, true
		case syntax.InstAlt, syntax.InstAltMatch:
			a.stack = append(a.stack, in.Arg, in.Out)
		case syntax.InstCapture, syntax.InstNop:
			a.stack = append(a.stack, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^holds == 0 {
				a.stack = append(a.stack, in.Out)
			}
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if c >= 0 && in.MatchRune(c) {
				a.out = append(a.out, in.Out)
			}
		}
	}
	return a.out, false
}

// state finds or makes the state of a set. Of the byte before only its kind counts.
func (a *automaton) state(pcs []uint32, before rune) uint16 {
	switch {
	case before < 0, before == '\n':
	case syntax.IsWordChar(before):
		before = 'a'
	default:
		before = ' '
	}
	slices.Sort(pcs)
	pcs = slices.Compact(pcs)
	a.key = append(a.key[:0], byte(before))
	for _, pc := range pcs {
		a.key = binary.AppendUvarint(a.key, uint64(pc))
	}
	if id, ok := a.ids[string(a.key)]; ok {
		return id
	}
	id := uint16(len(a.states))
	a.states = append(a.states, state{slices.Clone(pcs), before, make([]uint16, len(a.f.sample)+1)})
	a.ids[string(a.key)] = id
	return id
}
