package lazyre

import (
	"regexp/syntax"
	"sync"
)

// Filter says fast whether an expression matches. A common literal brings many rows to
// expressions that then match none of them, and package regexp takes tens of microseconds
// to find that out: it tries every start in turn and goes back at every choice. A filter
// reads each byte once.
//
// The program of the expression (regexp/syntax) is run as a deterministic automaton whose
// states are made as texts need them. A state is a set of instructions that are waiting
// for a byte; which of them an empty-width test (^, $, \b) lets through depends on the
// byte before and the next, so a state holds what the byte before was, and its set is
// closed over the tests when the next byte is known. Only whether there is a match is
// asked, not where, so that order does not matter and the set is enough.
//
// The answer is exact where there is one. There is none for a text that the automaton
// does not read: one with a byte that is not ASCII before a match ends, or one that takes
// too many states. Then the expression itself decides.
//
// A filter is safe for use by several goroutines: each takes an automaton of its own.
type Filter struct {
	prog     *syntax.Prog
	class    [128]uint8
	sample   []byte // one byte of each class
	anchored bool

	mu   sync.Mutex
	idle []*automaton
}

// maxStates bounds the memory of one automaton. One that needs more starts anew, and
// one that does so often is given up.
const (
	maxStates  = 512
	maxRenewed = 16
	maxProgram = 4000
)

// NewFilter prepares an expression. Nil, for one that is wrong or too large, never knows.
func NewFilter(expr string) *Filter {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil || len(prog.Inst) > maxProgram {
		return nil
	}
	f := &Filter{prog: prog, anchored: prog.StartCond()&syntax.EmptyBeginText != 0}
	f.classes()
	return f
}

// NewLooseFilter prepares an expression without its tests of where a text begins and
// ends and words do: it matches all texts that hold one which the expression matches.
func NewLooseFilter(expr string) *Filter {
	f := NewFilter(expr)
	if f == nil {
		return nil
	}
	for i := range f.prog.Inst {
		if in := &f.prog.Inst[i]; in.Op == syntax.InstEmptyWidth {
			in.Op = syntax.InstNop
		}
	}
	f.anchored = false
	return f
}

// Match says whether the expression matches somewhere in a text, if that is known.
func (f *Filter) Match(text string) (match, known bool) { return ask(f, text) }

// MatchBytes is Match of bytes.
func (f *Filter) MatchBytes(text []byte) (match, known bool) { return ask(f, text) }

func ask[T string | []byte](f *Filter, text T) (match, known bool) {
	if f == nil {
		return false, false
	}
	a := f.take()
	answer := read(a, text)
	f.mu.Lock()
	f.idle = append(f.idle, a)
	f.mu.Unlock()
	return answer == matched, answer != unknown
}

func (f *Filter) take() *automaton {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.idle); n > 0 {
		a := f.idle[n-1]
		f.idle = f.idle[:n-1]
		return a
	}
	return newAutomaton(f)
}

// classes finds the bytes that no instruction tells apart.
func (f *Filter) classes() {
	var begins [129]bool // a class begins at this byte
	mark := func(lo, hi rune) {
		if lo < 128 {
			begins[lo] = true
		}
		if hi < 127 {
			begins[hi+1] = true
		}
	}
	for _, r := range [][2]rune{{'\n', '\n'}, {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}} { // for ^, $ and \b
		mark(r[0], r[1])
	}
	for i := range f.prog.Inst {
		in := &f.prog.Inst[i]
		switch in.Op {
		case syntax.InstRune1:
			mark(in.Rune[0], in.Rune[0])
		case syntax.InstRune:
			if len(in.Rune) == 1 {
				for _, c := range otherCases(in.Rune[0]) {
					mark(c, c)
				}
				continue
			}
			for k := 0; k+1 < len(in.Rune); k += 2 {
				mark(in.Rune[k], in.Rune[k+1])
			}
		}
	}
	for c := range 128 {
		if begins[c] || c == 0 {
			f.sample = append(f.sample, byte(c))
		}
		f.class[c] = uint8(len(f.sample) - 1)
	}
}

// otherCases are an ASCII rune in both cases.
func otherCases(r rune) []rune {
	switch {
	case r >= 'a' && r <= 'z':
		return []rune{r, r - 0x20}
	case r >= 'A' && r <= 'Z':
		return []rune{r, r + 0x20}
	case r < 128:
		return []rune{r}
	}
	// A rune beyond ASCII may have an ASCII letter for another case (the Kelvin sign).
	return []rune{'k', 'K', 's', 'S'}
}
