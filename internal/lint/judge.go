package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// judge holds settings against the tables of the catalog.
type judge struct {
	cat   *catalog.Catalog
	env   *catalog.EnvTable
	lang  string
	pages map[string]*catalog.Setting // by the name of a variable
	names []string                    // all known names, sorted
	out   []Finding
	input string
	order int
	lines []string
	rd    *reader
}

func newJudge(cat *catalog.Catalog, language string) *judge {
	j := &judge{cat: cat, env: cat.Tables().Env(), lang: language, pages: map[string]*catalog.Setting{}}
	for _, s := range cat.Tables().Settings() {
		if s.Kind == "env" {
			for _, n := range append([]string{s.Name}, s.Aliases...) {
				j.pages[n] = s
			}
		}
	}
	known := maps.Clone(j.pages)
	for n := range j.env.Names {
		known[n] = nil
	}
	j.names = slices.Sorted(maps.Keys(known))
	return j
}

func (j *judge) pick(en, zh string) string { return lang.Pick(j.lang, en, zh) }

func (j *judge) judge(input string, rd *reader, lines []string, order int) []Finding {
	j.out, j.input, j.order, j.lines, j.rd = nil, input, order, lines, rd
	for i := range rd.settings {
		j.setting(&rd.settings[i])
	}
	j.twice()
	return j.once()
}

// once drops what is found again through an alias of the same lines.
func (j *judge) once() []Finding {
	type key struct {
		line          int
		name, problem string
		message       string
	}
	seen := map[key]bool{}
	return slices.DeleteFunc(j.out, func(f Finding) bool {
		k := key{f.Line, f.Name, f.Problem, f.Message}
		again := seen[k] && f.Line > 0
		seen[k] = true
		return again
	})
}

func (j *judge) known(name string) bool { return j.pages[name] != nil || j.env.Names[name] != nil }

func (j *judge) setting(s *Setting) {
	if s.form != wellFormed && !j.malformed(s) {
		return
	}
	if !j.known(s.Name) {
		if s.scope != build && s.scope != variable {
			j.unknown(s)
		}
		return
	}
	if s.scope == variable {
		j.unexported(s)
		return
	}
	if j.value(s) {
		return
	}
	if s.scope == build {
		return
	}
	if j.rule(s) {
		return
	}
	j.status(s)
}

// malformed speaks of how a setting is written; it is true when the setting itself can
// be judged as well.
func (j *judge) malformed(s *Setting) bool {
	switch s.form {
	case notString:
		j.found(s, LevelError, "syntax", j.pick("os.environ takes strings only: this line raises TypeError", "os.environ 只接受字符串：此行会抛 TypeError"), nil).Instead = fmt.Sprintf("%s=%q", s.Name, pyWord(s.Value))
		return false
	case k8sType:
		j.found(s, LevelError, "syntax", j.pick("a value of env must be a string: Kubernetes refuses the manifest", "env 的 value 必须是字符串：Kubernetes 会拒绝该清单"),
			[]string{"https://kubernetes.io/docs/tasks/inject-data-application/define-environment-variable-container/"}).Instead = fmt.Sprintf("value: %q", s.Value)
		return true
	case composeBool:
		j.found(s, LevelError, "syntax", j.pick("compose refuses the file: true and false need quotes", "true/false 须加引号：compose 会拒绝该文件"),
			[]string{"https://docs.docker.com/reference/compose-file/services/#environment"}).Instead = fmt.Sprintf("%s: %q", s.Name, s.Value)
		return true
	case cutAtComma:
		f := j.found(s, LevelWarning, "syntax", fmt.Sprintf(j.pick("a comma ends the value: the job gets %s=%s", "逗号会截断取值：作业只得到 %s=%s"), s.Name, s.Value),
			[]string{"https://slurm.schedmd.com/sbatch.html#OPT_export"})
		f.Do = j.pick("export it in the script, or put single quotes around the value.", "在脚本里 export，或给取值加单引号。")
		return false
	}
	return true
}

func pyWord(v string) string {
	switch v {
	case "True":
		return "1"
	case "False":
		return "0"
	}
	return v
}

// value is true when the value of the setting is wrong.
func (j *judge) value(s *Setting) bool {
	n := j.env.Names[s.Name]
	if n == nil || !s.Known {
		return false
	}
	f := checkValue(n.Values, s.Value)
	if f == nil {
		return false
	}
	level := LevelWarning
	if f.fatal {
		level = LevelError
	}
	out := j.found(s, level, "value", j.pick(f.en, f.zh), n.Sources)
	j.fault(out, f.id)
	if f.right != "" {
		out.Instead = s.Name + "=" + allRight(n.Values, f.right)
	}
	if p := j.pages[s.Name]; p != nil && p.Status == "debug" && !f.fatal {
		out.Instead = ""
		out.Do = j.pick("it has done nothing so far and is for diagnosis only: better remove the line.", "此行一直没起作用，且只供诊断：删除更好。")
	}
	if p := j.pages[s.Name]; p != nil && !f.fatal {
		return p.Status == "valid" || p.Status == "debug" // what does nothing does no harm either
	}
	return true
}

