package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/layout"
)

// List is the answer of a list.
type List struct {
	Schema    string               `json:"schema"`
	Status    int                  `json:"status"` // the exit status
	Incidents []*incident.Incident `json:"incidents"`
	Open      map[string]int       `json:"open"`   // how many are open, by severity
	Hidden    int                  `json:"hidden"` // seen, but not long enough to be told
	More      int                  `json:"more"`   // left out by a limit
}

// NewList puts incidents in order, the worst first. It leaves out those that are not
// visible, unless hidden ones are wanted, and what is beyond a limit, unless that is 0;
// both are counted, and the status is that of all.
func NewList(all []*incident.Incident, hidden bool, limit int) *List {
	l := &List{Schema: "gpumedic.incidents/v1", Status: incident.ExitStatus(all), Incidents: []*incident.Incident{}, Open: map[string]int{}}
	for _, i := range WorstFirst(all) {
		if i.Visible && i.Live() {
			l.Open[i.Severity]++
		}
		if !i.Visible && i.Live() {
			l.Hidden++
		}
		if i.Visible || hidden {
			l.Incidents = append(l.Incidents, i)
		}
	}
	if limit > 0 && len(l.Incidents) > limit {
		l.More = len(l.Incidents) - limit
		l.Incidents = l.Incidents[:limit]
	}
	return l
}

// WriteList writes a list of incidents, the worst first in text.
func WriteList(w io.Writer, l *List, quiet bool, o Options) error {
	if o.Format == "json" {
		return gpumedic.WriteJSON(w, l)
	}
	p := newPrinter(w, o)
	p.listHead(l)
	if !quiet {
		for _, i := range l.Incidents {
			p.listed(i)
		}
	}
	if l.More > 0 && !quiet {
		p.hang("\n  ", fmt.Sprintf(p.pick("%d more (--limit)", "另有 %d 个未列出（--limit）"), l.More))
	}
	if l.Hidden > 0 && !quiet {
		p.hang("\n  ", fmt.Sprintf(p.pick("%d more seen, too briefly to be told yet (--all)", "另有 %d 个现象持续时间还太短，未列出（--all）"), l.Hidden))
	}
	return p.Flush()
}

func (p *printer) listHead(l *List) {
	n, open := l.Open, 0
	for _, c := range n {
		open += c
	}
	word, colour := lang.NoFault, "32;1"
	switch l.Status {
	case gpumedic.ExitFault:
		word, colour = lang.Fault, "31;1"
	case gpumedic.ExitWarning:
		word, colour = lang.Warning, "33;1"
	}
	head := p.pick("no open incident", "没有未关闭的事件")
	if open > 0 {
		var parts []string
		for _, s := range []string{gpumedic.SeverityCritical, gpumedic.SeverityError, gpumedic.SeverityWarning, gpumedic.SeverityInfo} {
			if n[s] > 0 {
				word := p.Severity(s)
				if p.Lang != "zh" && s != gpumedic.SeverityCritical {
					word = lang.Plural(n[s], word)
				}
				parts = append(parts, fmt.Sprintf(p.pick("%d %s", "%d 个%s"), n[s], word))
			}
		}
		head = fmt.Sprintf(p.pick("%d open %s: %s", "%d 个未关闭的%s：%s"), open, p.pick(lang.Plural(open, "incident"), "事件"), strings.Join(parts, p.pick(", ", "，")))
	}
	p.verdict(lang.Say(p.Lang, word), colour, head)
}

// verdict is the first line: the colour takes no columns.
func (p *printer) verdict(word, colour, text string) {
	indent := strings.Repeat(" ", layout.Cells(word)+2)
	for n, l := range layout.Wrap(layout.Printable(text), p.Width-len(indent)) {
		if n == 0 {
			l = p.paint(colour, word) + "  " + l
		} else {
			l = indent + l
		}
		fmt.Fprintln(p, l)
	}
}

// WorstFirst orders a list by severity, closed ones last.
func WorstFirst(list []*incident.Incident) []*incident.Incident {
	var out []*incident.Incident
	for _, s := range []string{gpumedic.SeverityCritical, gpumedic.SeverityError, gpumedic.SeverityWarning, gpumedic.SeverityInfo, ""} {
		for _, i := range list {
			rank := i.Severity
			if !i.Live() {
				rank = ""
			}
			if rank == s {
				out = append(out, i)
			}
		}
	}
	return out
}

// listed is one incident: what it is, where it stands, what to do.
func (p *printer) listed(i *incident.Incident) {
	number := fmt.Sprintf("%4d  ", i.ID)
	indent := strings.Repeat(" ", len(number))
	fmt.Fprintln(p)
	p.hang(number, p.What(i))
	p.dots(indent, p.Marks(i))
	if i.Live() {
		p.hang(indent+p.pick("do: ", "处理："), lang.Action(p.Lang, i.Action))
	}
}

// WriteSilences lists silences.
func WriteSilences(w io.Writer, list []incident.Silence, o Options) error {
	if o.Format == "json" {
		return gpumedic.WriteJSON(w, map[string]any{"schema": "gpumedic.silences/v1", "silences": list})
	}
	p := newPrinter(w, o)
	if len(list) == 0 {
		fmt.Fprintln(p, p.pick("no silence in force", "没有生效的静默"))
	}
	for _, x := range list {
		var match []string
		for _, m := range [][2]string{{"fault", x.Fault}, {"gpu", x.GPU}, {"node", x.Node}} {
			if m[1] != "" {
				match = append(match, m[0]+"="+m[1])
			}
		}
		p.hang(fmt.Sprintf("%4d  ", x.ID), strings.Join(match, " ")+p.pick(" until ", " 至 ")+p.time(x.Until))
		p.hang("      ", x.Who+p.pick(": ", "：")+x.Why)
	}
	return p.Flush()
}

// WriteStates says how incidents stand after a command.
func WriteStates(w io.Writer, list []*incident.Incident, o Options) error {
	if o.Format == "json" {
		return gpumedic.WriteJSON(w, map[string]any{"schema": "gpumedic.incidents/v1", "incidents": list})
	}
	p := newPrinter(w, o)
	for _, i := range list {
		p.hang(fmt.Sprintf("%4d  ", i.ID), p.State(i.State)+p.pick(": ", "：")+p.What(i))
	}
	return p.Flush()
}
