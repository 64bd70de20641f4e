package lint

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// A Python program is cut into tokens, so that comments and texts do not count; the
// patterns of the ways to set a variable are then looked for in the tokens.

type pyTok struct {
	kind  byte // n name, s string, d number, o anything else
	text  string
	line  int
	fstr  bool // the text has expressions in it
	start bool // first of its line
}

func lexPython(src string, line int) []pyTok {
	var out []pyTok
	start := true
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '\n':
			line++
			i++
			start = true
			continue
		case c == ' ' || c == '\t' || c == '\r' || c == '\f':
			i++
			continue
		case c == '\\' && i+1 < len(src) && (src[i+1] == '\n' || src[i+1] == '\r'):
			i++
			continue
		case c == '#':
			for i < len(src) && src[i] != '\n' {
				i++
			}
			continue
		}
		t := pyTok{line: line, start: start}
		start = false
		n := nameLen(src[i:])
		if q := i + n; n <= 2 && q < len(src) && (src[q] == '"' || src[q] == '\'') && strings.Trim(strings.ToLower(src[i:q]), "rbfu") == "" {
			prefix := strings.ToLower(src[i:q])
			var lines int
			t.kind, t.fstr = 's', strings.Contains(prefix, "f")
			t.text, i, lines = pyString(src, q, strings.Contains(prefix, "r"))
			t.fstr = t.fstr && strings.Contains(t.text, "{")
			line += lines
		} else if n > 0 {
			t.kind, t.text = 'n', src[i:i+n]
			i += n
		} else if c >= '0' && c <= '9' {
			j := i
			for j < len(src) && (src[j] == '.' || src[j] == '_' || src[j] >= '0' && src[j] <= '9' || src[j] >= 'a' && src[j] <= 'z') {
				j++
			}
			t.kind, t.text = 'd', src[i:j]
			i = j
		} else {
			t.kind, t.text = 'o', src[i:i+1]
			i++
		}
		out = append(out, t)
	}
	return out
}

