package frame

import "strings"

// fluentRecord peels what Fluentd writes to files and standard output: behind the time
// its tag, a colon or tab, and the record as JSON. A tag is words joined by dots, the
// first of which names the source; a program's own "word: {json}" has none.
func (p *peeler) fluentRecord() bool {
	n := 0
	for n < len(p.rest) && (isAlnum(p.rest[n]) || p.rest[n] == '_' || p.rest[n] == '.' || p.rest[n] == '-' || p.rest[n] == '/') {
		n++
	}
	tag, rest := p.rest[:n], p.rest[n:]
	body := strings.TrimLeft(rest, ":\t ")
	if gap := rest[:len(rest)-len(body)]; gap != ": " && gap != "\t" || !strings.HasPrefix(body, `{"`) {
		return false
	}
	source, _, dotted := strings.Cut(tag, ".")
	kernel := source == "kernel" || source == "kmsg"
	if !dotted && !kernel {
		return false
	}
	before := *p
	p.advance(len(p.rest) - len(body))
	if !p.jsonFrom(0) {
		if kernel && p.recordText() {
			p.becomeKernel("kernel")
			return true
		}
		*p = before
		return false
	}
	if kernel && p.at != closed {
		p.becomeKernel("kernel")
	}
	return true
}

// recordText takes the message of a record that names neither time nor host.
func (p *peeler) recordText() bool {
	var e envelope
	scanPairs(p.rest, 0, e.set)
	if e.rank == 0 {
		return false
	}
	e.apply(p)
	p.setText(e.message)
	return true
}
