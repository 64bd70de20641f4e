package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/layout"
)

func nodeText(w io.Writer, n *Node, o Options) error {
	if o.Width == 0 {
		o.Width = 80
	}
	p := newPrinter(w, n.Report, o)
	p.nodeHead(n)
	if o.Quiet {
		return p.Flush()
	}
	p.gpuTable(n.GPUs)
	p.problems(n)
	p.unread(n.Unread)
	p.unexplained(n.Unexplained)
	p.nodeFooter(n)
	return p.Flush()
}

// nodeHead is the verdict in one line.
func (p *printer) nodeHead(n *Node) {
	word, colour := lang.NoFault, "32;1"
	switch n.Status {
	case gpumedic.ExitWarning:
		word, colour = lang.Warning, "33;1"
	case gpumedic.ExitFault:
		word, colour = lang.Fault, "31;1"
	case gpumedic.ExitUnknown:
		word, colour = lang.UnknownVerdict, "33;1"
	}
	p.hanging(p.paint(colour, p.say(word))+"  ", "", summary(n, p.Options))
}

// summary says in one line what was checked and what is wrong.
func summary(n *Node, o Options) string {
	where := ""
	if node := nodeName(n); node != "" {
		where = lang.Pick(o.Lang, "node ", "节点 ") + node + lang.Pick(o.Lang, ": ", "：")
	}
	gpus := strconv.Itoa(len(n.GPUs)) + lang.Pick(o.Lang, lang.Plural(len(n.GPUs), " GPU"), " 块 GPU")
	if len(n.GPUs) == 0 {
		gpus = lang.Pick(o.Lang, "no GPU seen", "未见 GPU")
	}
	shown := listed(n)
	switch {
	case len(shown) == 1:
		return where + shown[0].Headline
	case len(shown) > 1:
		return where + fmt.Sprintf(lang.Pick(o.Lang, "%s, %d problems; first: %s", "%s，%d 个问题；首要：%s"), gpus, len(shown), shown[0].Headline)
	case n.Status == gpumedic.ExitUnknown && len(n.Unread) > 0:
		return where + fmt.Sprintf(lang.Pick(o.Lang, "%s, %d %s could not be read", "%s，%d 项读数%s无法读取"), gpus, len(n.Unread), lang.Pick(o.Lang, lang.Plural(len(n.Unread), "reading"), ""))
	case n.Status == gpumedic.ExitUnknown && len(n.Unexplained) > 0:
		return where + gpus + lang.Pick(o.Lang, ", abnormal signals that no known fault explains", "，存在已知故障无法解释的异常信号")
	case n.Status == gpumedic.ExitUnknown && n.Outputs == 0:
		return where + lang.Pick(o.Lang, "nothing was read that tells whether a GPU is healthy", "没有读到能说明 GPU 是否健康的内容")
	case n.Status == gpumedic.ExitUnknown && len(n.GPUs) == 0 && !incomplete(n.Inputs):
		return where + gpus + lang.Pick(o.Lang, " (a node that has none: --expect-gpus 0)", "（本节点没有 GPU 时请用 --expect-gpus 0）")
	case n.Status == gpumedic.ExitUnknown:
		return where + gpus + lang.Pick(o.Lang, ", not all could be read", "，未能全部读取")
	}
	return where + gpus + lang.Pick(o.Lang, ", nothing wrong found", "，未发现问题")
}

func incomplete(inputs []gpumedic.InputInfo) bool {
	for _, in := range inputs {
		if in.Incomplete {
			return true
		}
	}
	return false
}

// nodeName is the node when all rows are of one.
func nodeName(n *Node) string {
	name := ""
	for i := range n.GPUs {
		if name != "" && n.GPUs[i].Node != name {
			return ""
		}
		name = n.GPUs[i].Node
	}
	return name
}

// listed are the findings that count.
func listed(n *Node) []gpumedic.Finding {
	var out []gpumedic.Finding
	for _, f := range n.Findings {
		if f.Role != gpumedic.RoleIncidental {
			out = append(out, f)
		}
	}
	return out
}

// problems lists findings, one line each with its decisive evidence and first step; with
// --all as diagnose shows them.
func (p *printer) problems(n *Node) {
	if p.All {
		for i := range n.Findings {
			fmt.Fprintln(p)
			p.finding(&n.Findings[i], i == 0)
		}
		return
	}
	if len(listed(n)) == 0 {
		return
	}
	fmt.Fprintln(p)
	for i := range n.Findings {
		f := &n.Findings[i]
		if f.Role == gpumedic.RoleIncidental {
			continue
		}
		word, colour := lang.Pick(p.Lang, "fault", "故障"), "31;1"
		if n.Mild[i] {
			word, colour = lang.Pick(p.Lang, "warning", "警告"), "33;1"
		}
		p.hanging("  ", p.paint(colour, layout.Pad(word, 8))+" ", f.Headline)
		what := f.Fault
		if pr := processText(f.Subject.Process); pr != "" {
			what += " · " + pr
		}
		p.lines("           ", what)
		if len(f.Evidence) > 0 {
			e := f.Evidence[0]
			p.lines("           ", p.place(e.Input, e.Section, e.Line)+"  "+layout.Shorten(message(e.Text), 2*p.Width-40))
		}
		if len(f.Remedies) > 0 {
			p.lines("           ", p.say(lang.Do)+p.colon()+f.Remedies[0].Step)
			if c := f.Remedies[0].Command; c != "" {
				p.command("             ", c)
			}
		}
	}
}

const maxUnread = 12

func (p *printer) unread(list []Unread) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(p)
	fmt.Fprintln(p, "  "+lang.Pick(p.Lang, "could not be read", "未能读取"))
	shown, left := limit(list, maxUnread, p.All)
	for _, u := range shown {
		who := u.Subject.GPU.String()
		if who == "" {
			who = lang.Pick(p.Lang, "node", "节点")
		}
		p.hanging("    ", who+"  ", u.Reading+"  "+u.Why)
	}
	p.left(left)
}

func (p *printer) nodeFooter(n *Node) {
	fmt.Fprintln(p)
	foot := fmt.Sprintf(lang.Pick(p.Lang, "%s %s from %s", "%s %s，来自 %s"), layout.Thousands(n.Readings), lang.Pick(p.Lang, lang.Plural(n.Readings, "reading"), "项读数"), sources(n.Inputs, p.Lang))
	if n.Took > 0 {
		foot += fmt.Sprintf(lang.Pick(p.Lang, ", %.2f s", "，%.2f 秒"), n.Took)
	}
	p.hanging("  ", "", foot)
	for _, in := range n.Inputs {
		for _, pr := range in.Problems {
			p.hanging("  ", p.say(lang.CouldNotRead)+"  ", in.Name+": "+pr)
		}
	}
	for _, note := range n.Notes {
		p.hanging("  ", p.say(lang.Note)+"  ", note)
	}
}

func sources(inputs []gpumedic.InputInfo, l string) string {
	var names []string
	for i, in := range inputs {
		if i == 4 && len(inputs) > 5 {
			names = append(names, fmt.Sprintf(lang.Pick(l, "%d more", "另外 %d 个"), len(inputs)-i))
			break
		}
		names = append(names, in.Name)
	}
	return strings.Join(names, lang.Pick(l, ", ", "、"))
}
