package lint

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/layout"
)

// Options say how a result is written.
type Options struct {
	Lang  string
	Color bool
	Width int
	Quiet bool // the verdict line only
}

const maxNotes = 8

// Formats are the forms that [Result.Write] knows.
var Formats = []string{"text", "json", "lines"}

// Write writes a result in one of [Formats].
func (r *Result) Write(w io.Writer, format string, o Options) error {
	switch format {
	case "json":
		return gpumedic.WriteJSON(w, r)
	case "lines":
		return r.lines(w, o)
	}
	if o.Width == 0 {
		o.Width = 80
	}
	p := &printer{bufio.NewWriter(w), o}
	p.result(r)
	return p.Flush()
}

// lines is one line a finding, in the form that editors and CI systems read.
func (r *Result) lines(w io.Writer, o Options) error {
	b := bufio.NewWriter(w)
	for i := range r.Findings {
		f := &r.Findings[i]
		fmt.Fprintf(b, "%s: %s: %s: %s [%s]\n", place(f), f.Level, layout.Printable(f.assignment()), sentence(f, o.Lang), f.Problem)
	}
	for _, in := range r.Inputs {
		for _, p := range in.Problems {
			fmt.Fprintf(b, "%s: %s\n", layout.Printable(in.Name), layout.Printable(p))
		}
	}
	return b.Flush()
}

func place(f *Finding) string {
	name := layout.Printable(f.Input)
	if f.Line == 0 {
		return name
	}
	return fmt.Sprintf("%s:%d", name, f.Line)
}

func sentence(f *Finding, l string) string {
	s := f.Message
	if f.Instead != "" && !strings.Contains(s, f.Instead) {
		s = strings.TrimRight(s, ".。") + lang.Pick(l, "; write ", "；改为 ") + f.Instead
	}
	return layout.Printable(s)
}

func (f *Finding) assignment() string { return f.Name + "=" + f.Value }

// printer writes the terminal form: the first line is the verdict, then one block a
// finding: place and setting, what is wrong, what to write, source.
type printer struct {
	*bufio.Writer
	Options
}

func (p *printer) pick(en, zh string) string { return lang.Pick(p.Lang, en, zh) }

func (p *printer) paint(code, s string) string { return layout.Paint(p.Color, code, s) }

func (p *printer) result(r *Result) {
	p.verdict(r)
	if p.Quiet {
		return
	}
	for i := range r.Findings {
		fmt.Fprintln(p)
		p.finding(&r.Findings[i])
	}
	if len(r.Notes) > 0 {
		fmt.Fprintf(p, "\n  %s\n", p.paint("1", p.pick("not followed", "未跟进")))
		for i, n := range r.Notes {
			if i == maxNotes {
				fmt.Fprintf(p, p.pick("    and %d more\n", "    另有 %d 处\n"), len(r.Notes)-i)
				break
			}
			p.hanging("    ", fmt.Sprintf("%s:%d  ", n.Input, n.Line), n.Text)
		}
	}
	p.footer(r)
}

func (p *printer) verdict(r *Result) {
	n := map[string]int{}
	for i := range r.Findings {
		n[r.Findings[i].Level]++
	}
	var parts []string
	add := func(n int, one, many, zh string) {
		switch {
		case n == 0:
		case p.Lang == "zh":
			parts = append(parts, fmt.Sprintf(zh, n))
		case n == 1:
			parts = append(parts, one)
		default:
			parts = append(parts, fmt.Sprintf(many, n))
		}
	}
	add(n[LevelError], "1 setting that stops the job", "%d settings that stop the job", "%d 处会使任务失败")
	add(n[LevelWarning], "1 to change", "%d to change", "%d 处需要修改")
	add(n[LevelNotice], "1 to know of", "%d to know of", "%d 处供参考")
	what := strings.Join(parts, p.pick(", ", "，"))
	word, code := lang.Say(p.Lang, lang.NoFault), "32;1"
	switch {
	case n[LevelError] > 0:
		word, code = lang.Say(p.Lang, lang.Fault), "31;1"
	case n[LevelWarning] > 0:
		word, code = lang.Say(p.Lang, lang.Warning), "33;1"
	case r.unread():
		word, code = lang.Say(p.Lang, lang.UnknownVerdict), "33;1"
		if what == "" {
			what = p.pick("nothing found in what could be read", "可读的部分未发现问题")
		}
	case what == "":
		what = p.pick("no setting to change", "没有需要修改的设置")
	}
	fmt.Fprintf(p, "%s  %s\n", p.paint(code, word), what)
}

