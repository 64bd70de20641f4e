package lazyre

import (
	"strings"
	"sync"
)

// program is an expression for reading short ASCII texts fast, by going back to the last
// choice where a way fails (backtracking): what package regexp means by the first match,
// in a tenth of its time. The expressions of logs are texts, runs of bytes of a kind and
// few choices between them, and mostly the next byte alone says which choice can match or
// that a run need give nothing back. Such ways are not tried.
//
// An expression that goes back too often for a text does not get to an answer; the caller
// then asks package regexp, whose time is bounded.
type program struct {
	nodes    []node
	start    int32
	slots    int
	names    []string
	anchored bool   // only the beginning can match
	first    *set   // what a match begins with, nil for anything
	prefix   string // of every match
	needs    Needs

	spare sync.Pool // of *machine
}

// longestText bounds the texts that programs read, and with them the depth of calls.
const longestText = 8 << 10

const (
	noMatch = -1
	gaveUp  = -2
)

// machine is one reading of a text.
type machine struct {
	nodes []node
	text  string
	left  int // steps before it gives up
	slots []int
	trail []saved // what to restore on the way back
}

type saved struct {
	slot int32
	old  int
}

// find looks for the first match. known is false where only package regexp can tell. The
// places of the match and its groups are put into dst.
func (p *program) find(text string, dst []int) (loc []int, known bool) {
	if p == nil || len(text) > longestText || !ascii(text) {
		return nil, false
	}
	m, _ := p.spare.Get().(*machine)
	if m == nil {
		m = &machine{nodes: p.nodes, slots: make([]int, p.slots)}
	}
	m.text, m.left = text, 2048+16*len(text)
	for at, tries := 0, 0; ; at, tries = at+1, tries+1 {
		// Most texts match, and where they may: what else they need is asked when not.
		if tries == 1 && !p.needs.Met(text) {
			known = true
			break
		}
		if at = p.candidate(text, at); at < 0 {
			known = true
			break
		}
		m.trail = m.trail[:0]
		for i := range m.slots {
			m.slots[i] = -1
		}
		end := m.run(p.start, at)
		if end == gaveUp {
			break
		}
		if end >= 0 {
			m.slots[0], m.slots[1] = at, end
			loc, known = append(dst, m.slots...), true
			break
		}
		if p.anchored {
			known = true
			break
		}
	}
	m.text = ""
	p.spare.Put(m)
	return loc, known
}

// searches says that nothing tells where a match may begin, or that there is none.
func (p *program) searches() bool {
	return p == nil || !p.anchored && p.prefix == "" && len(p.needs) == 0
}

// candidate is the first place from `at` on where a match may begin, -1 for none.
func (p *program) candidate(text string, at int) int {
	switch {
	case at > len(text):
		return -1
	case p.anchored:
		return at
	case p.prefix != "":
		if i := strings.Index(text[at:], p.prefix); i >= 0 {
			return at + i
		}
		return -1
	case p.first != nil:
		for ; at < len(text); at++ {
			if p.first.has(text[at]) {
				return at
			}
		}
		return -1
	}
	return at
}

// run is where a match of the program from pc on ends that begins at a place.
func (m *machine) run(pc int32, at int) int {
	for {
		if m.left--; m.left < 0 {
			return gaveUp
		}
		n := &m.nodes[pc]
		switch n.op {
		case opMatch:
			return at
		case opText:
			if !strings.HasPrefix(m.text[at:], n.str) {
				return noMatch
			}
			at += len(n.str)
		case opFold:
			if !hasFold(m.text[at:], n.str) {
				return noMatch
			}
			at += len(n.str)
		case opSet:
			if at >= len(m.text) || !n.set.has(m.text[at]) {
				return noMatch
			}
			at++
		case opSave:
			m.trail = append(m.trail, saved{n.slot, m.slots[n.slot]})
			m.slots[n.slot] = at
		case opRun:
			lo, hi := at+n.min, at
			for end := min(len(m.text), at+n.max); hi < end && n.set.has(m.text[hi]); hi++ {
			}
			if hi < lo {
				return noMatch
			}
			if !n.sure && hi > lo {
				return m.shrink(n, lo, hi)
			}
			at = hi
		case opLazy:
			return m.grow(n, at)
		case opBranch:
			next, r := m.choose(n, at)
			if next < 0 {
				return r
			}
			pc = next
			continue
		default:
			if !m.holds(n.op, at) {
				return noMatch
			}
		}
		pc = n.next
	}
}

