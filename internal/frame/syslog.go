package frame

import (
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
)

// monthStamp peels a stamp with a month name, and host and identifier after it.
func (p *peeler) monthStamp() bool {
	if !hasClock(p.rest[:min(len(p.rest), longestFront)]) {
		return false
	}
	st, n := parseMonthStamp(p.rest)
	if n == 0 || n < len(p.rest) && p.rest[n] != ' ' && p.rest[n] != '\t' && p.rest[n] != ':' {
		return false
	}
	if p.isAll(st, n) {
		return false
	}
	p.takeStamp(st, n)
	return true
}

// takeStamp peels a stamp of length n, and the colon that may follow. It is the log's
// own, not one that the program printed.
func (p *peeler) takeStamp(st gpumedic.Stamp, n int) {
	p.advance(n)
	p.skipColon()
	p.setStamp(st)
	p.appTime = false
}

// isAll reports whether a stamp of length n is all there is (the head of an nvidia-smi
// table, output of date): then it stays as the text.
func (p *peeler) isAll(st gpumedic.Stamp, n int) bool {
	if n != len(strings.TrimRight(p.rest, " ")) {
		return false
	}
	p.setStamp(st)
	p.at = closed
	return true
}

// isoStamp peels an ISO 8601 stamp and its relatives.
func (p *peeler) isoStamp() bool {
	s := p.rest
	st, n := parseISO(s)
	if n == 0 || n < len(s) && (isAlnum(s[n]) || s[n] == '-' || s[n] == '/') {
		return false
	}
	if p.isAll(st, n) {
		return false
	}
	p.advance(n)
	p.skipColon()
	// An application's time without a zone, beside one in full that all lines have, adds
	// nothing but hours between the lines that bear it and those that do not.
	if p.pinned && st.Assumed&gpumedic.AssumedZone != 0 {
		p.at, p.appTime = stamped, true
		return true
	}
	p.setStamp(st)
	// docker logs -t and kubectl logs --timestamps: nobody else writes nanoseconds in UTC.
	p.pinned = p.pinned || st.Precision == time.Nanosecond && s[n-1] == 'Z'
	withT := s[10] == 'T'
	// util-linux writes a comma, T and zone: dmesg --time-format iso, and nobody else.
	if withT && strings.IndexByte(s[:n], ',') > 0 && st.Assumed&gpumedic.AssumedZone == 0 {
		p.skipSpace()
		n := 0
		if p.rest != "" && p.rest[0] == '[' {
			n = callerLen(p.rest)
		}
		p.advance(n)
		p.becomeKernel("")
		if p.facility > 0 {
			p.skipSpace()
			p.kmsgWriter()
		}
		return true
	}
	p.appTime = !withT
	return true
}

func (p *peeler) skipColon() {
	if strings.HasPrefix(p.rest, ": ") {
		p.advance(1)
	}
}

// usStamp peels "01/07/2026-03:15:11".
func (p *peeler) usStamp() bool {
	st, n := parseUSDate(p.rest)
	if n == 0 || !strings.HasPrefix(p.rest[n:], " ") || strings.IndexByte(p.rest[:n], '|') >= 0 {
		return false
	}
	p.advance(n)
	p.setStamp(st)
	p.appTime = true
	return true
}

// epochStamp peels "1767755830.123456 host kernel: " (journalctl -o short-unix) and
// other seconds since 1970. A bare number counts only with a fraction.
func (p *peeler) epochStamp() bool {
	st, n := parseEpoch(p.rest)
	if n == 0 || st.Precision == time.Second || p.rest[min(10, len(p.rest)-1)] != '.' || !strings.HasPrefix(p.rest[n:], " ") && !strings.HasPrefix(p.rest[n:], ": ") {
		return false
	}
	p.takeStamp(st, n)
	return true
}

// priority peels "<4>" and, when the version follows, the whole RFC 5424 header.
func (p *peeler) priority() bool {
	s := p.rest
	d := digits(s[1:], 4)
	if d == 0 || !strings.HasPrefix(s[1+d:], ">") {
		return false
	}
	pri := atoi(s[1 : 1+d])
	if pri > 191 {
		return false
	}
	p.advance(d + 2)
	p.facility = pri >> 3
	if strings.HasPrefix(p.rest, "1 ") {
		p.rfc5424(2)
	}
	return true
}

