package catalog

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// The fixed words of the contract.
var (
	layers     = []string{"hardware", "driver", "software"}
	severities = []string{"critical", "error", "warning", "info"}
	scopes     = []string{"gpu", "node", "process", "port", "nvswitch", "nic", "rank", "job"}
	strengths  = []string{"", "certain", "strong", "moderate", "weak"}
	likelihood = []string{"high", "medium", "low"}
	risks      = []string{"safe", "disruptive", "destructive"}
	relations  = []string{"", "same_gpu", "upstream_port", "downstream", "same_process", "same_node", "same_rank", "same_port", "same_nvswitch", "any"}
	levels     = []string{"", "fact", "notice", "abnormal"}
	origins    = []string{"", "any", "kernel"}
	// Actions are the ids of the action ladder, least harm first.
	Actions = []string{"none", "monitor", "retry", "fix_app", "adjust_precision", "reduce_memory", "tune_allocator",
		"free_other_process", "increase_shm", "fix_config", "check_network", "rebuild_for_arch", "reinstall", "restart_app",
		"restart_service", "upgrade_driver", "reinstall_driver", "reset_gpu", "drain_and_diagnose", "reboot_node",
		"check_power_cooling", "reseat_or_check_pcie", "replace_gpu"}
)

// Validate checks the sense of the entries of part, which was loaded from fsys;
// references may go to anything in whole. All problems are returned, in order of files.
func Validate(fsys fs.FS, part, whole *Catalog) Problems {
	v := &validator{fsys: fsys, whole: whole, roots: map[string]*yaml.Node{}, src: map[string][]byte{}}
	seen := map[string]bool{}
	index := map[string]int{}
	for i := range part.Matchers {
		m := &part.Matchers[i]
		n := index[m.Pos.File]
		index[m.Pos.File]++
		if seen[m.ID] {
			v.at(m.Pos.File, "matcher id "+strconv.Quote(m.ID)+" is used twice", "matchers", n, "id")
		}
		seen[m.ID] = true
		v.matcher(m, n)
	}
	for i := range part.Readings {
		r := &part.Readings[i]
		n := index[r.Pos.File]
		index[r.Pos.File]++
		v.reading(r, n)
	}
	for _, id := range part.FaultIDs() {
		v.fault(id, part.Faults[id])
	}
	return v.out
}

type validator struct {
	fsys  fs.FS
	whole *Catalog
	roots map[string]*yaml.Node
	src   map[string][]byte
	out   Problems
}

// at reports a problem at a field, given by its path of keys and indices.
func (v *validator) at(file, msg string, where ...any) {
	p := &Problem{Pos: Pos{File: file}, Msg: msg}
	for _, w := range where {
		switch w := w.(type) {
		case string:
			if p.Field != "" {
				p.Field += "."
			}
			p.Field += w
		case int:
			p.Field += fmt.Sprintf("[%d]", w)
		}
	}
	if n := v.node(file, where); n != nil {
		p.Pos.Line, p.Pos.Col = n.Line, n.Column
		p.Line = sourceLine(v.src[file], n.Line)
	}
	v.out = append(v.out, p)
}

// node finds the deepest existing node on a path.
func (v *validator) node(file string, where []any) *yaml.Node {
	root, ok := v.roots[file]
	if !ok {
		b, err := fs.ReadFile(v.fsys, file)
		if err != nil {
			return nil
		}
		v.src[file] = b
		root = new(yaml.Node)
		if l, err := yaml.NewLoader(bytes.NewReader(b)); err != nil || l.Load(root) != nil {
			root = nil
		}
		v.roots[file] = root
	}
	if root == nil {
		return nil
	}
	n := root
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	for _, w := range where {
		next := step(n, w)
		if next == nil {
			break
		}
		n = next
	}
	return n
}

func step(n *yaml.Node, w any) *yaml.Node {
	switch w := w.(type) {
	case string:
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == w {
				return n.Content[i+1]
			}
		}
	case int:
		if n.Kind == yaml.SequenceNode && w < len(n.Content) {
			return n.Content[w]
		}
	}
	return nil
}

func (v *validator) oneOf(file, got string, allowed []string, where ...any) {
	if !slices.Contains(allowed, got) {
		v.at(file, fmt.Sprintf("%q is none of %s", got, strings.Join(slices.DeleteFunc(slices.Clone(allowed),
			func(s string) bool { return s == "" }), ", ")), where...)
	}
}

