package frame

import (
	"bytes"
	"strings"

	"github.com/gpumedic/gpumedic"
)

// front is what stands at a place where a label may end.
type front uint8

const (
	frontNone    front = iota
	frontMessage       // the start of a message that only the kernel writes
	frontKernel        // a kernel stamp, or the identifier "kernel"
	frontStamp         // a stamp of syslog or the journal
)

// maxLabel bounds the length of a prefix of unknown form.
const maxLabel = 80

// label peels a short prefix of unknown form ("node12 ", "gpu-3: ", "(gpu3) ",
// "kern.log:123:", "| ") when known framing or the start of a kernel message
// follows. It must look like a label: a person's words, commands and programs that
// quote the kernel keep their line whole.
func (p *peeler) label() bool {
	s := p.rest
	signs := signsOf(s[:min(len(s), maxLabel+longestFront)])
	for i := 1; i < len(s) && i <= maxLabel; i++ {
		if c := s[i-1]; isAlnum(c) && s[i] != '[' || c == '.' || c == '_' || c >= 0x80 || s[i] == ' ' {
			continue
		}
		f := signs.frontAt(s[i:])
		if f == frontNone {
			continue
		}
		if f == frontStamp && rankLabel(s[:i]) {
			return false // who wrote it matters more to readers of job output
		}
		if !p.labelOK(s[:i], f) {
			return false
		}
		p.takeLabel(s[:i])
		p.advance(i)
		return true
	}
	return false
}

// signs say what may stand somewhere in a text, so that it is not looked for at each place.
type signs struct{ clock, device bool }

// longestFront is longer than any stamp or device's name.
const longestFront = 256

func signsOf(s string) signs { return signs{hasClock(s), hasFunction(s)} }

// hasFunction reports whether a text may hold a PCI address: ":00." is the end of one.
func hasFunction(s string) bool {
	for i := 3; ; {
		if i >= len(s) {
			return false
		}
		n := strings.IndexByte(s[i:], '.')
		if n < 0 {
			return false
		}
		if i += n + 1; s[i-4] == ':' {
			return true
		}
	}
}

func frontAt(s string) front { return signs{true, true}.frontAt(s) }

func (g signs) frontAt(s string) front {
	switch c := s[0]; {
	case c == '[':
		if monoBracketLen(s) > 0 {
			return frontKernel
		}
		if !g.clock {
			// no stamp in words
		} else if st, n := parseMonthStamp(s[1:]); n > 0 && closeBracket(s[1:], n) > 0 && st.Assumed&gpumedic.AssumedYear == 0 {
			return frontKernel
		}
		if startsMessage(s) && strings.HasPrefix(s, "[drm") || strings.HasPrefix(s, "[pod/") {
			return frontMessage
		}
		return frontNone
	case c == '<':
		d := digits(s[1:], 3)
		if d > 0 && strings.HasPrefix(s[1+d:], ">") {
			return frontStamp
		}
		return frontNone
	case isDigit(c):
		if !g.clock {
			// no stamp with a time of day
		} else if st, n := parseISO(s); n > 0 && (s[10] == 'T' || st.Assumed&gpumedic.AssumedZone == 0) {
			return frontStamp
		}
		if n, _ := monthName(s); n == 0 {
			return frontNone
		}
	case c == 'k' && strings.HasPrefix(s, "kernel:"):
		return frontKernel
	}
	if startsDriver(s) || g.device && !decides(s[0]) && startsDevice(s) {
		return frontMessage
	}
	if g.clock {
		if m, _ := monthName(s); m > 0 {
			if _, n := parseMonthFirst(s); n > 0 {
				return frontStamp
			}
		}
	}
	return frontNone
}

// rankLabel recognises what launchers put before each line of a rank: "[rank3]: ",
// "[default3]:", "3: ", "[1,3]<stdout>:".
func rankLabel(s string) bool {
	s = strings.TrimRight(s, " ")
	if strings.Contains(s, "rank") || strings.Contains(s, "[default") || strings.Contains(s, "<std") {
		return true
	}
	n := digits(s, 6)
	return n > 0 && s[n:] == ":"
}

// speech are words of people, shells and tools around a quoted kernel message.
var speech = map[string]bool{
	"grep": true, "egrep": true, "rg": true, "awk": true, "sed": true, "echo": true, "printf": true, "logger": true, "cat": true, "tail": true,
	"journalctl": true, "dmesg": true, "command": true, "cmd": true, "sh": true, "bash": true, "zsh": true, "if": true, "then": true, "with": true,
	"invoked": true, "saw": true, "see": true, "seen": true, "got": true, "get": true, "this": true, "that": true, "like": true, "error": true,
	"errors": true, "log": true, "logs": true, "line": true, "lines": true, "message": true, "messages": true, "msg": true, "shows": true,
	"says": true, "said": true, "reported": true, "reports": true, "example": true, "e.g": true, "found": true, "from": true, "in": true,
	"for": true, "match": true, "matched": true, "matches": true, "pattern": true, "regex": true, "watch": true, "watching": true, "ignore": true,
	"warning": true, "warn": true, "info": true, "debug": true, "note": true, "re": true, "question": true, "q": true, "a": true, "expected": true,
	"want": true, "test": true, "case": true, "xid": true, "alert": true, "rule": true, "filter": true, "search": true, "string": true, "text": true,
	"description": true, "summary": true, "title": true, "subject": true, "detected": true, "event": true, "output": true, "is": true, "was": true,
}