// allRight goes on correcting a value that was wrong in several places.
func allRight(form, v string) string {
	for range 8 {
		f := checkValue(form, v)
		if f == nil || f.right == "" || f.right == v {
			break
		}
		v = f.right
	}
	return v
}

// rule applies the first row of env-rules.tsv that fits.
func (j *judge) rule(s *Setting) bool {
	for _, r := range j.env.Rules[s.Name] {
		if !s.Known && strings.HasPrefix(r.When.String(), "^") {
			continue // a pattern of the whole value; others need a part of it only
		}
		if !r.When.MatchString(s.Value) || !j.where(r.Where, s) {
			continue
		}
		var also []Place
		if r.With != nil {
			other := j.other(s, r.With)
			if other == nil {
				continue
			}
			also = []Place{{j.input, other.Line, r.With.Name + "=" + other.Value}}
		}
		f := j.found(s, r.Level, r.Kind, r.What.In(j.lang), r.Sources)
		f.Do, f.Instead, f.Also = r.Do.In(j.lang), r.Instead, also
		if r.Instead == s.Name {
			f.Instead = ""
		}
		j.fault(f, r.Fault)
		if r.Kind != "debug" && r.Kind != "harmful" && r.Kind != "conflict" {
			return true
		}
		if p := j.pages[s.Name]; p == nil || p.Status == "valid" || p.Status == "debug" || r.Instead != "" {
			return true
		}
		return false // an old name besides
	}
	return false
}

func (j *judge) where(w string, s *Setting) bool {
	switch w {
	case "session":
		return s.scope == session || s.scope == image || s.scope == pod
	case "nodes":
		return j.rd.facts.nodes > 1
	case "slurm":
		return j.rd.facts.slurm
	case "pod":
		return s.scope == pod
	case "image":
		return s.scope == image
	case "nocuda":
		return s.Value != "all" && !strings.Contains(s.Value, "cuda") && !strings.HasPrefix(s.Value, "^")
	}
	return true
}

// other finds the second setting of a rule in the same environment.
func (j *judge) other(s *Setting, with *catalog.EnvWith) *Setting {
	for i := range j.rd.settings {
		o := &j.rd.settings[i]
		if o.Name == with.Name && o.group == s.group && o.Known && o.scope != variable && with.When.MatchString(o.Value) {
			return o
		}
	}
	return nil
}

// status speaks of old names and of settings that are for diagnosis only.
func (j *judge) status(s *Setting) {
	p := j.pages[s.Name]
	if p == nil {
		return
	}
	instead := ""
	if len(p.Instead) > 0 {
		instead = p.Instead[0]
		if i := slices.Index(p.Aliases, s.Name); i >= 0 && i+1 < len(p.Instead) {
			instead = p.Instead[i+1]
		}
	}
	level, msg := LevelWarning, p.Meaning.In(j.lang)
	switch p.Status {
	case "debug":
		n := j.env.Names[s.Name]
		if !s.Known || isOff(s.Value, p) || n != nil && n.Values == "any" && s.Name != p.Name {
			return
		}
		msg = j.pick("For diagnosis only. ", "仅供诊断。") + p.Harm.In(j.lang)
	case "renamed":
		if strings.Contains(msg, instead) {
			msg = ""
		}
		msg = strings.TrimSpace(fmt.Sprintf(j.pick("Called %s since %s. ", "%[2]s 起改名为 %[1]s。"), instead, p.Until) + msg)
	case "removed":
		msg = fmt.Sprintf(j.pick("Gone since %s: it does nothing. ", "%s 起已移除：不起作用。"), p.Until) + msg
	case "missing":
		msg = j.pick("No release has it: it does nothing. ", "没有任何版本支持：不起作用。") + msg
	case "deprecated", "alias":
		level = LevelNotice
		if instead == "" {
			msg = fmt.Sprintf(j.pick("Deprecated since %s. ", "%s 起不建议使用。"), p.Until) + msg
			break
		}
		if msg = fmt.Sprintf(j.pick("The older name of %s, still read.", "%s 的旧名，仍会被读取。"), instead); p.Until != "" && p.Until[0] <= '9' {
			msg = fmt.Sprintf(j.pick("Called %s since %s; this name is still read.", "%[2]s 起改名为 %[1]s；旧名仍会被读取。"), instead, p.Until)
		}
	default:
		return
	}
	f := j.found(s, level, map[string]string{"alias": "deprecated", "missing": "unknown"}[p.Status], msg, p.Sources)
	if f.Problem == "" {
		f.Problem = p.Status
	}
	f.Instead, f.Do = instead, p.Advice.In(j.lang)
	if p.Status == "alias" {
		f.Do = ""
	}
}

