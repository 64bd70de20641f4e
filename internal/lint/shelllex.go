package lint

import "strings"

// A shell script is cut into words and operators; words keep their parts, since a
// value may use variables that the script sets. The lexer follows what changes where a
// word ends (quotes, comments, continuation, here-documents, substitutions) and no
// more; what it does not understand becomes an ordinary word.

// shTok is a word, an operator or a here-document.
type shTok struct {
	op   string // "" for a word
	word shWord
	body string // of a here-document
	line int
}

type shLexer struct {
	src     string
	pos     int
	line    int
	toks    []shTok
	pending []heredoc
}

type heredoc struct {
	end  string
	tabs bool
}

// lexShell cuts a script that begins at a line.
func lexShell(src string, line int) []shTok {
	l := &shLexer{src: src, line: line}
	for l.pos < len(l.src) {
		l.next()
	}
	return l.toks
}

func (l *shLexer) op(s string, n int) {
	l.toks = append(l.toks, shTok{op: s, line: l.line})
	l.pos += n
}

func (l *shLexer) rest() string { return l.src[l.pos:] }

func (l *shLexer) next() {
	c := l.src[l.pos]
	switch {
	case c == '\n':
		l.op("\n", 1)
		l.line++
		l.heredocs()
	case c == '\\' && strings.HasPrefix(l.rest(), "\\\n"):
		l.pos += 2
		l.line++
	case c == '\\' && strings.HasPrefix(l.rest(), "\\\r\n"):
		l.pos += 3
		l.line++
	case c == ' ' || c == '\t' || c == '\r':
		l.pos++
	case c == '#':
		for l.pos < len(l.src) && l.src[l.pos] != '\n' {
			l.pos++
		}
	case strings.HasPrefix(l.rest(), "<<<"):
		l.pos += 3
	case strings.HasPrefix(l.rest(), "<<"):
		l.heredocStart()
	case c == '>' || c == '<':
		l.redirect()
	case strings.IndexByte(";&|()", c) >= 0:
		n := 1
		if l.pos+1 < len(l.src) && l.src[l.pos+1] == c && c != '(' && c != ')' {
			n = 2
		}
		if l.redirectBoth() {
			return
		}
		l.op(string(c), n)
	default:
		l.word()
	}
}

// redirectBoth reads "&>file", which is no background job.
func (l *shLexer) redirectBoth() bool {
	if !strings.HasPrefix(l.rest(), "&>") {
		return false
	}
	l.pos++
	l.redirect()
	return true
}

func (l *shLexer) redirect() {
	c := l.src[l.pos]
	if strings.HasPrefix(l.rest()[1:], "(") { // process substitution
		l.pos += 2
		l.skipParens()
		l.toks = append(l.toks, shTok{word: shWord{parts: []shPart{{opaque: true}}, line: l.line}, line: l.line})
		return
	}
	n := 1
	for l.pos+n < len(l.src) && strings.IndexByte(">&|", l.src[l.pos+n]) >= 0 {
		n++
	}
	l.op(string(c), n)
}

func (l *shLexer) heredocStart() {
	l.pos += 2
	h := heredoc{}
	if strings.HasPrefix(l.rest(), "-") {
		h.tabs = true
		l.pos++
	}
	for l.pos < len(l.src) && (l.src[l.pos] == ' ' || l.src[l.pos] == '\t') {
		l.pos++
	}
	before := len(l.toks)
	if l.pos < len(l.src) && l.src[l.pos] != '\n' {
		l.next()
	}
	if len(l.toks) == before+1 && l.toks[before].op == "" {
		for _, p := range l.toks[before].word.parts {
			h.end += p.lit
		}
		l.toks = l.toks[:before]
		if h.end != "" {
			l.pending = append(l.pending, h)
		}
	}
}

// heredocs takes the bodies that begin after a line break. They stand before the line
// break in the tokens, with the command that they belong to.
func (l *shLexer) heredocs() {
	if len(l.pending) == 0 {
		return
	}
	nl := l.toks[len(l.toks)-1]
	l.toks = l.toks[:len(l.toks)-1]
	for _, h := range l.pending {
		start, first := l.pos, l.line
		var body string
		for {
			if l.pos >= len(l.src) {
				body = l.src[start:]
				break
			}
			eol := strings.IndexByte(l.rest(), '\n')
			text, next := l.rest(), len(l.src)
			if eol >= 0 {
				text, next = l.src[l.pos:l.pos+eol], l.pos+eol+1
			}
			here := l.pos
			l.pos = next
			l.line++
			text = strings.TrimSuffix(text, "\r")
			if h.tabs {
				text = strings.TrimLeft(text, "\t")
			}
			if text == h.end {
				body = l.src[start:here]
				break
			}
		}
		l.toks = append(l.toks, shTok{op: "heredoc", body: body, line: first})
	}
	l.pending = nil
	l.toks = append(l.toks, nl)
}

