package frame

import (
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
)

// bracket peels "[…]" at the front: stamps of dmesg, of kubectl, of applications.
func (p *peeler) bracket() bool {
	if n := bareColour(p.rest); n > 0 {
		p.advance(n)
		return true
	}
	if p.bracketMono() || p.bracketDelta() || p.callerTag() {
		return true
	}
	return p.bracketCalendar() || p.at != kernel && p.podPrefix()
}

// bracketMono peels "[ 1234.567890] " and what may follow only there: caller tags
// and, from journalctl -o short-monotonic, host and identifier.
func (p *peeler) bracketMono() bool {
	s := p.rest
	k := 1 + spaces(s[1:])
	st, n := parseMono(s[k:])
	if n == 0 {
		return false
	}
	end := closeBracket(s, k+n)
	if end == 0 {
		return false
	}
	exact := st.Precision == time.Microsecond
	p.advance(end)
	p.setStamp(st)
	p.skipSpace()
	for p.callerTag() {
		p.skipSpace()
	}
	switch {
	case xorgMark(p.rest):
		p.becomeService("Xorg", 0)
	case p.at != kernel && p.monotonicHost():
	case p.facility > 0: // written to /dev/kmsg by a program
		p.kmsgWriter()
	case exact || p.at == kernel || startsMessage(p.rest):
		p.becomeKernel("")
	default: // an application's clock, most likely
		p.at = stamped
		p.appTime = true
	}
	return true
}

// closeBracket returns the offset behind "]" when s[n:] is that, perhaps after
// blanks and a delta "<    0.000012>"; else 0.
func closeBracket(s string, n int) int {
	n += spaces(s[n:])
	if n < len(s) && s[n] == '<' {
		d := deltaLen(s[n:])
		if d == 0 {
			return 0
		}
		n += d
		n += spaces(s[n:])
	}
	if n < len(s) && s[n] == ']' {
		return n + 1
	}
	return 0
}

// deltaLen is the length of "<    0.000012>" at the start of s.
func deltaLen(s string) int {
	n := 1 + spaces(s[1:])
	for n < len(s) && (isDigit(s[n]) || s[n] == '.') {
		n++
	}
	n += spaces(s[n:])
	if n < len(s) && n > 1 && s[n] == '>' {
		return n + 1
	}
	return 0
}

// bracketDelta peels "[  +0.000316]" and "[<    0.000012>]": the time since the
// record before. The framer adds the deltas up to the last absolute stamp.
func (p *peeler) bracketDelta() bool {
	s := p.rest
	k := 1 + spaces(s[1:])
	if k >= len(s) {
		return false
	}
	if s[k] == '<' {
		if d := deltaLen(s[k:]); d > 0 && strings.HasPrefix(s[k+d:], "]") {
			p.advance(k + d + 1)
			p.becomeKernel("")
			return true
		}
		return false
	}
	if s[k] != '+' {
		return false
	}
	k++
	k += spaces(s[k:])
	st, n := parseMono(s[k:])
	if n == 0 || !strings.HasPrefix(s[k+n:], "]") {
		return false
	}
	p.advance(k + n + 1)
	p.m.Stamp = gpumedic.Stamp{Mono: st.Mono, Precision: st.Precision}
	p.relative = true
	p.becomeKernel("")
	return true
}

// callerTag peels "[   T431]" or "[C12]", which kernels with CONFIG_PRINTK_CALLER
// put after the time.
func (p *peeler) callerTag() bool {
	if p.at == outer && !p.m.Stamp.HasMono || p.rest == "" || p.rest[0] != '[' {
		return false
	}
	n := callerLen(p.rest)
	p.advance(n)
	return n > 0
}

func callerLen(s string) int {
	k := 1 + spaces(s[1:])
	if k >= len(s) || s[k] != 'T' && s[k] != 'C' {
		return 0
	}
	d := digits(s[k+1:], 9)
	if d == 0 || !strings.HasPrefix(s[k+1+d:], "]") {
		return 0
	}
	return k + 1 + d + 1
}

