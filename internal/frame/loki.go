package frame

import (
	"bytes"
	"strings"
)

// Loki's answers in pieces: the pair of one line, as an answer that was cut at its
// commas has it, the same over several lines, as jq prints it, and logcli's own form, a
// set of labels behind the time.

// lokiPair peels ["1782900960000000000","line"] and what closes the answer behind it.
func (p *peeler) lokiPair() bool {
	if p.at != outer || !strings.HasPrefix(p.rest, `["`) {
		return false
	}
	at, n := scanValue(p.rest, 1)
	n += spaces(p.rest[n:])
	if !strings.HasPrefix(p.rest[n:], ",") {
		return false
	}
	n++
	n += spaces(p.rest[n:])
	return n < len(p.rest) && p.lokiLine(at.raw, n)
}

// lokiText peels the line of a pair whose time stands in the row above.
func (p *peeler) lokiText() bool {
	if p.at != outer || p.w == nil {
		return false
	}
	prev, ok := p.w.Line(-1)
	if !ok {
		return false
	}
	prev = bytes.TrimSpace(prev)
	if len(prev) < 19 || len(prev) > 24 || !bytes.HasPrefix(prev, []byte(`"`)) || !bytes.HasSuffix(prev, []byte(`",`)) {
		return false
	}
	return p.lokiLine(string(prev[1:len(prev)-2]), 0)
}

// lokiLine makes the string at rest[n:] the rest when the time is one of Loki's.
func (p *peeler) lokiLine(at string, n int) bool {
	if p.rest[n] != '"' || len(at) < 16 || !allDigits(at, 20) {
		return false
	}
	st, k := parseEpoch(at)
	if k == 0 {
		return false
	}
	line, _ := scanValue(p.rest, n)
	p.setStamp(st)
	p.at = outer // the line has a framing of its own
	p.setText(line)
	return true
}

// hostLabels are the names under which a set of labels has the node.
var hostLabels = map[string]bool{"host": true, "hostname": true, "node": true, "node_name": true, "nodename": true, "instance": true}

// labelSet peels {host="n20", job="kern"} behind a time.
func (p *peeler) labelSet() bool {
	end := strings.IndexByte(p.rest, '}')
	if p.at != stamped || end < 4 || end > 600 || !isAlpha(p.rest[1]) {
		return false
	}
	host := ""
	for pair := range strings.SplitSeq(p.rest[1:end], ",") {
		k, v, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok || len(v) < 2 || v[0] != '"' || v[len(v)-1] != '"' {
			return false
		}
		if hostLabels[k] && host == "" {
			host, _, _ = strings.Cut(v[1:len(v)-1], ":")
		}
	}
	if p.m.Host == "" && hostLen(host) == len(host) {
		p.m.Host = host
	}
	p.advance(end + 1)
	return true
}