// programs write about kernel messages; a name that begins or ends so is no host.
var programs = []string{
	"python", "java", "node-problem-detector", "dcgm", "kubelet", "dockerd", "docker", "containerd", "slurm", "sudo", "audit", "ansible", "systemd",
	"sshd", "cron", "crond", "rsyslog", "syslog-ng", "nvidia-", "xid", "gpud", "prometheus", "alertmanager", "zabbix", "telegraf", "fluent", "vector",
	"promtail", "user-data", "cloud-init", "su", "init", "watchdog", "healthcheck", "health", "nhc", "monit", "collectd", "snmpd", "puppet", "salt",
}

var programEnds = []string{"exporter", "monitor", "agent", "check", "checker", "watcher", "daemon", "detector", "plugin", "parser", "scanner", "health", "watch", "alert", "alerts", "probe", ".py", ".sh", ".go"}

// labelOK reports whether all words of a prefix look like labels.
func (p *peeler) labelOK(label string, f front) bool {
	if strings.ContainsAny(label, "'\"`=;$&?!{}%,~#\\") || strings.Contains(label, "*") && strings.TrimSpace(label) != "*" {
		return false
	}
	words := 0
	bare := false
	for _, w := range strings.Fields(label) {
		if words++; words > 5 {
			return false
		}
		core := strings.ToLower(strings.Trim(w, ":()[]|<>-*+"))
		switch {
		case core == "" || core == "•" || core == "login": // a serial console's prompt
			continue
		case strings.HasPrefix(w, "<"), strings.HasPrefix(w, "[") && isClock(core), quotes(core), strings.HasSuffix(w, "]:") && !strings.HasPrefix(w, "["):
			return false
		}
		if m, n := monthName(core); m > 0 && n == len(core) {
			continue
		}
		if strings.ContainsAny(core, "0123456789./_-") {
			continue
		}
		bare = true
	}
	if !bare {
		return words > 0
	}
	// A plain word: a host's name only with "kernel:" behind it, or when other lines
	// bear the same label.
	if words == 1 && (f == frontKernel || f == frontStamp) && (p.rest[len(label)] != '[' || strings.HasSuffix(strings.TrimRight(label, " "), ":")) {
		return true
	}
	return words <= 2 && p.neighbourHas(label)
}

// isClock recognises the "09:15" that chat programs put before what somebody said.
func isClock(s string) bool {
	return len(s) == 5 && digits(s, 2) == 2 && s[2] == ':' && digits(s[3:], 2) == 2
}

// quotes reports whether a word, or a part of one like "16:saw", stands around quotes.
func quotes(core string) bool {
	for part := range strings.SplitSeq(core, ":") {
		if speech[part] || isProgram(part) {
			return true
		}
	}
	return false
}

func isProgram(core string) bool {
	core = strings.TrimRight(core, "0123456789")
	core = strings.TrimRight(core, "-_.")
	for _, name := range programs {
		if strings.HasPrefix(core, name) && (len(core) == len(name) || strings.HasSuffix(name, "-") || !isAlnum(core[len(name)])) {
			return true
		}
	}
	for _, end := range programEnds {
		if strings.HasSuffix(core, end) {
			return true
		}
	}
	return false
}

// neighbourHas reports whether a line near the candidate begins with the same
// label and goes on as kernel lines do.
func (p *peeler) neighbourHas(label string) bool {
	if p.w == nil {
		return false
	}
	for d := -6; d <= 6; d++ {
		line, ok := p.w.Line(d)
		if d == 0 || !ok {
			continue
		}
		rest, ok := bytes.CutPrefix(bytes.TrimLeft(line[:min(len(line), 200)], " \t"), []byte(label))
		if !ok || len(rest) == 0 {
			continue
		}
		if s := string(rest); startsMessage(s) || frontAt(s) != frontNone {
			return true
		}
	}
	return false
}

// takeLabel keeps what a label says: the node, or the container before a bar.
func (p *peeler) takeLabel(label string) {
	words := strings.Fields(label)
	for i, w := range words {
		if path := strings.ContainsAny(w, "/") || strings.Contains(w, ".log") || strings.Contains(w, ".txt"); path {
			continue
		}
		name := strings.Trim(w, ":()[]|<>-*+")
		if i+1 < len(words) && words[i+1] == "|" && name != "" {
			p.m.Container = name
			return
		}
		if name == "" || allDigits(name, 20) || hostLen(name) != len(name) || !strings.ContainsAny(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz") ||
			strings.Contains(name, ":") || name == "messages" || name == "syslog" || name == "dmesg" || name == "kern" {
			continue
		}
		if m, n := monthName(name); m > 0 && n == len(name) {
			continue
		}
		if p.m.Host == "" {
			p.m.Host = name
		}
		return
	}
}
