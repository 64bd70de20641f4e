package lint

import (
	"strconv"
	"strings"
)

// command reads the settings that a command line hands to other processes: env, sudo,
// docker run -e, mpirun -x, srun --export, bash -c.
func (s *shell) command(head string, words []shWord) {
	s.jobSize(head, words)
	if head == "kubectl" && len(words) > 2 && words[1].text() == "set" && words[2].text() == "env" {
		for _, w := range words[3:] {
			s.assignment(w, command, "kubectl set env")
		}
		return
	}
	for i := 0; i < len(words); i++ {
		t := words[i].text()
		switch {
		case t == "env" && !words[i].quoted, t == "sudo" && i == 0:
			i = s.envWords(words, i+1) - 1
		case t == "-c" || t == "-lc" || t == "-ic" || t == "-exc" || t == "-ec":
			if i+1 < len(words) && shellish(words[i+1].text()) {
				s.nested(words[i+1])
				i++
			}
		case head == "ssh" && i > 0 && shellish(t) && !strings.HasPrefix(t, "-"):
			s.nested(words[i])
		case t == "-genv" || t == "-env":
			if i+2 < len(words) && isName(words[i+1].text()) {
				v, known := words[i+2].value(s.vars)
				s.add(Setting{Name: words[i+1].text(), Value: v, Known: known, Line: words[i+1].line, Via: head + " " + t, scope: command})
				i += 2
			}
		default:
			i += s.option(head, words, i)
		}
	}
}

// option reads one option that hands a setting on, and says how many further words it took.
func (s *shell) option(head string, words []shWord, i int) int {
	w := words[i]
	t := w.text()
	name, rest, joined := strings.Cut(t, "=")
	switch name {
	case "-e", "--env", "-x", "--env-add", "--setenv", "-E", "--envs", "--environment":
		if name != "--env" && name != "--envs" && notLaunchers[head] {
			return 0
		}
		if joined {
			s.envOption(head+" "+name, w.after(len(name)+1))
			return 0
		}
		if i+1 < len(words) {
			s.envOption(head+" "+name, words[i+1])
			return 1
		}
	case "--export":
		switch {
		case joined:
			v, known := w.after(len(name) + 1).value(s.vars)
			s.exportList(head+" --export", v, known, w.line)
		case i+1 < len(words):
			v, known := words[i+1].value(s.vars)
			s.exportList(head+" --export", v, known, w.line)
			return 1
		}
	case "--env-file", "--export-file", "--runtime-env":
		if !joined && i+1 < len(words) {
			rest = words[i+1].text()
		}
		s.note(w.line, "envfile", rest)
	case "--runtime-env-json":
		body, n := rest, 0
		if !joined && i+1 < len(words) {
			body, n = words[i+1].text(), 1
		}
		back := s.newGroup()
		s.reader.read(kindJSON, body, w.line)
		back()
		return n
	default:
		if len(t) > 3 && (strings.HasPrefix(t, "-e") || strings.HasPrefix(t, "-x")) && !notLaunchers[head] {
			if n, _, ok := cutAssign(t[2:]); ok && strings.ToUpper(n) == n {
				s.envOption(head+" "+t[:2], w.after(2))
			}
		}
	}
	return 0
}

// notLaunchers use -e or -x for something else.
var notLaunchers = map[string]bool{
	"echo": true, "sed": true, "grep": true, "egrep": true, "rg": true, "perl": true, "awk": true, "python": true, "python3": true,
	"rsync": true, "ssh": true, "curl": true, "bash": true, "sh": true, "ps": true, "test": true, "[": true, "[[": true, "pip": true,
	"tar": true, "find": true, "xargs": true, "git": true, "ruby": true, "node": true, "jq": true, "printf": true, "gcc": true, "nvcc": true,
}

// envOption reads the argument of -e: NAME=VALUE, or NAME to hand on what is there.
func (s *shell) envOption(via string, w shWord) {
	name, vw, ok := w.assign()
	if !ok {
		return
	}
	v, known := vw.value(s.vars)
	s.add(Setting{Name: name, Value: v, Known: known, Line: w.line, Via: via, scope: command, cond: s.nest > 0})
}

// envWords reads "env [-i] [-u X] A=1 B=2 command" and returns where the command begins.
func (s *shell) envWords(words []shWord, i int) int {
	for ; i < len(words); i++ {
		t := words[i].text()
		switch {
		case t == "-u" || t == "--unset" || t == "-C":
			i++
		case strings.HasPrefix(t, "-"):
		default:
			if _, _, ok := words[i].assign(); !ok {
				return i
			}
			s.assignment(words[i], command, "env")
		}
	}
	return i
}

// nested reads a script that stands in an argument.
func (s *shell) nested(w shWord) {
	s.reader.shellScript(w.text(), w.line, "", s.scope, s.bare)
}

// shellish: an argument that is a script rather than a name.
func shellish(t string) bool { return strings.ContainsAny(t, " \n") && strings.Contains(t, "=") }

// exportList reads Slurm's --export=ALL,A=1,B=2. A comma ends a value, whatever the
// person meant.
func (r *reader) exportList(via, list string, known bool, line int) {
	list = strings.Trim(list, `"'`)
	var last int
	for i, item := range splitOutside(list, ',') {
		name, value, ok := cutAssign(strings.TrimSpace(item))
		switch {
		case ok:
			last = len(r.settings)
			r.add(Setting{Name: name, Value: strings.Trim(value, `"'`), Known: known && !strings.Contains(value, "$"), Line: line, Via: via, scope: session})
		case i > 0 && item != "" && !isName(strings.TrimSpace(item)) && last < len(r.settings) && known && !strings.Contains(item, "$"):
			s := &r.settings[last]
			if s.form != cutAtComma {
				s.form = cutAtComma
			}
		}
	}
}

// splitOutside splits at sep outside of quotes.
func splitOutside(s string, sep byte) []string {
	var out []string
	start, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == sep:
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return append(out, s[start:])
}

// jobSize reads how many nodes a launcher asks for.
func (s *shell) jobSize(head string, words []shWord) {
	for i, w := range words {
		name, value, joined := strings.Cut(w.text(), "=")
		switch name {
		case "--nnodes", "--nodes", "--num_nodes", "--num-nodes", "--num_machines":
		case "-N":
			if head != "srun" && head != "sbatch" && head != "salloc" {
				continue
			}
		default:
			continue
		}
		if !joined && i+1 < len(words) {
			value, _ = words[i+1].value(s.vars)
		} else if joined {
			value, _ = w.after(len(name) + 1).value(s.vars)
		}
		s.nodes(nodeCount(value))
	}
}

// nodeCount reads 4, 2-4 and 1:4.
func nodeCount(v string) int {
	if i := strings.LastIndexAny(v, "-:"); i >= 0 {
		v = v[i+1:]
	}
	n, err := strconv.Atoi(strings.TrimSpace(v))
	if err != nil || n < 0 {
		return 0
	}
	return n
}