func (p *printer) finding(f *Finding) {
	level := map[string]string{LevelError: p.pick("error", "错误"), LevelWarning: p.pick("warning", "警告"), LevelNotice: p.pick("notice", "提示")}[f.Level]
	code := map[string]string{LevelError: "31;1", LevelWarning: "33;1", LevelNotice: "36"}[f.Level]
	head := "  " + p.paint(code, layout.Pad(level, 7)) + "  "
	where := place(f)
	what := layout.Printable(f.assignment())
	if layout.Cells(where)+layout.Cells(what)+15 <= p.Width {
		fmt.Fprintf(p, "%s%s  %s\n", head, p.paint("2", where), p.paint("1", what))
	} else {
		fmt.Fprintf(p, "%s%s\n", head, p.paint("2", where))
		for _, l := range layout.Wrap(layout.Shorten(what, 3*p.Width-60), p.Width-11) {
			fmt.Fprintf(p, "           %s\n", p.paint("1", l))
		}
	}
	p.para(p.message(f))
	for _, a := range f.Also {
		if a.Line > 0 {
			p.para(fmt.Sprintf(p.pick("the other: line %d, %s", "另一处：第 %d 行，%s"), a.Line, layout.Printable(a.Value)))
		} else {
			p.para(fmt.Sprintf(p.pick("the other: %s", "另一处：%s"), layout.Printable(a.Value)))
		}
	}
	if f.Do != "" {
		p.hanging("           ", p.pick("do  ", "处理  "), f.Do)
	}
	if f.Instead != "" {
		fmt.Fprintf(p, "           %s%s\n", p.pick("write  ", "改为  "), layout.Printable(f.Instead))
	}
	if f.Fault != "" {
		fmt.Fprintf(p, "           %s\n", p.paint("2", p.pick("see  ", "参见  ")+"gpumedic explain "+f.Fault))
	}
	for _, s := range f.Sources {
		_, s, _ = strings.Cut(s, "://")
		fmt.Fprintf(p, "           %s\n", p.paint("2", s))
	}
}

// message begins with a capital letter, unless with a name, and ends with a full stop, as the texts of the
// catalog do.
func (p *printer) message(f *Finding) string {
	m := strings.TrimSpace(f.Message)
	word, _, _ := strings.Cut(m, " ")
	if p.Lang != "zh" && word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz,") == "" {
		m = strings.ToUpper(m[:1]) + m[1:]
	}
	if strings.HasSuffix(m, ".") || strings.HasSuffix(m, "?") || strings.HasSuffix(m, "。") || strings.HasSuffix(m, "？") {
		return m
	}
	return m + p.pick(".", "。")
}

func (p *printer) para(s string) { p.hanging("           ", "", s) }

func (p *printer) hanging(indent, head, s string) {
	in := layout.Cells(indent) + layout.Cells(head)
	if p.Width-in < 30 { // a long name: the text goes below it
		fmt.Fprintf(p, "%s%s\n", indent, strings.TrimRight(head, " "))
		head, in = "", layout.Cells(indent)
	}
	for i, l := range layout.Wrap(layout.Printable(s), p.Width-in) {
		if i > 0 {
			indent, head = strings.Repeat(" ", in), ""
		}
		fmt.Fprintf(p, "%s%s%s\n", indent, head, l)
	}
}

func (p *printer) footer(r *Result) {
	lines, settings := 0, 0
	var kinds []string
	for _, in := range r.Inputs {
		lines += in.Lines
		settings += in.Settings
		if in.Kind != "" && !slices.Contains(kinds, in.Kind) {
			kinds = append(kinds, in.Kind)
		}
	}
	count := func(n int, word, zh string) string {
		return layout.Thousands(n) + " " + p.pick(lang.Plural(n, word), zh)
	}
	foot := fmt.Sprintf(p.pick("read %s (%s), %s, %s", "已读取 %s（%s），%s，%s"), count(len(r.Inputs), "input", "个输入"), strings.Join(kinds, ", "),
		count(lines, "line", "行"), count(settings, "setting", "处设置"))
	fmt.Fprintln(p)
	for _, l := range layout.Wrap(foot, p.Width-2) {
		fmt.Fprintf(p, "  %s\n", p.paint("2", l))
	}
	for _, in := range r.Inputs {
		for _, pr := range in.Problems {
			p.hanging("  ", lang.Say(p.Lang, lang.CouldNotRead)+"  ", in.Name+": "+pr)
		}
	}
}
