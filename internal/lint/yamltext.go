package lint

import (
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// What is no YAML yet, or none at all: templates, JSON with comments, broken manifests.

// tplMark stands for a template's expression, whose value nobody knows before it is rendered.
const tplMark = "TEMPLATE__VALUE"

var (
	tplExpr  = lazyre.New(`(?s)\{\{.*?\}\}`)
	mentions = lazyre.New(`\b(NCCL|CUDA|TORCH|PYTORCH|NVIDIA|VLLM|XLA|TF|HF)_`)
)

// untemplate puts a mark in place of each expression, and nothing where one has its
// lines to itself. Line breaks stay.
func untemplate(body string) string {
	var b strings.Builder
	for body != "" {
		at := tplExpr.FindStringIndex(body)
		if at == nil {
			break
		}
		before, expr := body[:at[0]], body[at[0]:at[1]]
		b.WriteString(before)
		line := before[strings.LastIndexByte(before, '\n')+1:]
		end, _, _ := strings.Cut(body[at[1]:], "\n")
		if strings.TrimSpace(line) != "" && strings.TrimSpace(line) != "-" || strings.TrimSpace(end) != "" {
			b.WriteString(tplMark)
		}
		b.WriteString(strings.Repeat("\n", strings.Count(expr, "\n")))
		body = body[at[1]:]
	}
	b.WriteString(body)
	return b.String()
}

// stripComments blanks // and /* */ outside of strings and keeps the line breaks.
func stripComments(s string) string {
	b := []byte(s)
	quote, comment := false, byte(0)
	for i := 0; i < len(b); i++ {
		next := byte(0)
		if i+1 < len(b) {
			next = b[i+1]
		}
		switch {
		case comment == '/' && b[i] == '\n', comment == '*' && b[i] == '*' && next == '/':
			if comment == '*' {
				b[i], b[i+1] = ' ', ' '
			}
			comment = 0
		case comment != 0:
			if b[i] != '\n' {
				b[i] = ' '
			}
		case quote && b[i] == '\\':
			i++
		case b[i] == '"':
			quote = !quote
		case !quote && b[i] == '/' && (next == '/' || next == '*'):
			comment = next
			b[i], b[i+1] = ' ', ' '
			i++
		}
	}
	return string(b)
}

var (
	nameLine  = lazyre.New(`^\s*-?\s*name:\s*["']?([A-Z][A-Z0-9_]+)["']?\s*$`)
	valueLine = lazyre.New(`^\s*-?\s*value:\s*(.*?)\s*$`)
	mapLine   = lazyre.New(`^\s+([A-Z][A-Z0-9_]{3,}):\s*(.+?)\s*$`)
)

// yamlLines finds what it can in a manifest that does not parse.
func (r *reader) yamlLines(body string, line int) {
	n, name := line, ""
	for l := range strings.Lines(body) {
		l = strings.TrimRight(l, "\r\n")
		if m := nameLine.FindStringSubmatch(l); m != nil {
			name = m[1]
		} else if m := valueLine.FindStringSubmatch(l); m != nil && name != "" {
			v, known := dotenvValue(m[1])
			r.add(Setting{Name: name, Value: v, Known: known, Line: n, Via: "env:", scope: session})
			name = ""
		} else if m := mapLine.FindStringSubmatch(l); m != nil {
			v, known := dotenvValue(m[2])
			r.add(Setting{Name: m[1], Value: v, Known: known, Line: n, Via: "env:", scope: session})
		}
		n++
	}
}
