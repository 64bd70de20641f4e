package catalog

import (
	"regexp"
	"strings"
	"testing"
)

// plainFraming strips the simplest prefixes; internal/scan runs the examples again
// with the real framing.
var plainFraming = regexp.MustCompile(`^(?:\[ *\d+\.\d+\] |[A-Z][a-z]{2} [ \d]\d [\d:.]+ \S+ (?:kernel: |[\w.-]+(?:\[\d+\])?: ))`)

func TestMatcherExamples(t *testing.T) {
	c := loadTree(t)
	for i := range c.Matchers {
		m := &c.Matchers[i]
		p := Compile(m)
		if err := p.Check(); err != nil {
			t.Error(err)
			continue
		}
		if len(m.Examples) == 0 {
			t.Errorf("matcher %s: no example", m.ID)
		}
		for _, e := range m.Examples {
			lines := strings.Split(strings.TrimRight(e.Line, "\n"), "\n")
			for j := range lines {
				lines[j] = plainFraming.ReplaceAllString(lines[j], "")
			}
			text := lines[0]
			for _, l := range lines[1:] {
				rest, ok, last := p.Joins(l)
				if !ok {
					break
				}
				text = strings.TrimRight(text, " ") + " " + strings.TrimSpace(rest)
				if last {
					break
				}
			}
			if !p.HasLiteral(e.Line) {
				t.Errorf("matcher %s: no literal of %q in example %q", m.ID, m.Literals, e.Line)
			}
			got, ok := p.Match(text)
			if !ok {
				t.Errorf("matcher %s: no match for example %q", m.ID, text)
				continue
			}
			for k, want := range e.Want {
				have := got.Fields[k]
				if k == "kind" {
					have = got.Kind
				}
				if have == "" || strings.Contains(p.Kind, "{") && k == "kind" {
					continue // added by a decoder: the scan test sees it
				}
				if k == "gpu" || k == "port" || k == "pci" || k == "nvswitch" {
					continue // normalised later
				}
				if have != want {
					t.Errorf("matcher %s: %s is %q, want %q in %q", m.ID, k, have, want, e.Line)
				}
			}
		}
		for _, l := range m.NearMisses {
			if _, ok := p.Match(plainFraming.ReplaceAllString(l, "")); ok && p.HasLiteral(l) && m.Ident == "" {
				t.Errorf("matcher %s: near miss matches: %q", m.ID, l)
			}
		}
	}
}
