package report

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lang"
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
	if !o.Quiet {
		p.body(r)
	}
	return p.Flush()
}

func newPrinter(w io.Writer, r *gpumedic.Report, o Options) *printer {
	p := &printer{Writer: bufio.NewWriter(w), Options: o, oneInput: len(r.Inputs) < 2}
	for _, f := range r.Findings {
		for _, e := range f.Evidence {
			p.placeCol = max(p.placeCol, cells(p.place(e.Input, e.Line)))
		}
		for _, c := range f.Consequences {
			p.placeCol = max(p.placeCol, cells(p.place(c.Input, c.Line)))
		}
	}
	for _, u := range r.Unexplained {
		p.placeCol = max(p.placeCol, cells(p.place(u.Input, u.Line)))
	}
	return p
}

// place names a line: by number when there is one input, else "file:number".
func (p *printer) place(input string, no int) string {
	switch {
	case no > 0 && p.oneInput:
		return fmt.Sprintf(text(p.Lang, "line %d", "第 %d 行"), no)
	case no > 0:
		return fmt.Sprintf("%s:%d", shorten(filepath.Base(input), 18), no)
	}
	return shorten(filepath.Base(input), 24)
}

func (p *printer) say(w lang.Word) string { return lang.Say(p.Lang, w) }

func (p *printer) head(r *gpumedic.Report) {
	switch r.Verdict {
	case gpumedic.VerdictFault:
		return // the first finding is the verdict
	case gpumedic.VerdictNoFault:
		fmt.Fprintf(p, "%s  %s\n", p.paint("32;1", p.say(lang.NoFault)), text(p.Lang, "no fault found", "未发现故障"))
	default:
		what := text(p.Lang, "nothing known explains what was seen", "现有知识无法解释所见的异常")
		if len(r.Unexplained) == 0 {
			what = p.say(lang.NothingRead)
		}
		fmt.Fprintf(p, "%s  %s\n", p.paint("33;1", p.say(lang.UnknownVerdict)), what)
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
	p.unexplained(r.Unexplained)
	if len(hidden) > 0 && r.Verdict != gpumedic.VerdictFault {
		p.section(lang.Incidental)
		for _, f := range hidden {
			p.lines("    ", f.Headline+where(&f))
		}
	}
	p.footer(r)
}

func where(f *gpumedic.Finding) string {
	if len(f.Evidence) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s:%d)", filepath.Base(f.Evidence[0].Input), f.Evidence[0].Line)
}

// finding prints one finding: whole when it is the answer, shorter when it is another.
func (p *printer) finding(f *gpumedic.Finding, first bool) {
	word, color := p.say(lang.Fault), "31;1"
	if f.Severity == gpumedic.SeverityWarning || f.Severity == gpumedic.SeverityInfo {
		word, color = p.say(lang.Warning), "33;1"
	}
	if !first {
		word = p.say(lang.AlsoFound)
	}
	indent := strings.Repeat(" ", cells(word)+2)
	for i, l := range wrap(f.Headline, p.Width-len(indent)) {
		if i == 0 {
			fmt.Fprintf(p, "%s  %s\n", p.paint(color, word), p.paint("1", l))
			continue
		}
		fmt.Fprintf(p, "%s%s\n", indent, p.paint("1", l))
	}
	p.lines(indent, p.facts(f))
	fmt.Fprintln(p)
	if first {
		p.lines("  ", printable(f.Summary))
		fmt.Fprintln(p)
	}
	p.evidence(f)
	p.consequences(f)
	if first || p.All {
		p.causes(f)
	}
	p.do(f)
	for _, n := range f.NotThis {
		p.hanging("  ", p.paint("1", p.say(lang.Not))+" ", n)
	}
	if len(f.NotThis) > 0 {
		fmt.Fprintln(p)
	}
	p.verify(f)
	if first || p.All {
		p.sources(f)
	}
}

