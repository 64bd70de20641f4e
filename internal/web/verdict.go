package web

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/show"
	"github.com/gpumedic/gpumedic/internal/incident/store"
	"github.com/gpumedic/gpumedic/internal/lang"
)

// Verdict is the node in one line.
type Verdict struct {
	State    string `json:"state"` // ok, warning, fault, unknown
	Says     string `json:"says"`  // in the language that was asked for
	Do       string `json:"do,omitempty"`
	Incident int64  `json:"incident,omitempty"` // what it is about
	Open     int    `json:"open"`               // incidents that are not closed
	// Blind are the reasons for which not everything can be seen. A node that cannot be
	// seen is never ok.
	Blind []string `json:"blind"`
}

// verdict says how the node is: the worst open incident, else what cannot be seen, else
// what the engine saw too briefly to tell, else that nothing is wrong.
func (s *Server) verdict(ctx context.Context, l string, n Node) Verdict {
	list, err := s.Backend.List(ctx, store.Filter{})
	return s.judge(l, n, list, err)
}

func (s *Server) judge(l string, n Node, list []*incident.Incident, storeErr error) Verdict {
	o := s.texts(l)
	v := Verdict{State: "ok", Open: len(list), Blind: s.blind(l, n, storeErr)}
	if worst := show.WorstFirst(list); len(worst) > 0 {
		i := worst[0]
		v.State, v.Says, v.Do, v.Incident = "warning", o.What(i), o.Do(i), i.ID
		switch i.Severity {
		case gpumedic.SeverityCritical, gpumedic.SeverityError:
			v.State = "fault"
			return v
		}
	}
	switch {
	case len(v.Blind) > 0:
		v.State, v.Do = "unknown", ""
		v.Says, v.Incident = v.Blind[0], 0
	case v.State == "warning":
	case n.Report != nil && n.Report.Status != gpumedic.ExitHealthy:
		v.State = "warning"
		v.Says = lang.Pick(l, "something was seen, not long enough to be an incident yet", "刚观察到异常，持续时间还不足以立为事件")
		if len(n.Report.Findings) > 0 {
			v.Says += lang.Pick(l, ": ", "：") + firstOf(n.Report.Findings[0].Headline, n.Report.Findings[0].Title)
		}
	default:
		gpus := 0
		if n.Report != nil {
			gpus = len(n.Report.GPUs)
		}
		v.Says = fmt.Sprintf(lang.Pick(l, "%s, no incident is open", "%s，没有未关闭的事件"), counted(l, gpus))
	}
	return v
}

func counted(l string, gpus int) string {
	switch {
	case gpus == 0:
		return lang.Pick(l, "no GPU on this node", "本节点没有 GPU")
	case gpus == 1:
		return "1 GPU"
	}
	return fmt.Sprintf(lang.Pick(l, "%d GPUs", "%d 块 GPU"), gpus)
}

// late is how old readings may be before nobody should trust them.
func late(n Node) time.Duration {
	return max(15*time.Second, time.Duration(10*n.Every*float64(time.Second)))
}

func (s *Server) blind(l string, n Node, storeErr error) []string {
	out := []string{}
	if storeErr != nil {
		out = append(out, lang.Pick(l, "the incidents cannot be read: ", "无法读取事件库：")+storeErr.Error())
	}
	age := s.now().Sub(n.Read)
	switch {
	case n.Problem != "":
		out = append(out, lang.Pick(l, n.Problem, firstOf(n.ProblemZH, n.Problem)))
	case n.Report == nil || n.Read.IsZero():
		out = append(out, lang.Pick(l, "the GPUs have not been read yet", "尚未读到 GPU 的状态"))
	case age > late(n):
		out = append(out, fmt.Sprintf(lang.Pick(l, "the readings are old: nothing was read for %s", "读数已过期：已有 %s 未更新"), span(l, age)))
	}
	if r := n.Report; r != nil && (r.Status == gpumedic.ExitUnknown || len(r.Unread) > 0) {
		text := fmt.Sprintf(lang.Pick(l, "values that could not be read: %d", "无法读取的读数：%d 项"), len(r.Unread))
		if len(r.Unread) > 0 {
			text += lang.Pick(l, ", the first is ", "，首项为 ") + r.Unread[0].Reading
		}
		out = append(out, text)
	}
	for _, x := range s.Backend.Sources() {
		if x.State == SourceDown || x.State == SourceStale {
			text := fmt.Sprintf(lang.Pick(l, "source %s is %s", "数据源 %s %s"), x.Name, sourceState(l, x.State))
			if x.Error != "" {
				text += lang.Pick(l, ": ", "：") + x.Error
			}
			out = append(out, text)
		}
	}
	return out
}

func sourceState(l, state string) string {
	if l != "zh" {
		return state
	}
	return map[string]string{SourceOK: "正常", SourceStarting: "启动中", SourceStale: "迟滞", SourceDown: "不可用", SourceOff: "未启用"}[state]
}

// span is a length of time as people say it.
func span(l string, d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf(lang.Pick(l, "%d s", "%d 秒"), int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf(lang.Pick(l, "%d min", "%d 分钟"), int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf(lang.Pick(l, "%d h", "%d 小时"), int(d.Hours()))
	}
	return fmt.Sprintf(lang.Pick(l, "%d days", "%d 天"), int(d.Hours()/24))
}

func firstOf(list ...string) string {
	for _, s := range list {
		if strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}
