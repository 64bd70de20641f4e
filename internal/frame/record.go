package frame

import (
	"bytes"
	"strings"
)

// maxRecord bounds the lines of one journal record on either side of its message.
const maxRecord = 96

// record recognises a line of a journal record that spreads over lines (journalctl
// -o export, verbose, json-pretty) and holds its message. The writer and the time
// stand in neighbouring lines.
func record(w Window, line []byte) (peeler, bool) {
	line = bytes.TrimRight(line, "\r\n")
	indent := len(line) - len(bytes.TrimLeft(line, " \t"))
	body := line[indent:]
	switch {
	case bytes.HasPrefix(body, []byte("MESSAGE=")):
		return exportMessage(w, line, indent+len("MESSAGE="), indent > 0), true
	case len(body) > 2 && body[0] == '"' && messageKeys[prettyKey(body)] >= messageKeys["line"] && prettyNeighbour(w):
		return prettyMessage(w, line, indent)
	}
	// "MESSAGE", then eight bytes of length and the text, which may have newlines.
	if n := lengthPrefix(line); n > 0 {
		if prev, ok := w.Line(-1); ok && bytes.Equal(bytes.TrimRight(prev, "\r\n"), []byte("MESSAGE")) {
			return exportMessage(w, line, n, false), true
		}
	}
	// A length of 10, 266, … has a newline byte in it, which splits the line there.
	if len(line) > 7 && line[0] == 0 && bytes.Equal(line[:7], make([]byte, 7)) {
		return exportMessage(w, line, 7, false), true
	}
	return peeler{}, false
}

// lengthPrefix is 8 when the line begins with a little-endian length below 2^24.
func lengthPrefix(line []byte) int {
	if len(line) >= 8 && bytes.Equal(line[3:8], make([]byte, 5)) {
		return 8
	}
	return 0
}

func exportMessage(w Window, line []byte, at int, indented bool) peeler {
	p := newPeeler(w, string(line[at:]))
	p.base = at
	e := exportFields(w, indented)
	e.apply(&p)
	p.dropControl()
	return p
}

func (p *peeler) dropControl() {
	if strings.IndexByte(p.rest, 0x1b) >= 0 || strings.IndexByte(p.rest, 0) >= 0 {
		p.rest, p.decoded = cleanString(p.rest).text, true
	}
}

// exportFields reads the KEY=value lines around a message up to the blank line that
// parts records, or, in the verbose form, up to the head line with the stamp.
func exportFields(w Window, indented bool) envelope {
	var e envelope
	walkRecord(w, func(step int, line []byte) bool {
		trimmed := bytes.TrimLeft(line, " \t")
		if len(trimmed) == 0 || bytes.HasPrefix(trimmed, []byte("MESSAGE=")) {
			return false // the end of the record, or the message of another
		}
		if indented && len(trimmed) == len(line) {
			if st, n := parseMonthStamp(string(line[:min(len(line), 80)])); n > 0 && step < 0 {
				e.received = st
			}
			return false
		}
		key, value, ok := bytes.Cut(trimmed, []byte("="))
		if ok && len(key) < 64 && !bytes.Equal(key, []byte("MESSAGE")) {
			e.field(string(key), string(value[:min(len(value), 1024)]))
		}
		return true
	})
	return e
}

// walkRecord calls fn for the lines before the candidate, nearest first, then for
// those after it, until it says stop on either side.
func walkRecord(w Window, fn func(step int, line []byte) bool) {
	for _, step := range [...]int{-1, 1} {
		for d := 1; d <= maxRecord; d++ {
			line, ok := w.Line(step * d)
			if !ok || !fn(step, bytes.TrimRight(line, "\r\n")) {
				break
			}
		}
	}
}

// prettyNeighbour reports whether the candidate stands in a JSON object that spreads
// over lines.
func prettyNeighbour(w Window) bool {
	for _, d := range [...]int{-1, 1} {
		if line, ok := w.Line(d); ok {
			t := bytes.TrimSpace(line)
			if bytes.Equal(t, []byte("{")) || bytes.Equal(t, []byte("}")) || len(t) > 2 && t[0] == '"' && bytes.IndexByte(t, ':') > 0 {
				return true
			}
		}
	}
	return false
}

// prettyKey is the key of a line `"key": …`.
func prettyKey(body []byte) string {
	key, rest, ok := bytes.Cut(body[1:min(len(body), 24)], []byte{'"'})
	if rest = bytes.TrimLeft(rest, " "); !ok || len(rest) == 0 || rest[0] != ':' {
		return ""
	}
	return string(key)
}

func prettyMessage(w Window, line []byte, indent int) (peeler, bool) {
	var e envelope
	own := prettyKey(bytes.TrimLeft(line, " \t"))
	walkRecord(w, func(_ int, line []byte) bool {
		t := bytes.TrimSpace(line)
		if len(t) == 0 || t[0] == '{' || t[0] == '}' || t[0] == '"' && prettyKey(t) == own {
			return false
		}
		scanPairs(string(t), 0, func(k string, v jsonValue) {
			if messageKeys[k] == 0 && v.kind != jsonObject && !v.cut {
				e.field(k, v.text())
			}
		})
		return true
	})
	p := newPeeler(w, string(line))
	scanPairs(p.rest, indent, e.set)
	if e.rank == 0 || own != "MESSAGE" && (e.person || !isKernelIdent(e.ident) && !kernelText(e.message.text())) {
		return p, false
	}
	e.apply(&p)
	p.setText(e.message)
	return p, true
}

// binaryField reports whether a plain line continues a message of the export form
// that has newlines: it was announced by a line "MESSAGE" shortly before.
func binaryField(w Window) bool {
	for d := 1; d <= 12; d++ {
		line, ok := w.Line(-d)
		if !ok || len(line) > 0 && bytes.IndexByte(line, '=') > 0 && line[0] == '_' {
			return false
		}
		if bytes.Equal(bytes.TrimRight(line, "\r\n"), []byte("MESSAGE")) {
			return true
		}
	}
	return false
}
