package section

import (
	"regexp"
	"testing"

	"github.com/gpumedic/gpumedic/catalog"
)

// TestRuleExamples holds every rule to its own examples and near misses, judged
// alone and without the readings that derive adds to real sets.
func TestRuleExamples(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rules(t) {
		if seen[r.ID] {
			t.Errorf("rule %s stands twice", r.ID)
		}
		seen[r.ID] = true
		if len(r.Examples) == 0 || len(r.NearMiss) == 0 || r.Meaning.EN == "" || r.Meaning.ZH == "" || len(r.Sources) == 0 {
			t.Errorf("rule %s lacks an example, a near miss, a meaning or a source", r.ID)
		}
		for _, e := range r.Examples {
			if got := kinds(r, e.Readings); len(got) != 1 || got[0] != e.Want {
				t.Errorf("rule %s: example %v gives %v, want %s", r.ID, e.Readings, got, e.Want)
			}
		}
		for _, e := range r.NearMiss {
			if got := kinds(r, e.Readings); len(got) != 0 {
				t.Errorf("rule %s: near miss %v gives %v", r.ID, e.Readings, got)
			}
		}
		for _, c := range r.When {
			for _, src := range []string{c.Is, c.Not} {
				if _, err := regexp.Compile(src); err != nil {
					t.Errorf("rule %s: %v", r.ID, err)
				}
			}
		}
	}
}

func kinds(r catalog.ReadingRule, readings map[string]string) []string {
	set := Readings{Values: map[string]Reading{}}
	for k, v := range readings {
		set.Values[k] = Reading{Key: k, Value: v, Line: 1, Text: k + ": " + v}
	}
	out := newCollector()
	judgeOne(out, &r, &set)
	var got []string
	for _, s := range out.signals {
		got = append(got, s.Kind)
	}
	return got
}

func TestOverride(t *testing.T) {
	rs := rules(t)
	raised := Override(rs, map[string]float64{"retired_pages.limit": 100})
	set := []Readings{{Values: map[string]Reading{"retired_pages.total": {Key: "retired_pages.total", Value: "70", Text: "70"}}}}
	if got := Judge(rs, set); len(got) != 1 || got[0].Kind != "smi.retired_limit" {
		t.Errorf("by default: %v", got)
	}
	if got := Judge(raised, set); len(got) != 0 {
		t.Errorf("with a limit of 100: %v", got)
	}
}
