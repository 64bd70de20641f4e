package scan

import (
	"strings"

	"github.com/gpumedic/gpumedic/catalog"
)

// match tries a matcher on a text, and where that fails on the text as its writer had it
// before a logger changed it. Places are always those of the text given.
func match(m *catalog.Pattern, text string, fields map[string]string) (catalog.Match, bool) {
	got, ok := m.MatchInto(text, fields)
	if ok {
		return got, true
	}
	for _, form := range [...]func(string) (asPlain, bool){unquoted, oneMessage} {
		if p, changed := form(text); changed {
			if got, ok := m.MatchInto(string(p.data), fields); ok {
				got.Start, got.End = p.raw(got.Start), min(p.raw(got.End), len(text))
				return got, true
			}
		}
	}
	return catalog.Match{}, false
}

// unquoted takes the backslashes from quotes within quotes: msg="exec: \"nvidia-smi\": …".
func unquoted(text string) (asPlain, bool) {
	if !strings.Contains(text, `\"`) {
		return asPlain{}, false
	}
	p := asPlain{data: make([]byte, 0, len(text))}
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && text[i+1] == '"' {
			i++
			p.cuts = append(p.cuts, plainCut{len(p.data), i - len(p.data)})
		}
		p.data = append(p.data, text[i])
	}
	return p, true
}

// oneMessage joins the rows of one driver message, each signed "NVRM:", that a
// forwarder wrote on one line with blanks for their ends.
func oneMessage(text string) (asPlain, bool) {
	const sign = "NVRM: "
	if !strings.HasPrefix(text, sign) || !strings.Contains(text, " "+sign) {
		return asPlain{}, false
	}
	p := asPlain{data: make([]byte, 0, len(text))}
	for i := 0; i < len(text); i++ {
		if text[i] == ' ' {
			rest := strings.TrimLeft(text[i:], " \t")
			if after, ok := strings.CutPrefix(rest, sign); ok {
				p.data = append(p.data, ' ')
				i = len(text) - len(strings.TrimLeft(after, " \t"))
				p.cuts = append(p.cuts, plainCut{len(p.data), i - len(p.data)})
				i--
				continue
			}
		}
		p.data = append(p.data, text[i])
	}
	return p, true
}
