// Package show writes incidents and the history of cards for people and programs: text
// for a terminal in two languages, JSON for scripts. Texts about faults come from the
// catalog, so that an incident reads in the language of whoever asks.
package show

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/layout"
)

// Options say how to write.
type Options struct {
	Lang    string
	Format  string // text or json
	Color   bool
	Width   int // 0 is 80
	Catalog *catalog.Catalog
	Zone    *time.Location // of times for people; nil is UTC
}

// Formats are the forms of all functions here.
var Formats = []string{"text", "json"}

type printer struct {
	*bufio.Writer
	Options
}

func newPrinter(w io.Writer, o Options) *printer {
	if o.Width == 0 {
		o.Width = 80
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	return &printer{Writer: bufio.NewWriter(w), Options: o}
}

func (p *printer) pick(en, zh string) string { return lang.Pick(p.Lang, en, zh) }

func (p *printer) paint(code, s string) string { return layout.Paint(p.Color, code, s) }

// hang writes a label and a text that may take several lines, all under its first.
func (p *printer) hang(label, text string) {
	indent := layout.Cells(label)
	for n, line := range layout.Wrap(layout.Printable(text), p.Width-indent) {
		if n > 0 {
			label = strings.Repeat(" ", indent)
		}
		fmt.Fprintln(p, strings.TrimRight(label+line, " "))
	}
}

// dots joins parts with " · " and breaks lines between parts, not within one.
func (p *printer) dots(label string, parts []string) {
	indent := layout.Cells(label)
	line, first := "", true
	flush := func() {
		if !first {
			label = strings.Repeat(" ", indent)
		}
		first = false
		p.hang(label, line)
	}
	for _, part := range parts {
		next := part
		if line != "" {
			next = line + " · " + part
		}
		if line != "" && layout.Cells(layout.Printable(next)) > p.Width-indent {
			flush()
			next = part
		}
		line = next
	}
	if line != "" {
		flush()
	}
}

// command stands on a line of its own, unbroken, so that it can be pasted.
func (p *printer) command(indent int, s string) {
	fmt.Fprintf(p, "%s%s\n", strings.Repeat(" ", indent), layout.Printable(s))
}

func (p *printer) time(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.In(p.Zone).Format("2006-01-02 15:04:05")
}

// what is the condition in one line, in the reader's language.
func (p *printer) what(i *incident.Incident) string {
	if i.Fault == incident.Unexplained {
		return p.pick("abnormal signal that no known fault explains: ", "已知故障无法解释的异常信号：") + i.Case
	}
	f := p.fault(i)
	switch {
	case i.Headline != "" && i.Lang == p.Lang:
		return i.Headline
	case f == nil:
		return cmp.Or(i.Headline, i.Title, i.Fault)
	}
	if s := fill(f.Headline.In(p.Lang), i); s != "" && !strings.Contains(s, "{") {
		return s
	}
	if g := i.Subject.GPU.String(); g != "" {
		return f.Title.In(p.Lang) + p.pick(" (GPU ", "（GPU ") + g + p.pick(")", "）")
	}
	return f.Title.In(p.Lang)
}

func (p *printer) fault(i *incident.Incident) *catalog.Fault {
	if p.Catalog == nil {
		return nil
	}
	return p.Catalog.Faults[i.Fault]
}

// fill replaces the variables of a catalog text with what is known of the subject.
func fill(s string, i *incident.Incident) string {
	pid := ""
	if n := i.Subject.Process.PID; n != 0 {
		pid = strconv.Itoa(n)
	}
	for _, v := range [][2]string{
		{"gpu", i.Subject.GPU.String()}, {"node", i.Subject.Node}, {"pid", pid}, {"process", i.Subject.Process.Name},
		{"port", i.Subject.Port}, {"nvswitch", i.Subject.NVSwitch}, {"link", i.Subject.Link}, {"count", strconv.Itoa(i.Count)},
	} {
		if v[1] != "" {
			s = strings.ReplaceAll(s, "{"+v[0]+"}", v[1])
		}
	}
	return s
}

var stateZH = map[incident.State]string{
	incident.Open: "未处理", incident.Acknowledged: "已确认", incident.Acting: "处理中", incident.Verifying: "复核中", incident.Closed: "已关闭",
}

func (p *printer) state(s incident.State) string { return p.pick(string(s), stateZH[s]) }

var severityZH = map[string]string{
	gpumedic.SeverityCritical: "严重", gpumedic.SeverityError: "错误", gpumedic.SeverityWarning: "警告", gpumedic.SeverityInfo: "提示",
}

func (p *printer) severity(s string) string { return p.pick(s, severityZH[s]) }

var kindZH = map[string]string{
	incident.KindOpened: "发现", incident.KindVisible: "持续存在", incident.KindAcknowledged: "确认", incident.KindActing: "开始处理",
	incident.KindActed: "处理完成", incident.KindActFailed: "处理失败", incident.KindVerified: "复核通过", incident.KindVerifyFailed: "复核未通过",
	incident.KindClosed: "关闭", incident.KindReopened: "重新打开", incident.KindRecurred: "复发", incident.KindEscalated: "升级处理",
	incident.KindAction: "处理建议变更", incident.KindRevised: "诊断修正", incident.KindWorse: "加重", incident.KindCleared: "现象消失",
	incident.KindReturned: "现象再现", incident.KindFlapping: "反复出现", incident.KindSilenced: "静默", incident.KindUnsilenced: "静默结束",
	incident.KindConfounder: "干扰因素", incident.KindClock: "时钟回拨", incident.KindInserted: "插入", incident.KindMoved: "换槽位",
	incident.KindRemoved: "移除", incident.KindDriver: "驱动变更", incident.KindFirmware: "固件变更", incident.KindTest: "测试",
}

// kind is a kind of event as people read it.
func (p *printer) kind(k string) string {
	return p.pick(strings.ReplaceAll(k, "_", " "), cmp.Or(kindZH[k], k))
}

func (p *printer) times(n int) string {
	if n == 1 {
		return p.pick("once", "1 次")
	}
	return layout.Thousands(n) + p.pick(" times", " 次")
}
