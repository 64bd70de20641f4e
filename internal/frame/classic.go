package frame

import "strings"

// classic peels at once what rsyslog puts before a record of the kernel or a daemon,
//
//	Feb 11 12:00:00 gpu-n019 kernel:
//	Feb 11 12:00:00 gpu-n019 kubelet[2912]:
//
// as do its separate layers, which ask each line for dozens of other forms first: most
// lines of most nodes are of this one. Whatever is unusual about a line is left to them.
func (p *peeler) classic() bool {
	const stamp = len("Feb 11 12:00:00 ")
	s := p.rest
	if p.layered || p.at != outer || p.m.Host != "" || len(s) < stamp+4 || s[3] != ' ' || s[6] != ' ' || s[9] != ':' || s[stamp-1] != ' ' || !isLower(s[stamp]) {
		return false
	}
	month, tens := englishMonth(s), s[4]
	if month == 0 || tens != ' ' && !isDigit(tens) || !isDigit(s[5]) {
		return false
	}
	d := date{month: month, day: int(s[5] - '0')}
	if tens != ' ' {
		d.day += 10 * int(tens-'0')
	}
	t, n := parseDaytime(s[7:])
	if n != len("12:00:00") || !d.valid() {
		return false
	}
	host := stamp
	for host < len(s) && (isAlnum(s[host]) || s[host] == '-') {
		host++
	}
	if host+1 >= len(s) || s[host] != ' ' || s[host+1] == ' ' || levelWord(s[stamp:host]) {
		return false
	}
	id, pid, n := parseIdent(s[host+1:])
	if n == 0 || strings.HasPrefix(s[stamp:], "std") || startsMessage(s[host+1:]) {
		return false
	}
	p.advance(host + 1)
	p.setStamp(makeStamp(d, t, 0, false))
	p.appTime = false
	p.m.Host = s[stamp:host]
	p.takeIdent(id, pid, n)
	return true
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
