package lint

import (
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// Kinds of input that are read line by line.

// batch is a batch script: directives in comments, then a shell script.
func (r *reader) batch(body string, line int) {
	n := line
	for l := range strings.Lines(body) {
		l = strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(l, "#SBATCH"):
			r.facts.slurm = true
			r.slurmOption(strings.TrimSpace(l[len("#SBATCH"):]), n)
		case strings.HasPrefix(l, "#PBS"):
			if _, list, ok := strings.Cut(l, "-v "); ok {
				r.exportList("#PBS -v", strings.TrimSpace(list), true, n)
			}
		}
		n++
	}
	r.shellScript(body, line, "", session, variable)
}

var slurmOpt = lazyre.New(`^(--[a-z-]+|-[A-Za-z])(?:[= ]\s*)?(.*)$`)

func (r *reader) slurmOption(s string, line int) {
	m := slurmOpt.FindStringSubmatch(s)
	if m == nil {
		return
	}
	value, _, _ := strings.Cut(m[2], " #")
	value = strings.TrimSpace(value)
	switch m[1] {
	case "--nodes", "-N":
		r.nodes(nodeCount(value))
	case "--export":
		r.exportList("#SBATCH --export", value, true, line)
	}
}

// dotenv is a file of NAME=VALUE lines.
func (r *reader) dotenv(body string, line int) {
	for l := range strings.Lines(body) {
		n := line
		line++
		l = strings.TrimSpace(l)
		if l == "" || l[0] == '#' {
			continue
		}
		l = strings.TrimSpace(strings.TrimPrefix(l, "export "))
		name, value, ok := strings.Cut(l, "=")
		name = strings.TrimSpace(name)
		if !ok {
			continue
		}
		value, known := dotenvValue(strings.TrimSpace(value))
		r.add(Setting{Name: name, Value: value, Known: known, Line: n, Via: "env file", scope: session})
	}
}

func dotenvValue(v string) (string, bool) {
	if len(v) > 1 && (v[0] == '"' || v[0] == '\'') {
		if i := strings.IndexByte(v[1:], v[0]); i >= 0 {
			inner := v[1 : 1+i]
			return inner, v[0] == '\'' || !strings.ContainsAny(inner, "$`")
		}
	}
	if i := strings.Index(v, " #"); i >= 0 {
		v = strings.TrimSpace(v[:i])
	}
	return v, !strings.ContainsAny(v, "$`")
}

// environ is the environment of a process, NAME=VALUE each.
func (r *reader) environ(list []string) {
	for _, kv := range list {
		if name, value, ok := cutAssign(kv); ok {
			r.add(Setting{Name: name, Value: value, Known: true, Via: "environment", scope: session})
		}
	}
	for i := range r.settings { // what a process has is no template, whatever it looks like
		r.settings[i].Known = true
	}
}

// unit is a systemd unit: Environment= lines and the command lines of Exec…=.
func (r *reader) unit(body string, line int) {
	for _, l := range joined(body, line) {
		key, value, ok := strings.Cut(l.text, "=")
		if !ok || strings.HasPrefix(strings.TrimSpace(l.text), "#") || strings.HasPrefix(strings.TrimSpace(l.text), ";") {
			continue
		}
		switch key = strings.TrimSpace(key); {
		case key == "Environment" || key == "DefaultEnvironment":
			r.shellScript(strings.TrimSpace(value), l.n, "Environment=", session, session)
		case key == "EnvironmentFile":
			r.note(l.n, "envfile", strings.TrimLeft(strings.TrimSpace(value), "-"))
		case strings.HasPrefix(key, "Exec"):
			r.shellScript(strings.TrimLeft(strings.TrimSpace(value), "-@:+!"), l.n, "", session, variable)
		}
	}
}

// textLine is a line with its continuations.
type textLine struct {
	text string
	n    int
}

// joined puts lines that end in a backslash together with the next. Lines of comment
// in between belong to nobody. Line breaks inside stay, so that numbers stay right.
func joined(body string, line int) []textLine {
	var out []textLine
	var b strings.Builder
	open, first := false, line
	flush := func() {
		out = append(out, textLine{b.String(), first})
		b.Reset()
	}
	for l := range strings.Lines(body) {
		l = strings.TrimRight(l, "\r\n")
		comment := strings.HasPrefix(strings.TrimSpace(l), "#")
		if open {
			b.WriteByte('\n')
		} else {
			first = line
		}
		line++
		if comment { // neither ends nor begins a continuation
			if !open {
				b.WriteString(l)
				flush()
			}
			continue
		}
		t := strings.TrimRight(l, " \t")
		if open = strings.HasSuffix(t, `\`); open {
			b.WriteString(t[:len(t)-1] + " ")
			continue
		}
		b.WriteString(l)
		flush()
	}
	if open {
		flush()
	}
	return out
}