// xorgMark recognises the marker of Xorg.0.log, whose stamps look like dmesg's.
func xorgMark(s string) bool {
	if len(s) < 4 || s[0] != '(' || s[3] != ')' {
		return false
	}
	switch s[1:3] {
	case "II", "EE", "WW", "--", "==", "**", "++", "NI", "!!", "??", "DB":
		return true
	}
	return false
}

// monotonicHost peels "host kernel: " and "host ident[pid]: " after a monotonic
// stamp. Kernel texts have the shape "word word: " too, so only the identifier
// "kernel" and one with a pid count.
func (p *peeler) monotonicHost() bool {
	if startsMessage(p.rest) {
		return false
	}
	h := hostLen(p.rest)
	if h == 0 || !strings.HasPrefix(p.rest[h:], " ") {
		return false
	}
	id, pid, n := parseIdent(p.rest[h+1:])
	if n == 0 || !isKernelIdent(id) && pid == 0 || strings.IndexByte(id, ' ') >= 0 {
		return false
	}
	p.m.Host = p.rest[:h]
	p.advance(h + 1 + n)
	if isKernelIdent(id) {
		p.becomeKernel(id)
	} else {
		p.becomeService(id, pid)
	}
	return true
}

// kmsgWriter names the program that wrote a kmsg record of a facility other than
// the kernel's: systemd and others put their identifier into the text.
func (p *peeler) kmsgWriter() {
	if id, pid, n := parseIdent(p.rest); n > 0 && pid > 0 {
		p.advance(n)
		p.becomeService(id, pid)
		return
	}
	p.becomeService("", 0)
}

// bracketCalendar peels stamps in brackets: "[Sat Aug 15 13:42:19 2026]" of
// dmesg -T, "[Aug29 11:09]" of dmesg -H, "[2026-01-07T03:15:11.123]" of Slurm and
// many applications.
func (p *peeler) bracketCalendar() bool {
	s := p.rest[1:]
	if st, n := parseMonthStamp(s); n > 0 {
		end := closeBracket(s, n)
		if end == 0 {
			return false
		}
		// dmesg -T prints whole seconds, weekday first and year last; others with a
		// month name (fabric manager, Apache) differ in one of these.
		m, _ := monthName(s)
		dmesg := m == 0 && !isDigit(s[0]) && st.Precision == time.Second && st.Assumed&gpumedic.AssumedYear == 0
		p.advance(1 + end)
		p.setStamp(st)
		if dmesg {
			p.becomeKernel("")
		} else {
			p.appTime = true
		}
		return true
	}
	if st, n := dmesgMinute(s); n > 0 {
		p.advance(1 + n)
		p.setStamp(st)
		p.becomeKernel("")
		return true
	}
	if p.at == kernel {
		return false
	}
	st, n := parseISO(s)
	if n == 0 {
		st, n = parseUSDate(s)
	}
	if n == 0 {
		st, n = parseEpoch(s)
		if st.Precision >= time.Second { // "[1234567890]" may be any number
			n = 0
		}
	}
	if n == 0 || !strings.HasPrefix(s[n:], "]") {
		return false
	}
	p.advance(1 + n + 1)
	p.setStamp(st)
	p.appTime = true
	return true
}

// dmesgMinute reads "Aug29 11:09]" of dmesg -H.
func dmesgMinute(s string) (gpumedic.Stamp, int) {
	m, n := monthName(s)
	if n == 0 {
		return gpumedic.Stamp{}, 0
	}
	n += spaces(s[n:])
	k := digits(s[n:], 2)
	if k == 0 {
		return gpumedic.Stamp{}, 0
	}
	d := date{0, m, atoi(s[n : n+k])}
	n += k
	if len(s) < n+7 || s[n] != ' ' || digits(s[n+1:], 2) != 2 || s[n+3] != ':' || digits(s[n+4:], 2) != 2 || s[n+6] != ']' || !d.valid() {
		return gpumedic.Stamp{}, 0
	}
	hour, min := atoi(s[n+1:n+3]), atoi(s[n+4:n+6])
	if hour > 23 || min > 59 {
		return gpumedic.Stamp{}, 0
	}
	t := daytime{time.Duration(hour)*time.Hour + time.Duration(min)*time.Minute, time.Minute}
	return makeStamp(d, t, 0, false), n + 7
}

