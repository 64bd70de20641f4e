package frame

import (
	"strings"

	"github.com/gpumedic/gpumedic"
)

// stage is how far into the framing the front is: what may still be peeled.
type stage uint8

const (
	outer   stage = iota // anything may come
	stamped              // a time was read: host, identifier, stream tags, further stamps
	kernel               // a kernel record: stamps and tags of the kernel's own
	closed               // the rest is the message
)

// peeler takes framing off the front of one line.
type peeler struct {
	w    Window // for labels that only neighbours can confirm
	rest string // what is left
	base int    // where rest stands in the cleaned line
	// decoded says that rest went through an escape form and has no place in the line.
	decoded bool
	multi   bool // rest holds several lines, each to be peeled on its own

	m        Message
	at       stage
	facility int      // syslog facility of a priority prefix, -1 when there was none
	relative bool     // a dmesg delta: m.Stamp.Mono holds it, not a time since boot
	appTime  bool     // the last stamp was of the kind that applications write
	bySearch bool     // a search's prefix came off for its neighbours' sake
	partial  bool     // CRI tag P: the message goes on in the next line
	relayed  bool     // a relay's label was peeled: what follows is another program's line
	pinned   bool     // the time is of what stamps all lines as they are written
	layered  bool     // see [Framer]
	extras   []string // further texts of a JSON object of unknown form
	lines    []string // further whole lines of one, with framing of their own
}

func newPeeler(w Window, text string) peeler {
	return peeler{w: w, rest: text, facility: -1, m: Message{Repeat: 1}}
}

// advance drops n bytes from the front.
func (p *peeler) advance(n int) {
	p.rest = p.rest[n:]
	p.base += n
	p.m.Indent = 0
}

func (p *peeler) skipSpace() {
	n := 0
	for n < len(p.rest) {
		switch c := p.rest[n]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f':
			n++
			continue
		case c == 0xEF && strings.HasPrefix(p.rest[n:], "\ufeff"):
			n += 3
			continue
		case c == 0xC2 && strings.HasPrefix(p.rest[n:], "\u00a0"):
			n += 2
			continue
		}
		break
	}
	indent := p.m.Indent + n
	p.advance(n)
	p.m.Indent = indent
}

// maxLayers bounds the nesting; real lines have up to five layers.
const maxLayers = 16

// run peels until the message is reached.
func (p *peeler) run() {
	for range maxLayers {
		p.skipSpace()
		if p.rest == "" || p.multi || !p.layer() {
			return
		}
	}
}

// layer peels one layer and reports whether it did.
func (p *peeler) layer() bool {
	if p.at == closed {
		return p.repeated() || p.m.Origin == Service && (p.rest[0] == '[' && p.rankBracket() || isDigit(p.rest[0]) && p.taskLabel())
	}
	if p.at == outer && !p.decoded && p.rest[0] != '{' {
		if p.unescapeHTML(); p.rest == "" {
			return false
		}
	}
	if startsMessage(p.rest) {
		return false
	}
	if p.at == kernel {
		return p.kernelLayer()
	}
	if p.at == stamped && (p.fluentRecord() || p.streamTag() || p.levelLabel() || p.hostIdent()) {
		return true
	}
	return p.outerLayer() || p.at == outer && p.found() || p.at != closed && p.label()
}

