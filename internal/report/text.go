package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/layout"
)

// Rules of the terminal form: the first line is the verdict; facts, then judgement,
// then action; nothing is said twice; everything fits the width; colour carries no
// meaning that the words lack; commands stand on a line of their own so that they
// can be pasted.
type printer struct {
	*bufio.Writer
	Options
	oneInput bool // then lines are told by their number alone
	placeCol int  // width of the place column
}

const maxEvidence, maxConsequences, maxUnexplained = 8, 8, 12

// Text writes a report for a terminal.
func Text(w io.Writer, r *gpumedic.Report, o Options) error {
	if o.Width == 0 {
		o.Width = 80
	}
	p := newPrinter(w, r, o)
	p.head(r)
	if o.Quiet {
		p.verdictLine(r)
	} else {
		p.body(r)
	}
	return p.Flush()
}

func newPrinter(w io.Writer, r *gpumedic.Report, o Options) *printer {
	p := &printer{Writer: bufio.NewWriter(w), Options: o, oneInput: len(r.Inputs) < 2}
	for _, f := range r.Findings {
		for _, e := range f.Evidence {
			p.placeCol = max(p.placeCol, layout.Cells(p.place(e.Input, e.Section, e.Line)))
		}
		for _, c := range f.Consequences {
			p.placeCol = max(p.placeCol, layout.Cells(p.place(c.Input, c.Section, c.Line)))
		}
	}
	for _, u := range r.Unexplained {
		p.placeCol = max(p.placeCol, layout.Cells(p.place(u.Input, u.Section, u.Line)))
	}
	return p
}

func (p *printer) say(w lang.Word) string { return lang.Say(p.Lang, w) }

func (p *printer) head(r *gpumedic.Report) {
	switch r.Verdict {
	case gpumedic.VerdictFault:
		return // the first finding is the verdict
	case gpumedic.VerdictNoFault:
		fmt.Fprintf(p, "%s  %s\n", p.paint("32;1", p.say(lang.NoFault)), lang.Pick(p.Lang, "no fault found", "未发现故障"))
	default:
		what := lang.Pick(p.Lang, "nothing known explains what was seen", "现有知识无法解释所见的异常")
		switch {
		case untested(r) && len(unexplainedBeside(r)) == 0:
			what = lang.Pick(p.Lang, "not all was tested", "测试没有全部完成")
		case len(r.Unexplained) > 0:
		case slices.ContainsFunc(r.Inputs, func(in gpumedic.InputInfo) bool { return in.Lines > 0 && !in.Incomplete }):
			what = lang.Pick(p.Lang, "nothing was read that tells whether there is one", "读到的内容无法说明是否有故障")
		default:
			what = p.say(lang.NothingRead)
		}
		fmt.Fprintf(p, "%s  %s\n", p.paint("33;1", p.say(lang.UnknownVerdict)), what)
	}
}

// verdictLine is all that --quiet prints of a fault.
func (p *printer) verdictLine(r *gpumedic.Report) {
	if r.Verdict == gpumedic.VerdictFault {
		p.headline(&r.Findings[0], true)
	}
}

func (p *printer) body(r *gpumedic.Report) {
	shown := 0
	var hidden []gpumedic.Finding
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Role == gpumedic.RoleIncidental && !p.All {
			hidden = append(hidden, *f)
			continue
		}
		if shown > 0 {
			fmt.Fprintln(p)
		}
		p.finding(f, shown == 0)
		shown++
	}
	p.unexplained(unexplainedBeside(r))
	if len(hidden) > 0 && r.Verdict != gpumedic.VerdictFault {
		p.section(lang.Incidental)
		for _, f := range hidden {
			p.lines("    ", f.Headline+where(&f))
		}
	}
	p.tests(r.Tests)
	p.footer(r)
}

func (p *printer) unexplained(list []gpumedic.Unexplained) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(p)
	p.section(lang.Unexplained)
	shown, left := limit(list, maxUnexplained, p.All)
	told := map[string]bool{}
	for _, u := range shown {
		if told[u.Signal] {
			u.Meaning, u.Check = "", ""
		}
		told[u.Signal] = true
		p.line(u.Input, u.Section, u.Line, "", u.Signal+"  "+message(u.Text), count(p, u.Count, ""), u.Meaning, "", "")
		if u.Check != "" {
			p.hanging("      ", "? ", u.Check)
		}
	}
	p.left(left)
	p.lines("    ", p.say(lang.UnexplainedHint))
}

func (p *printer) footer(r *gpumedic.Report) {
	var lines int
	for _, in := range r.Inputs {
		lines += in.Lines
	}
	fmt.Fprintln(p)
	foot := fmt.Sprintf(lang.Pick(p.Lang, "read %d %s, %s %s", "已读取 %d %s，%s %s"), len(r.Inputs), lang.Pick(p.Lang, lang.Plural(len(r.Inputs), "input"), "个输入"),
		layout.Thousands(lines), lang.Pick(p.Lang, lang.Plural(lines, "line"), "行"))
	if r.Verdict == gpumedic.VerdictNoFault || r.Verdict == gpumedic.VerdictUnknown {
		if first, last := spanOf(r.Inputs); first != "" {
			foot += fmt.Sprintf(lang.Pick(p.Lang, ", %s … %s", "，%s … %s"), first, last)
		}
	}
	fmt.Fprintln(p, p.paint("2", "  "+foot))
	for _, in := range r.Inputs {
		for _, pr := range in.Problems {
			p.hanging("  ", p.say(lang.CouldNotRead)+"  ", in.Name+": "+pr)
		}
	}
	for _, n := range r.Notes {
		p.hanging("  ", p.say(lang.Note)+"  ", n)
	}
}

func spanOf(inputs []gpumedic.InputInfo) (first, last string) {
	for _, in := range inputs {
		if in.First != "" && (first == "" || in.First < first) {
			first = in.First
		}
		if in.Last > last {
			last = in.Last
		}
	}
	return first, last
}
