package show

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/lang"
	"github.com/gpumedic/gpumedic/internal/layout"
)

// The methods of Options here are the texts of an incident, for every form of output.

func (o Options) time(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.In(o.Zone).Format("2006-01-02 15:04:05")
}

// What is the condition in one line, in the reader's language.
func (o Options) What(i *incident.Incident) string {
	if i.Fault == incident.Unexplained {
		return o.pick("abnormal signal that no known fault explains: ", "已知故障无法解释的异常信号：") + i.Case
	}
	f := o.fault(i)
	switch {
	case i.Headline != "" && i.Lang == o.Lang:
		return i.Headline
	case f == nil:
		return cmp.Or(i.Headline, i.Title, i.Fault)
	}
	if s := fill(f.Headline.In(o.Lang), i); s != "" && !strings.Contains(s, "{") {
		return s
	}
	if g := i.Subject.GPU.String(); g != "" {
		return f.Title.In(o.Lang) + o.pick(" (GPU ", "（GPU ") + g + o.pick(")", "）")
	}
	return f.Title.In(o.Lang)
}

func (o Options) fault(i *incident.Incident) *catalog.Fault {
	if o.Catalog == nil {
		return nil
	}
	return o.Catalog.Faults[i.Fault]
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

// Marks say where an incident stands.
func (o Options) Marks(i *incident.Incident) []string {
	out := []string{o.Severity(i.Severity), o.State(i.State)}
	if i.Subject.Node != "" {
		out = append(out, layout.Printable(i.Subject.Node))
	}
	if i.Live() {
		out = append(out, o.pick("since ", "始于 ")+o.time(i.Opened))
	} else {
		out = append(out, o.pick("closed ", "关闭于 ")+o.time(i.Closed))
	}
	out = append(out, o.Times(i.Count))
	for _, m := range []struct {
		is     bool
		en, zh string
	}{
		{i.Reopens > 0, "came back", "复发"},
		{i.Level > 0, "escalated", "已升级"},
		{i.Flapping, "comes and goes", "时有时无"},
		{i.Transient && !i.Present && i.Live(), "gone now", "现象已消失"},
		{!i.Visible, "not told yet", "尚未通知"},
		{i.SilencedBy != 0, "silenced", "已静默"},
		{i.Forced, "closed without verification", "未经复核关闭"},
	} {
		if m.is {
			out = append(out, o.pick(m.en, m.zh))
		}
	}
	if i.MergedInto != 0 {
		out = append(out, fmt.Sprintf(o.pick("part of %d", "并入 %d"), i.MergedInto))
	}
	return out
}

// Victim names who was hit.
func (o Options) Victim(v incident.Attribution) []string {
	var out []string
	add := func(label, s string) {
		if s != "" {
			out = append(out, label+s)
		}
	}
	if v.PID != 0 {
		add("pid ", strconv.Itoa(v.PID))
	}
	add("", v.Process)
	if v.Rank != nil {
		add("rank ", strconv.Itoa(*v.Rank))
	}
	add(o.pick("Slurm job ", "Slurm 作业 "), v.Job)
	add("pod ", v.Pod)
	add(o.pick("container ", "容器 "), v.Container)
	add(o.pick("unit ", "服务 "), v.Unit)
	add(o.pick("user ", "用户 "), v.User)
	return out
}

func forAction(list, action string) bool {
	for a := range strings.SplitSeq(list, "|") {
		if strings.TrimSpace(a) == action {
			return true
		}
	}
	return false
}

var stateZH = map[incident.State]string{
	incident.Open: "未处理", incident.Acknowledged: "已确认", incident.Acting: "处理中", incident.Verifying: "复核中", incident.Closed: "已关闭",
}

// State is a state as people read it.
func (o Options) State(s incident.State) string { return o.pick(string(s), stateZH[s]) }

var severityZH = map[string]string{
	gpumedic.SeverityCritical: "严重", gpumedic.SeverityError: "错误", gpumedic.SeverityWarning: "警告", gpumedic.SeverityInfo: "提示",
}

// Severity is a severity as people read it.
func (o Options) Severity(s string) string { return o.pick(s, severityZH[s]) }

var kindZH = map[string]string{
	incident.KindOpened: "发现", incident.KindVisible: "持续存在", incident.KindAcknowledged: "确认", incident.KindActing: "开始处理",
	incident.KindActed: "处理完成", incident.KindActFailed: "处理失败", incident.KindVerified: "复核通过", incident.KindVerifyFailed: "复核未通过",
	incident.KindClosed: "关闭", incident.KindReopened: "重新打开", incident.KindRecurred: "复发", incident.KindEscalated: "升级处理",
	incident.KindAction: "处理建议变更", incident.KindRevised: "诊断修正", incident.KindWorse: "加重", incident.KindCleared: "现象消失",
	incident.KindReturned: "现象再现", incident.KindFlapping: "反复出现", incident.KindSilenced: "静默", incident.KindUnsilenced: "静默结束",
	incident.KindConfounder: "干扰因素", incident.KindClock: "时钟回拨", incident.KindInserted: "插入", incident.KindMoved: "换槽位",
	incident.KindRemoved: "移除", incident.KindDriver: "驱动变更", incident.KindFirmware: "固件变更", incident.KindTest: "测试", incident.KindAlert: "告警触发", incident.KindAlertOver: "告警恢复",
}

// Kind is a kind of event as people read it.
func (o Options) Kind(k string) string {
	return o.pick(strings.ReplaceAll(k, "_", " "), cmp.Or(kindZH[k], k))
}

// Times is how often something came.
func (o Options) Times(n int) string {
	if n == 1 {
		return o.pick("once", "1 次")
	}
	return thousands(n) + o.pick(" times", " 次")
}

// thousands writes 800000 as 800,000.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for k := len(s) - 3; k > 0; k -= 3 {
		s = s[:k] + "," + s[k:]
	}
	return s
}