func (v *validator) both(file string, t Text, where ...any) {
	switch {
	case t.EN == "" && t.ZH == "":
		v.at(file, "text is missing", where...)
	case t.EN == "":
		v.at(file, "English text is missing", where...)
	case t.ZH == "":
		v.at(file, "Chinese text is missing", where...)
	}
}

func (v *validator) expr(file, src string, where ...any) {
	if _, err := regexp.Compile(src); err != nil {
		v.at(file, err.Error(), where...)
	}
}

func (v *validator) where(file string, exprs map[string]string, at ...any) {
	for _, k := range slices.Sorted(maps.Keys(exprs)) {
		v.expr(file, exprs[k], append(slices.Clone(at), k)...)
	}
}

// A service unit's name may hold "-", other kinds not.
var kindForm = regexp.MustCompile(`^(?:svc\.[a-z0-9_{}.-]+|[a-z0-9_{}.]+)$`)

func (v *validator) matcher(m *Matcher, n int) {
	f := m.Pos.File
	is := func(more ...any) []any { return append([]any{"matchers", n}, more...) }
	if m.ID == "" {
		v.at(f, "id is missing", is()...)
	}
	if !kindForm.MatchString(m.Kind) {
		v.at(f, fmt.Sprintf("kind %q is not dotted lower case", m.Kind), is("kind")...)
	}
	v.oneOf(f, m.Level, levels, is("level")...)
	v.oneOf(f, m.Origin, origins, is("origin")...)
	if len(m.Literals) == 0 {
		v.at(f, "literals are missing: the block scan would never see the line", is()...)
	}
	for i, l := range m.Literals {
		if len(l) < 3 {
			v.at(f, fmt.Sprintf("literal %q is too short: 3 bytes at least", l), is("literals", i)...)
		}
	}
	v.expr(f, m.Pattern, is("pattern")...)
	v.expr(f, m.Ident, is("ident")...)
	if m.Join != nil {
		v.expr(f, m.Join.Strip, is("join", "strip")...)
		v.expr(f, m.Join.Until, is("join", "until")...)
	}
	v.both(f, m.Meaning, is("meaning")...)
	if len(m.Sources) == 0 {
		v.at(f, "sources are missing", is()...)
	}
	if len(m.Examples) == 0 {
		v.at(f, "examples are missing", is()...)
	}
}

func (v *validator) reading(r *ReadingRule, n int) {
	f := r.Pos.File
	is := func(more ...any) []any { return append([]any{"rules", n}, more...) }
	if !kindForm.MatchString(r.Kind) {
		v.at(f, fmt.Sprintf("kind %q is not dotted lower case", r.Kind), is("kind")...)
	}
	v.oneOf(f, r.Level, levels, is("level")...)
	if len(r.When) == 0 {
		v.at(f, "when is missing", is()...)
	}
	for i, c := range r.When {
		if c.Key == "" {
			v.at(f, "key is missing", is("when", i)...)
		}
		v.expr(f, c.Is, is("when", i, "is")...)
		v.expr(f, c.Not, is("when", i, "not")...)
	}
	v.both(f, r.Meaning, is("meaning")...)
}

func (v *validator) fault(id string, ft *Fault) {
	f := ft.Pos.File
	if ft.ID != id {
		v.at(f, fmt.Sprintf("id %q differs from its folder %q", ft.ID, id), "id")
	}
	v.oneOf(f, ft.Layer, layers, "layer")
	v.oneOf(f, ft.Severity, severities, "severity")
	v.oneOf(f, ft.Scope, scopes, "scope")
	v.oneOf(f, ft.Action, Actions, "action")
	v.both(f, ft.Title, "title")
	v.both(f, ft.Headline, "headline")
	v.both(f, ft.Summary, "summary")
	if len(ft.Triggers) == 0 {
		v.at(f, "triggers are missing: nothing can suggest this fault", "id")
	}
	v.clues(f, ft.Triggers, "triggers")
	v.clues(f, ft.Needs, "needs")
	v.clues(f, ft.Supports, "supports")
	v.clues(f, ft.Against, "against")
	v.consequences(ft)
	v.advice(ft)
	v.cases(ft)
}

func (v *validator) clues(f string, list []Clue, where ...any) {
	for i := range list {
		c := &list[i]
		at := func(more ...any) []any { return append(append(append([]any{}, where...), i), more...) }
		if c.Signal == "" {
			v.at(f, "signal is missing", at()...)
		}
		v.oneOf(f, c.Strength, strengths, at("strength")...)
		v.oneOf(f, c.Relation, relations, at("relation")...)
		v.where(f, c.Where, at("where")...)
		if c.Why != (Text{}) {
			v.both(f, c.Why, at("why")...)
		}
	}
}

