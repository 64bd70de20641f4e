package frame

import (
	"html"
	"strings"

	"github.com/gpumedic/gpumedic"
)

// Forms that log shippers, exports and web pages put around a kernel line: Talos,
// logfmt, CSV, HTML. Each is peeled only when the form itself says that the kernel
// wrote the inside; an agent that quotes the kernel in its own words keeps its line.

// talos peels "10.5.0.2: kern: warning: [2026-06-07T19:46:55.169268123Z]: " of
// talosctl dmesg, with or without the node in front.
func (p *peeler) talos() bool {
	s := p.rest
	if p.at > stamped || !strings.Contains(s[:min(len(s), 140)], ": [2") {
		return false
	}
	h := 0
	fac, n := decodedLen(s)
	if n == 0 {
		if h = hostColonLen(s); h == 0 || strings.IndexByte(s[:h-2], ':') >= 0 && !addressLike(s[:h-2]) {
			return false
		}
		if fac, n = decodedLen(s[h:]); n == 0 {
			return false
		}
		n += h
	}
	n += spaces(s[n:])
	if n >= len(s) || s[n] != '[' {
		return false
	}
	st, k := parseISO(s[n+1:])
	if k == 0 || !strings.HasPrefix(s[n+1+k:], "]: ") {
		return false
	}
	if h > 0 {
		p.m.Host = strings.TrimRight(s[:h], ": ")
	}
	p.advance(n + 1 + k + len("]: "))
	p.setStamp(st)
	p.facility = fac
	if fac == 0 {
		p.becomeKernel("")
	} else {
		p.skipSpace()
		p.kmsgWriter()
	}
	return true
}

// addressLike recognises the signs of an IPv6 address.
func addressLike(s string) bool {
	return strings.Trim(strings.ToLower(s), "0123456789abcdef:.") == "" && strings.Count(s, ":") > 1
}

// hostColonLen is the length of "10.5.0.2: " or "node-3: " at the start of s.
func hostColonLen(s string) int {
	i := strings.Index(s[:min(len(s), 80)], ": ")
	if i <= 0 || hostLen(s[:i]) != i {
		return 0
	}
	return i + 2
}

// levelTag peels "warn: " that some readers put between "kernel:" and the stamp.
func (p *peeler) levelTag() bool {
	c := strings.IndexByte(p.rest[:min(len(p.rest), 10)], ':')
	if c < 3 || !levelNames[p.rest[:c]] {
		return false
	}
	after := strings.TrimLeft(p.rest[c+1:], " ")
	if after == "" || after[0] != '[' && !startsMessage(after) {
		return false
	}
	p.advance(c + 1)
	return true
}

// kernelSource reports whether a word of a structured line names the kernel's log as
// the place that the message was read from.
func kernelSource(v string) bool {
	v = strings.ToLower(v)
	for _, w := range [...]string{"kern", "kmsg", "dmesg", "journal", "/var/log/messages", "/var/log/syslog"} {
		if strings.Contains(v, w) {
			return true
		}
	}
	return false
}

// logfmt peels `ts=… host=n4 job=systemd-journal msg="NVRM: …"`. One of the other
// fields must name the kernel's log: agents write their own lines in this form too.
func (p *peeler) logfmt() bool {
	s := p.rest
	if p.at != outer || !strings.Contains(s, `="`) {
		return false
	}
	var f logfmtLine
	for n := 0; n < len(s); {
		e := n
		for e < len(s) && (isAlnum(s[e]) || s[e] == '_' || s[e] == '.' || s[e] == '@' || s[e] == '-') {
			e++
		}
		if e == n || e >= len(s) || s[e] != '=' {
			return false
		}
		key := s[n:e]
		var v jsonValue
		if n = e + 1; n < len(s) && s[n] == '"' {
			v, n = scanValue(s, n)
		} else {
			w := strings.IndexByte(s[n:], ' ')
			if w < 0 {
				w = len(s) - n
			}
			v = jsonValue{raw: s[n : n+w], at: n, kind: jsonOther}
			n += w
		}
		f.set(key, v)
		n += spaces(s[n:])
	}
	if f.message.kind != jsonString || !f.kernel || f.ident != "" && !isKernelIdent(f.ident) || !kernelText(f.message.text()) {
		return false
	}
	if f.host != "" {
		p.m.Host = f.host
	}
	if f.stamp.Known() {
		p.setStamp(f.stamp)
	}
	p.at = outer
	p.setText(f.message)
	if f.ident != "" {
		p.becomeKernel(f.ident)
	}
	return true
}

