package lint

import (
	"path"
	"slices"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// shell reads the commands of a script.
type shell struct {
	*reader
	vars      map[string]string // values that are certain at this place
	allexport bool
	nest      int // inside if, for, case, a function
	via       string
	scope     scope // of exported settings
	bare      scope // of NAME=VALUE on its own
}

// shCommand is one simple command.
type shCommand struct {
	words    []shWord
	out      string // file that its output goes to
	piped    bool   // its output goes to another command
	heredocs []shTok
}

// shellScript reads a script that begins at a line.
func (r *reader) shellScript(src string, line int, via string, sc, bare scope) {
	if r.depth >= maxDepth {
		return
	}
	r.depth++
	defer func() { r.depth-- }()
	r.uses(src)
	s := &shell{reader: r, vars: map[string]string{}, via: via, scope: sc, bare: bare}
	s.run(lexShell(src, line))
	r.promote()
}

var dollarName = lazyre.New(`\$\{?[#!]?([A-Za-z_][A-Za-z0-9_]*)`)

// uses notes the variables that a script reads, wherever it does.
func (r *reader) uses(src string) {
	for {
		i := strings.IndexByte(src, '$')
		if i < 0 {
			return
		}
		if m := dollarName.FindStringSubmatch(src[i:min(len(src), i+200)]); m != nil {
			r.used[m[1]] = true
		}
		src = src[i+1:]
	}
}

// promote makes settings of variables that were exported at another place.
func (r *reader) promote() {
	for i := range r.settings {
		if s := &r.settings[i]; s.scope == variable && r.exported[s.Name] {
			s.scope, s.Via = session, "export"
		}
	}
}

func (s *shell) run(toks []shTok) {
	var cmd shCommand
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		switch t.op {
		case "":
			cmd.words = append(cmd.words, t.word)
		case "heredoc":
			cmd.heredocs = append(cmd.heredocs, t)
		case ">", "<":
			if i+1 < len(toks) && toks[i+1].op == "" {
				if t.op == ">" {
					cmd.out = toks[i+1].word.text()
				}
				i++
			}
			cmd.dropFD()
		default:
			cmd.piped = t.op == "|"
			s.simple(cmd)
			cmd = shCommand{}
			if t.op == "(" {
				s.nest++
			} else if t.op == ")" && s.nest > 0 {
				s.nest--
			}
		}
	}
	s.simple(cmd)
}

// dropFD removes the 2 of "2>file".
func (c *shCommand) dropFD() {
	if n := len(c.words); n > 0 {
		if w := c.words[n-1]; !w.quoted && len(w.text()) == 1 && w.text() >= "0" && w.text() <= "9" && n > 1 {
			c.words = c.words[:n-1]
		}
	}
}

// opening and closing words of the grammar; a setting between them may not happen.
func (s *shell) reserved(w string) (skip, whole bool) {
	switch w {
	case "if", "while", "until":
		s.nest++
		return true, false
	case "for", "case", "select", "function":
		s.nest++
		return true, true
	case "then", "do", "else", "elif", "!", "time":
		return true, false
	case "{":
		s.nest++
		return true, false
	case "fi", "done", "esac", "}":
		s.nest = max(0, s.nest-1)
		return true, false
	}
	return false, false
}

func (s *shell) simple(c shCommand) {
	for len(c.words) > 0 && !c.words[0].quoted {
		skip, whole := s.reserved(c.words[0].text())
		if whole {
			return
		}
		if !skip {
			break
		}
		c.words = c.words[1:]
	}
	n := 0
	for n < len(c.words) {
		if _, _, ok := c.words[n].assign(); !ok {
			break
		}
		n++
	}
	assigns, words := c.words[:n], c.words[n:]
	if len(words) == 0 {
		s.plain(assigns)
		s.heredocBodies(c, "")
		return
	}
	for _, w := range assigns {
		s.assignment(w, command, words[0].text())
	}
	s.words(words, c.out)
	s.heredocBodies(c, path.Base(words[0].text()))
}

