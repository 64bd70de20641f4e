package frame

import "strings"

// repeated peels the wrapping of loggers that fold equal messages:
// "message repeated 5 times: [ text]" of rsyslog and
// "Last message 'text' repeated 3 times, suppressed by syslog-ng on host". The bare
// "last message repeated 3 times" of the classic syslogd is about another line and
// stays a message of its own.
func (p *peeler) repeated() bool {
	if p.m.Repeat > 1 {
		return false
	}
	s := p.rest
	if rest, ok := strings.CutPrefix(s, "message repeated "); ok {
		d := digits(rest, 9)
		after, ok := strings.CutPrefix(rest[d:], " times: [")
		if d == 0 || !ok {
			return false
		}
		p.m.Repeat = max(1, atoi(rest[:d]))
		p.advance(len(s) - len(after))
		p.rest = strings.TrimSuffix(strings.TrimRight(p.rest, " "), "]")
		return true
	}
	if rest, ok := strings.CutPrefix(s, "Last message '"); ok {
		end := strings.LastIndex(rest, "' repeated ")
		if end < 0 {
			return false
		}
		tail := rest[end+len("' repeated "):]
		d := digits(tail, 9)
		if d == 0 || !strings.HasPrefix(tail[d:], " time") {
			return false
		}
		p.m.Repeat = max(1, atoi(tail[:d]))
		p.advance(len("Last message '"))
		p.rest = p.rest[:end]
		return true
	}
	return false
}