type logfmtLine struct {
	message     jsonValue
	stamp       gpumedic.Stamp
	host, ident string
	kernel      bool
}

func (f *logfmtLine) set(key string, v jsonValue) {
	switch key {
	case "msg", "message", "line", "log", "_msg", "MESSAGE":
		f.message = v
		return
	case "ts", "time", "timestamp", "t", "@timestamp":
		if st, n := parseISO(v.raw); n > 0 {
			f.stamp = st
		} else if st, n := parseEpoch(v.raw); n > 0 {
			f.stamp = st
		}
		return
	case "host", "hostname", "node", "nodename", "_HOSTNAME":
		f.host = v.text()
		return
	case "ident", "identifier", "syslog_identifier", "SYSLOG_IDENTIFIER", "program", "appname", "comm", "_COMM":
		f.ident = v.text()
	}
	f.kernel = f.kernel || kernelSource(v.raw)
}

// kernelText reports whether a text begins as a line of the kernel's log does.
func kernelText(s string) bool {
	s = strings.TrimLeft(s, " ")
	if len(s) > 2 && s[0] == '<' {
		if d := digits(s[1:], 3); d > 0 && s[min(1+d, len(s)-1)] == '>' {
			s = s[d+2:]
		}
	}
	if s == "" {
		return false
	}
	f := frontAt(s)
	return f == frontKernel || startsDistinct(s) || f == frontStamp && strings.Contains(s[:min(len(s), 120)], " kernel: ")
}

// csvRecord peels the cells before the message of an exported table:
// `2026-07-01 10:16:00,n4,kernel,warning,"NVRM: …"`, also with semicolons or tabs.
func (p *peeler) csvRecord() bool {
	if p.at != outer {
		return false
	}
	head := p.rest[:min(len(p.rest), 64)]
	for _, sep := range [...]byte{',', '\t', ';'} {
		if strings.IndexByte(head, sep) >= 0 && p.csvWith(sep) {
			return true
		}
	}
	return false
}

const maxCells = 16

func (p *peeler) csvWith(sep byte) bool {
	s := p.rest
	var st gpumedic.Stamp
	host, kernelCell, bare := "", false, false
	for n, cells := 0, 0; n < len(s) && cells < maxCells && n < 500; cells++ {
		cell, end, quoted := csvCell(s, n, sep)
		if cells > 0 && kernelText(cell) {
			if bare && !kernelCell || !st.Known() && !kernelCell {
				return false
			}
			p.takeCell(n, cell, quoted)
			if host != "" {
				p.m.Host = host
			}
			if st.Known() {
				p.setStamp(st)
				p.at = outer
			}
			if kernelCell {
				p.becomeKernel("kernel")
			}
			return true
		}
		if end >= len(s) {
			return false
		}
		n = end + 1
		word := strings.ToLower(strings.TrimSpace(cell))
		switch {
		case word == "" || levelNames[word] || levelWord(word):
			continue
		case word == "kernel" || word == "kern" || word == "kmsg":
			kernelCell = true
			continue
		}
		if cs, k := cellStamp(cell); k > 0 {
			if !st.Known() {
				st = cs
			}
			continue
		}
		if len(word) > 64 || strings.ContainsAny(word, " '\"`=$&?!{}%~#\\") || speech[word] || isProgram(word) {
			return false
		}
		if !strings.ContainsAny(word, "0123456789./_-") {
			bare = true
		} else if host == "" && !allDigits(word, 20) && hostLen(word) == len(word) {
			host = cell
		}
	}
	return false
}

