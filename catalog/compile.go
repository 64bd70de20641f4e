package catalog

import (
	"maps"
	"regexp"
	"strings"
	"sync"
)

// Pattern is a matcher ready for use. Its regular expression compiles on first
// use: most runs need few of them.
type Pattern struct {
	*Matcher
	// Never, where set, says fast that the expression surely does not match a text.
	Never func(text string) bool

	re    func() (*regexp.Regexp, error)
	ident func() (*regexp.Regexp, error)
	strip func() (*regexp.Regexp, error)
	until func() (*regexp.Regexp, error)
}

// Compile prepares a matcher.
func Compile(m *Matcher) *Pattern {
	lazy := func(src string) func() (*regexp.Regexp, error) {
		return sync.OnceValues(func() (*regexp.Regexp, error) {
			if src == "" {
				return nil, nil
			}
			return regexp.Compile(src)
		})
	}
	p := &Pattern{Matcher: m, re: lazy(m.Pattern), ident: lazy(m.Ident)}
	if m.Join != nil {
		p.strip, p.until = lazy(m.Join.Strip), lazy(m.Join.Until)
	}
	return p
}

// Match is one match of a pattern in a message.
type Match struct {
	Kind   string
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
// The kind is not expanded yet when it needs a field that a decoder adds; call
// [ExpandKind] after decoding.
func (p *Pattern) Match(text string) (Match, bool) {
	if p.Never != nil && p.Never(text) {
		return Match{}, false
	}
	re, err := p.re()
	if err != nil || re == nil {
		return Match{}, false
	}
	loc := re.FindStringSubmatchIndex(text)
	if loc == nil {
		return Match{}, false
	}
	m := Match{Start: loc[0], End: loc[1], Mark: [2]int{loc[0], loc[1]}, Fields: map[string]string{}}
	for i, name := range re.SubexpNames() {
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
	m.Kind = ExpandKind(p.Kind, m.Fields)
	return m, true
}

// WrittenBy reports whether a writer with this identifier may match.
func (p *Pattern) WrittenBy(ident string) bool {
	re, err := p.ident()
	if err != nil {
		return false
	}
	return re == nil || ident == "" || re.MatchString(ident)
}

// Joins reports whether a following message continues this one, and what of it to
// append; last says that no further record can follow.
func (p *Pattern) Joins(text string) (rest string, ok, last bool) {
	if p.Join == nil {
		return "", false, true
	}
	strip, err := p.strip()
	if err != nil || strip == nil {
		return "", false, true
	}
	loc := strip.FindStringSubmatchIndex(text)
	if loc == nil || loc[0] != 0 {
		return "", false, true
	}
	from := loc[1]
	if len(loc) > 2 && loc[2] >= 0 {
		from = loc[2] // a group marks where the text to keep begins
	}
	rest = text[from:]
	if until, _ := p.until(); until != nil && until.MatchString(rest) {
		last = true
	}
	return rest, true, last
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