// plain is NAME=VALUE without a command.
func (s *shell) plain(assigns []shWord) {
	for _, w := range assigns {
		name, _, _ := w.assign()
		sc, via := s.bare, ""
		if s.allexport || s.exported[name] {
			sc, via = session, "export"
		}
		s.assignment(w, sc, via)
		if sc == session {
			s.exported[name] = true
		}
	}
}

// assignment records NAME=VALUE, unless the name is not written out.
func (s *shell) assignment(w shWord, sc scope, via string) {
	name, vw, ok := w.assign()
	if !ok {
		return
	}
	value, known := vw.value(s.vars)
	if sc == session {
		sc = s.scope
	}
	if sc != command {
		if known && s.nest == 0 {
			s.vars[name] = value
		} else {
			delete(s.vars, name)
		}
	}
	if s.via != "" {
		via = s.via
	}
	s.add(Setting{Name: name, Value: value, Known: known, Line: w.line, Via: via, scope: sc, cond: s.nest > 0})
}

func (s *shell) words(words []shWord, out string) {
	head := path.Base(words[0].text())
	args := words[1:]
	switch head {
	case "export":
		s.export(args)
	case "declare", "typeset", "local", "readonly":
		if slices.ContainsFunc(args, func(w shWord) bool { t := w.text(); return strings.HasPrefix(t, "-") && strings.Contains(t, "x") }) {
			s.export(args)
		}
	case "set":
		s.setFlags(args)
	case "unset":
		for _, w := range args {
			delete(s.vars, w.text())
		}
	case "setenv":
		if len(args) > 1 {
			v, known := args[1].value(s.vars)
			s.add(Setting{Name: args[0].text(), Value: v, Known: known, Line: args[0].line, Via: "setenv", scope: s.scope, cond: s.nest > 0})
		}
	case "echo", "printf":
		s.written(args, out)
	default:
		s.step++
		s.command(head, words)
	}
}

func (s *shell) export(args []shWord) {
	for _, w := range args {
		if name, _, ok := w.assign(); ok {
			s.assignment(w, session, "export")
			s.exported[name] = true
		} else if n := w.text(); isName(n) {
			s.exported[n] = true
		}
	}
}

func (s *shell) setFlags(args []shWord) {
	for i, w := range args {
		t := w.text()
		last := i+1 < len(args) && args[i+1].text() == "allexport"
		switch {
		case t == "-o" && last, strings.HasPrefix(t, "-") && strings.Contains(t, "a") && !strings.HasPrefix(t, "--"):
			s.allexport = true
		case t == "+o" && last, strings.HasPrefix(t, "+") && strings.Contains(t, "a"):
			s.allexport = false
		}
	}
}

// written is what echo adds to a file that sets the environment of others.
func (s *shell) written(args []shWord, out string) {
	if out == "" || out == "/dev/null" || strings.HasPrefix(out, "&") {
		return
	}
	base := path.Base(out)
	env := strings.Contains(base, "env") || strings.HasSuffix(base, "rc") || strings.Contains(base, "profile")
	for _, w := range args {
		t := w.text()
		if strings.Contains(t, "=") && (env || strings.Contains(t, "export ")) {
			s.reader.shellScript(t, w.line, "echo > "+base, session, session)
		}
	}
}

// heredocBodies reads here-documents that become a file or the input of a program.
// One that cat prints is a text for people.
func (s *shell) heredocBodies(c shCommand, head string) {
	for _, h := range c.heredocs {
		kind := ""
		switch head {
		case "bash", "sh", "zsh", "ssh", "srun", "sbatch", "sudo", "docker", "kubectl", "tee", "su", "salloc", "qsub":
			kind = detect("", h.body)
		case "python", "python3", "torchrun":
			kind = kindPython
		case "cat", "envsubst":
			if c.out != "" || c.piped {
				kind = detect(c.out, h.body)
			}
		}
		if kind == "" {
			continue
		}
		back := s.newGroup()
		s.reader.read(kind, h.body, h.line)
		back()
	}
}
