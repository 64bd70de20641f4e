package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/layout"
)

func where(f *gpumedic.Finding) string {
	if len(f.Evidence) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s:%d)", filepath.Base(f.Evidence[0].Input), f.Evidence[0].Line)
}

// headlineText is the headline; a GPU known by its UUID alone carries the word already.
func headlineText(f *gpumedic.Finding) string {
	return strings.ReplaceAll(f.Headline, "GPU GPU-", "GPU-")
}

// headline prints the verdict line of a finding and returns the indent of what stands
// below it.
func (p *printer) headline(f *gpumedic.Finding, first bool) string {
	word, color := p.say(lang.Fault), "31;1"
	if f.Severity == gpumedic.SeverityWarning || f.Severity == gpumedic.SeverityInfo {
		word, color = p.say(lang.Warning), "33;1"
	}
	if !first {
		word = p.say(lang.AlsoFound)
	}
	indent := strings.Repeat(" ", layout.Cells(word)+2)
	for i, l := range layout.Wrap(headlineText(f), p.Width-len(indent)) {
		if i == 0 {
			fmt.Fprintf(p, "%s  %s\n", p.paint(color, word), p.paint("1", l))
			continue
		}
		fmt.Fprintf(p, "%s%s\n", indent, p.paint("1", l))
	}
	return indent
}

// finding prints one finding: whole when it is the answer, shorter when it is another.
func (p *printer) finding(f *gpumedic.Finding, first bool) {
	indent := p.headline(f, first)
	p.lines(indent, p.facts(f))
	if f.Subject.Location != "" {
		p.lines(indent, lang.Pick(p.Lang, "at ", "位于 ")+f.Subject.Location)
	}
	fmt.Fprintln(p)
	if first {
		p.lines("  ", f.Summary)
		fmt.Fprintln(p)
	}
	p.memory(f)
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
	kind := lang.Term(p.Lang, f.Layer)
	if f.Component != f.Layer {
		kind += lang.Pick(p.Lang, ", ", "，") + lang.Term(p.Lang, f.Component)
	}
	parts := []string{kind,
		fmt.Sprintf(lang.Pick(p.Lang, "%s %.0f %%", "%s %.0f%%"), p.say(lang.Confidence), 100*f.Confidence)}
	if f.Subject.Rank != nil {
		parts = append(parts, fmt.Sprintf("rank %d", *f.Subject.Rank))
	}
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
		parts = append(parts, lang.Pick(p.Lang, "serial ", "序列号 ")+id.Serial)
	}
	return strings.Join(parts, " · ")
}

