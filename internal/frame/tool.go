package frame

import "strings"

// Tool is one line of a tool's output behind what collectors put before it. Its own
// leading blanks are kept, since reports are indented.
type Tool struct {
	Text string // several lines when a record holds them
	From Message
	// Searched says that a search's prefix was taken off for its neighbours' sake.
	Searched bool
}

// SameWriter reports whether two lines may be of one report.
func (t *Tool) SameWriter(o *Tool) bool {
	a, b := &t.From, &o.From
	return a.Host == b.Host && a.Ident == b.Ident && a.PID == b.PID && a.Pod == b.Pod && a.Container == b.Container && a.Task == b.Task && a.Rank == b.Rank
}

// Tool takes the collectors' framing off a line of a tool's output. ok is false for a
// line without any, and for the kernel's records, which hold no such output.
func (f *Framer) Tool(w Window) (t Tool, ok bool) {
	line, _ := w.Line(0)
	p := newPeeler(w, clean(line).text)
	layers := 0
	for range maxLayers {
		q := p
		q.skipSpace()
		if q.rest == "" || q.multi || !q.searched() && !q.layer() || strings.HasPrefix(q.rest, ",") {
			break // the time before a comma is the first cell of a table
		}
		t.Searched = t.Searched || q.bySearch
		p = q
		layers++
	}
	if p.m.Origin == Kernel {
		return Tool{}, false
	}
	if layers == 0 {
		// A blank line behind a time: nothing but the time is left.
		s := strings.TrimSpace(p.rest)
		if _, n := parseISO(s); n == 0 || n < len(s) {
			return Tool{}, false
		}
		p.rest = ""
	}
	t.Text, t.From = strings.Repeat(" ", p.m.Indent)+p.rest, p.m
	return t, true
}

// searched peels the prefix of a search from a line without framing of its own, when a
// neighbour bears it too: the same file, or the next number.
func (p *peeler) searched() bool {
	if p.at != outer || p.w == nil || p.base > 0 || p.decoded {
		return false
	}
	own := searchLabel(p.rest)
	if own.all == 0 {
		return false
	}
	for _, d := range [...]int{-1, 1} {
		line, ok := p.w.Line(d)
		if !ok {
			continue
		}
		other := searchLabel(clean(line[:min(len(line), 240)]).text)
		switch {
		case other.all == 0 || other.name != own.name:
		case own.number >= 0 && other.number == own.number+d:
			p.advance(own.all)
			p.bySearch = true
			return true
		case own.file > 0: // a number behind it is of the text
			p.advance(own.file)
			p.bySearch = true
			return true
		}
	}
	return false
}

// searchMark is the prefix "kern.log:16:" of a line, or a part of it.
type searchMark struct {
	name      string
	number    int // -1 when there is none
	file, all int // lengths of the part with the name, and of the whole
}

func searchLabel(s string) searchMark {
	m := searchPrefix.FindStringSubmatchIndex(s[:min(len(s), 160)])
	if m == nil || m[1] == 0 {
		return searchMark{}
	}
	if m[2] < 0 && (s[0] == '0' || functionOnly(s[m[1]:])) {
		return searchMark{} // "17:00.0 VGA …" of lspci
	}
	mark := searchMark{number: -1, all: m[1]}
	if m[2] >= 0 {
		mark.name, mark.file = s[m[2]:m[3]], m[3]+1
	}
	if m[4] >= 0 {
		mark.number = atoi(s[m[4]:m[5]])
	} else if m[6] >= 0 {
		mark.number = atoi(s[m[6]:m[7]])
	}
	return mark
}

// functionOnly recognises the device and function of a PCI address: "00.0 VGA …".
func functionOnly(s string) bool {
	return len(s) >= 4 && isHexDigit(s[0]) && isHexDigit(s[1]) && s[2] == '.' && octal(s[3]) && (len(s) == 4 || s[4] == ' ' || s[4] == ':')
}