// rfc5424 peels "TIMESTAMP HOST APP PROCID MSGID SD " from offset n on, when all
// of it is there.
func (p *peeler) rfc5424(n int) bool {
	s := p.rest
	var st gpumedic.Stamp
	if strings.HasPrefix(s[n:], "- ") {
		n += 2
	} else {
		var k int
		if st, k = parseISO(s[n:]); k == 0 || !strings.HasPrefix(s[n+k:], " ") {
			return false
		}
		n += k + 1
	}
	var f [4]string // host, app, procid, msgid
	for i := range f {
		e := strings.IndexByte(s[n:], ' ')
		if e <= 0 {
			if e < 0 && i > 0 { // cut off in the header
				f[i] = s[n:]
				n = len(s)
				break
			}
			return false
		}
		f[i] = s[n : n+e]
		n += e + 1
	}
	n += structuredLen(s[n:])
	p.advance(min(n, len(s)))
	if st.Known() {
		p.setStamp(st)
	}
	if f[0] != "-" {
		p.m.Host = f[0]
	}
	pid := 0
	if allDigits(f[2], 10) {
		pid = atoi(f[2])
	}
	switch {
	case isKernelIdent(f[1]):
		p.becomeKernel(f[1])
	case f[1] == "-" || f[1] == "":
		if p.facility == 0 {
			p.becomeKernel("")
		} else {
			p.at = stamped
		}
	default:
		p.skipSpace()
		p.becomeService(f[1], pid)
	}
	return true
}

// structuredLen is the length of the structured data of RFC 5424 ("-" or
// "[id k="v"]…") and the blank after it.
func structuredLen(s string) int {
	if strings.HasPrefix(s, "-") {
		return min(2, len(s))
	}
	n := 0
	for n < len(s) && s[n] == '[' {
		quoted := false
		i := n + 1
		for ; i < len(s); i++ {
			if quoted && s[i] == '\\' {
				i++
				continue
			}
			if s[i] == '"' {
				quoted = !quoted
			} else if s[i] == ']' && !quoted {
				break
			}
		}
		if i >= len(s) {
			return 0 // never closed: no structured data after all
		}
		n = i + 1
	}
	if n < len(s) && s[n] == ' ' {
		n++
	}
	return n
}

// hostIdent peels "host ident[pid]: ", "host kernel: ", "ident[pid]: " and
// "host [1234.567890] " after a stamp.
func (p *peeler) hostIdent() bool {
	if f := facilityToken(p.rest); f > 0 { // OpenWrt: "kern.warn kernel: "
		p.advance(f)
	}
	s := p.rest
	if id, pid, n := parseIdent(s); n > 0 && (isKernelIdent(id) || pid > 0 && !p.appTime) && strings.IndexByte(id, ' ') < 0 {
		p.takeIdent(id, pid, n)
		return true
	}
	h := hostLen(s)
	if h == 0 || h >= len(s) || s[h] != ' ' || levelWord(s[:h]) || p.m.Host != "" && p.m.Ident != "" {
		return false
	}
	t := h + spaces(s[h:])
	if f := facilityToken(s[t:]); f > 0 { // busybox: "host kern.warn kernel: "
		t += f
	}
	if t >= len(s) {
		return false
	}
	if id, pid, n := parseIdent(s[t:]); n > 0 && (!p.appTime || isKernelIdent(id) || pid > 0) && !startsMessage(s[t:]) {
		p.m.Host = s[:h]
		p.takeIdent(id, pid, t+n)
		return true
	}
	// A relay that knows only the address (netconsole into rsyslog), or a host
	// before a message whose start is known.
	if s[t] == '[' && monoBracketLen(s[t:]) > 0 || !p.appTime && startsDistinct(s[t:]) {
		p.m.Host = s[:h]
		p.advance(t)
		return true
	}
	if strings.HasPrefix(s[t:], "last message repeated ") || strings.HasPrefix(s[t:], "message repeated ") {
		p.m.Host = s[:h]
		p.advance(t)
		p.at = closed
		return true
	}
	return false
}

// bareDaemon peels "systemd[1]: " that lost time and host on its way into a ticket.
// Only daemons by name: programs print "worker[3]: " of their own.
func (p *peeler) bareDaemon() bool {
	if p.at != outer {
		return false
	}
	id, pid, n := parseIdent(p.rest)
	if n == 0 || pid == 0 || !bareDaemons[id] {
		return false
	}
	p.takeIdent(id, pid, n)
	return true
}