// word reads up to an unquoted blank or operator.
func (l *shLexer) word() {
	w := shWord{line: l.line}
	var lit strings.Builder
	flush := func() {
		if lit.Len() > 0 {
			w.parts = append(w.parts, shPart{lit: lit.String()})
			lit.Reset()
		}
	}
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		switch {
		case c == '\\':
			l.escape(&lit, false)
			continue
		case c == '\'':
			w.quoted = true
			l.single(&lit)
			continue
		case c == '"':
			w.quoted = true
			l.pos++
			l.double(&lit, &w, flush)
			continue
		case c == '$' || c == '`':
			if strings.HasPrefix(l.rest(), "$'") {
				l.pos++
				w.quoted = true
				l.single(&lit)
				continue
			}
			l.dollar(&lit, &w, flush)
			continue
		case strings.IndexByte(" \t\r\n;&|<>()", c) >= 0:
			// an array: NAME=( … ) is nobody's setting
			if c == '(' && strings.HasSuffix(lit.String(), "=") {
				l.pos++
				l.skipParens()
				flush()
				w.parts = append(w.parts, shPart{opaque: true})
				continue
			}
			flush()
			l.toks = append(l.toks, shTok{word: w, line: w.line})
			return
		}
		lit.WriteByte(c)
		l.pos++
	}
	flush()
	l.toks = append(l.toks, shTok{word: w, line: w.line})
}

func (l *shLexer) escape(lit *strings.Builder, quoted bool) {
	l.pos++
	if l.pos >= len(l.src) {
		return
	}
	c := l.src[l.pos]
	l.pos++
	switch {
	case c == '\n':
		l.line++
		return
	case c == '\r' && l.pos < len(l.src) && l.src[l.pos] == '\n':
		l.pos++
		l.line++
		return
	case quoted && strings.IndexByte("$`\"\\", c) < 0:
		lit.WriteByte('\\')
	}
	lit.WriteByte(c)
}

func (l *shLexer) single(lit *strings.Builder) {
	l.pos++
	for l.pos < len(l.src) && l.src[l.pos] != '\'' {
		if l.src[l.pos] == '\n' {
			l.line++
		}
		lit.WriteByte(l.src[l.pos])
		l.pos++
	}
	l.pos = min(l.pos+1, len(l.src))
}

func (l *shLexer) double(lit *strings.Builder, w *shWord, flush func()) {
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; c {
		case '"':
			l.pos++
			return
		case '\\':
			l.escape(lit, true)
		case '$', '`':
			l.dollar(lit, w, flush)
		default:
			if c == '\n' {
				l.line++
			}
			lit.WriteByte(c)
			l.pos++
		}
	}
}

// dollar reads a variable or a substitution.
func (l *shLexer) dollar(lit *strings.Builder, w *shWord, flush func()) {
	opaque := func() {
		flush()
		w.parts = append(w.parts, shPart{opaque: true})
	}
	if l.src[l.pos] == '`' {
		l.pos++
		l.skipTo('`')
		opaque()
		return
	}
	l.pos++
	rest := l.rest()
	switch {
	case strings.HasPrefix(rest, "("):
		l.pos++
		l.skipParens()
		opaque()
	case strings.HasPrefix(rest, "{"):
		l.pos++
		start := l.pos
		l.skipBraces()
		flush()
		w.parts = append(w.parts, l.braced(l.src[start:max(start, l.pos-1)]))
	default:
		n := nameLen(rest)
		if n == 0 {
			if rest != "" && strings.IndexByte("0123456789@*#?$!-", rest[0]) >= 0 {
				l.pos++
				opaque()
				return
			}
			lit.WriteByte('$')
			return
		}
		flush()
		l.pos += n
		w.parts = append(w.parts, shPart{name: rest[:n]})
	}
}

// braced reads the inside of ${…}.
func (l *shLexer) braced(s string) shPart {
	n := nameLen(s)
	name, rest := s[:n], s[n:]
	if name == "" {
		return shPart{opaque: true}
	}
	switch {
	case rest == "":
		return shPart{name: name}
	case strings.HasPrefix(rest, ":-"), strings.HasPrefix(rest, ":="):
		rest = rest[2:]
	case rest[0] == '-' || rest[0] == '=':
		rest = rest[1:]
	default:
		return shPart{opaque: true}
	}
	if strings.ContainsAny(rest, "$`\\") {
		return shPart{opaque: true}
	}
	return shPart{name: name, def: strings.Trim(rest, `"'`), hasDef: true}
}

func nameLen(s string) int {
	n := 0
	for n < len(s) && (s[n] == '_' || s[n] >= 'A' && s[n] <= 'Z' || s[n] >= 'a' && s[n] <= 'z' || n > 0 && s[n] >= '0' && s[n] <= '9') {
		n++
	}
	return n
}

func (l *shLexer) skipTo(end byte) {
	for l.pos < len(l.src) && l.src[l.pos] != end {
		if l.src[l.pos] == '\\' {
			l.pos++
		}
		l.newline()
		l.pos++
	}
	l.pos = min(l.pos+1, len(l.src))
}

func (l *shLexer) newline() {
	if l.pos < len(l.src) && l.src[l.pos] == '\n' {
		l.line++
	}
}

func (l *shLexer) skipParens() { l.skipNested('(', ')') }
func (l *shLexer) skipBraces() { l.skipNested('{', '}') }

// skipNested stands behind an opening bracket and goes behind its closing one.
func (l *shLexer) skipNested(open, closing byte) {
	depth := 1
	for l.pos < len(l.src) && depth > 0 {
		switch c := l.src[l.pos]; c {
		case '\\':
			l.pos++
		case '\'', '"':
			l.pos++
			l.skipTo(c)
			continue
		case open:
			depth++
		case closing:
			depth--
		}
		l.newline()
		l.pos++
	}
	l.pos = min(l.pos, len(l.src))
}