func (v *validator) consequences(ft *Fault) {
	f := ft.Pos.File
	for i := range ft.Explains {
		e := &ft.Explains[i]
		switch {
		case e.Signal == "" && e.Fault == "" && e.Group == "":
			v.at(f, "neither signal, fault nor group is named", "explains", i)
		case e.Group != "" && v.whole.Groups[e.Group] == nil:
			v.at(f, fmt.Sprintf("no group %q in groups.yaml", e.Group), "explains", i, "group")
		case e.Fault == ft.ID:
			v.at(f, "a fault does not explain itself", "explains", i, "fault")
		case e.Fault != "" && v.whole.Faults[e.Fault] == nil:
			v.at(f, fmt.Sprintf("no fault %q", e.Fault), "explains", i, "fault")
		case e.Fault != "" && explainsBack(v.whole.Faults[e.Fault], ft.ID):
			v.at(f, fmt.Sprintf("%s explains %s too: only the stronger cause may", e.Fault, ft.ID), "explains", i, "fault")
		}
		v.oneOf(f, e.Relation, relations, "explains", i, "relation")
		v.where(f, e.Where, "explains", i, "where")
		if e.Why != (Text{}) {
			v.both(f, e.Why, "explains", i, "why")
		}
	}
}

func explainsBack(f *Fault, id string) bool {
	return slices.ContainsFunc(f.Explains, func(e Explains) bool { return e.Fault == id })
}

func (v *validator) advice(ft *Fault) {
	f := ft.Pos.File
	if len(ft.Causes) == 0 {
		v.at(f, "causes are missing", "id")
	}
	for i, c := range ft.Causes {
		v.both(f, c.Cause, "causes", i, "cause")
		v.both(f, c.Confirm, "causes", i, "confirm")
		v.oneOf(f, c.Likelihood, likelihood, "causes", i, "likelihood")
		v.clues(f, c.When, "causes", i, "when")
	}
	for i, a := range ft.Actions {
		if !strings.HasPrefix(a.Action, "{") {
			v.oneOf(f, a.Action, Actions, "actions", i, "action")
		}
		v.clues(f, a.When, "actions", i, "when")
	}
	if len(ft.Remedies) == 0 {
		v.at(f, "remedies are missing", "id")
	}
	for i, r := range ft.Remedies {
		v.both(f, r.Step, "remedies", i, "step")
		v.oneOf(f, r.Risk, risks, "remedies", i, "risk")
	}
	if len(ft.Verify) == 0 {
		v.at(f, "verify is missing: how would anyone know that it is mended?", "id")
	}
	for i, c := range ft.Verify {
		v.both(f, c.Check, "verify", i, "check")
	}
	for i, n := range ft.NotThis {
		v.both(f, n.Claim, "not_this", i, "claim")
		v.both(f, n.Because, "not_this", i, "because")
		v.clues(f, n.When, "not_this", i, "when")
	}
	for i, m := range ft.Myths {
		v.both(f, m, "myths", i)
	}
	if len(ft.Sources) == 0 {
		v.at(f, "sources are missing", "id")
	}
	for i, s := range ft.Sources {
		if !strings.HasPrefix(s, "https://") && !strings.HasPrefix(s, "http://") {
			v.at(f, fmt.Sprintf("source %q is no URL", s), "sources", i)
		}
	}
}

// cases: at least one that gives the fault and one near miss.
func (v *validator) cases(ft *Fault) {
	list, err := Cases(v.fsys, ft)
	if err != nil {
		v.at(ft.Pos.File, err.Error(), "id")
		return
	}
	positive, near := false, false
	for _, c := range list {
		switch {
		case c.Want["fault"] == ft.ID:
			positive = true
		case c.Want["not"] == ft.ID || c.Want["verdict"] == "no_fault" || c.Want["fault"] != "":
			near = true
		default:
			v.at(path.Join(ft.Dir, "cases", c.Name), "no \"# want fault:\" or \"# want not:\" at the top")
		}
	}
	if !positive {
		v.at(ft.Pos.File, "no case in cases/ wants this fault", "id")
	}
	if !near {
		v.at(ft.Pos.File, "no near miss in cases/", "id")
	}
}
