package notify

import "github.com/gpumedic/gpumedic/internal/lang"

// word is a label of a message.
type word int

const (
	wIncident word = iota
	wNode
	wGPU
	wProcess
	wPod
	wContainer
	wJob
	wUser
	wDo
	wCommand
	wDisruptive
	wDestructive
	wReason
	wSince
	wLasted
	wSeen
	wDetails
	wLate
	wGrouped
	wMore
)

var words = map[word][2]string{
	wIncident:    {"incident", "事件"},
	wNode:        {"node", "节点"},
	wGPU:         {"GPU", "GPU"},
	wProcess:     {"process", "进程"},
	wPod:         {"pod", "Pod"},
	wContainer:   {"container", "容器"},
	wJob:         {"job", "作业"},
	wUser:        {"user", "用户"},
	wDo:          {"do", "处理"},
	wCommand:     {"command", "命令"},
	wDisruptive:  {"disruptive", "会影响业务"},
	wDestructive: {"DESTRUCTIVE", "有破坏性"},
	wReason:      {"reason", "说明"},
	wSince:       {"since", "开始于"},
	wLasted:      {"lasted", "持续"},
	wSeen:        {"times seen", "出现次数"},
	wDetails:     {"details", "详情"},
	wLate:        {"LATE: this happened at %s and could not be delivered earlier", "延迟送达：发生于 %s，此前未能发出"},
	wGrouped:     {"%d incidents", "%d 起事件"},
	wMore:        {"… and %d more", "……另有 %d 起"},
}

// colon stands between a label and its value.
func colon(l string) string { return lang.Pick(l, ": ", "：") }

func say(l string, w word) string { return lang.Pick(l, words[w][0], words[w][1]) }

var kindWords = map[Kind][2]string{
	Opened:       {"new", "新故障"},
	Escalated:    {"worse", "故障升级"},
	Reopened:     {"back again", "故障复发"},
	Acknowledged: {"acknowledged", "已确认"},
	Closed:       {"closed", "已关闭"},
}

// alertWords are those of alerts, which have no life beyond these.
var alertWords = map[Kind][2]string{Opened: {"firing", "告警触发"}, Closed: {"resolved", "告警恢复"}}

func (n *Notice) sayKind(l string) string {
	w := kindWords[n.Kind]
	if a, ok := alertWords[n.Kind]; ok && n.Alert != nil {
		w = a
	}
	return lang.Pick(l, w[0], w[1])
}

var severityWords = map[string][2]string{
	"critical": {"CRITICAL", "严重"},
	"error":    {"ERROR", "错误"},
	"warning":  {"WARNING", "警告"},
	"info":     {"INFO", "提示"},
}

func saySeverity(l, s string) string {
	return lang.Pick(l, severityWords[s][0], severityWords[s][1])
}
