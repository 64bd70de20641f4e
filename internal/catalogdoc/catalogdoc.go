// Package catalogdoc writes what the catalog knows of a fault as a page for people:
// the files of docs/faults and `gpumedic catalog show` are the same text.
package catalogdoc

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/lang"
)

// writer collects the words of one page in one language.
type writer struct {
	*bufio.Writer
	l string
}

// Page writes a fault's page in Markdown.
func Page(w io.Writer, c *catalog.Catalog, f *catalog.Fault, l string) error {
	p := &writer{bufio.NewWriter(w), l}
	fmt.Fprintf(p, "# %s\n\n`%s` · %s · %s · %s · %s\n\n%s\n", f.Title.In(l), f.ID, lang.Term(l, f.Layer),
		lang.Term(l, f.Component), f.Severity, lang.Term(l, f.Action), strings.TrimSpace(f.Summary.In(l)))
	p.clues(p.say("How it is recognised", "如何识别"), f.Triggers)
	p.clues(p.say("What supports it", "佐证"), f.Supports)
	p.clues(p.say("What speaks against it", "反证"), f.Against)
	p.explains(c, f)
	p.causes(f)
	p.remedies(f)
	p.verify(f)
	p.notThis(f)
	if len(f.Myths) > 0 {
		p.head(p.say("Often said, but wrong", "常见误解"))
		for _, m := range f.Myths {
			fmt.Fprintf(p, "- %s\n", m.In(l))
		}
	}
	p.head(p.say("Sources", "依据"))
	for _, s := range f.Sources {
		fmt.Fprintf(p, "- <%s>\n", s)
	}
	return p.Flush()
}

func (p *writer) say(en, zh string) string { return lang.Pick(p.l, en, zh) }

func (p *writer) head(s string) { fmt.Fprintf(p, "\n## %s\n\n", s) }

func (p *writer) clues(title string, list []catalog.Clue) {
	if len(list) == 0 {
		return
	}
	p.head(title)
	for _, c := range list {
		fmt.Fprintf(p, "- `%s`", strings.ReplaceAll(c.Signal, " | ", "`, `"))
		for _, k := range slices.Sorted(maps.Keys(c.Where)) {
			fmt.Fprintf(p, ", %s `%s`", k, c.Where[k])
		}
		if c.MinCount > 1 {
			fmt.Fprintf(p, p.say(", %d times or more", "，至少 %d 次"), c.MinCount)
		}
		if c.Strength != "" {
			fmt.Fprintf(p, " (%s)", c.Strength)
		}
		if why := c.Why.In(p.l); why != "" {
			fmt.Fprintf(p, p.say(": %s", "：%s"), why)
		}
		fmt.Fprintln(p)
	}
}

func (p *writer) explains(c *catalog.Catalog, f *catalog.Fault) {
	if len(f.Explains) == 0 {
		return
	}
	p.head(p.say("What follows from it", "连带现象"))
	for _, e := range f.Explains {
		why := e.Why.In(p.l)
		switch {
		case e.Group != "":
			fmt.Fprintf(p, "- `%s`", e.Group)
			why = p.group(c.Groups[e.Group])
		case e.Fault != "":
			fmt.Fprintf(p, "- [%s](%s.md)", e.Fault, e.Fault)
		default:
			fmt.Fprintf(p, "- `%s`", strings.ReplaceAll(e.Signal, " | ", "`, `"))
		}
		if why != "" {
			fmt.Fprintf(p, p.say(": %s", "：%s"), why)
		}
		fmt.Fprintln(p)
	}
}

// group sums up consequences that many faults share.
func (p *writer) group(parts []catalog.Explains) string {
	var whys []string
	for _, e := range parts {
		if why := e.Why.In(p.l); why != "" && !slices.Contains(whys, why) {
			whys = append(whys, why)
		}
	}
	return strings.Join(whys, p.say("; ", "；"))
}

func (p *writer) causes(f *catalog.Fault) {
	p.head(p.say("Likely causes, and what would tell them apart", "可能原因，以及如何区分"))
	for i, c := range f.Causes {
		fmt.Fprintf(p, "%d. %s (%s). %s\n", i+1, c.Cause.In(p.l), lang.Term(p.l, c.Likelihood), c.Confirm.In(p.l))
	}
}

func (p *writer) remedies(f *catalog.Fault) {
	p.head(p.say("What to do", "处理步骤"))
	for i, r := range f.Remedies {
		fmt.Fprintf(p, "%d. %s (%s)\n", i+1, r.Step.In(p.l), r.Risk)
		p.command(r.Command)
	}
	for _, a := range f.Actions {
		if why := a.Why.In(p.l); why != "" {
			fmt.Fprintf(p, p.say("\nInstead `%s` when %s.\n", "\n%[2]s时，改为 `%[1]s`。\n"), a.Action, why)
		}
	}
}

func (p *writer) verify(f *catalog.Fault) {
	p.head(p.say("Fixed when", "复核标准"))
	for _, c := range f.Verify {
		fmt.Fprintf(p, "- %s\n", c.Check.In(p.l))
		p.command(c.Command)
	}
}

func (p *writer) notThis(f *catalog.Fault) {
	if len(f.NotThis) == 0 {
		return
	}
	p.head(p.say("What it is not", "不是什么"))
	for _, n := range f.NotThis {
		fmt.Fprintf(p, p.say("- %s: %s\n", "- %s：%s\n"), n.Claim.In(p.l), n.Because.In(p.l))
	}
}

func (p *writer) command(c string) {
	if c = strings.TrimSpace(c); c != "" {
		fmt.Fprintf(p, "\n   ```sh\n   %s\n   ```\n\n", strings.ReplaceAll(c, "\n", "\n   "))
	}
}
