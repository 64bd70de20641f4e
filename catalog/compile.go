package catalog

import (
	"maps"
	"regexp"
	"strings"
	"sync"
)

// Pattern is a matcher ready for use. Its regular expressions compile on first use: most
// runs need few of them.
type Pattern struct {
	*Matcher

	pattern, ident, strip, until expression
}

// Finder applies an expression to a text. It appends the places of the match and its
// groups to dst, as package regexp gives them, or returns nil for none, and the groups'
// names; known is false where only package regexp can tell.
type Finder interface {
	FindInto(text string, dst []int) (loc []int, known bool)
	Names() []string
}

// Compile prepares a matcher. fast, where given, makes what is asked before package
// regexp.
func Compile(m *Matcher, fast func(expr string) Finder) *Pattern {
	p := &Pattern{Matcher: m, pattern: newExpression(m.Pattern, fast), ident: newExpression(m.Ident, fast)}
	if m.Join != nil {
		p.strip, p.until = newExpression(m.Join.Strip, fast), newExpression(m.Join.Until, fast)
	}
	return p
}

// expression is a regular expression that may be missing or wrong.
type expression struct {
	given bool
	fast  Finder
	re    func() (*regexp.Regexp, error)
}

func newExpression(src string, fast func(expr string) Finder) expression {
	if src == "" {
		return expression{}
	}
	e := expression{given: true, re: sync.OnceValues(func() (*regexp.Regexp, error) { return regexp.Compile(src) })}
	if fast != nil {
		e.fast = fast(src)
	}
	return e
}

// places lends where the places of matches go: nearly every line of a flood has one.
var places = sync.Pool{New: func() any { return new([]int) }}

// find calls use with the places of the first match and the names of the groups, and
// reports whether there is one. The places are on loan.
func (e *expression) find(text string, use func(loc []int, names []string)) bool {
	if !e.given {
		return false
	}
	buf := places.Get().(*[]int)
	loc, names := e.search(text, (*buf)[:0])
	if loc != nil {
		use(loc, names)
		*buf = loc
	}
	places.Put(buf)
	return loc != nil
}

func (e *expression) matches(text string) bool { return e.find(text, func([]int, []string) {}) }

func (e *expression) search(text string, dst []int) (loc []int, names []string) {
	if e.fast != nil {
		if loc, known := e.fast.FindInto(text, dst); known {
			return loc, e.fast.Names()
		}
	}
	re, err := e.re()
	if err != nil {
		return nil, nil
	}
	return re.FindStringSubmatchIndex(text), re.SubexpNames()
}

// Match is one match of a pattern in a message.
type Match struct {
	Fields map[string]string
	// Start and End place the match in the message.
	Start, End int
	// Mark is the decisive part of a long match: its group "mark", which is no field; else
	// all of it.
	Mark [2]int
}

// markGroup is the name of the group that only marks.
const markGroup = "mark"

// Match applies the pattern to a message. Empty groups are left out of Fields.
func (p *Pattern) Match(text string) (Match, bool) { return p.MatchInto(text, nil) }

// MatchInto is Match with a map for the fields that is empty, or nil for a new one.
func (p *Pattern) MatchInto(text string, fields map[string]string) (m Match, ok bool) {
	ok = p.pattern.find(text, func(loc []int, names []string) { m = p.match(text, fields, loc, names) })
	return m, ok
}

func (p *Pattern) match(text string, fields map[string]string, loc []int, names []string) Match {
	if fields == nil {
		fields = map[string]string{}
	}
	m := Match{Start: loc[0], End: loc[1], Mark: [2]int{loc[0], loc[1]}, Fields: fields}
	for i, name := range names {
		if name == "" || loc[2*i] < 0 || loc[2*i] == loc[2*i+1] {
			continue
		}
		if name == markGroup {
			m.Mark = [2]int{loc[2*i], loc[2*i+1]}
			continue
		}
		if _, dup := m.Fields[name]; dup {
			continue // alternatives may share a group name: the first that matched wins
		}
		m.Fields[name] = text[loc[2*i]:loc[2*i+1]]
	}
	maps.Copy(m.Fields, p.Set)
	return m
}

// WrittenBy reports whether a writer with this identifier may match.
func (p *Pattern) WrittenBy(ident string) bool {
	if !p.ident.given || ident == "" {
		return true
	}
	return p.ident.matches(ident)
}

// Joins reports whether a following message continues this one, and what of it to
// append; last says that no further record can follow.
func (p *Pattern) Joins(text string) (rest string, ok, last bool) {
	if p.Join == nil {
		return "", false, true
	}
	from := -1
	p.strip.find(text, func(loc []int, _ []string) {
		if loc[0] != 0 {
			return
		}
		if from = loc[1]; len(loc) > 2 && loc[2] >= 0 {
			from = loc[2] // a group marks where the text to keep begins
		}
	})
	if from < 0 {
		return "", false, true
	}
	return text[from:], true, p.until.matches(text[from:])
}

// ExpandKind replaces {field} in a kind by the field's value, lower case and with
// every byte that a kind may not hold turned into "_".
func ExpandKind(kind string, fields map[string]string) string {
	for {
		i := strings.IndexByte(kind, '{')
		if i < 0 {
			return kind
		}
		j := strings.IndexByte(kind[i:], '}')
		if j < 0 {
			return kind
		}
		v := strings.ToLower(fields[kind[i+1:i+j]])
		v = strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '_':
				return r
			case r == '-' && strings.HasPrefix(kind, "svc."):
				return r // a unit's name
			case r == '-':
				return -1 // "non-fatal" is nonfatal in kinds
			}
			return '_'
		}, v)
		kind = kind[:i] + v + kind[i+j+1:]
	}
}

// HasLiteral reports whether a line holds one of the literals, so that the block
// scan would have found it.
func (p *Pattern) HasLiteral(line string) bool {
	if p.Fold {
		line = strings.ToLower(line)
	}
	for _, l := range p.Literals {
		if p.Fold {
			l = strings.ToLower(l)
		}
		if strings.Contains(line, l) {
			return true
		}
	}
	return false
}
