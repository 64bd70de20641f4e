package explain

// labels are the page's own words. Texts about codes and faults live in the catalog.
var labels = map[string][2]string{
	"meaning": {"meaning", "含义"}, "class": {"class", "类别"}, "causes": {"causes", "可能原因"}, "check": {"check", "检查"},
	"do": {"do", "处理步骤"}, "action": {"first", "首先"}, "follows": {"usually follows", "通常出现在这些之后"}, "faults": {"faults of the catalog", "相关故障"},
	"signals": {"signals", "相关信号"}, "myths": {"often said, but wrong", "常见误解"}, "sources": {"sources", "依据"}, "units": {"decoded", "细分解读"},
	"suggestions": {"see also", "另见"}, "found": {"did you mean", "您要找的可能是"},
	"atOnce": {"at once", "立即"}, "ifAgain": {"to investigate", "调查"}, "fixedWhen": {"fixed when", "复核"},
	"applies": {"applies to", "适用"}, "verdictAlways": {"comes with the driver's own verdict", "同时给出驱动自己的结论"},
	"verdictFrom": {"comes with the driver's own verdict from R%s on", "R%s 及之后的驱动会同时给出自己的结论"},
	"level":       {"level", "级别"}, "severity": {"severity", "严重程度"}, "fatality": {"fatality", "致命性"}, "impact": {"impact", "影响"},
	"message": {"text", "原文"}, "sticky": {"sticky", "是否持续"}, "stickyYes": {"the process cannot use CUDA any more: restart it", "该进程之后不能再用 CUDA：需要重启进程"},
	"stickyUnknown": {"not stated by the vendor", "厂商未说明"}, "since": {"since", "始于"}, "driverName": {"driver API", "驱动 API"}, "runtimeName": {"runtime", "运行时"},
	"legacy": {"before CUDA 10.1", "CUDA 10.1 之前"}, "stage": {"stage", "阶段"}, "status": {"status", "状态"}, "number": {"number", "编号"},
	"recovery": {"recovery action", "恢复建议"}, "bucket": {"resolution bucket", "处理档位"}, "example": {"example", "示例"}, "register": {"register %d", "寄存器 %d"},
	"shows": {"shows it", "可看出它"}, "lookFor": {"look for it in the kernel log", "查内核日志有无此项"}, "others": {"also", "另有"}, "explains": {"follows from it", "连带现象"}, "explainsIt": {"explains it", "可解释它"}, "triggers": {"triggered by it", "由它触发"}, "supports": {"supported by it", "由它佐证"},
	"risk_disruptive": {"disruptive", "有影响"}, "risk_destructive": {"DESTRUCTIVE", "有破坏性"},
	"lowConfidence":   {"second-hand or weak source: read with care", "来源为二手或较弱，请谨慎对待"},
	"reason":          {"reason %d", "原因 %d"},
	"bitSet":          {"if bit %d (before R575) or bit %d of the first word is set", "当首字的位 %d（R575 之前）或位 %d 置位时"},
	"unless154":       {"unless an Xid 154 says more", "有 Xid 154 时以它为准"},
	"note":            {"note", "说明"},
	"reasonNote":      {"reasons other than 21 and 32 to 37 are named after NVIDIA's link tools; that the numbers are the same is inferred", "除 21 与 32–37 外，原因名称取自 NVIDIA 链路工具；编号相同是推断"},
	"containedWord":   {"Fatal when not contained, else Non-fatal", "未被隔离时 Fatal，否则 Non-fatal"},
	"sxidWord":        {`the word "Fatal" or "Non-fatal" in the log line wins over the table`, "以日志行里的 Fatal 或 Non-fatal 为准，表中仅供参考"},
	"unknownXid":      {"Xid %d: not in the catalogue", "Xid %d：目录中没有"},
	"unknownXidText":  {"No meaning is published for this number. It may be newer than this program, or a misread number. It is neither harmless nor fatal by itself: keep the line, look for other Xids of the same GPU and moment, and look the number up in the release notes of the driver.", "该编号没有公开含义：可能比本程序新，也可能是读错了编号。它本身既不能算无害也不能算致命：保留原文，查同一张卡同一时刻的其他 Xid，并查驱动的发行说明。"},
	"unknownSXid":     {"SXid %d: not in the catalogue", "SXid %d：目录中没有"},
	"unknownSXidText": {`No meaning is published for this number. Go by the word "Fatal" or "Non-fatal" in the line.`, "该编号没有公开含义。以日志行里的 Fatal 或 Non-fatal 为准。"},
	"unknownStage":    {"stage not in the table", "阶段不在表中"}, "unknownStatus": {"status not in the table", "状态不在表中"},
	"sev_critical": {"critical", "严重"}, "sev_error": {"error", "错误"}, "sev_warning": {"warning", "警告"}, "sev_info": {"info", "提示"},
	"fat_always_fatal": {"always fatal: the whole fabric", "总是致命：影响整个 fabric"}, "fat_potentially_fatal": {"potentially fatal", "可能致命"},
	"fat_fatal": {"fatal", "致命"}, "fat_nonfatal": {"not fatal", "不致命"}, "fat_depends_containment": {"fatal unless contained", "未被隔离时致命"},
	"fat_depends_chip": {"depends on the switch chip", "取决于交换芯片"}, "fat_not_stated": {"not stated", "未说明"}, "fat_unknown": {"unknown: the switch driver does not print it", "未知：交换芯片驱动不会打印"},
	"bit_ignore": {"harmless", "无害"}, "bit_ecc_threshold": {"only an ECC threshold: keep running", "仅为 ECC 阈值：可继续运行"}, "bit_secondary": {"echo of another error", "其他错误的回声"},
	"bit_fabric_reset": {"echo, but the fabric needs a reset", "回声，但 fabric 需要重置"}, "bit_repeat_report": {"report when it repeats", "反复出现则上报"}, "bit_ecc_parity": {"ECC or parity hardware: more than twice on a link", "ECC/奇偶校验硬件：同一链路超过两次"},
	"bit_unexpected": {"not expected: report", "不应出现：上报"}, "bit_weak_signal": {"weak signal: connections, field diagnostic", "信号弱：检查连接，field diagnostic"}, "bit_hw_possible": {"possibly hardware: reseat, then diagnostics", "可能是硬件：重新插拔，再诊断"},
	"usable": {"may be used", "能否使用"}, "until": {"old from", "变旧自"}, "default": {"default", "默认值"}, "safe": {"safe value", "稳妥取值"}, "instead": {"use instead", "改用"},
	"harm": {"harm", "副作用"}, "shownAs": {"shown as", "显示为"},
	"st_valid": {"yes", "可以"}, "st_debug": {"for diagnosis only: remove it afterwards", "仅用于诊断：用完请删除"}, "st_alias": {"older name, still read", "旧名，仍被读取"},
	"st_deprecated": {"no: deprecated", "不建议：已弃用"}, "st_renamed": {"no: renamed", "否：已改名"}, "st_removed": {"no: removed, has no effect", "否：已移除，不起作用"}, "st_missing": {"no: there is no such thing", "否：并不存在"},
	"kind_env": {"environment variable", "环境变量"}, "kind_option": {"option", "选项"}, "kind_alloc": {"allocator option", "分配器选项"}, "kind_api": {"function", "函数"}, "kind_build": {"build option", "编译选项"}, "kind_host": {"setting of the machine", "机器设置"},
	"exitCode": {"exit code %d", "退出码 %d"}, "exitSignal": {"signal %d", "信号 %d"}, "lookAt": {"look at it", "可查看"},
	"ownCode":     {"exit code %d: the program's own", "退出码 %d：程序自定"},
	"ownCodeText": {"No shell or runtime gives this number a meaning: the program chose it. Its documentation, or its last lines, say what for.", "Shell 和运行时都没有为这个数规定含义：由程序自定。请看其文档或最后几行输出。"},
	"rawSignal":   {"signal %d", "信号 %d"}, "rawSignalText": {"A signal without a usual meaning for jobs ended the process (numbers from 34 on are free for programs).", "进程被一个对作业没有通用含义的信号结束（34 起供程序自用）。"},
	"class_unused": {"unused", "未使用"}, "class_informational": {"information", "信息"}, "class_none": {"none", "无"},
}

// say returns a label; an unknown key is itself, so that nothing is ever lost.
func (b *book) say(key string) string { return say(b.lang, key) }

func say(lang, key string) string {
	w, ok := labels[key]
	switch {
	case !ok:
		return key
	case lang == "zh":
		return w[1]
	}
	return w[0]
}

func (b *book) colon() string {
	if b.lang == "zh" {
		return "："
	}
	return ": "
}

func (b *book) semicolon() string {
	if b.lang == "zh" {
		return "；"
	}
	return "; "
}

// paren puts a remark behind a text.
func (b *book) paren(s string) string {
	if b.lang == "zh" {
		return "（" + s + "）"
	}
	return " (" + s + ")"
}
