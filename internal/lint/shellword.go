package lint

import "strings"

// shPart is a piece of a word: text, or a variable with the default of ${NAME:-text}.
type shPart struct {
	lit    string
	name   string // "" for text
	def    string
	hasDef bool
	opaque bool // a substitution whose result nobody knows
}

type shWord struct {
	parts  []shPart
	line   int
	quoted bool
}

// value joins the parts of a word as far as the script says them.
func (w shWord) value(vars map[string]string) (string, bool) {
	var b strings.Builder
	known := true
	for _, p := range w.parts {
		v, set := vars[p.name]
		switch {
		case p.opaque:
			known = false
		case p.name == "":
			b.WriteString(p.lit)
		case set:
			b.WriteString(v)
		case p.hasDef:
			b.WriteString(p.def)
		default:
			known = false
			b.WriteString("$" + p.name)
		}
	}
	return b.String(), known
}

// text is the word as it stands, for comparing with a name.
func (w shWord) text() string {
	s, _ := w.value(nil)
	return s
}

// assign parts NAME=… where NAME stands there unquoted.
func (w shWord) assign() (name string, value shWord, ok bool) {
	if len(w.parts) == 0 || w.parts[0].name != "" || w.parts[0].opaque {
		return "", w, false
	}
	first := w.parts[0].lit
	i := strings.IndexByte(first, '=')
	if i <= 0 || !isName(strings.TrimSuffix(first[:i], "+")) {
		return "", w, false
	}
	value = shWord{line: w.line, quoted: w.quoted}
	if rest := first[i+1:]; rest != "" {
		value.parts = append(value.parts, shPart{lit: rest})
	}
	value.parts = append(value.parts, w.parts[1:]...)
	if strings.HasSuffix(first[:i], "+") { // NAME+=…: the rest is not known here
		value.parts = append(value.parts, shPart{opaque: true})
	}
	return strings.TrimSuffix(first[:i], "+"), value, true
}

// after is the word without its first n bytes.
func (w shWord) after(n int) shWord {
	out := shWord{line: w.line, quoted: w.quoted}
	for _, p := range w.parts {
		if n > 0 && p.name == "" && !p.opaque {
			cut := min(n, len(p.lit))
			n -= cut
			if p.lit = p.lit[cut:]; p.lit == "" {
				continue
			}
		}
		out.parts = append(out.parts, p)
	}
	return out
}
