package diagnose

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
)

// rules are the catalog's faults made ready for use.
type rules struct {
	faults []*faultRule
}

type faultRule struct {
	*catalog.Fault
	triggers, needs, supports, against []clue
	explains                           []explain
	actions                            []actionRule
	notThis                            [][]clue
	causes                             [][]clue
}

type clue struct {
	*catalog.Clue
	kinds []string
	where []fieldTest
}

type explain struct {
	*catalog.Explains
	kinds []string
	where []fieldTest
}

type actionRule struct {
	*catalog.ActionRule
	when []clue
}

// fieldTest compiles its expression on first use: a run meets few of the signals that
// the catalog knows, and compiling all would take longer than reading a small log.
type fieldTest struct {
	field string
	re    func() *regexp.Regexp
	not   bool // "!expr": the value must not fit
}

// compileRules prepares every fault, in order of id. Expressions were checked when the
// catalog was loaded; one that does not compile matches nothing.
func compileRules(c *catalog.Catalog) *rules {
	r := &rules{}
	for _, id := range c.FaultIDs() {
		f := c.Faults[id]
		fr := &faultRule{Fault: f,
			triggers: clues(f.Triggers), needs: clues(f.Needs),
			supports: clues(f.Supports), against: clues(f.Against)}
		for i := range f.Explains {
			e := &f.Explains[i]
			for j := range c.Groups[e.Group] { // an entry of a group stands as if written here
				x := &c.Groups[e.Group][j]
				fr.explains = append(fr.explains, explain{x, kinds(x.Signal), tests(x.Where)})
			}
			if e.Group == "" {
				fr.explains = append(fr.explains, explain{e, kinds(e.Signal), tests(e.Where)})
			}
		}
		for i := range f.Actions {
			fr.actions = append(fr.actions, actionRule{&f.Actions[i], clues(f.Actions[i].When)})
		}
		for i := range f.NotThis {
			fr.notThis = append(fr.notThis, clues(f.NotThis[i].When))
		}
		for i := range f.Causes {
			fr.causes = append(fr.causes, clues(f.Causes[i].When))
		}
		r.faults = append(r.faults, fr)
	}
	return r
}

func clues(in []catalog.Clue) []clue {
	out := make([]clue, len(in))
	for i := range in {
		out[i] = clue{&in[i], kinds(in[i].Signal), tests(in[i].Where)}
	}
	return out
}

func kinds(s string) []string {
	var out []string
	for _, k := range strings.Split(s, "|") {
		if k = strings.TrimSpace(k); k != "" {
			out = append(out, k)
		}
	}
	return out
}

func tests(where map[string]string) []fieldTest {
	var out []fieldTest
	for _, f := range slices.Sorted(maps.Keys(where)) {
		expr, not := strings.CutPrefix(where[f], "!")
		re := sync.OnceValue(func() *regexp.Regexp {
			re, err := regexp.Compile(`(?i)^(?:` + expr + `)$`)
			if err != nil {
				return nil
			}
			return re
		})
		out = append(out, fieldTest{f, re, not})
	}
	return out
}

// matchesAny reports whether one of the patterns matches a kind.
func matchesAny(patterns []string, kind string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return gpumedic.KindMatches(p, kind) })
}

// fits reports whether the fields of a signal pass all tests.
func fits(s *gpumedic.Signal, where []fieldTest) bool {
	for _, t := range where {
		re := t.re()
		if re == nil || re.MatchString(fieldOf(s, t.field)) == t.not {
			return false
		}
	}
	return true
}

// fieldOf reads a field, or a part of the subject by its reserved name. The rank and the
// node of a subject are those of the reporter, which a test of a field does not ask for.
func fieldOf(s *gpumedic.Signal, name string) string {
	if v, ok := s.Fields[name]; ok {
		return v
	}
	switch name {
	case "process", "pid", "gpu", "port", "link", "nvswitch", "unit", "container":
		v, _ := s.Subject.Part(name)
		return v
	}
	return ""
}