// isOff: a setting for diagnosis that is switched off, or has its default.
func isOff(v string, p *catalog.Setting) bool {
	switch strings.ToLower(v) {
	case "", "0", "false", "no", "off":
		return p.Name != "PYTORCH_NO_CUDA_MEMORY_CACHING"
	}
	return v == p.Default
}

// unexported is NAME=VALUE in a script that no process inherits.
func (j *judge) unexported(s *Setting) {
	if n := j.env.Names[s.Name]; j.rd.used[s.Name] || j.pages[s.Name] == nil && n.Values == "any" {
		return // handed on by the script itself, or a name of the script's own
	}
	level := LevelWarning
	if j.rd.step == 0 {
		level = LevelNotice // a file to be read with set -a
	}
	f := j.found(s, level, "unexported", j.pick("Set for the shell only: no program that it starts sees it, unless it was exported before.", "只是 shell 变量：除非之前已 export，启动的程序都看不到它。"),
		[]string{"https://www.gnu.org/software/bash/manual/html_node/Environment.html"})
	f.Instead = "export " + s.Name + "=" + f.Value
}

// twice finds settings that a later line of the same environment overrides.
func (j *judge) twice() {
	type key struct {
		group int
		name  string
	}
	last := map[key]*Setting{}
	for i := range j.rd.settings {
		s := &j.rd.settings[i]
		k := key{s.group, s.Name}
		old := last[k]
		last[k] = s
		if _, owned := j.env.Prefix(s.Name); !owned && !j.known(s.Name) || s.scope == variable || s.scope == build {
			continue
		}
		if old == nil || old.scope != s.scope || old.step != s.step || old.cond || s.cond || !old.Known || !s.Known || old.Value == s.Value || old.Line == s.Line && s.scope != command {
			continue
		}
		f := j.found(s, LevelWarning, "twice", fmt.Sprintf(j.pick("Set twice: this line takes the place of %s", "设置了两次：此行会覆盖 %s"), j.shown(old)), nil)
		f.Also = []Place{{j.input, old.Line, j.shown(old)}}
	}
}

var secret = lazyre.New(`(?i)(_TOKEN$|_TOKEN_|^TOKEN$|_KEY$|SECRET|PASSW|CREDENTIAL)`)

func (j *judge) shown(s *Setting) string {
	if secret.MatchString(s.Name) && s.Value != "" {
		return "***"
	}
	if !s.Known && s.Value == "" {
		return "…"
	}
	return strings.ReplaceAll(s.Value, tplMark, "{{…}}")
}

func (j *judge) found(s *Setting, level, problem, message string, sources []string) *Finding {
	f := Finding{
		Input: j.input, Line: s.Line, Name: s.Name, Value: j.shown(s), Via: s.Via, Level: level, Problem: problem, Message: message,
		Layer: "software", Class: "configuration", Component: "application", Action: "fix_config", Sources: sources, order: j.order,
		Severity: map[string]string{LevelError: gpumedic.SeverityError, LevelWarning: gpumedic.SeverityWarning, LevelNotice: gpumedic.SeverityInfo}[level],
	}
	if f.Sources == nil {
		f.Sources = []string{}
	}
	if s.Line > 0 && s.Line <= len(j.lines) && f.Value != "***" {
		f.Text = strings.TrimSpace(j.lines[s.Line-1])
	}
	j.out = append(j.out, f)
	return &j.out[len(j.out)-1]
}

// fault names the fault of the catalog that a finding leads to.
func (j *judge) fault(f *Finding, id string) {
	if c := j.cat.Faults[id]; c != nil {
		f.Fault, f.Title, f.Layer, f.Class, f.Component = id, c.Title.In(j.lang), c.Layer, c.Class, c.Component
	}
}

func (j *judge) note(n Note) string {
	switch n.Kind {
	case "envfrom":
		return fmt.Sprintf(j.pick("envFrom %s: its settings stand elsewhere and were not read", "envFrom %s：其中的设置在别处，未读取"), n.What)
	case "envfile":
		return fmt.Sprintf(j.pick("settings of %s were not read: give the file as well", "未读取 %s 中的设置：请把该文件一并给出"), n.What)
	}
	if n.Kind == "template" {
		return j.pick("a template that is no YAML before it is rendered: read line by line; helm template … | gpumedic lint - sees all", "模板渲染前不是合法 YAML：已逐行读取；helm template … | gpumedic lint - 可完整检查")
	}
	return n.What
}