// kmsgRecord peels "6,1234,987654321,-;" of /dev/kmsg and of netconsole's extended
// form, which may put the kernel release first.
func (p *peeler) kmsgRecord() bool {
	s := p.rest
	semi := strings.IndexByte(s[:min(len(s), 200)], ';')
	if semi < 0 {
		return false
	}
	head := s[:semi]
	fields := strings.Split(head, ",")
	if len(fields) > 4 && strings.IndexByte(fields[0], '.') > 0 {
		fields = fields[1:]
	}
	if len(fields) < 4 || !allDigits(fields[0], 4) || !allDigits(fields[1], 18) || !allDigits(fields[2], 15) {
		return false
	}
	pri := atoi(fields[0])
	p.facility = pri >> 3
	p.advance(semi + 1)
	p.setStamp(gpumedic.Stamp{Mono: time.Duration(atoi(fields[2])) * time.Microsecond, HasMono: true, Precision: time.Microsecond})
	if text, ok := unescapeHex(p.rest); ok {
		p.rest, p.decoded = text, true
		p.multi = strings.IndexByte(text, '\n') >= 0
	}
	if p.facility == 0 {
		p.becomeKernel("")
	} else {
		p.kmsgWriter()
	}
	return true
}

func allDigits(s string, max int) bool { return s != "" && digits(s, max) == len(s) }

var facilityNames = map[string]int{
	"kern": 0, "user": 1, "mail": 2, "daemon": 3, "auth": 4, "syslog": 5, "lpr": 6, "news": 7, "uucp": 8, "cron": 9, "authpriv": 10, "ftp": 11,
	"local0": 16, "local1": 17, "local2": 18, "local3": 19, "local4": 20, "local5": 21, "local6": 22, "local7": 23,
}

var levelNames = map[string]bool{
	"emerg": true, "alert": true, "crit": true, "err": true, "error": true, "warn": true, "warning": true, "notice": true, "info": true, "debug": true,
}

// decodedPriority peels "kern  :warn  : " of dmesg -x, and "kern.warn: ".
func (p *peeler) decodedPriority() bool {
	fac, n := decodedLen(p.rest)
	if n == 0 {
		return false
	}
	p.facility = fac
	p.advance(n)
	return true
}

// decodedLen reads facility and level as words, and the length up to behind their
// last colon; 0 when there are none.
func decodedLen(s string) (facility, n int) {
	c := strings.IndexByte(s[:min(len(s), 16)], ':')
	if c < 3 {
		return 0, 0
	}
	if name, level, ok := strings.Cut(s[:c], "."); ok {
		fac, known := facilityNames[name]
		if !known || !levelNames[level] || c+1 < len(s) && s[c+1] != ' ' {
			return 0, 0
		}
		return fac, c + 1
	}
	fac, ok := facilityNames[strings.TrimRight(s[:c], " ")]
	if !ok {
		return 0, 0
	}
	e := strings.IndexByte(s[c+1:min(len(s), c+16)], ':')
	if e < 0 || !levelNames[strings.TrimSpace(s[c+1:c+1+e])] {
		return 0, 0
	}
	return fac, c + 1 + e + 1
}

// vmkernelTag peels "cpu12:2097152)" of the ESXi kernel.
func (p *peeler) vmkernelTag() bool {
	rest, ok := strings.CutPrefix(p.rest, "cpu")
	if !ok {
		return false
	}
	d := digits(rest, 4)
	if d == 0 || !strings.HasPrefix(rest[d:], ":") {
		return false
	}
	e := digits(rest[d+1:], 12)
	end := strings.IndexByte(rest[:min(len(rest), 60)], ')')
	if e == 0 || end < 0 || end > d+1+e && !strings.HasPrefix(rest[d+1+e:], " opID=") {
		return false
	}
	p.advance(3 + end + 1)
	p.becomeKernel("vmkernel")
	return true
}