// shrink tries what follows a run behind all of it, then behind less and less.
func (m *machine) shrink(n *node, lo, hi int) int {
	for at := hi; at >= lo; at-- {
		if n.follow != "" {
			i := strings.LastIndex(m.text[lo:min(len(m.text), at+len(n.follow))], n.follow)
			if i < 0 {
				return noMatch
			}
			at = lo + i
		} else if !m.mayFollow(n.first, at) {
			continue
		}
		if r := m.try(n.next, at); r != noMatch {
			return r
		}
	}
	return noMatch
}

// grow tries what follows a run behind as little of it as may be, then behind more.
func (m *machine) grow(n *node, at int) int {
	if n.follow != "" {
		return m.growTo(n, at)
	}
	end := min(len(m.text), at+n.max)
	for k := at; ; k++ {
		if k-at >= n.min && m.mayFollow(n.first, k) {
			if r := m.try(n.next, k); r != noMatch {
				return r
			}
		}
		if k >= end || !n.set.has(m.text[k]) {
			return noMatch
		}
	}
}

// growTo is grow where one text follows: only the places where that stands are tried.
func (m *machine) growTo(n *node, at int) int {
	end := min(len(m.text), at+n.max)
	from, to := at, min(end, at+n.min) // the run goes as far as to
	if to-from < n.min {
		return noMatch
	}
	for {
		if !m.within(&n.set, from, to) {
			return noMatch
		}
		from = to
		i := strings.Index(m.text[from:min(len(m.text), end+len(n.follow))], n.follow)
		if i < 0 {
			return noMatch
		}
		if to = from + i; !m.within(&n.set, from, to) {
			return noMatch
		}
		if r := m.try(n.next, to); r != noMatch {
			return r
		}
		if from = to; to == end {
			return noMatch
		}
		to++
	}
}

// within says that all bytes of a part of the text are of a set.
func (m *machine) within(s *set, from, to int) bool {
	if *s == line {
		return strings.IndexByte(m.text[from:to], '\n') < 0
	}
	for ; from < to; from++ {
		if !s.has(m.text[from]) {
			return false
		}
	}
	return true
}

// choose tries all branches but the last that may match, which it returns to go on with.
func (m *machine) choose(n *node, at int) (next int32, r int) {
	next = -1
	for i := range n.branches {
		b := &n.branches[i]
		if !m.mayFollow(b.first, at) {
			continue
		}
		if next >= 0 {
			if r := m.try(next, at); r != noMatch {
				return -1, r
			}
		}
		next = b.pc
	}
	return next, noMatch
}

// try runs one way and undoes it if it fails.
func (m *machine) try(pc int32, at int) int {
	mark := len(m.trail)
	r := m.run(pc, at)
	if r == noMatch {
		for i := len(m.trail) - 1; i >= mark; i-- {
			m.slots[m.trail[i].slot] = m.trail[i].old
		}
		m.trail = m.trail[:mark]
	}
	return r
}

func (m *machine) mayFollow(first *set, at int) bool {
	return first == nil || at < len(m.text) && first.has(m.text[at])
}

// holds tests a place between two bytes.
func (m *machine) holds(o op, at int) bool {
	before := at > 0 && wordByte(m.text[at-1])
	after := at < len(m.text) && wordByte(m.text[at])
	switch o {
	case opBeginText:
		return at == 0
	case opEndText:
		return at == len(m.text)
	case opBeginLine:
		return at == 0 || m.text[at-1] == '\n'
	case opEndLine:
		return at == len(m.text) || m.text[at] == '\n'
	case opWord:
		return before != after
	case opNoWord:
		return before == after
	}
	return false
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// hasFold reports whether s begins with low, which is in lower case, in any case.
func hasFold(s, low string) bool {
	if len(s) < len(low) {
		return false
	}
	for i := range len(low) {
		c := s[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != low[i] {
			return false
		}
	}
	return true
}

func ascii(s string) bool {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		if word(s[i:])&0x8080808080808080 != 0 {
			return false
		}
	}
	for ; i < len(s); i++ {
		if s[i]&0x80 != 0 {
			return false
		}
	}
	return true
}

// word are the first eight bytes of s; the compiler makes one load of it.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