// moment tells seconds since boot from a date.
func moment(l, at string) string {
	if s, ok := strings.CutSuffix(at, " s"); ok {
		return fmt.Sprintf(lang.Pick(l, "%s s after boot", "开机后 %s 秒"), clock(s+" s"))
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
	return fmt.Sprintf("%s (pid %d)", pr.Name, pr.PID)
}

func (p *printer) evidence(f *gpumedic.Finding) {
	if len(f.Evidence) == 0 {
		return
	}
	p.section(lang.Evidence)
	list, left := limit(folded(f.Evidence, p.All), maxEvidence, p.All)
	last := ""
	for i := range list {
		e := &list[i].EvidenceOut
		note, mark := e.Note, e.Fields["text"]
		if note == last {
			note, mark = "", "" // nothing is said twice
		} else {
			last = note
		}
		body, found := decisive(e.Text, e.Mark, e.Msg)
		if mark == "" && note != "" {
			mark = found
		}
		p.line(e.Input, e.Section, e.Line, e.At, body, count(p, e.Count, e.Span), note, mark, found)
		if n := list[i].like; n > 0 {
			fmt.Fprintf(p, "    %s\n", p.paint("2", fmt.Sprintf(lang.Pick(p.Lang, "… %d more lines like these, to line %d", "… 另有 %d 行同类，至第 %d 行"), n, list[i].to)))
		}
	}
	p.left(left)
	fmt.Fprintln(p)
}

// fold is an evidence line that stands for others of its kind.
type fold struct {
	gpumedic.EvidenceOut
	like, to int
}

// oneReading keeps one of several readings of a line: the one whose note fewer lines
// share, since it says what sets this line apart.
func oneReading(list []gpumedic.EvidenceOut) []gpumedic.EvidenceOut {
	shared := map[string]int{}
	for _, e := range list {
		shared[e.Note]++
	}
	type place struct {
		input string
		line  int
	}
	at := map[place]int{}
	var out []gpumedic.EvidenceOut
	for _, e := range list {
		here := place{e.Input, e.Line}
		i, seen := at[here]
		switch {
		case !seen || e.Line == 0:
			at[here] = len(out)
			out = append(out, e)
		case out[i].Note == "" || e.Note != "" && shared[e.Note] < shared[out[i].Note]:
			out[i].Note = e.Note
		}
	}
	return out
}

// folded keeps the first two of a run of evidence of one kind and one note, and counts
// the rest.
func folded(list []gpumedic.EvidenceOut, all bool) []fold {
	if !all {
		list = oneReading(list)
	}
	var out []fold
	run := 0
	for _, e := range list {
		n := len(out)
		if n > 0 && !all && out[n-1].Signal == e.Signal && out[n-1].Note == e.Note && out[n-1].Input == e.Input {
			if run++; run > 2 {
				out[n-1].like++
				out[n-1].to = e.Line
				continue
			}
		} else {
			run = 1
		}
		out = append(out, fold{EvidenceOut: e})
	}
	return out
}

func (p *printer) consequences(f *gpumedic.Finding) {
	rest := f.Consequences
	if !p.All {
		rest = notEvidence(f)
	}
	if len(rest) == 0 {
		return
	}
	p.section(lang.Follows)
	list, left := limit(alike(rest, p.All), maxConsequences, p.All)
	last := ""
	for i := range list {
		c := &list[i]
		note := c.Why
		if note == last {
			note = "" // nothing is said twice
		} else {
			last = note
		}
		body, found := decisive(c.Text, c.Mark, c.Msg)
		p.line(c.Input, c.Section, c.Line, later(c.After), rankList(p.Lang, c.ranks)+body, count(p, c.Count, ""), note, "", found)
	}
	p.left(left)
	fmt.Fprintln(p)
}

// notEvidence are the consequences on lines of their own: a line that proves the fault
// is not shown again as what follows from it.
func notEvidence(f *gpumedic.Finding) []gpumedic.Consequence {
	return slices.DeleteFunc(slices.Clone(f.Consequences), func(c gpumedic.Consequence) bool {
		return c.Line > 0 && slices.ContainsFunc(f.Evidence, func(e gpumedic.EvidenceOut) bool {
			return e.Input == c.Input && e.Line == c.Line
		})
	})
}

// follower is a consequence that stands for others like it, with the ranks it hit.
type follower struct {
	gpumedic.Consequence
	ranks []int
}

// alike folds consequences of one kind and reason into one entry with a count: thirty
// channels removed, or seven ranks that lost their peer, are one thing to read.
func alike(list []gpumedic.Consequence, all bool) []follower {
	var out []follower
	at := map[string]int{}
	for _, c := range list {
		key := c.Signal + "\x00" + c.Why
		if c.Rank == nil {
			key += "\x00" + c.Input
		}
		n, seen := at[key]
		if !seen || all {
			at[key] = len(out)
			out = append(out, follower{Consequence: c})
			n = len(out) - 1
		} else {
			out[n].Count += c.Count
		}
		if c.Rank != nil && !slices.Contains(out[n].ranks, *c.Rank) {
			out[n].ranks = append(out[n].ranks, *c.Rank)
		}
	}
	return out
}

// later is how long after the decisive line something came: "+0.9 s".
func later(sec *float64) string {
	switch {
	case sec == nil:
		return ""
	case *sec < 0.05 && *sec > -0.05:
		return "+0 s"
	case *sec < 120 && *sec > -120:
		return fmt.Sprintf("%+.1f s", *sec)
	}
	return fmt.Sprintf("%+.0f min", *sec/60)
}

// rankList writes ranks as "ranks 0-6, 9: ".
func rankList(l string, ranks []int) string {
	if len(ranks) == 0 {
		return ""
	}
	slices.Sort(ranks)
	var parts []string
	for i := 0; i < len(ranks); {
		j := i
		for j+1 < len(ranks) && ranks[j+1] == ranks[j]+1 {
			j++
		}
		if j == i {
			parts = append(parts, fmt.Sprint(ranks[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", ranks[i], ranks[j]))
		}
		i = j + 1
	}
	word := "rank "
	if len(ranks) > 1 {
		word = lang.Pick(l, "ranks ", "rank ")
	}
	return word + strings.Join(parts, ", ") + ": "
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

func (p *printer) causes(f *gpumedic.Finding) {
	if len(f.Causes) == 0 {
		return
	}
	p.section(lang.Causes)
	for i, c := range f.Causes {
		p.hanging("    ", fmt.Sprintf("%d  ", i+1), c.Cause+p.aside(lang.Term(p.Lang, c.Likelihood)))
		if c.Confirm != "" {
			p.hanging("       ", "? ", c.Confirm)
		}
	}
	fmt.Fprintln(p)
}

func (p *printer) do(f *gpumedic.Finding) {
	first := lang.Action(p.Lang, f.Action)
	if f.ActionWhy != "" {
		first += lang.Pick(p.Lang, ": ", "：") + f.ActionWhy
	}
	p.hanging("  ", p.paint("1", p.say(lang.Do))+"  ", first)
	for i, r := range f.Remedies {
		step := r.Step
		switch r.Risk {
		case "disruptive":
			step += p.aside(p.say(lang.Risky))
		case "destructive":
			step += p.aside(p.say(lang.Destructive))
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
	in := strings.Repeat(" ", layout.Cells(head)+4)
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
			head = strings.Repeat(" ", layout.Cells(head))
		}
		if i == 3 && !p.All {
			break
		}
		fmt.Fprintf(p, "  %s  %s\n", p.paint("2", head), p.paint("2", strings.TrimPrefix(s, "https://")))
	}
}