// Do is the action as an instruction, with its reason where there is one in the
// language.
func (o Options) Do(i *incident.Incident) string {
	do, why := lang.Action(o.Lang, i.Action), ""
	switch {
	case i.Level > 0 && i.Occurrences < 2:
		why = o.pick("one step up: the repair did not hold", "已升级：处理后复核未通过")
	case i.Level > 0:
		why = fmt.Sprintf(o.pick("one step up: it happened %d times", "已升级：发生过 %d 次"), i.Occurrences)
	case i.Lang == o.Lang:
		why = i.ActionWhy
	}
	if why != "" {
		do += o.pick(" (", "（") + why + o.pick(")", "）")
	}
	return do
}

// Steps are those of the catalog for the action as it is now.
func (o Options) Steps(i *incident.Incident) []gpumedic.Remedy {
	f := o.fault(i)
	if f == nil {
		return nil
	}
	var out []gpumedic.Remedy
	for _, r := range f.Remedies {
		step := fill(r.Step.In(o.Lang), i)
		if strings.Contains(step, "{") {
			continue // it is about something that this incident does not tell
		}
		if r.For == "" || forAction(r.For, i.Action) {
			out = append(out, gpumedic.Remedy{Step: step, Command: fill(r.Command, i), Risk: r.Risk})
		}
	}
	return out
}

// Checks are those of the catalog that must pass before the incident may close.
func (o Options) Checks(i *incident.Incident) []gpumedic.Check {
	f := o.fault(i)
	if f == nil {
		return nil
	}
	var out []gpumedic.Check
	for _, c := range f.Verify {
		out = append(out, gpumedic.Check{Check: fill(c.Check.In(o.Lang), i), Command: fill(c.Command, i)})
	}
	return out
}

// Why is the reason of an event in the reader's language.
func (o Options) Why(e incident.Event) string {
	return o.reason(e.Kind, o.pick(e.Why, cmp.Or(e.WhyZH, e.Why)), e.Detail)
}

func (o Options) reason(kind, why string, detail map[string]any) string {
	from, _ := detail["from"].(string)
	to, _ := detail["to"].(string)
	switch kind {
	case incident.KindAction, incident.KindEscalated:
		return lang.Action(o.Lang, from) + " → " + lang.Action(o.Lang, to)
	case incident.KindWorse:
		return o.Severity(from) + " → " + o.Severity(to)
	}
	return why
}
