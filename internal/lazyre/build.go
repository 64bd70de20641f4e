package lazyre

import (
	"regexp/syntax"
	"strings"
)

type op uint8

const (
	opMatch op = iota
	opFail
	opText   // str
	opFold   // str in lower case, any case matches
	opSet    // one byte of set
	opRun    // min to max bytes of set, as many as possible
	opLazy   // min to max bytes of set, as few as possible
	opBranch // the first of branches that leads to a match
	opSave
	opBeginText
	opEndText
	opBeginLine
	opEndLine
	opWord
	opNoWord
)

// node is one step of a program; next is what must match behind it.
type node struct {
	op       op
	sure     bool // of opRun: giving bytes back cannot help
	next     int32
	slot     int32
	min, max int
	str      string
	set      set
	first    *set   // what next must begin with, nil for anything
	follow   string // what next begins with, if that is always the same text
	branches []branch
}

type branch struct {
	pc    int32
	first *set
}

// set is a set of ASCII bytes.
type set [2]uint64

// line are the bytes that "." matches.
var line = set{^uint64(0) &^ (1 << '\n'), ^uint64(0)}

func (s *set) has(c byte) bool { return s[c>>6&1]>>(c&63)&1 != 0 }
func (s *set) add(c byte)      { s[c>>6&1] |= 1 << (c & 63) }
func (s *set) disjoint(t *set) bool {
	return s[0]&t[0] == 0 && s[1]&t[1] == 0
}

const (
	maxNodes = 4000
	endless  = 1 << 30
)

// builder makes the program of an expression from its end to its beginning, so that
// each node knows what follows.
type builder struct {
	nodes  []node
	failed bool
}

// buildProgram returns nil for an expression that a program cannot express.
func buildProgram(expr string) *program {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	b := &builder{nodes: []node{{op: opMatch}}}
	start := b.build(re, 0)
	if b.failed || len(b.nodes) > maxNodes {
		return nil
	}
	p := &program{nodes: b.nodes, start: start, slots: 2 * (re.MaxCap() + 1), names: re.CapNames()}
	for i := range p.nodes {
		b.look(&p.nodes[i])
	}
	p.first = b.first(start, 0)
	head := &p.nodes[start]
	for head.op == opSave {
		head = &p.nodes[head.next]
	}
	p.anchored = head.op == opBeginText
	if head.op == opText {
		p.prefix = head.str
	}
	if !p.anchored { // else the first bytes decide soon
		p.needs = needs(re)
	}
	return p
}

func (b *builder) add(n node) int32 {
	if len(b.nodes) > maxNodes {
		b.failed = true
		return 0
	}
	b.nodes = append(b.nodes, n)
	return int32(len(b.nodes) - 1)
}

// build returns where to begin so that re matches and next follows.
func (b *builder) build(re *syntax.Regexp, next int32) int32 {
	if b.failed {
		return 0
	}
	if s, ok := single(re); ok {
		return b.add(node{op: opSet, set: s, next: next})
	}
	lazy := re.Flags&syntax.NonGreedy != 0
	switch re.Op {
	case syntax.OpNoMatch:
		return b.add(node{op: opFail})
	case syntax.OpEmptyMatch:
		return next
	case syntax.OpLiteral:
		return b.literal(re, next)
	case syntax.OpBeginLine:
		return b.add(node{op: opBeginLine, next: next})
	case syntax.OpEndLine:
		return b.add(node{op: opEndLine, next: next})
	case syntax.OpBeginText:
		return b.add(node{op: opBeginText, next: next})
	case syntax.OpEndText:
		return b.add(node{op: opEndText, next: next})
	case syntax.OpWordBoundary:
		return b.add(node{op: opWord, next: next})
	case syntax.OpNoWordBoundary:
		return b.add(node{op: opNoWord, next: next})
	case syntax.OpCapture:
		end := b.add(node{op: opSave, slot: int32(2*re.Cap + 1), next: next})
		return b.add(node{op: opSave, slot: int32(2 * re.Cap), next: b.build(re.Sub[0], end)})
	case syntax.OpConcat:
		for i := len(re.Sub) - 1; i >= 0; i-- {
			next = b.build(re.Sub[i], next)
		}
		return next
	case syntax.OpAlternate:
		branches := make([]branch, len(re.Sub))
		for i, sub := range re.Sub {
			branches[i].pc = b.build(sub, next)
		}
		return b.add(node{op: opBranch, branches: branches})
	case syntax.OpStar:
		return b.repeat(re.Sub[0], 0, endless, lazy, next)
	case syntax.OpPlus:
		return b.repeat(re.Sub[0], 1, endless, lazy, next)
	case syntax.OpQuest:
		return b.repeat(re.Sub[0], 0, 1, lazy, next)
	case syntax.OpRepeat:
		most := re.Max
		if most < 0 {
			most = endless
		}
		return b.repeat(re.Sub[0], re.Min, most, lazy, next)
	}
	b.failed = true
	return 0
}