func (p *printer) facts(f *gpumedic.Finding) string {
	parts := []string{lang.Term(p.Lang, f.Layer) + ", " + lang.Term(p.Lang, f.Component),
		fmt.Sprintf("%s %.0f %%", p.say(lang.Confidence), 100*f.Confidence)}
	if f.Subject.Node != "" {
		parts = append(parts, p.say(lang.Node)+" "+f.Subject.Node)
	}
	if f.Subject.Process.Name != "" || f.Subject.Process.PID != 0 {
		parts = append(parts, processText(f.Subject.Process))
	}
	if f.At != "" {
		parts = append(parts, moment(p.Lang, f.At))
	}
	if len(f.Also) > 0 {
		var names []string
		for _, s := range f.Also {
			names = append(names, s.GPU.String())
		}
		parts = append(parts, p.say(lang.Also)+" "+strings.Join(names, ", "))
	}
	if id := f.Subject.GPU; id.Serial != "" {
		parts = append(parts, text(p.Lang, "serial ", "序列号 ")+id.Serial)
	}
	return strings.Join(parts, " · ")
}

// moment tells seconds since boot from a date.
func moment(l, at string) string {
	if s, ok := strings.CutSuffix(at, " s"); ok {
		return fmt.Sprintf(text(l, "%s s after boot", "开机后 %s 秒"), clock(s+" s"))
	}
	return at
}

func processText(pr gpumedic.Process) string {
	switch {
	case pr.PID == 0:
		return pr.Name
	case pr.Name == "":
		return fmt.Sprintf("pid %d", pr.PID)
	}
	return fmt.Sprintf("%s (pid %d)", printable(pr.Name), pr.PID)
}

func (p *printer) evidence(f *gpumedic.Finding) {
	if len(f.Evidence) == 0 {
		return
	}
	p.section(lang.Evidence)
	list, left := limit(f.Evidence, maxEvidence, p.All)
	for i := range list {
		e := &list[i]
		p.line(e.Input, e.Line, e.At, decisive(e), count(p, e.Count, e.Span), e.Note, e.Fields["text"])
	}
	p.left(left)
	fmt.Fprintln(p)
}

func (p *printer) consequences(f *gpumedic.Finding) {
	if len(f.Consequences) == 0 {
		return
	}
	p.section(lang.Follows)
	list, left := limit(alike(f.Consequences, p.All), maxConsequences, p.All)
	last := ""
	for _, c := range list {
		note := c.Why
		if note == last {
			note = "" // nothing is said twice
		} else {
			last = note
		}
		p.line(c.Input, c.Line, "", message(c.Text), count(p, c.Count, ""), note, "")
	}
	p.left(left)
	fmt.Fprintln(p)
}

// alike folds neighbours of one kind and reason into one entry with a count: thirty
// channels removed are one thing to read.
func alike(list []gpumedic.Consequence, all bool) []gpumedic.Consequence {
	if all {
		return list
	}
	var out []gpumedic.Consequence
	for _, c := range list {
		if n := len(out); n > 0 && out[n-1].Signal == c.Signal && out[n-1].Input == c.Input && out[n-1].Why == c.Why {
			out[n-1].Count += c.Count
			continue
		}
		out = append(out, c)
	}
	return out
}

func limit[T any](list []T, n int, all bool) ([]T, int) {
	if all || len(list) <= n+1 {
		return list, 0
	}
	return list[:n], len(list) - n
}

func (p *printer) left(n int) {
	if n > 0 {
		fmt.Fprintf(p, "    … %d %s (--all)\n", n, p.say(lang.More))
	}
}

// count says how often a line came: "(6x)", "(214x in 37 min)".
func count(p *printer, n int, span string) string {
	switch {
	case n < 2:
		return ""
	case span == "":
		return fmt.Sprintf(" (%dx)", n)
	}
	return fmt.Sprintf(" (%dx %s %s)", n, p.say(lang.In), span)
}

// line prints one line of an input: place, time, text of at most three lines, a mark
// under the decisive part, a note.
func (p *printer) line(input string, no int, at, body, times, note, mark string) {
	col := "    " + pad(p.place(input, no), p.placeCol) + "  "
	if at != "" {
		col += pad(clock(at), 8) + "  "
	}
	in := cells(col)
	if p.Width-in < 44 { // a long name: the text goes below it
		fmt.Fprintln(p, p.paint("2", strings.TrimRight(col, " ")))
		in = 8
		col = strings.Repeat(" ", in)
	}
	width, rest := p.Width-in, strings.Repeat(" ", in)
	body = shorten(printable(body), 3*width-cells(times)-4) + times
	lines := wrap(body, width)
	marked, part := markIn(lines, mark)
	for i, l := range lines {
		lead := rest
		if i == 0 {
			lead = p.paint("2", col)
		}
		fmt.Fprintf(p, "%s%s\n", lead, l)
		if i == marked && note != "" {
			note = p.caret(rest, l, part, note, width, i == len(lines)-1)
		}
	}
	if note != "" {
		p.paintWrapped(rest, "= ", note, "36")
	}
}