// csvCell reads the cell at s[n:] and returns where its separator stands. A message
// without quotes holds commas of its own, so such a cell reaches to the end when it
// begins as one.
func csvCell(s string, n int, sep byte) (cell string, end int, quoted bool) {
	if s[n] != '"' {
		if kernelText(s[n:]) {
			return s[n:], len(s), false
		}
		if i := strings.IndexByte(s[n:], sep); i >= 0 {
			return s[n : n+i], n + i, false
		}
		return s[n:], len(s), false
	}
	i := n + 1
	for i < len(s) {
		if s[i] == '"' {
			if i+1 < len(s) && s[i+1] == '"' {
				i += 2
				continue
			}
			break
		}
		i++
	}
	cell = s[n+1 : min(i, len(s))]
	return strings.ReplaceAll(cell, `""`, `"`), min(i+1, len(s)), true
}

// takeCell makes a cell the rest of the line.
func (p *peeler) takeCell(n int, cell string, quoted bool) {
	if quoted {
		n++
	}
	if strings.HasPrefix(p.rest[n:], cell) {
		p.advance(n)
		p.rest = cell
		return
	}
	p.rest, p.decoded, p.m.Indent = cell, true, 0
}

func cellStamp(cell string) (gpumedic.Stamp, int) {
	cell = strings.TrimSpace(cell)
	if cell == "" {
		return gpumedic.Stamp{}, 0
	}
	for _, parse := range [...]func(string) (gpumedic.Stamp, int){parseISO, parseMonthStamp, parseUSDate, parseEpoch} {
		if st, n := parse(cell); n > 0 && n >= len(cell)-4 {
			return st, n
		}
	}
	return gpumedic.Stamp{}, 0
}

// htmlEscapes are what web pages make of the signs in kernel messages.
var htmlEscapes = [...]string{"&gt;", "&lt;", "&quot;", "&#39;", "&#34;", "&#x27;", "&#x22;", "&apos;", "&nbsp;", "&amp;"}

// unescapeHTML decodes a line that was copied from the source of a web page.
func (p *peeler) unescapeHTML() {
	if strings.IndexByte(p.rest, '&') < 0 {
		return
	}
	for _, e := range htmlEscapes {
		if strings.Contains(p.rest, e) {
			p.rest, p.decoded = html.UnescapeString(p.rest), true
			p.skipSpace()
			return
		}
	}
}

// markup are the elements in which web pages and wikis keep log lines.
var markup = map[string]bool{"pre": true, "code": true, "samp": true, "tt": true, "td": true, "p": true, "br": true, "br/": true, "div": true, "span": true, "blockquote": true, "li": true}

// htmlTag peels "<pre>" before a log line, and what closes it.
func (p *peeler) htmlTag() bool {
	if p.at != outer {
		return false
	}
	end := strings.IndexByte(p.rest[:min(len(p.rest), 160)], '>')
	if end < 0 {
		return false
	}
	name, _, _ := strings.Cut(strings.ToLower(p.rest[1:end]), " ")
	if !markup[name] {
		return false
	}
	inner := strings.TrimLeft(p.rest[end+1:], " ")
	verbatim := name == "pre" || name == "code" || name == "samp"
	if inner == "" {
		return false
	}
	if at := frontAt(inner); inner[0] != '<' && (at == frontNone || at == frontMessage && !verbatim) {
		return false
	}
	p.advance(end + 1)
	for {
		t := strings.TrimRight(p.rest, " ")
		i := strings.LastIndexByte(t, '<')
		if i < 0 || !strings.HasSuffix(t, ">") || !markup[strings.TrimLeft(t[i+1:len(t)-1], "/ ")] {
			break
		}
		p.rest = t[:i]
	}
	return true
}