var bareDaemons = map[string]bool{"systemd": true, "nv-fabricmanager": true, "nvidia-imex": true, "nvidia-persistenced": true,
	"kubelet": true, "containerd": true, "dockerd": true, "slurmd": true, "slurmctld": true, "nv-hostengine": true}

func (p *peeler) takeIdent(id string, pid, n int) {
	p.advance(n)
	if isKernelIdent(id) {
		p.becomeKernel(id)
		return
	}
	p.skipSpace()
	p.becomeService(id, pid)
}

func isKernelIdent(id string) bool {
	return id == "kernel" || id == "vmkernel" || id == "vmkwarning"
}

// hostLen is the length of a host name or address at the start of s.
func hostLen(s string) int {
	n := 0
	for n < len(s) && n < 256 {
		c := s[n]
		if isAlnum(c) || c >= 0x80 || c == '-' || c == '_' || c == '.' || c == ':' || c == '@' || c == '%' || c == '/' {
			n++
			continue
		}
		break
	}
	if n > 0 && s[n-1] == ':' {
		return 0
	}
	return n
}

// levelWord recognises words that stand where a host would, in logs of applications.
func levelWord(s string) bool {
	const longest = len("CRITICAL")
	word := strings.Trim(s, "[]:.-")
	if len(word) > longest || len(word) > 0 && !isAlpha(word[len(word)-1]) {
		return false
	}
	switch strings.ToUpper(word) {
	case "", "INFO", "WARN", "WARNING", "ERROR", "ERR", "DEBUG", "CRITICAL", "FATAL", "TRACE", "NOTICE", "SEVERE", "PANIC", "I", "W", "E", "D", "F", "INF", "WRN", "DBG", "FTL", "AT":
		return true
	}
	return false
}

// facilityToken is the length of "kern.warn " at the start of s.
func facilityToken(s string) int {
	dot := strings.IndexByte(s[:min(len(s), 10)], '.')
	if dot < 0 {
		return 0
	}
	if _, ok := facilityNames[s[:dot]]; !ok {
		return 0
	}
	sp := strings.IndexByte(s[dot:], ' ')
	if sp < 0 || !levelNames[s[dot+1:dot+sp]] {
		return 0
	}
	return dot + sp + 1
}

// parseIdent reads "ident: " or "ident[pid]: " (or "ident[pid] ") at the start of s
// and returns the length with what separates it from the text. Identifiers of
// several words count only with a pid ("Web Content[123]: ").
func parseIdent(s string) (ident string, pid, n int) {
	words := 0
	for i := 0; i < len(s) && i < 96; i++ {
		switch c := s[i]; {
		case isAlnum(c) || c >= 0x80 || strings.IndexByte(`_-./@+()\~#%`, c) >= 0:
		case c == ' ' && i > 0 && words < 3:
			words++
		case c == ':' && i > 0 && words == 0:
			if isDigit(s[0]) || s[0] == '-' || s[0] == '#' {
				return "", 0, 0
			}
			if i+1 == len(s) || s[i+1] == ' ' || s[i+1] == '\t' || isKernelIdent(s[:i]) {
				return s[:i], 0, i + 1
			}
			return "", 0, 0
		case c == '[' && i > 0 && s[i-1] != ' ' && !isDigit(s[0]):
			d := digits(s[i+1:], 10)
			e := i + 1 + d
			if d == 0 || !strings.HasPrefix(s[e:], "]") {
				return "", 0, 0
			}
			e++
			pid = atoi(s[i+1 : i+1+d])
			if strings.HasPrefix(s[e:], ":") {
				return s[:i], pid, e + 1
			}
			if words == 0 && (e == len(s) || s[e] == ' ') {
				return s[:i], pid, e
			}
			return "", 0, 0
		default:
			return "", 0, 0
		}
	}
	return "", 0, 0
}

// monoBracketLen is the length of "[ 1234.567890]" at the start of s.
func monoBracketLen(s string) int {
	if s == "" || s[0] != '[' {
		return 0
	}
	k := 1 + spaces(s[1:])
	st, n := parseMono(s[k:])
	if n == 0 || st.Precision > 10*time.Millisecond {
		return 0
	}
	return closeBracket(s, k+n)
}