// pyString reads a literal whose quote is at q: its text, where it ends, the lines in it.
func pyString(src string, q int, raw bool) (string, int, int) {
	quote := src[q : q+1]
	if strings.HasPrefix(src[q:], strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	var b strings.Builder
	lines := 0
	i := q + len(quote)
	for i < len(src) && !strings.HasPrefix(src[i:], quote) {
		switch c := src[i]; {
		case c == '\n' && len(quote) == 1: // unfinished
			return b.String(), i, lines
		case c == '\\' && !raw && i+1 < len(src):
			i++
			if src[i] == '\n' {
				lines++
			} else if src[i] == 'n' {
				b.WriteByte('\n')
			} else {
				b.WriteByte(src[i])
			}
		default:
			if c == '\n' {
				lines++
			}
			b.WriteByte(c)
		}
		i++
	}
	return b.String(), min(i+len(quote), len(src)), lines
}

type pyReader struct {
	*reader
	toks []pyTok
}

func (r *reader) python(src string, line int) {
	p := &pyReader{r, lexPython(src, line)}
	for i := range p.toks {
		p.at(i)
	}
}

func (p *pyReader) is(i int, texts ...string) bool {
	if i < 0 {
		return false
	}
	for k, want := range texts {
		if i+k >= len(p.toks) || p.toks[i+k].kind == 's' || p.toks[i+k].text != want {
			return false
		}
	}
	return true
}

func (p *pyReader) str(i int) bool { return i >= 0 && i < len(p.toks) && p.toks[i].kind == 's' }

func (p *pyReader) at(i int) {
	t := p.toks[i]
	switch {
	case t.kind == 's':
		p.pair(i)
	case t.kind != 'n':
	case p.is(i+1, "[") && p.str(i+2) && p.is(i+3, "]", "=") && !p.is(i+5, "=") && strings.Contains(strings.ToLower(t.text), "env"):
		p.set(p.toks[i+2], i+5, t.text+"[]", t.text == "environ")
	case t.text == "environ" && p.is(i+1, ".", "setdefault", "(") && p.str(i+4) && p.is(i+5, ","):
		p.set(p.toks[i+4], i+6, "environ.setdefault", true)
	case (t.text == "putenv" || t.text == "setenv") && p.is(i+1, "(") && p.str(i+2) && p.is(i+3, ","):
		p.set(p.toks[i+2], i+4, t.text, false)
	case t.text == "environ" && p.is(i+1, ".", "update", "("), t.text == "dict" && p.is(i+1, "(", "os", ".", "environ") && !p.is(i-1, "."):
		p.keywords(i)
	case (t.text == "system" || t.text == "popen" || t.text == "Popen" || t.text == "run" || t.text == "call" || t.text == "check_call" ||
		t.text == "check_output" || t.text == "getoutput" || t.text == "getstatusoutput") && p.is(i+1, "(") && p.str(i+2):
		if s := p.toks[i+2]; !s.fstr && strings.Contains(s.text, "=") {
			p.shellScript(s.text, s.line, t.text, command, variable)
		}
	}
}

// keywords reads environ.update(NAME="…") and dict(os.environ, NAME="…").
func (p *pyReader) keywords(i int) {
	depth := 0
	for ; i < len(p.toks); i++ {
		t := p.toks[i]
		switch {
		case t.kind == 's':
		case t.text == "(" || t.text == "[" || t.text == "{":
			depth++
		case t.text == ")" || t.text == "]" || t.text == "}":
			if depth--; depth <= 0 {
				return
			}
		case t.kind == 'n' && depth == 1 && strings.ToUpper(t.text) == t.text && p.is(i+1, "=") && !p.is(i+2, "="):
			p.set(t, i+2, "environ.update", true)
		}
	}
}

// pair is "NAME": "value" of a dictionary, which is an environment when the name is one.
func (p *pyReader) pair(i int) {
	t := p.toks[i]
	if !p.is(i+1, ":") || len(t.text) < 5 || !isName(t.text) || strings.ToUpper(t.text) != t.text || !p.str(i+2) {
		return
	}
	if i > 0 && !p.is(i-1, "{") && !p.is(i-1, ",") {
		return
	}
	p.set(t, i+2, "dict", false)
}

// set records a setting whose value begins at token i.
func (p *pyReader) set(name pyTok, i int, via string, strict bool) {
	s := Setting{Name: name.text, Line: name.line, Via: via, scope: session, cond: true}
	if i < len(p.toks) {
		if text, last, ok := p.literal(i); ok {
			s.Value, s.Known = text, true
			i = last
		}
		v := p.toks[i]
		end := i+1 >= len(p.toks) || p.toks[i+1].start || p.is(i+1, ")") || p.is(i+1, ",") || p.is(i+1, "}") || p.is(i+1, ";")
		switch {
		case s.Known:
			s.Known = end
		case p.is(i, "str", "(") && i+3 < len(p.toks) && p.toks[i+2].kind == 'd' && p.is(i+3, ")"):
			s.Value, s.Known = p.toks[i+2].text, true
		case (v.kind == 'd' || v.kind == 'n' && (v.text == "True" || v.text == "False" || v.text == "None")) && end && strict:
			s.Value, s.Known, s.form = v.text, true, notString
		}
	}
	p.add(s)
}

// literal reads strings that stand next to each other, in brackets or not, and says
// which token is the last.
func (p *pyReader) literal(i int) (string, int, bool) {
	bracket := p.is(i, "(")
	if bracket {
		i++
	}
	var b strings.Builder
	first := i
	for ; p.str(i); i++ {
		if p.toks[i].fstr {
			return "", i, false
		}
		if i > first && p.toks[i].start && !bracket {
			break
		}
		b.WriteString(p.toks[i].text)
	}
	if i == first || bracket && !p.is(i, ")") {
		return "", i, false
	}
	if !bracket {
		i--
	}
	return b.String(), i, true
}

// notebook reads the code cells of a Jupyter notebook, with the lines of the file.
func (r *reader) notebook(body string) {
	var doc yaml.Node
	if err := yaml.Load([]byte(strings.ReplaceAll(body, "\t", " ")), &doc); err != nil {
		r.problem = "read notebook: " + firstLine(err.Error())
		return
	}
	root := &doc
	if doc.Kind == yaml.DocumentNode && len(doc.Content) > 0 {
		root = doc.Content[0]
	}
	for key, cells := range pairs(root) {
		if key != "cells" {
			continue
		}
		for _, c := range cells.Content {
			r.cell(resolve(c))
		}
	}
}

func (r *reader) cell(c *yaml.Node) {
	var source *yaml.Node
	code := false
	for k, v := range pairs(c) {
		switch k {
		case "cell_type":
			code = v.Value == "code"
		case "source":
			source = v
		}
	}
	if !code || source == nil {
		return
	}
	lines := source.Content
	if source.Kind == yaml.ScalarNode {
		lines = []*yaml.Node{source}
	}
	for _, l := range lines {
		text := strings.TrimSpace(l.Value)
		for _, magic := range []string{"%env ", "%set_env "} {
			if kv, ok := strings.CutPrefix(text, magic); ok {
				name, value, ok := strings.Cut(kv, "=")
				if !ok {
					name, value, _ = strings.Cut(kv, " ")
				}
				r.add(Setting{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value), Known: !strings.ContainsAny(value, "${"), Line: l.Line, Via: "%env", scope: session})
			}
		}
		if cmd, ok := strings.CutPrefix(text, "!"); ok {
			r.shellScript(cmd, l.Line, "", command, variable)
		} else if !strings.HasPrefix(text, "%") {
			r.python(l.Value, l.Line)
		}
	}
}
