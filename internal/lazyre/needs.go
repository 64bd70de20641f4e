package lazyre

import (
	"bytes"
	"regexp/syntax"
	"strings"
)

// Needs are texts of which a match holds one of each list: "(?:a|b).*c" needs one of a and
// b, and c. To look for them costs little, and a text without them has no match.
type Needs [][]string

const (
	shortestNeed = 3 // shorter texts stand everywhere
	mostNeeds    = 6
	mostChoices  = 5
)

// NeedsOf are those of an expression; there may be none.
func NeedsOf(expr string) Needs {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	return needs(re)
}

func needs(re *syntax.Regexp) Needs {
	all := allNeeds(re)
	if len(all) > mostNeeds {
		all = all[:mostNeeds]
	}
	return all
}

func allNeeds(re *syntax.Regexp) Needs {
	switch re.Op {
	case syntax.OpLiteral:
		if s := string(re.Rune); re.Flags&syntax.FoldCase == 0 && len(s) >= shortestNeed {
			return Needs{{s}}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return allNeeds(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return allNeeds(re.Sub[0])
		}
	case syntax.OpConcat:
		var all Needs
		for _, sub := range re.Sub {
			all = append(all, allNeeds(sub)...)
		}
		return all
	case syntax.OpAlternate:
		return choice(re.Sub)
	}
	return nil
}

// choice is what alternatives need: of each the list whose shortest text is longest.
func choice(subs []*syntax.Regexp) Needs {
	var any []string
	for _, sub := range subs {
		var best []string
		for _, list := range allNeeds(sub) {
			if best == nil || shortest(list) > shortest(best) {
				best = list
			}
		}
		if best == nil {
			return nil
		}
		if any = append(any, best...); len(any) > mostChoices {
			return nil
		}
	}
	return Needs{any}
}

func shortest(list []string) int {
	n := len(list[0])
	for _, s := range list {
		n = min(n, len(s))
	}
	return n
}

// Met says whether a text holds one of each list.
func (n Needs) Met(text string) bool {
	for _, list := range n {
		found := false
		for _, s := range list {
			if found = strings.Contains(text, s); found {
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// MetBytes is Met of bytes.
func (n Needs) MetBytes(text []byte) bool {
	for _, list := range n {
		found := false
		for _, s := range list {
			if found = bytes.Contains(text, []byte(s)); found {
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}
