package lint

import (
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Manifests of Kubernetes, compose, Ray, Ansible and CI systems name environment
// variables under a handful of keys; below those keys the forms are three: a list of
// {name, value}, a list of NAME=VALUE, a mapping. The walk follows those keys wherever
// they stand, so that a new kind of job needs nothing here.

func (r *reader) yaml(body string, line int) {
	template := strings.Contains(body, "{{")
	if template {
		body = untemplate(body)
	}
	before := len(r.settings)
	dec, err := yaml.NewLoader(strings.NewReader(body))
	for err == nil {
		var doc yaml.Node
		if err = dec.Load(&doc); err == nil {
			w := walker{reader: r, lines: line - 1, src: body}
			w.document(&doc)
		}
	}
	if errors.Is(err, io.EOF) {
		return
	}
	switch {
	case r.depth > 1: // inside of a script, which fills it in
	case !mentions.MatchString(body): // nothing is lost
	case template:
		r.note(line, "template", "")
	default:
		r.problem = "read yaml: " + strings.TrimPrefix(firstLine(err.Error()), "go-yaml load error in ")
	}
	r.settings = r.settings[:before]
	r.yamlLines(body, line)
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// json reads JSON and JSON with comments, as launch files of editors have them.
func (r *reader) json(body string, line int) {
	r.yaml(strings.ReplaceAll(stripComments(body), "\t", " "), line)
}

type walker struct {
	*reader
	lines   int // lines before the text
	src     string
	depth   int
	seen    int
	k8s     bool
	compose bool
	kind    string
}

func (w *walker) line(n *yaml.Node) int { return n.Line + w.lines }

func (w *walker) document(doc *yaml.Node) {
	if doc.Kind == yaml.DocumentNode && len(doc.Content) > 0 {
		doc = doc.Content[0]
	}
	top := map[string]*yaml.Node{}
	if doc.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(doc.Content); i += 2 {
			top[doc.Content[i].Value] = doc.Content[i+1]
		}
	}
	w.k8s = top["apiVersion"] != nil && top["kind"] != nil
	w.compose = top["services"] != nil && !w.k8s
	if w.k8s {
		w.facts.pod = true
		w.kind = top["kind"].Value
		w.nodes(replicas(top["spec"]))
	}
	if w.kind == "ConfigMap" && top["data"] != nil {
		w.configMap(top["data"])
		return
	}
	w.walk(doc)
}

// replicas adds the workers of a job of Kubeflow up.
func replicas(spec *yaml.Node) int {
	if spec == nil {
		return 0
	}
	total := 0
	for key, v := range pairs(spec) {
		if !strings.HasSuffix(key, "ReplicaSpecs") {
			continue
		}
		for role, spec := range pairs(v) {
			if role == "Launcher" {
				continue
			}
			n := 1
			for k, v := range pairs(spec) {
				if k == "replicas" {
					n = nodeCount(v.Value)
				}
			}
			total += n
		}
	}
	return total
}

// pairs goes over a mapping; anything else has none.
func pairs(n *yaml.Node) func(func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, resolve(n.Content[i+1])) {
				return
			}
		}
	}
}

func resolve(n *yaml.Node) *yaml.Node {
	for i := 0; n != nil && n.Kind == yaml.AliasNode && i < 10; i++ {
		n = n.Alias
	}
	return n
}

