package web

import "fmt"

// word is a text of the page in a language. English is the key.
func word(l, en string, args ...any) string {
	text := en
	if l == "zh" {
		if zh, ok := wordsZH[en]; ok {
			text = zh
		}
	}
	if len(args) > 0 {
		return fmt.Sprintf(text, args...)
	}
	return text
}

var wordsZH = map[string]string{
	// frame
	"Skip to the content": "跳到正文", "Pages": "页面", "Node": "节点", "Incidents": "事件", "History": "历史",
	"Maintenance": "维护", "Sources": "数据源", "Language": "语言", "Colours": "配色", "auto": "自动", "light": "浅色", "dark": "深色",
	"open": "未关闭", "live": "实时", "connecting": "连接中", "no connection to the daemon: what you see may be old": "与守护进程失去连接：当前显示可能已过期",
	"copied": "已复制", "copy": "复制", "could not copy: select the text": "无法复制，请手动选取",
	"All times are %s.": "所有时间均为 %s。", "This page is read only.": "本页只读。", "Actions are allowed on this page.": "本页允许执行操作。",
	"daemon since": "守护进程启动于", "Back": "返回", "Not found": "未找到", "Not possible": "无法完成", "Incident": "事件",
	"%s ago": "%s前", "in %s": "%s后", "%d s": "%d 秒", "%d min": "%d 分钟", "%d h": "%d 小时", "%d days": "%d 天",
	"incident %d": "事件 %d", "last hour: lowest %s, highest %s %s": "最近一小时：最低 %s，最高 %s %s", "%s more in the last hour": "最近一小时增加 %s",
	// verdict
	"Verdict": "结论", "FAULT": "故障", "WARNING": "警告", "OK": "正常", "UNKNOWN": "无法判断", "do": "处理",
	"Not everything can be seen:": "目前有看不到的部分：",
	// node
	"Open incidents": "未关闭的事件", "The incidents cannot be read:": "无法读取事件：", "%d more open incidents": "另有 %d 个未关闭的事件",
	"None is open.": "没有未关闭的事件。", "readings taken": "读数时间", "charts: last hour": "曲线：最近一小时",
	"These readings are old: they show how it was, not how it is.": "读数已过期：显示的是过去的状态，不是现在的状态。",
	"state": "状态", "memory": "显存", "busy": "利用率", "power": "功耗", "temperature": "温度", "ECC errors": "ECC 错误",
	"uncorr.": "不可纠正", "corr.": "已纠正", "No GPU was found on this node.": "本节点未发现 GPU。",
	"The GPUs have not been read yet.": "尚未读到 GPU 的状态。", "No source has reported yet.": "尚无数据源上报。",
	// alerts
	"Alerts": "告警", "None is firing.": "没有触发的告警。", "pending: does it last?": "待定：观察是否持续", "told by incident %d": "已由事件 %d 通报", "cannot be read now": "当前无法读取",
	// GPU
	"Last hour": "最近一小时", "now": "现在", "As figures": "以数字查看", "from": "起始", "No readings yet.": "尚无读数。",
	"Card": "卡", "slot": "槽位", "serial": "序列号", "driver": "驱动", "gen": "代", "of": "/", "up": "连通", "down": "断开",
	"degrees to the limit": "距温度上限", "processes": "进程数", "GPU": "GPU",
	// incidents
	"Choose incidents": "筛选事件", "fault": "故障", "address, UUID, serial or index": "地址、UUID、序列号或编号", "closed ones too": "包括已关闭的", "Show": "显示",
	"No incident fits this choice.": "没有符合条件的事件。", "There has been no incident.": "从未有过事件。",
	"%d more seen, too briefly to be told yet": "另有 %d 个现象持续时间还太短，未列出", "Only the latest are shown. The command line and the API list all.": "仅显示最近的事件；命令行与 API 可列出全部。",
	"Silences": "静默", "covers": "范围", "until": "至", "who": "谁", "why": "原因", "action": "操作", "node": "节点", "end": "结束", "silence": "静默", "No silence is in force.": "没有生效的静默。",
	// incident
	"What to do": "处理步骤", "disruptive": "有影响", "destructive": "有破坏性", "command": "命令", "line of the log": "日志行", "in": "历时",
	"Verification": "复核", "Passed": "已通过", "It passed once, but the fault has come back since.": "曾经通过，但此后故障再次出现。",
	"Not passed, attempt %d": "未通过，第 %d 次", "Not verified yet.": "尚未复核。", "closed without verification": "未经复核关闭", "Fixed when": "复核标准",
	"Attempt %d": "第 %d 次复核", "passed": "通过", "not passed": "未通过", "failed": "未通过", "unknown": "无法判断", "check": "检查项", "result": "结果", "before → after": "之前 → 之后",
	"But meanwhile:": "但在此期间：", "Facts": "概况", "port": "端口", "at": "位于", "confidence": "置信度", "seen": "出现", "in %d bursts": "分 %d 次发作", "last": "最近",
	"hit": "受影响", "meanwhile": "期间变化", "before": "此前", "part of": "并入", "silenced": "已静默",
	"Actions": "操作", "your name": "姓名", "Acknowledge": "确认", "Start verification": "开始复核", "Close": "关闭", "Reopen": "重新打开",
	"It can be closed when a verification has passed.": "复核通过后才能关闭。", "silence for": "静默时长", "7 days": "7 天", "Silence": "静默",
	"A silence needs a reason. It covers this fault on this GPU.": "静默必须填写原因，仅覆盖该 GPU 上的这一故障。",
	"Evidence": "证据", "No line is kept.": "没有留存的日志行。", "What followed from it": "连带现象", "Nothing else follows from it.": "没有其他连带现象。",
	"The lines that followed are no longer held in memory.": "连带的日志行已不在内存中。", "Likely causes": "可能原因", "what would tell:": "如何确认：",
	"Time line": "时间线", "time": "时间", "event": "动作", "Where this is written": "依据",
	"Acknowledged.": "已确认。", "Closed.": "已关闭。", "Reopened.": "已重新打开。", "Silenced.": "已静默。", "The silence has been ended.": "静默已结束。",
	"The checks have been started; their results will appear here.": "检查已开始，结果会显示在这里。",
	// history
	"Find a card or a slot": "查找卡或槽位", "serial, UUID or slot": "序列号、UUID 或槽位", "Cards": "卡", "Cards that this node has seen": "本节点见过的卡",
	"product": "型号", "in the node": "在本节点", "not in the node": "不在本节点", "No card has been seen yet.": "尚未见过任何卡。", "Slot": "槽位",
	"What happened, the latest first": "经过（最近的在前）", "card": "卡", "incident": "事件", "what": "内容", "Nothing has happened to it yet.": "尚无记录。",
	// maintenance
	"Calendar, the next one due first": "日历（最先到期的在前）", "due": "到期", "last done": "上次完成", "every": "周期", "how": "方法",
	"in time": "按期", "due soon": "即将到期", "overdue": "已逾期", "never done": "从未做过", "not known": "未知", "The calendar is empty.": "日历为空。",
	// sources
	"What the daemon reads, and how well that goes. While a source is down, what only it tells cannot be seen.": "守护进程读取的内容及其状况。数据源不可用期间，只有它能反映的情况是看不到的。",
	"source": "数据源", "last heard": "最近一次", "took": "耗时", "read": "已读", "errors": "错误", "lost": "丢失", "since": "自", "not seen meanwhile:": "期间看不到：", "of at most": "上限",
	"Values that could not be read": "无法读取的读数", "value": "读数",
	// what a person can do about an error
	"the list of incidents shows all": "事件列表中有全部事件", "run the verification first; the command line can close by force, with a reason": "请先执行复核；或在命令行附原因强制关闭",
	"a reason is needed; it is kept with the incident": "必须填写原因，它会随事件保存", "the incident has gone on meanwhile: load it again": "事件状态已变化，请重新载入",
	"repair first: a repair gives new attempts": "请先处理：处理后可再次复核", "the daemon moves a damaged store aside when it starts": "守护进程启动时会将损坏的事件库移开",
	"make room on the file system of the store":                                        "请为事件库所在文件系统腾出空间",
	"the daemon cannot write its store: look at the rights of the file and its folder": "守护进程无法写入事件库：请检查文件及其目录的权限", "try again": "请重试",
}
