// Package lang holds the words of the program's own output in English and Chinese.
// Texts about faults live in the catalog; here are only headings and labels.
package lang

// Known reports whether a language is supported.
func Known(l string) bool { return l == "en" || l == "zh" }

// Pick is the one of two texts that is in a language, English when it is unknown.
func Pick(l, en, zh string) string {
	if l == "zh" {
		return zh
	}
	return en
}

// Plural is an English word for so many.
func Plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// Word is a label of the output.
type Word int

const (
	Fault Word = iota
	Warning
	NoFault
	UnknownVerdict
	Confidence
	Node
	Evidence
	Follows
	Causes
	Do
	FixedWhen
	Sources
	Not
	AlsoFound
	Incidental
	Unexplained
	UnexplainedHint
	CouldNotRead
	Note
	NothingRead
	Alternatives
	Myths
	Risky
	Destructive
	Also
	More
)

var words = map[Word][2]string{
	Fault:           {"FAULT", "故障"},
	Warning:         {"WARNING", "警告"},
	NoFault:         {"OK", "正常"},
	UnknownVerdict:  {"UNKNOWN", "无法判断"},
	Confidence:      {"confidence", "置信度"},
	Node:            {"node", "节点"},
	Evidence:        {"evidence", "证据"},
	Follows:         {"follows from it", "连带现象"},
	Causes:          {"likely causes, and what would tell them apart", "可能原因，以及如何区分"},
	Do:              {"do", "处理步骤"},
	FixedWhen:       {"fixed when", "复核标准"},
	Sources:         {"sources", "依据"},
	Not:             {"not", "不是"},
	AlsoFound:       {"also found", "另外发现"},
	Incidental:      {"noticed, harmless alone", "附带观察（单独不构成故障）"},
	Unexplained:     {"unexplained", "未能解释的信号"},
	UnexplainedHint: {"abnormal, but no known fault explains it: keep the line and report it", "异常，但没有已知故障能解释：请保留原文并上报"},
	CouldNotRead:    {"problem", "问题"},
	Note:            {"note", "说明"},
	NothingRead:     {"nothing could be read", "没有可读取的内容"},
	Alternatives:    {"weighed and rejected", "已排除"},
	Myths:           {"often said, but wrong", "常见误解"},
	Risky:           {"disruptive", "有影响"},
	Destructive:     {"DESTRUCTIVE", "有破坏性"},
	Also:            {"together with", "同时涉及"},
	More:            {"more", "条未列出"},
}

// Say returns a label in a language, English when the language is unknown.
func Say(l string, w Word) string {
	return Pick(l, words[w][0], words[w][1])
}

// term translates the contract's short words (layers, classes, actions) for people.
var term = map[string]string{
	"pass": "通过", "fail": "未通过", "incomplete": "未做完", "not run": "未测试",
	"hardware": "硬件", "driver": "驱动", "software": "软件", "firmware": "固件",
	"interconnect": "互联", "thermal": "散热", "power": "供电", "memory": "显存", "application": "应用",
	"configuration": "配置", "system": "系统", "resource": "资源", "numerical": "数值",
	"pcie": "PCIe", "nvlink": "NVLink", "nvswitch": "NVSwitch", "gpu": "GPU", "host": "主机",
	"network": "网络", "container": "容器", "library": "库", "cooling": "散热",
	"none": "无需处理", "monitor": "继续观察", "retry": "原样重跑", "fix_app": "修改程序", "adjust_precision": "调整数值精度",
	"reduce_memory": "降低内存/显存占用", "tune_allocator": "调整分配器", "free_other_process": "释放其他进程",
	"increase_shm": "增大 /dev/shm", "fix_config": "修正配置", "check_network": "检查网络",
	"rebuild_for_arch": "按该架构重新编译", "reinstall": "重装匹配版本", "restart_app": "重启应用",
	"restart_service": "重启服务", "upgrade_driver": "升级驱动", "reinstall_driver": "重装驱动",
	"reset_gpu": "重置 GPU", "drain_and_diagnose": "排空节点并诊断", "reboot_node": "重启节点",
	"check_power_cooling": "检查供电与散热", "reseat_or_check_pcie": "重新插拔或检查 PCIe", "replace_gpu": "换卡（RMA）",
	"high": "高", "medium": "中", "low": "低",
}

// Action returns an action of the ladder as an instruction.
func Action(l, id string) string {
	if l == "zh" {
		return Term(l, id)
	}
	if a, ok := actions[id]; ok {
		return a
	}
	return id
}

var actions = map[string]string{
	"none": "nothing to do", "monitor": "keep watching", "retry": "run it again as it was", "fix_app": "correct the program",
	"adjust_precision": "adjust the numeric precision", "reduce_memory": "use less memory", "tune_allocator": "tune the allocator",
	"free_other_process": "free the GPU from the other process", "increase_shm": "enlarge /dev/shm", "fix_config": "correct the configuration",
	"check_network": "check the network", "rebuild_for_arch": "rebuild for this GPU", "reinstall": "install matching versions",
	"restart_app": "restart the application", "restart_service": "restart the service", "upgrade_driver": "upgrade the driver",
	"reinstall_driver": "repair the driver installation", "reset_gpu": "reset the GPU", "drain_and_diagnose": "drain the node and diagnose",
	"reboot_node": "reboot the node", "check_power_cooling": "check power and cooling, hands on",
	"reseat_or_check_pcie": "reseat the card and check its PCIe link, hands on", "replace_gpu": "replace the GPU (RMA)",
}

// Term returns a word of the contract as people read it.
func Term(l, w string) string {
	if l == "zh" {
		if t, ok := term[w]; ok {
			return t
		}
	}
	return w
}
