package frame

import (
	"bytes"
	"strings"

	"github.com/gpumedic/gpumedic"
)

// maxParts bounds how many messages one line may give; more than that in one line
// is a progress bar or junk, and stays one message.
const maxParts = 64

// maxFolded is how many lines a logger may have folded into one record: a traceback
// has hundreds at most.
const maxFolded = 600

// Frame gives the messages of a candidate line: one as a rule, several when a
// logger folded newlines into escapes. Neighbours are looked at where the line's
// meaning depends on them.
func (f *Framer) Frame(w Window) []Message { return f.Append(nil, w) }

// Append is Frame that appends to out.
func (f *Framer) Append(out []Message, w Window) []Message {
	line, ok := w.Line(0)
	if !ok {
		return out
	}
	if p, ok := record(w, line); ok {
		return f.finish(out, p, cleaned{}, line, w) // a record is not cleaned as a whole
	}
	c := clean(line)
	if strings.IndexByte(c.text, '\r') >= 0 {
		return f.overwritten(out, w, c, line)
	}
	return f.finish(out, newPeeler(w, c.text), c, line, w)
}

// overwritten frames a line with carriage returns inside: a terminal showed its
// parts one over the other.
func (f *Framer) overwritten(out []Message, w Window, c cleaned, line []byte) []Message {
	if strings.Count(c.text, "\r") > maxParts {
		return f.finish(out, newPeeler(w, c.text), c, line, w)
	}
	at := 0
	for part := range strings.SplitSeq(c.text, "\r") {
		if strings.TrimSpace(part) != "" {
			p := newPeeler(w, part)
			p.base = at
			out = f.finish(out, p, c, line, w)
		}
		at += len(part) + 1
	}
	return out
}

// finish peels, looks at the neighbours and appends the messages.
func (f *Framer) finish(out []Message, p peeler, c cleaned, line []byte, w Window) []Message {
	p.layered = f.layered
	p.run()
	start := len(out)
	switch {
	case p.multi:
		for part := range strings.SplitSeq(p.rest, "\n") {
			if len(out)-start >= maxFolded {
				break
			}
			if q := p.part(part); strings.TrimSpace(part) != "" {
				q.run()
				out = f.emit(out, &q, c, line)
			}
		}
	default:
		f.context(&p, w)
		out = f.emit(out, &p, c, line)
	}
	for _, text := range p.extras {
		q := p.part(text)
		q.at = closed
		for part := range strings.SplitSeq(text, "\n") {
			if q.rest, q.m.Indent = part, 0; strings.TrimSpace(part) != "" && len(out)-start < maxFolded {
				out = f.emit(out, &q, c, line)
			}
		}
	}
	for _, text := range p.lines {
		for part := range strings.SplitSeq(text, "\n") {
			q := p.part(part)
			if q.lines = nil; q.m.Origin != Service {
				q.at = outer
			}
			if strings.TrimSpace(part) != "" && len(out)-start < maxFolded {
				q.run()
				out = f.emit(out, &q, c, line)
			}
		}
	}
	return out
}

// emit appends the message of a peeler that is done; octal escapes for newlines
// make several.
func (f *Framer) emit(out []Message, p *peeler, c cleaned, line []byte) []Message {
	p.skipSpace()
	text := strings.TrimRight(p.rest, " \t\r\n")
	if p.m.Host == "" {
		p.m.Host = f.opts.Host
	}
	if p.m.Origin == Unknown && f.opts.Origin != Unknown && p.m.Ident == "" {
		p.m.Origin = f.opts.Origin
	}
	p.readTextTime(text)
	if decoded, ok := unescapeOctal(text); ok && (p.at != outer || strings.Contains(text, "#012")) {
		from := 0
		n := len(out)
		for part := range strings.SplitSeq(cleanString(decoded).text, "\n") {
			indent := len(part) - len(strings.TrimLeft(part, " \t"))
			if part = strings.TrimSpace(part); part == "" || len(out)-n >= maxParts {
				continue
			}
			m := p.m
			m.Indent = indent
			m.Text = part
			m.Off, from = locate(line, part, from)
			out = append(out, m)
		}
		return out
	}
	m := p.m
	m.Text = text
	m.Off = -1
	if !p.decoded {
		if at := c.raw(p.base); at+len(text) <= len(line) && string(line[at:at+len(text)]) == text {
			m.Off = at
		}
	} else {
		m.Off, _ = locate(line, text, 0)
	}
	return append(out, m)
}

// locate finds a decoded text in the raw line, from an offset on.
func locate(line []byte, text string, from int) (off, next int) {
	if text == "" || from > len(line) {
		return -1, from
	}
	if i := bytes.Index(line[from:], []byte(text)); i >= 0 {
		return from + i, from + i + len(text)
	}
	return -1, from
}

// readTextTime takes a time that the message itself states.
func (p *peeler) readTextTime(text string) {
	s := p.m.Stamp
	if s.Known() && s.Assumed&gpumedic.AssumedYear == 0 {
		return
	}
	if p.m.Origin == Kernel && !kernelStates(text) {
		return // a date inside a kernel message (a module's build) is not its time
	}
	inner, ok := peekStamp(text)
	switch {
	case !ok:
	case s.Known():
		// The year only: a zone learned from this one line would set it apart from
		// the lines around it.
		if s.Time.Year() <= 1 && inner.Time.Year() > 1 {
			p.m.Stamp.Time = nearestYear(s.Time, inner.Time)
		}
	default:
		inner.Mono, inner.HasMono = s.Mono, s.HasMono
		p.m.Stamp = inner
	}
}