// caret underlines the decisive part. The note follows on the same line where it
// fits and nothing of the text comes after; else it is returned.
func (p *printer) caret(rest, line, part, note string, width int, last bool) string {
	at := cells(line[:strings.Index(line, part)])
	n := cells(part)
	fmt.Fprintf(p, "%s%s%s", rest, strings.Repeat(" ", at), p.paint("31", strings.Repeat("^", n)))
	if last && at+n+1+cells(note) <= width {
		fmt.Fprintf(p, " %s", p.paint("36", note))
		note = ""
	}
	fmt.Fprintln(p)
	return note
}

// markIn finds the line that holds the decisive text, or the longest start of it.
func markIn(lines []string, mark string) (line int, part string) {
	mark = strings.TrimSpace(mark)
	if mark == "" {
		return -1, ""
	}
	for i, l := range lines {
		if strings.Contains(l, mark) {
			return i, mark
		}
	}
	words := strings.Fields(mark)
	for n := len(words) - 1; n > 1; n-- { // at least two words: one alone may stand elsewhere
		head := strings.Join(words[:n], " ")
		for i, l := range lines {
			if strings.HasSuffix(l, head) {
				return i, head
			}
		}
	}
	return -1, ""
}

func (p *printer) paintWrapped(indent, head, s, code string) {
	for i, l := range wrap(s, p.Width-cells(indent)-cells(head)) {
		if i > 0 {
			head = strings.Repeat(" ", cells(head))
		}
		fmt.Fprintf(p, "%s%s\n", indent, p.paint(code, head+l))
	}
}

// clock drops the date, which the head line has, and cuts seconds since boot.
func clock(at string) string {
	if i := strings.LastIndexByte(at, ' '); i > 0 && strings.Count(at, ":") == 2 {
		return at[i+1:]
	}
	if s, ok := strings.CutSuffix(at, " s"); ok {
		if i := strings.IndexByte(s, '.'); i > 0 && len(s) > i+4 {
			s = s[:i+4]
		}
		return s
	}
	return at
}

func pad(s string, n int) string {
	if w := cells(s); w < n {
		return s + strings.Repeat(" ", n-w)
	}
	return s
}

// decisive is the part of a line that matters: from where the matcher began.
func decisive(e *gpumedic.EvidenceOut) string {
	if e.Mark[0] > 0 && e.Mark[0] < len(e.Text) {
		return strings.TrimSpace(e.Text[e.Mark[0]:])
	}
	return message(e.Text)
}

// message drops the framing of a consequence's line, as far as a known word marks
// where the message begins.
func message(s string) string {
	for _, start := range []string{"NVRM: ", "nvidia-nvswitch", "kernel: ", "pcieport "} {
		if i := strings.Index(s, start); i > 0 && i < 160 {
			if start == "kernel: " {
				i += len(start)
			}
			return s[i:]
		}
	}
	return strings.TrimSpace(s)
}

func (p *printer) causes(f *gpumedic.Finding) {
	if len(f.Causes) == 0 {
		return
	}
	p.section(lang.Causes)
	for i, c := range f.Causes {
		p.hanging("    ", fmt.Sprintf("%d  ", i+1), c.Cause+fmt.Sprintf(" (%s)", lang.Term(p.Lang, c.Likelihood)))
		if c.Confirm != "" {
			p.hanging("       ", "? ", c.Confirm)
		}
	}
	fmt.Fprintln(p)
}