func (w *walker) walk(n *yaml.Node) {
	n = resolve(n)
	w.seen++
	if n == nil || w.depth > 60 || w.seen > 200000 { // aliases of aliases
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	switch n.Kind {
	case yaml.SequenceNode:
		for _, c := range n.Content {
			w.walk(c)
		}
	case yaml.MappingNode:
		defer w.newGroup()()
		for i := 0; i+1 < len(n.Content); i += 2 {
			w.key(n.Content[i], resolve(n.Content[i+1]))
		}
	}
}

func (w *walker) key(key, v *yaml.Node) {
	// env may hold env, and an anchor itself: not only walk comes round.
	if w.seen++; w.depth > 60 || w.seen > 200000 {
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	switch key.Value {
	case "env", "environment", "env_vars", "envs", "environment_variables", "environmentVariables", "envVars", "extraEnv", "extraEnvVars",
		"extra_env", "extra_env_vars", "containerEnv", "remoteEnv", "env_variables":
		w.env(key, v)
	case "envFrom", "extraEnvFrom":
		for _, c := range v.Content {
			for what, ref := range pairs(resolve(c)) {
				for k, name := range pairs(ref) {
					if k == "name" {
						w.note(w.line(name), "envfrom", what+" "+name.Value)
					}
				}
			}
		}
	case "env_file", "envFile":
		w.files(v)
	case "command", "args", "entrypoint", "cmd", "run", "script", "setup", "before_script", "commands", "inline", "launch_command", "runArgs":
		w.commands(v)
	default:
		w.walk(v)
	}
}

func (w *walker) files(v *yaml.Node) {
	if v.Kind == yaml.ScalarNode {
		w.note(w.line(v), "envfile", v.Value)
	}
	for _, c := range v.Content {
		if c.Kind == yaml.ScalarNode {
			w.note(w.line(c), "envfile", c.Value)
		}
	}
}

func (w *walker) scope() scope {
	if w.k8s {
		return pod
	}
	return session
}

func (w *walker) env(key, v *yaml.Node) {
	via := key.Value + ":"
	switch v.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(v.Content); i += 2 {
			name, value := v.Content[i], resolve(v.Content[i+1])
			if name.Value == "<<" && value.Kind == yaml.MappingNode {
				w.depth++
				if w.depth < 60 {
					w.env(key, value)
				}
				w.depth--
				continue
			}
			if value.Tag == "!!null" {
				continue // not set
			}
			if value.Kind != yaml.ScalarNode {
				if !isName(name.Value) || strings.ToUpper(name.Value) != name.Value {
					w.key(name, value) // env: of a chart may hold more than names
				}
				continue
			}
			s := Setting{Name: name.Value, Value: value.Value, Known: true, Line: w.line(value), Via: via, scope: w.scope()}
			if w.compose && value.Tag == "!!bool" {
				s.form = composeBool
			}
			w.add(scalar(s))
		}
	case yaml.SequenceNode:
		for _, c := range v.Content {
			w.envItem(via, resolve(c))
		}
	}
}

func (w *walker) envItem(via string, c *yaml.Node) {
	if c.Kind == yaml.ScalarNode {
		if name, value, ok := cutAssign(c.Value); ok {
			w.add(scalar(Setting{Name: name, Value: value, Known: true, Line: w.line(c), Via: via, scope: w.scope()}))
		}
		return
	}
	var s Setting
	for k, v := range pairs(c) {
		switch k {
		case "name", "key":
			s.Name = v.Value
			if s.Line == 0 {
				s.Line = w.line(v)
			}
		case "value":
			s.Value, s.Known, s.Line = v.Value, v.Kind == yaml.ScalarNode, w.line(v)
			if w.k8s && v.Kind == yaml.ScalarNode && v.Tag != "!!str" && v.Tag != "!!null" {
				s.form = k8sType
			}
			s = scalar(s)
		}
	}
	s.Via, s.scope = via, w.scope()
	w.add(s)
}

// scalar: Kubernetes puts $(NAME) into values, compose ${NAME:-text}.
func scalar(s Setting) Setting {
	if strings.Contains(s.Value, "$") {
		s.Known = false
		if inner, ok := strings.CutPrefix(s.Value, "${"); ok && strings.HasSuffix(inner, "}") {
			if _, def, ok := strings.Cut(strings.TrimSuffix(inner, "}"), ":-"); ok && !strings.Contains(def, "$") {
				s.Value, s.Known = def, true
			}
		}
	}
	return s
}

// commands reads scripts and lists of arguments.
func (w *walker) commands(v *yaml.Node) {
	switch v.Kind {
	case yaml.MappingNode:
		w.walk(v)
	case yaml.ScalarNode:
		w.script(v)
	case yaml.SequenceNode:
		script := false
		for _, c := range v.Content {
			c = resolve(c)
			if c.Kind != yaml.ScalarNode {
				w.walk(c)
				return
			}
			script = script || strings.Contains(c.Value, "\n") || shellish(c.Value)
		}
		if !script {
			if len(v.Content) > 0 {
				w.argList(v.Content)
			}
			return
		}
		for _, c := range v.Content {
			if c = resolve(c); shellish(c.Value) || strings.Contains(c.Value, "\n") {
				w.script(c)
			}
		}
	}
}

// argList is a command in words, each on its own line.
func (w *walker) argList(list []*yaml.Node) {
	var words []shWord
	for _, c := range list {
		c = resolve(c)
		words = append(words, shWord{parts: []shPart{{lit: c.Value}}, line: w.line(c)})
	}
	s := &shell{reader: w.reader, vars: map[string]string{}, scope: session, bare: variable}
	s.simple(shCommand{words: words})
}

func (w *walker) script(v *yaml.Node) {
	n := w.line(v)
	if v.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		n++ // the text begins below the indicator
	}
	sc := w.scope()
	w.shellScript(v.Value, n, "", sc, variable)
}

// configMap holds settings for envFrom, and whole files.
func (w *walker) configMap(data *yaml.Node) {
	defer w.newGroup()()
	for i := 0; i+1 < len(data.Content); i += 2 {
		key, v := data.Content[i], resolve(data.Content[i+1])
		if v.Kind != yaml.ScalarNode {
			continue
		}
		if strings.Contains(v.Value, "\n") {
			n := w.line(v)
			if v.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
				n++
			}
			w.read(detect(key.Value, v.Value), v.Value, n)
			continue
		}
		if isName(key.Value) && strings.ToUpper(key.Value) == key.Value {
			s := Setting{Name: key.Value, Value: v.Value, Known: true, Line: w.line(v), Via: "ConfigMap", scope: pod}
			if v.Tag != "!!str" {
				s.form = k8sType
			}
			w.add(s)
		}
	}
}
