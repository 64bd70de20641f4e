package lint

import (
	"strings"
)

// dockerfile reads ENV in both forms, ARG, and the commands of RUN, CMD and ENTRYPOINT.
// A line of ENV belongs to its stage: FROM begins a new environment, unless it goes on
// from a stage of the same file.
func (r *reader) dockerfile(body string, line int) {
	stages := map[string]int{}
	for _, l := range joined(body, line) {
		text := strings.TrimSpace(l.text)
		i := strings.IndexAny(text, " \t\n")
		if i < 0 || strings.HasPrefix(text, "#") {
			continue
		}
		rest := strings.TrimLeft(text[i:], " \t")
		switch strings.ToUpper(text[:i]) {
		case "FROM":
			r.stage(rest, stages)
		case "ENV":
			r.dockerEnv(rest, l.n)
		case "ARG":
			r.shellScript(rest, l.n, "ARG", build, build)
		case "RUN":
			r.shellScript(withoutFlags(rest), l.n, "", build, build)
		case "CMD", "ENTRYPOINT", "HEALTHCHECK":
			r.dockerCommand(rest, l.n)
		}
	}
}

func (r *reader) stage(rest string, stages map[string]int) {
	words := strings.Fields(rest)
	for len(words) > 0 && strings.HasPrefix(words[0], "--") {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	if g, ok := stages[strings.ToLower(words[0])]; ok {
		r.group = g
	} else {
		r.groups++
		r.group = r.groups
	}
	if len(words) == 3 && strings.EqualFold(words[1], "as") {
		stages[strings.ToLower(words[2])] = r.group
	}
}

// dockerEnv reads "ENV A=1 B=2" and the old "ENV A the whole rest".
func (r *reader) dockerEnv(rest string, line int) {
	first, tail, _ := strings.Cut(rest, " ")
	if !strings.Contains(first, "=") {
		r.add(Setting{Name: first, Value: strings.TrimSpace(tail), Known: !strings.Contains(tail, "$"), Line: line, Via: "ENV", scope: image})
		return
	}
	// line breaks of the continuation are blanks here, not ends of commands
	n := len(r.settings)
	s := &shell{reader: r, vars: map[string]string{}, via: "ENV", scope: image, bare: image}
	var words []shWord
	for _, t := range lexShell(rest, line) {
		if t.op == "" {
			words = append(words, t.word)
		}
	}
	for _, w := range words {
		s.assignment(w, image, "ENV")
	}
	for i := n; i < len(r.settings); i++ { // ARG and ENV of other lines may change at the build
		if strings.Contains(r.settings[i].Value, "$") {
			r.settings[i].Known = false
		}
	}
}

func withoutFlags(s string) string {
	for strings.HasPrefix(s, "--") {
		i := strings.IndexAny(s, " \n")
		if i < 0 {
			return ""
		}
		s = strings.TrimLeft(s[i:], " \t")
	}
	return s
}

func (r *reader) dockerCommand(rest string, line int) {
	rest = withoutFlags(rest)
	if strings.HasPrefix(rest, "[") {
		r.words(jsonStrings(rest), line)
		return
	}
	r.shellScript(rest, line, "", session, variable)
}

// jsonStrings takes the strings out of ["a", "b"].
func jsonStrings(s string) []string {
	var out []string
	for i := 0; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		var b strings.Builder
		for i++; i < len(s) && s[i] != '"'; i++ {
			if s[i] == '\\' && i+1 < len(s) {
				i++
				if s[i] == 'n' {
					b.WriteByte('\n')
					continue
				}
			}
			b.WriteByte(s[i])
		}
		out = append(out, b.String())
	}
	return out
}

// words reads a command that is given as a list of arguments.
func (r *reader) words(args []string, line int) {
	if len(args) == 0 || r.depth >= maxDepth {
		return
	}
	r.depth++
	defer func() { r.depth-- }()
	var words []shWord
	for _, a := range args {
		words = append(words, shWord{parts: []shPart{{lit: a}}, line: line})
	}
	s := &shell{reader: r, vars: map[string]string{}, scope: session, bare: variable}
	s.simple(shCommand{words: words})
}