func (p *printer) do(f *gpumedic.Finding) {
	first := lang.Action(p.Lang, f.Action)
	if f.ActionWhy != "" {
		first += text(p.Lang, ": ", "：") + f.ActionWhy
	}
	p.hanging("  ", p.paint("1", p.say(lang.Do))+"  ", first)
	for i, r := range f.Remedies {
		step := r.Step
		switch r.Risk {
		case "disruptive":
			step += " (" + p.say(lang.Risky) + ")"
		case "destructive":
			step += " (" + p.say(lang.Destructive) + ")"
		}
		p.hanging("    ", fmt.Sprintf("%d  ", i+1), step)
		p.command("       ", r.Command)
	}
	fmt.Fprintln(p)
}

// command prints a command whole: one that is cut cannot be pasted.
func (p *printer) command(indent, c string) {
	for _, l := range strings.Split(strings.TrimSpace(c), "\n") {
		if l != "" {
			fmt.Fprintf(p, "%s%s\n", indent, p.paint("32", l))
		}
	}
}

func (p *printer) verify(f *gpumedic.Finding) {
	head := p.say(lang.FixedWhen)
	in := strings.Repeat(" ", cells(head)+4)
	for i, c := range f.Verify {
		if i == 0 {
			p.hanging("  ", p.paint("1", head)+"  ", c.Check)
		} else {
			p.lines(in, c.Check)
		}
		p.command(in, c.Command)
	}
}

func (p *printer) sources(f *gpumedic.Finding) {
	if p.All {
		for _, m := range f.Myths {
			p.hanging("  ", p.say(lang.Myths)+"  ", m)
		}
		for _, a := range f.Alternatives {
			p.hanging("  ", p.say(lang.Alternatives)+"  ", a.Fault+": "+a.WhyNot)
		}
	}
	for i, s := range f.Sources {
		head := p.say(lang.Sources)
		if i > 0 {
			head = strings.Repeat(" ", cells(head))
		}
		if i == 3 && !p.All {
			break
		}
		fmt.Fprintf(p, "  %s  %s\n", p.paint("2", head), p.paint("2", strings.TrimPrefix(s, "https://")))
	}
}

func (p *printer) unexplained(list []gpumedic.Unexplained) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(p)
	p.section(lang.Unexplained)
	shown, left := limit(list, maxUnexplained, p.All)
	for _, u := range shown {
		p.line(u.Input, u.Line, "", u.Signal+"  "+message(u.Text), count(p, u.Count, ""), "", "")
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
	foot := fmt.Sprintf("%s %d %s, %s %s", p.say(lang.Read), len(r.Inputs), p.say(lang.Files), thousands(lines), p.say(lang.Lines))
	if r.Verdict == gpumedic.VerdictNoFault || r.Verdict == gpumedic.VerdictUnknown {
		if first, last := spanOf(r.Inputs); first != "" {
			foot += fmt.Sprintf(", %s … %s", first, last)
		}
	}
	fmt.Fprintln(p, p.paint("2", "  "+foot))
	for _, in := range r.Inputs {
		for _, pr := range in.Problems {
			p.hanging("  ", p.say(lang.CouldNotRead)+"  ", in.Name+": "+pr)
		}
	}
	for _, n := range r.Notes {
		p.hanging("  ", "note  ", n)
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

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func (p *printer) section(w lang.Word) { fmt.Fprintf(p, "  %s\n", p.paint("1", p.say(w))) }

// lines prints a wrapped paragraph.
func (p *printer) lines(indent, s string) {
	for _, l := range wrap(s, p.Width-cells(indent)) {
		fmt.Fprintf(p, "%s%s\n", indent, l)
	}
}

// hanging prints a wrapped paragraph whose first line starts with a head.
func (p *printer) hanging(indent, head, s string) {
	in := cells(indent) + cells(unpainted(head))
	for i, l := range wrap(s, p.Width-in) {
		if i == 0 {
			fmt.Fprintf(p, "%s%s%s\n", indent, head, l)
			continue
		}
		fmt.Fprintf(p, "%s%s\n", strings.Repeat(" ", in), l)
	}
}

// unpainted drops colour codes, which take no cells.
func unpainted(s string) string {
	for {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			return s
		}
		j := strings.IndexByte(s[i:], 'm')
		if j < 0 {
			return s
		}
		s = s[:i] + s[i+j+1:]
	}
}

func (p *printer) paint(code, s string) string {
	if !p.Color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func text(l, en, zh string) string {
	if l == "zh" {
		return zh
	}
	return en
}
