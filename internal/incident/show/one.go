package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/layout"
)

// One is an incident with its audit.
type One struct {
	Schema        string                  `json:"schema"`
	Incident      *incident.Incident      `json:"incident"`
	Events        []incident.Event        `json:"events"`
	Verifications []incident.Verification `json:"verifications"`
}

// maxEvents is how many events the text form shows; JSON has all.
const maxEvents = 30

// WriteOne writes one incident in full.
func WriteOne(w io.Writer, one *One, o Options) error {
	one.Schema = "gpumedic.incident/v1"
	if o.Format == "json" {
		return gpumedic.WriteJSON(w, one)
	}
	p := newPrinter(w, o)
	i := one.Incident
	p.head(i)
	p.facts(i)
	p.evidence(i)
	p.todo(i)
	p.verifications(one.Verifications)
	p.timeLine(one.Events)
	return p.Flush()
}

func (p *printer) head(i *incident.Incident) {
	word, colour := lang.Fault, "31;1"
	if i.Severity == gpumedic.SeverityWarning || i.Severity == gpumedic.SeverityInfo {
		word, colour = lang.Warning, "33;1"
	}
	label := lang.Say(p.Lang, word)
	p.verdict(label, colour, p.What(i))
	indent := strings.Repeat(" ", layout.Cells(label)+2)
	p.dots(indent, append([]string{p.pick("incident ", "事件 ") + strconv.FormatInt(i.ID, 10)}, p.Marks(i)...))
	fmt.Fprintln(p)
}

func (p *printer) facts(i *incident.Incident) {
	line := func(en, zh string, parts ...string) {
		p.dots("  "+layout.Pad(p.pick(en, zh), 12), slices.DeleteFunc(parts, func(s string) bool { return s == "" }))
	}
	line("fault", "故障", strings.Trim(i.Fault+" "+i.Case, " "), lang.Term(p.Lang, i.Layer), lang.Term(p.Lang, i.Class))
	line("gpu", "GPU", p.names(i.Subject.GPU)...)
	seen := p.Times(i.Count)
	if i.Occurrences > 1 {
		seen += fmt.Sprintf(p.pick(" in %d bursts", "，分 %d 次发作"), i.Occurrences)
	}
	if !i.Last.IsZero() {
		seen += p.pick(", last ", "，最近 ") + p.time(i.Last)
	}
	line("seen", "出现", seen)
	for n, v := range i.Victims {
		if n == 4 {
			line("", "", fmt.Sprintf(p.pick("and %d more", "另有 %d 个"), len(i.Victims)-n))
			break
		}
		en, zh := "hit", "受影响"
		if n > 0 {
			en, zh = "", ""
		}
		line(en, zh, p.Victim(v)...)
	}
	for _, c := range i.Confounders {
		line("but", "干扰", p.time(c.At)+" "+p.pick(c.What, cmp.Or(c.WhatZH, c.What)))
	}
	if i.Previous != 0 {
		line("before", "此前", fmt.Sprintf(p.pick("incident %d", "事件 %d"), i.Previous))
	}
}

func (p *printer) names(g gpumedic.GPU) []string {
	out := []string{}
	for _, s := range []string{g.PCI, g.UUID} {
		if s != "" {
			out = append(out, s)
		}
	}
	if g.Serial != "" {
		out = append(out, p.pick("serial ", "序列号 ")+g.Serial)
	}
	if len(out) == 0 {
		out = append(out, g.String())
	}
	return out
}

func (p *printer) evidence(i *incident.Incident) {
	if len(i.Evidence) == 0 {
		return
	}
	fmt.Fprintf(p, "\n  %s\n", lang.Say(p.Lang, lang.Evidence))
	for n, e := range i.Evidence {
		place := e.Input + ":" + strconv.Itoa(e.Line) + "  " + e.Signal
		if e.Count > 1 {
			place += "  " + p.Times(e.Count)
		}
		p.hang("    ", place)
		if e.Text != "" {
			p.hang("      ", e.Text)
		}
		if n+1 == i.Kept && len(i.Evidence) > i.Kept && i.Count > len(i.Evidence) {
			fmt.Fprintln(p, "    …")
		}
	}
}

// todo are the steps and checks of the catalog, for the action as it is now.
func (p *printer) todo(i *incident.Incident) {
	fmt.Fprintln(p)
	do := p.Do(i)
	p.hang("  "+layout.Pad(lang.Say(p.Lang, lang.Do), 12), do)
	for n, r := range p.Steps(i) {
		step := r.Step
		if r.Risk != "safe" {
			step += " [" + p.risk(r.Risk) + "]"
		}
		p.hang(fmt.Sprintf("    %d  ", n+1), step)
		if r.Command != "" {
			p.command(7, r.Command)
		}
	}
	checks := p.Checks(i)
	if len(checks) > 0 {
		fmt.Fprintf(p, "  %s\n", lang.Say(p.Lang, lang.FixedWhen))
	}
	for _, c := range checks {
		p.hang("    -  ", c.Check)
		if c.Command != "" {
			p.command(7, c.Command)
		}
	}
}

func (p *printer) risk(r string) string {
	if r == "destructive" {
		return lang.Say(p.Lang, lang.Destructive)
	}
	return lang.Say(p.Lang, lang.Risky)
}

var resultZH = map[string]string{incident.Passed: "通过", incident.Failed: "未通过", incident.Unknown: "无法判断"}

func (p *printer) verifications(list []incident.Verification) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(p, "\n  %s\n", p.pick("verification", "复核"))
	for _, v := range list {
		result := incident.Failed
		if v.Passed {
			result = incident.Passed
		}
		p.hang("    ", fmt.Sprintf("%s  %s  %s", p.time(v.At), p.pick(result, resultZH[result]), v.Who))
		for _, c := range v.Checks {
			p.hang("      ", p.pick(c.Result, resultZH[c.Result])+p.pick(": ", "：")+c.Check+p.readings(c))
		}
		for _, c := range v.Confounders {
			p.hang("      ", p.pick("but: ", "干扰：")+p.pick(c.What, cmp.Or(c.WhatZH, c.What)))
		}
	}
}

// readings are those before and after the repair, where they differ.
func (p *printer) readings(c incident.CheckResult) string {
	var out []string
	for _, k := range sortedKeys(c.After) {
		if b, ok := c.Before[k]; ok && b != c.After[k] {
			out = append(out, k+" "+b+" → "+c.After[k])
		} else if !ok {
			out = append(out, k+" "+c.After[k])
		}
	}
	if c.Detail != "" {
		out = append(out, c.Detail)
	}
	if len(out) == 0 {
		return ""
	}
	return p.pick(" (", "（") + strings.Join(out, p.pick(", ", "，")) + p.pick(")", "）")
}

func (p *printer) timeLine(events []incident.Event) {
	fmt.Fprintf(p, "\n  %s\n", p.pick("time line", "时间线"))
	if over := len(events) - maxEvents; over > 0 {
		fmt.Fprintf(p, "    "+p.pick("%d earlier ones: --format json\n", "更早的 %d 条见 --format json\n"), over)
		events = events[over:]
	}
	for _, e := range events {
		text := e.Who
		if why := p.Why(e); why != "" {
			text += p.pick(": ", "：") + why
		}
		p.hang("    "+p.time(e.At)+"  "+layout.Pad(p.Kind(e.Kind), 14), text)
	}
}