func (b *builder) literal(re *syntax.Regexp, next int32) int32 {
	text := string(re.Rune)
	for _, r := range re.Rune {
		if r >= 128 {
			return b.add(node{op: opFail}) // the texts are ASCII
		}
	}
	if re.Flags&syntax.FoldCase == 0 {
		return b.add(node{op: opText, str: text, next: next})
	}
	return b.add(node{op: opFold, str: strings.ToLower(text), next: next})
}

// single is the set of an expression that matches one byte.
func single(re *syntax.Regexp) (s set, ok bool) {
	switch re.Op {
	case syntax.OpAnyChar:
		return set{^uint64(0), ^uint64(0)}, true
	case syntax.OpAnyCharNotNL:
		return line, true
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= min(re.Rune[i+1], 127); r++ {
				s.add(byte(r))
			}
		}
		return s, true
	case syntax.OpLiteral:
		if len(re.Rune) != 1 || re.Rune[0] >= 128 {
			return s, false
		}
		c := byte(re.Rune[0])
		s.add(c)
		if low := c | 0x20; re.Flags&syntax.FoldCase != 0 && low >= 'a' && low <= 'z' {
			s.add(low)
			s.add(low &^ 0x20)
		}
		return s, true
	}
	return s, false
}

// repeat builds a repetition: a run where one byte repeats, a loop otherwise.
func (b *builder) repeat(sub *syntax.Regexp, least, most int, lazy bool, next int32) int32 {
	if s, ok := single(sub); ok {
		n := node{op: opRun, set: s, min: least, max: most, next: next}
		if lazy {
			n.op = opLazy
		}
		return b.add(n)
	}
	if nullable(sub) && most == endless {
		b.failed = true // an empty round would never end
		return 0
	}
	either := func(body, next int32) []branch {
		if lazy {
			return []branch{{pc: next}, {pc: body}}
		}
		return []branch{{pc: body}, {pc: next}}
	}
	if most == endless {
		loop := b.add(node{op: opBranch})
		body := b.build(sub, loop)
		if b.failed {
			return 0
		}
		b.nodes[loop].branches = either(body, next)
		if next = loop; least > 0 {
			next, least = body, least-1
		}
	} else {
		end := next
		for range most - least {
			next = b.add(node{op: opBranch, branches: either(b.build(sub, next), end)})
		}
	}
	for range least {
		next = b.build(sub, next)
	}
	return next
}

// nullable says whether an expression matches the empty text.
func nullable(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpNoMatch:
		return re.Op == syntax.OpLiteral && len(re.Rune) == 0
	case syntax.OpCapture, syntax.OpPlus:
		return nullable(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || nullable(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !nullable(sub) {
				return false
			}
		}
		return true
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if nullable(sub) {
				return true
			}
		}
		return false
	}
	return true
}

// look notes what a choice can know from the next byte alone.
func (b *builder) look(n *node) {
	switch n.op {
	case opRun, opLazy:
		n.first = b.first(n.next, 0)
		n.sure = n.first != nil && n.first.disjoint(&n.set)
		n.follow = b.follow(n.next)
	case opBranch:
		for i := range n.branches {
			n.branches[i].first = b.first(n.branches[i].pc, 0)
		}
	}
}

// follow is the text that a match from pc on begins with, "" for none that is sure.
func (b *builder) follow(pc int32) string {
	for {
		switch n := &b.nodes[pc]; n.op {
		case opText:
			return n.str
		case opSave, opWord, opNoWord:
			pc = n.next
		default:
			return ""
		}
	}
}

// first is what a match from pc on must begin with, nil for anything or nothing.
func (b *builder) first(pc int32, depth int) *set {
	if depth > 24 {
		return nil
	}
	n := &b.nodes[pc]
	var s set
	switch n.op {
	case opFail:
	case opMatch:
		return nil
	case opText:
		s.add(n.str[0])
	case opFold:
		s.add(n.str[0])
		if c := n.str[0]; c >= 'a' && c <= 'z' {
			s.add(c &^ 0x20)
		}
	case opSet:
		s = n.set
	case opRun, opLazy:
		s = n.set
		if n.min > 0 {
			break
		}
		rest := b.first(n.next, depth+1)
		if rest == nil {
			return nil
		}
		s[0], s[1] = s[0]|rest[0], s[1]|rest[1]
	case opBranch:
		for _, br := range n.branches {
			one := b.first(br.pc, depth+1)
			if one == nil {
				return nil
			}
			s[0], s[1] = s[0]|one[0], s[1]|one[1]
		}
	default:
		return b.first(n.next, depth+1)
	}
	return &s
}
