package explain

import (
	"strings"

	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/layout"
)

// Width is the width of a terminal page.
const Width = 80

// maxUnits keeps a table of sub-codes on the screen; JSON has them all.
const maxUnits = 60

// Text renders a page for a terminal: at most Width cells a line, a Chinese character
// counting two.
func (p *Page) Text() string {
	w := &pageWriter{b: &book{lang: p.Lang}}
	w.head(p)
	if p.Kind == KindSearch {
		w.suggestions(p.Suggestions, "")
		return w.String()
	}
	w.body(p)
	w.refs(p)
	for _, m := range p.Myths {
		w.section("myths")
		if m.Truth == "" {
			w.item("", m.Claim)
			continue
		}
		w.item("", quote(p.Lang, m.Claim)+w.b.colon()+m.Truth)
	}
	for _, s := range p.Sources {
		w.section("sources")
		w.raw(s)
	}
	if len(p.Suggestions) > 0 {
		w.suggestions(p.Suggestions, "suggestions")
	}
	return w.String()
}

func quote(l, s string) string {
	if l == "zh" {
		return "“" + s + "”"
	}
	return `"` + s + `"`
}

// pageWriter writes sections: a heading when the first item of a section comes.
type pageWriter struct {
	strings.Builder
	b    *book
	last string
	pad  int // width of the label column, 0 for the usual one
}

func (w *pageWriter) head(p *Page) {
	w.wrapped("", "", p.Title)
	if p.Kind == KindSearch {
		return
	}
	var parts []string
	if p.Name != "" && p.Name != p.Title && !strings.Contains(p.Title, p.Name) {
		parts = append(parts, p.Name)
	}
	if c := w.b.classWords(p.Class); c != "" {
		parts = append(parts, c)
	}
	if len(parts) > 0 {
		w.wrapped("  ", "  ", strings.Join(parts, " · "))
	}
	if p.Low {
		w.wrapped("  ", "  ", "! "+w.b.say("lowConfidence"))
	}
}

func (w *pageWriter) body(p *Page) {
	if p.Meaning != "" && !strings.HasSuffix(p.Title, p.Meaning) {
		w.section("meaning")
		w.item("", p.Meaning)
	}
	if len(p.Facts) > 0 {
		w.WriteByte('\n')
		pad := 0
		for _, f := range p.Facts {
			pad = max(pad, min(layout.Cells(f.Name), 20))
		}
		for _, f := range p.Facts {
			lead := "  " + f.Name + strings.Repeat(" ", max(0, pad-layout.Cells(f.Name))+2)
			w.wrapped(lead, strings.Repeat(" ", pad+4), f.Value)
		}
		w.last = ""
	}
	for _, c := range p.Causes {
		w.section("causes")
		w.item("", c.Cause)
		if c.Confirm != "" {
			w.wrapped("      ", "      ", c.Confirm)
		}
	}
	if p.Check != "" {
		w.section("check")
		w.item("", p.Check)
	}
	if p.Action != "" {
		w.section("do")
		w.item(w.b.say("action"), lang.Action(w.b.lang, p.Action)+" ["+p.Action+"]")
	}
	for _, s := range p.Steps {
		w.section("do")
		w.step(s)
	}
}

func (w *pageWriter) step(s Step) {
	text := s.Text
	if s.Detail != "" {
		text += ": " + s.Detail
		if w.b.lang == "zh" {
			text = s.Text + "：" + s.Detail
		}
	}
	if s.Risk == "disruptive" || s.Risk == "destructive" {
		text += w.b.paren(w.b.say("risk_" + s.Risk))
	}
	w.item(s.When, text)
	if s.Command != "" {
		w.raw("  " + s.Command)
	}
}

func (w *pageWriter) refs(p *Page) {
	for i, u := range p.Units {
		w.section("units")
		if i == maxUnits {
			w.item("", "…")
			break
		}
		var parts []string
		for _, s := range []string{u.Words, u.Severity, u.actionWords(w.b.lang), u.Text} {
			if s != "" {
				parts = append(parts, s)
			}
		}
		w.item(u.Name, strings.Join(parts, "  "))
	}
	for _, r := range p.Follows {
		w.section("follows")
		w.pad = padOf(p.Follows)
		w.item(r.Key, r.Title)
	}
	w.list("signals", p.Signals)
	w.list("faults", p.Faults)
}

func (u *Unit) actionWords(l string) string {
	if u.Action == "" {
		return ""
	}
	return lang.Action(l, u.Action)
}

// list writes references: those that say what the page is about one a line, those
// that only follow or explain as one paragraph for each relation.
func (w *pageWriter) list(section string, refs []Ref) {
	var rest []string // relations in order
	keys := map[string][]string{}
	var main []Ref
	for _, r := range refs {
		if r.How == w.b.say("explains") || r.How == w.b.say("explainsIt") || r.How == w.b.say("supports") {
			if keys[r.How] == nil {
				rest = append(rest, r.How)
			}
			keys[r.How] = append(keys[r.How], r.Key)
			continue
		}
		main = append(main, r)
	}
	for _, r := range main {
		w.section(section)
		w.pad = padOf(main)
		w.item(r.Key, joinHow(w.b.lang, r))
	}
	w.pad = 0
	for _, how := range rest {
		w.section(section)
		const most = 24
		list := keys[how]
		more := ""
		if len(list) > most {
			list, more = list[:most], " …"
		}
		w.item(how, strings.Join(list, ", ")+more)
	}
}

func joinHow(l string, r Ref) string {
	switch {
	case r.How == "" || r.Title == "":
		return r.How + r.Title
	case l == "zh":
		return r.How + "：" + r.Title
	}
	return r.How + ": " + r.Title
}

func padOf(refs []Ref) int {
	n := 14
	for _, r := range refs {
		n = max(n, min(layout.Cells(r.Key), 30))
	}
	return n
}

func (w *pageWriter) suggestions(list []Suggestion, head string) {
	if head != "" {
		w.section(head)
	} else {
		w.WriteByte('\n')
	}
	w.pad = 14
	for _, s := range list {
		w.pad = max(w.pad, min(layout.Cells(s.Key), 30))
	}
	for _, s := range list {
		title := strings.TrimPrefix(strings.TrimPrefix(s.Title, s.Key), w.b.colon())
		w.item(s.Key, title)
	}
}

// section writes a heading once.
func (w *pageWriter) section(key string) {
	if w.last == key {
		return
	}
	w.last = key
	w.pad = 0
	w.WriteString("\n" + w.b.say(key) + "\n")
}

// item writes "  label  text" with the text wrapped under itself.
func (w *pageWriter) item(label, text string) {
	lead, hang := "  ", "  "
	if label != "" {
		column := max(w.pad, 14)
		lead = "  " + label + strings.Repeat(" ", max(0, column-layout.Cells(label))+2)
		hang = strings.Repeat(" ", column+4)
	}
	w.wrapped(lead, hang, text)
}

// raw writes a line that must stay in one piece (a command, an address).
func (w *pageWriter) raw(s string) { w.WriteString("  " + s + "\n") }

func (w *pageWriter) wrapped(lead, hang, text string) {
	if layout.Cells(lead) > layout.Cells(hang) { // a label that leaves no room gets its own line
		w.WriteString(strings.TrimRight(lead, " ") + "\n")
		lead = hang
	}
	for _, l := range layout.Wrap(strings.ReplaceAll(text, "\n", " "), Width-layout.Cells(hang)) {
		w.WriteString(strings.TrimRight(lead+l, " ") + "\n")
		lead = hang
	}
}