func (p *peeler) outerLayer() bool {
	switch c := p.rest[0]; {
	case c == '[':
		return p.rankBracket() || p.bracket() || p.serverBracket() || p.jsonArray() || p.lokiPair()
	case c == '(':
		return p.actor()
	case c == '<':
		return p.priority() || p.htmlTag()
	case c == '{':
		return p.labelSet() || p.jsonObject()
	case c == '"':
		return p.truncatedJSON() || p.lokiText() || p.csvRecord()
	case c == 0x1e: // record separator of journalctl -o json-seq
		p.advance(1)
		return true
	case c == '>' && p.at == outer:
		p.advance(1)
		return true
	case c == '`' && p.at == outer:
		return p.marked("`")
	case c == '*' && p.at == outer && strings.HasPrefix(p.rest, "**"):
		return p.marked("*")
	case isDigit(c):
		return p.kmsgRecord() || p.talos() || p.csvRecord() || p.isoStamp() || p.monthStamp() || p.epochStamp() || p.usStamp() || p.taskLabel()
	case c == 'd' && strings.HasPrefix(p.rest, "data: {"): // journalctl -o json-sse
		p.advance(len("data: "))
		return true
	case c == 'k' && strings.HasPrefix(p.rest, "kernel:"):
		p.advance(len("kernel:"))
		p.becomeKernel("kernel")
		return true
	case isAlpha(c) || c >= 0x80 || c == '_':
		return p.classic() || p.bareDaemon() || p.truncatedJSON() || p.talos() || p.decodedPriority() || p.logfmt() || p.csvRecord() || p.monthStamp() || p.auditRecord() || p.vmkernelTag() || p.compose() || p.rankPrefix() || p.nodeLabel()
	}
	return false
}

// marked peels the backticks or asterisks around a log line that somebody marked as
// code or made bold.
func (p *peeler) marked(sign string) bool {
	inner := strings.TrimLeft(p.rest, sign)
	if inner == "" || frontAt(inner) == frontNone && !startsMessage(inner) {
		return false
	}
	p.advance(len(p.rest) - len(inner))
	p.rest = strings.TrimRight(p.rest, sign+" ")
	return true
}

// kernelLayer peels what the kernel and its log readers put between identifier
// and message.
func (p *peeler) kernelLayer() bool {
	switch p.rest[0] {
	case '[':
		return p.bracket()
	case '<':
		return p.priority()
	case 'k':
		if strings.HasPrefix(p.rest, "kernel: ") {
			p.advance(len("kernel: "))
			return true
		}
	case 'c':
		if p.vmkernelTag() {
			return true
		}
	}
	return p.levelTag() || p.repeated()
}

func (p *peeler) becomeKernel(ident string) {
	if ident != "" {
		p.m.Ident = ident
	}
	p.m.Origin = Kernel
	p.at = kernel
}

func (p *peeler) becomeService(ident string, pid int) {
	if i := strings.LastIndexByte(ident, '/'); i >= 0 && ident[0] == '/' {
		ident = ident[i+1:] // some log under their path
	}
	p.m.Ident, p.m.PID = strings.TrimSuffix(ident, ".service"), pid
	p.m.Origin = Service
	p.at = closed
}

// setStamp notes a stamp that stands further in than those before it: it is closer
// to the writer and wins, and takes from the outer one what it lacks.
func (p *peeler) setStamp(s gpumedic.Stamp) {
	old := p.m.Stamp
	if s.HasMono && !s.Known() {
		if old.Known() {
			s.Time, s.Assumed = old.Time, old.Assumed
			s.Precision = old.Precision
		}
		p.m.Stamp = s
		return
	}
	if old.HasMono && !s.HasMono {
		s.Mono, s.HasMono = old.Mono, true
	}
	if old.Known() {
		s = fillFrom(s, old)
	}
	p.m.Stamp = s
	if p.at == outer {
		p.at = stamped
	}
}

// part is a peeler for one line of a text that has several: the envelope of the
// whole is known already.
func (p *peeler) part(text string) peeler {
	q := *p
	q.rest, q.multi, q.decoded, q.m.Indent = text, false, true, 0
	return q
}

// setText makes the value of an envelope the rest. A value without escapes is
// still a part of the line.
func (p *peeler) setText(v jsonValue) {
	if !v.escaped {
		p.rest, p.base = v.raw, p.base+v.at
	} else {
		p.rest, p.decoded = v.text(), true
	}
	p.dropControl()
	p.m.Indent = 0
	p.rest = strings.TrimRight(p.rest, "\r\n")
	p.multi = strings.IndexByte(p.rest, '\n') >= 0
}