// kernelStates reports whether the time in a kernel message is that of its writing.
func kernelStates(text string) bool {
	return strings.HasPrefix(text, "audit: ") || strings.Contains(text, "setting system clock to ")
}

// context gives a line what only its neighbours say.
func (f *Framer) context(p *peeler, w Window) {
	if p.relative {
		p.sumDeltas(w)
	}
	if p.partial {
		p.joinPartial(w)
	}
	switch {
	case p.at == kernel && p.m.Host == "" && !p.m.Stamp.Known() && p.m.Ident != "":
		p.broadcast(w)
	case p.at == outer && p.m.Origin == Unknown && p.m.Pod == "" && p.m.Container == "" && p.m.Host == "":
		f.continuation(p, w)
		if p.m.Origin == Unknown && f.opts.Origin == Unknown && !p.m.Stamp.Known() && !p.m.Stamp.HasMono && startsDistinct(p.rest) && quoted(w) {
			p.m.Origin = Service // whoever wrote it, not the kernel
		}
	}
}

// sumDeltas turns "[  +0.000316]" of dmesg -H into a time: the deltas add up from
// the last line with an absolute stamp.
func (p *peeler) sumDeltas(w Window) {
	delta := p.m.Stamp.Mono
	unit := p.m.Stamp.Precision
	p.m.Stamp = gpumedic.Stamp{}
	for d := 1; d <= 128; d++ {
		line, ok := w.Line(-d)
		if !ok {
			return
		}
		q := newPeeler(nil, clean(line[:min(len(line), 200)]).text)
		q.run()
		if q.relative {
			delta += q.m.Stamp.Mono
			continue
		}
		if st := q.m.Stamp; q.m.Origin == Kernel && (st.Known() || st.HasMono) {
			if st.Known() {
				st.Time = st.Time.Add(delta)
			}
			if st.HasMono {
				st.Mono += delta
			}
			st.Precision = max(unit, st.Precision)
			p.m.Stamp = st
			return
		}
	}
}

// joinPartial appends the following lines of a CRI record that was cut (tag P).
func (p *peeler) joinPartial(w Window) {
	text := p.rest
	for d := 1; d <= 16 && len(text) < 1<<16; d++ {
		line, ok := w.Line(d)
		if !ok {
			break
		}
		q := newPeeler(nil, clean(line).text)
		for range 4 { // pod prefix, stamp, stream tag
			q.skipSpace()
			if q.rest == "" || q.at == stamped && q.streamTag() || !q.outerLayer() {
				break
			}
		}
		if q.m.Pod != p.m.Pod || !q.m.Stamp.Known() {
			break
		}
		text += q.rest
		if !q.partial {
			break
		}
	}
	if text != p.rest {
		p.rest, p.decoded = text, true
	}
}

// broadcast reads host and time of " kernel:[1234.5] …" as syslogd shows it on
// terminals: the line before says "Message from syslogd@host at Jan  7 03:15:11 ...".
func (p *peeler) broadcast(w Window) {
	for d := 1; d <= 3; d++ {
		line, ok := w.Line(-d)
		if !ok {
			return
		}
		rest, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("Message from syslogd@"))
		if !ok {
			continue
		}
		host, at, _ := strings.Cut(string(rest[:min(len(rest), 200)]), " at ")
		p.m.Host = host
		if st, n := parseMonthStamp(at); n > 0 {
			p.setStamp(st)
		}
		return
	}
}

// continuation gives a line without framing the writer of the record it belongs to.
// Loggers print the further lines of a message indented, or bare.
func (f *Framer) continuation(p *peeler, w Window) {
	line, _ := w.Line(0)
	indented := len(line) > 0 && (line[0] == ' ' || line[0] == '\t' || bytes.HasPrefix(line, []byte(noBreak)))
	lead := leadWord(p.rest)
	if !indented && lead == "" {
		return
	}
	if binaryField(w) {
		e := exportFields(w, false)
		e.apply(p)
		return
	}
	for d := 1; d <= 8; d++ {
		prev, ok := w.Line(-d)
		if !ok || len(bytes.TrimSpace(prev)) == 0 {
			return
		}
		q := newPeeler(nil, clean(prev[:min(len(prev), 400)]).text)
		q.run()
		if q.m.Origin == Unknown && q.at == outer {
			if !indented && leadWord(q.rest) != lead || indented && prev[0] != ' ' && prev[0] != '\t' {
				return
			}
			continue
		}
		if q.m.Origin == Kernel && !q.relative && (indented || leadWord(q.rest) == lead) {
			p.m.Origin, p.m.Ident, p.m.Host, p.m.Stamp = Kernel, q.m.Ident, q.m.Host, q.m.Stamp
		}
		return
	}
}

// leadWord is the "NVRM" of "NVRM: …" for texts that begin as kernel messages do.
func leadWord(s string) string {
	if !startsDistinct(s) {
		return ""
	}
	n := strings.IndexAny(s, " :")
	if n < 0 {
		return s
	}
	return s[:n]
}
