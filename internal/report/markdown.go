package report

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/layout"
)

// Markdown writes a report for a ticket: plain headings, lists and code, no HTML.
func Markdown(w io.Writer, r *gpumedic.Report, o Options) error {
	p := newPrinter(w, r, o)
	switch r.Verdict {
	case gpumedic.VerdictNoFault:
		fmt.Fprintf(p, "## %s%s%s\n\n", p.say(lang.NoFault), p.colon(), lang.Pick(o.Lang, "no fault found", "未发现故障"))
	case gpumedic.VerdictUnknown:
		fmt.Fprintf(p, "## %s\n\n", p.say(lang.UnknownVerdict))
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Role == gpumedic.RoleIncidental && !o.All {
			continue
		}
		p.mdFinding(f)
	}
	if list := unexplainedBeside(r); len(list) > 0 {
		fmt.Fprintf(p, "### %s\n\n", p.say(lang.Unexplained))
		for _, u := range list {
			p.mdLine(u.Input, u.Section, u.Line, u.Text, u.Count, strings.TrimSuffix(u.Signal+": "+u.Meaning, ": "))
		}
		fmt.Fprintln(p)
	}
	p.mdTests(r.Tests)
	for _, in := range r.Inputs {
		for _, pr := range in.Problems {
			fmt.Fprintf(p, "- %s `%s`%s%s\n", p.say(lang.CouldNotRead), code(in.Name), p.colon(), pr)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(p, "- %s%s%s\n", p.say(lang.Note), p.colon(), n)
	}
	fmt.Fprintf(p, "\n_gpumedic %s_\n", r.Tool.Version)
	return p.Flush()
}

func (p *printer) mdFinding(f *gpumedic.Finding) {
	word := p.say(lang.Fault)
	if f.Severity == gpumedic.SeverityWarning || f.Severity == gpumedic.SeverityInfo {
		word = p.say(lang.Warning)
	}
	fmt.Fprintf(p, "## %s%s%s\n\n%s · `%s`\n\n%s\n\n", word, p.colon(), headlineText(f), p.facts(f), f.Fault, f.Summary)
	fmt.Fprintf(p, "**%s**\n\n", p.say(lang.Evidence))
	list, left := limit(f.Evidence, maxEvidence, p.All)
	for i := range list {
		p.mdLine(list[i].Input, list[i].Section, list[i].Line, list[i].Text, list[i].Count, list[i].Note)
	}
	p.mdLeft(left)
	if rest := notEvidence(f); len(rest) > 0 {
		fmt.Fprintf(p, "\n**%s**\n\n", p.say(lang.Follows))
		list, left := limit(rest, maxConsequences, p.All)
		for _, c := range list {
			p.mdLine(c.Input, c.Section, c.Line, c.Text, c.Count, c.Why)
		}
		p.mdLeft(left)
	}
	if len(f.Causes) > 0 {
		fmt.Fprintf(p, "\n**%s**\n\n", p.say(lang.Causes))
		for i, c := range f.Causes {
			fmt.Fprintf(p, lang.Pick(p.Lang, "%d. %s%s. %s\n", "%d. %s%s。%s\n"), i+1, c.Cause, p.aside(lang.Term(p.Lang, c.Likelihood)), c.Confirm)
		}
	}
	fmt.Fprintf(p, "\n%s\n\n", strings.TrimSpace(fmt.Sprintf("**%s%s%s** %s", p.say(lang.Do), p.colon(), lang.Action(p.Lang, f.Action), f.ActionWhy)))
	for i, r := range f.Remedies {
		fmt.Fprintf(p, "%d. %s\n", i+1, r.Step)
		p.mdCommand(r.Command)
	}
	for _, n := range f.NotThis {
		fmt.Fprintf(p, "\n%s %s\n", p.say(lang.Not), n)
	}
	fmt.Fprintf(p, "\n**%s**\n\n", p.say(lang.FixedWhen))
	for _, c := range f.Verify {
		fmt.Fprintf(p, "- %s\n", c.Check)
		p.mdCommand(c.Command)
	}
	fmt.Fprintln(p)
	for _, s := range f.Sources {
		fmt.Fprintf(p, "- <%s>\n", s)
	}
	fmt.Fprintln(p)
}

func (p *printer) mdCommand(c string) {
	if c = strings.TrimSpace(c); c != "" {
		fmt.Fprintf(p, "\n   ```\n   %s\n   ```\n\n", strings.ReplaceAll(c, "\n", "\n   "))
	}
}

func (p *printer) mdLeft(n int) {
	if n > 0 {
		fmt.Fprintf(p, "- … %d %s\n", n, p.say(lang.More))
	}
}

func (p *printer) mdLine(input, section string, no int, body string, n int, note string) {
	if section != "" {
		section = " [" + section + "]"
	}
	fmt.Fprintf(p, "- `%s:%d%s` `%s`%s", code(filepath.Base(input)), no, code(section), code(layout.Shorten(body, 300)), count(p, n, ""))
	if note != "" {
		fmt.Fprintf(p, "  \n  %s", note)
	}
	fmt.Fprintln(p)
}

var inCode = strings.NewReplacer("`", "'", "\n", " ")

// code makes a text safe inside backquotes.
func code(s string) string { return inCode.Replace(s) }
