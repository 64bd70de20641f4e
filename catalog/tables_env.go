package catalog

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// EnvName is an environment variable that some component reads, and the form of its
// values. The page of an important one is a [Setting].
type EnvName struct {
	Name      string
	Component string
	Values    string // form of the value, see the head of tables/env.tsv
	Sources   []string
}

// EnvPrefix says who reads the variables whose names begin so. Complete: the table
// lists every name, so that another one does nothing.
type EnvPrefix struct {
	Prefix    string
	Component string
	Complete  bool
	Sources   []string
}

// EnvWith is a second setting that a rule needs.
type EnvWith struct {
	Name string
	When *regexp.Regexp
}

// EnvRule says what a value does that nobody wants.
type EnvRule struct {
	Names   []string
	When    *regexp.Regexp
	With    *EnvWith
	Where   string // any, session, nodes, slurm, pod, image, nocuda
	Level   string // error, warning, notice
	Kind    string // harmful, debug, value, conflict, removed, deprecated
	Fault   string // the fault that it leads to, "" when none fits
	Instead string
	Sources []string
	What    Text
	Do      Text
}

// EnvTable is all that the linter knows of environment variables.
type EnvTable struct {
	Names    map[string]*EnvName
	Prefixes []EnvPrefix // longest first
	Rules    map[string][]*EnvRule
}

func loadEnv(fsys fs.FS) (*EnvTable, error) {
	e := &EnvTable{Names: map[string]*EnvName{}, Rules: map[string][]*EnvRule{}}
	t := readTable(fsys, "env.tsv", "names", "component", "values", "sources")
	err := t.rows(func(r tableRow) {
		component, values, sources := r.need("component"), r.need("values"), r.sources()
		for _, n := range r.list("names", ";") {
			if e.Names[n] != nil {
				r.fail("names", "%s is there twice", n)
			}
			e.Names[n] = &EnvName{n, component, values, sources}
		}
	})
	if err != nil {
		return e, err
	}
	t = readTable(fsys, "env-prefixes.tsv", "prefix", "component", "complete", "sources")
	err = t.rows(func(r tableRow) {
		e.Prefixes = append(e.Prefixes, EnvPrefix{r.need("prefix"), r.need("component"), r.oneOf("complete", "yes", "no") == "yes", r.sources()})
	})
	if err != nil {
		return e, err
	}
	slices.SortStableFunc(e.Prefixes, func(a, b EnvPrefix) int { return len(b.Prefix) - len(a.Prefix) })
	return e, loadEnvRules(fsys, e)
}

func loadEnvRules(fsys fs.FS, e *EnvTable) error {
	t := readTable(fsys, "env-rules.tsv", "names", "when", "with", "where", "level", "kind", "fault", "sources", "what_en", "what_zh", "do_en", "do_zh")
	return t.rows(func(r tableRow) {
		rule := &EnvRule{
			Names: r.list("names", ";"), When: r.pattern("when", r.need("when")),
			Where: r.oneOf("where", "any", "session", "nodes", "slurm", "pod", "image", "nocuda"),
			Level: r.oneOf("level", "error", "warning", "notice"),
			Kind:  r.oneOf("kind", "harmful", "debug", "value", "conflict", "removed", "deprecated"),
			Fault: r.opt("fault"), Instead: r.opt("instead"), Sources: r.sources(), What: r.mustText("what"), Do: r.mustText("do"),
		}
		if with := r.opt("with"); with != "" {
			name, when, _ := strings.Cut(with, "=")
			rule.With = &EnvWith{name, r.pattern("with", when)}
		}
		for _, n := range rule.Names {
			e.Rules[n] = append(e.Rules[n], rule)
		}
	})
}

// pattern compiles a regular expression of a table.
func (r tableRow) pattern(col, s string) *regexp.Regexp {
	re, err := regexp.Compile(s)
	if err != nil {
		r.fail(col, "%v", err)
		return nil
	}
	return re
}

// Env returns what is known of environment variables.
func (t *TableSet) Env() *EnvTable {
	e, _ := t.env()
	return e
}

// Prefix is the row of the longest beginning of a name.
func (e *EnvTable) Prefix(name string) (EnvPrefix, bool) {
	for _, p := range e.Prefixes {
		if strings.HasPrefix(name, p.Prefix) {
			return p, true
		}
	}
	return EnvPrefix{}, false
}
