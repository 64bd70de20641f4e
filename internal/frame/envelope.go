package frame

import (
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
)

// envelope is what a structured record says besides its message.
type envelope struct {
	message   jsonValue
	rank      int // how good the key of message is; 0: none seen
	journal   bool
	docker    bool
	transport string
	ident     string
	comm      string
	unit      string
	host      string
	pod       string
	container string
	pid       int
	received  gpumedic.Stamp // when the logger got it
	source    gpumedic.Stamp // when it was written, when the record says so
	mono      gpumedic.Stamp
	texts     []jsonValue // strings of keys that are no envelope
	lines     []jsonValue // further raw lines: each has a framing of its own
	trace     bool        // torchrun's error file: message is a call stack
	person    bool        // somebody said it: a chat, a prompt, a post
	depth     int         // how many objects around the key that is being read
}

// messageKeys are the keys that hold the message, the surest highest.
var messageKeys = map[string]int{
	"MESSAGE": 9, "log": 8, "message": 7, "textPayload": 7, "msg": 6, "_msg": 6, "@message": 6, "short_message": 5, "Message": 5,
	"line": 4, "_raw": 4, "full_message": 4, "logMessage": 4, "text": 3, "body": 3, "Body": 3, "stringValue": 3, "event": 2, "content": 2, "original": 1,
}

// wholeLines are keys whose value is a line of a log as it was read.
var wholeLines = map[string]bool{"line": true, "_raw": true, "original": true, "log": true}

// maxDepth bounds how far into a record its message may stand.
const maxDepth = 5

// set notes one field of a JSON record.
func (e *envelope) set(key string, v jsonValue) {
	if r, ok := messageKeys[key]; ok && (v.kind == jsonString || key == "MESSAGE") {
		if r > e.rank {
			if e.rank > 0 {
				e.texts = append(e.texts, e.message)
			}
			e.message, e.rank = v, r
			e.journal = e.journal || key == "MESSAGE"
		} else if wholeLines[key] {
			e.lines = append(e.lines, v)
		} else {
			e.texts = append(e.texts, v)
		}
		return
	}
	if v.cut { // half of a value says nothing
		return
	}
	if v.kind == jsonObject {
		if key == "message" {
			scanPairs(v.raw, 0, e.workerError)
		}
		e.inside(key, v)
		return
	}
	if v.kind == jsonArray && e.depth < maxDepth && (strings.IndexByte(v.raw, '{') >= 0 || key == "values") {
		e.elements(v)
		return
	}
	if !e.field(key, v.text()) && v.kind == jsonString && len(v.raw) > 16 && strings.IndexByte(v.raw, ' ') > 0 {
		e.texts = append(e.texts, v)
	}
}

// inside reads an object within the record: cloud loggers, Elasticsearch and Loki wrap
// the record of the node, and its own envelope, in theirs.
func (e *envelope) inside(outer string, v jsonValue) {
	if e.depth >= maxDepth {
		return
	}
	e.depth++
	defer func() { e.depth-- }()
	scanPairs(v.raw, 0, func(k string, in jsonValue) {
		in.at += v.at
		switch {
		case messageKeys[k] > 0 && in.kind == jsonString, in.kind == jsonObject, in.kind == jsonArray && k != "MESSAGE":
			e.set(k, in)
		case in.cut:
		case k == "name" && in.kind == jsonString:
			switch outer {
			case "host", "node":
				e.field("host", in.text())
			case "process":
				e.field("ident", in.text())
			}
		default:
			e.within(k, in.text())
		}
	})
}

// within notes a field of an inner object. What the outer ones say of the time and
// the process is nearer to the line than an object about something else.
func (e *envelope) within(key, v string) {
	source, pid := e.source, e.pid
	e.field(key, v)
	if source.Known() {
		e.source = source
	}
	if pid != 0 {
		e.pid = pid
	}
}

// elements reads the objects of a list: a batch of events in one record. The first
// message is that of the record, the others follow as lines.
func (e *envelope) elements(v jsonValue) {
	n := 1
	for range maxParts {
		for n < len(v.raw) && (v.raw[n] == ' ' || v.raw[n] == ',') {
			n++
		}
		if n >= len(v.raw) || v.raw[n] != '{' && v.raw[n] != '[' {
			return
		}
		in, end := scanValue(v.raw, n)
		in.at += v.at
		if in.kind == jsonArray {
			e.timedLine(in)
			n = end
			continue
		}
		first, texts := e.rank == 0, len(e.texts)
		e.inside("", in)
		if !first {
			e.lines = append(e.lines, e.texts[texts:]...)
			e.texts = e.texts[:texts]
		}
		n = end
	}
}

// timedLine reads ["1782900960000000000", "line"] of Loki.
func (e *envelope) timedLine(v jsonValue) {
	if !strings.HasPrefix(v.raw, `["`) {
		return
	}
	at, n := scanValue(v.raw, 1)
	for n < len(v.raw) && (v.raw[n] == ' ' || v.raw[n] == ',') {
		n++
	}
	if !allDigits(at.raw, 20) || n >= len(v.raw) || v.raw[n] != '"' {
		return
	}
	line, _ := scanValue(v.raw, n)
	line.at += v.at
	if st, k := parseEpoch(at.raw); k > 0 && !e.source.Known() {
		e.source = st
	}
	e.set("line", line)
}

// workerError reads the inside of torchrun's error file: {"message": {"message": …,
// "extraInfo": {"py_callstack": …, "timestamp": …}}}. The call stack ends in the
// message and so is all there is to say.
func (e *envelope) workerError(key string, v jsonValue) {
	switch {
	case key == "extraInfo" && v.kind == jsonObject:
		scanPairs(v.raw, 0, func(k string, in jsonValue) {
			switch {
			case k == "py_callstack" && in.kind == jsonString:
				in.escaped = true // its place in the line is not worth finding
				e.message, e.rank, e.trace = in, messageKeys["log"], true
			case k == "timestamp":
				e.field(k, in.text())
			}
		})
	case key == "message" && v.kind == jsonString && !e.trace:
		v.escaped = true
		e.message, e.rank, e.trace = v, messageKeys["log"], true
	}
}

// field notes one field of a record by its text; false when the key is no part of
// an envelope.
func (e *envelope) field(key, v string) bool {
	switch key {
	case "_TRANSPORT":
		e.transport, e.journal = v, true
	case "SYSLOG_IDENTIFIER":
		e.ident = v
	case "ident", "program", "programname", "appname", "app_name", "identifier":
		if e.ident == "" {
			e.ident = v
		}
	case "syslog_identifier", "syslog.identifier", "_SYSLOG_IDENTIFIER":
		if e.ident == "" {
			e.ident = v
		}
	case "role", "author", "sender", "username", "user_name", "nick", "speaker", "thread_ts", "prompt":
		e.person = true
		return false
	case "_COMM":
		e.comm = v
	case "_SYSTEMD_UNIT", "UNIT":
		if e.unit == "" {
			e.unit = v
		}
	case "_HOSTNAME", "host", "hostname", "node", "node_name", "nodename", "Host":
		if e.host == "" || key == "_HOSTNAME" {
			e.host = v
		}
	case "_PID", "SYSLOG_PID", "pid", "procid":
		if allDigits(v, 10) && (e.pid == 0 || key == "_PID") {
			e.pid = atoi(v)
		}
	case "pod_name", "pod", "POD_NAME":
		e.pod = v
	case "container_name", "container", "CONTAINER_NAME":
		e.container = strings.TrimPrefix(v, "/")
	case "stream":
		e.docker = true
	case "__REALTIME_TIMESTAMP":
		e.received, _ = parseEpoch(v)
	case "_SOURCE_REALTIME_TIMESTAMP":
		e.source, _ = parseEpoch(v)
	case "_SOURCE_MONOTONIC_TIMESTAMP":
		if allDigits(v, 15) {
			e.mono = gpumedic.Stamp{Mono: time.Duration(atoi(v)) * time.Microsecond, HasMono: true, Precision: time.Microsecond}
		}
	case "time", "@timestamp", "timestamp", "Timestamp", "ts", "_time", "date", "datetime", "asctime":
		if st, n := parseISO(v); n > 0 {
			e.source = st
		} else if st, n := parseEpoch(v); n > 0 {
			e.source = st
		} else if st, n := parseMonthStamp(v); n > 0 {
			e.source = st
		}
	case "level", "levelname", "severity", "PRIORITY", "SYSLOG_FACILITY", "logger", "tag", "namespace", "namespace_name", "logtag", "facility",
		"__CURSOR", "_BOOT_ID", "_MACHINE_ID", "__MONOTONIC_TIMESTAMP", "_SOURCE_BOOTTIME_TIMESTAMP", "_CMDLINE", "_EXE":
	default:
		return len(key) > 1 && key[0] == '_' && strings.ToUpper(key) == key
	}
	return true
}

// apply gives a peeler what the envelope says of its message.
func (e *envelope) apply(p *peeler) {
	if e.host != "" {
		p.m.Host = e.host
	}
	if e.pod != "" {
		p.m.Pod = e.pod
	}
	if e.container != "" {
		p.m.Container = e.container
	}
	p.at = outer
	st := e.source
	if !st.Known() {
		st = e.received
	}
	if st.Known() {
		p.setStamp(st)
	}
	if e.mono.HasMono {
		p.m.Stamp.Mono, p.m.Stamp.HasMono = e.mono.Mono, true
		if !p.m.Stamp.Known() {
			p.m.Stamp.Precision = e.mono.Precision
		}
	}
	p.at, p.pinned = outer, e.docker && e.source.Known()
	e.applyWriter(p)
}

// applyWriter decides who wrote the message. The journal's own fields begin with
// "_" and can't be forged; an identifier "kernel" over another transport is some
// program that calls itself so.
func (e *envelope) applyWriter(p *peeler) {
	ident := e.ident
	if ident == "" {
		ident = e.comm
	}
	if ident == "" {
		ident = e.unit
	}
	switch {
	case e.transport == "kernel" || e.transport == "" && isKernelIdent(ident):
		if ident == "" {
			ident = "kernel"
		}
		p.becomeKernel(ident)
	case ident != "" || e.transport != "":
		p.becomeService(ident, e.pid)
	}
}

// jsonObject peels a record of one JSON object a line: journalctl -o json, Docker's
// json-file, and log shippers of various kinds.
func (p *peeler) jsonObject() bool {
	if n := 1 + spaces(p.rest[1:]); n >= len(p.rest) || p.rest[n] != '"' {
		return false
	}
	return p.jsonFrom(0)
}

// truncatedJSON peels the rest of such a record whose beginning was cut off. There
// must be no object before it: a program's text that holds JSON is its own.
func (p *peeler) truncatedJSON() bool {
	if p.at != outer || !strings.HasSuffix(p.rest, "}") || !strings.Contains(p.rest, `"MESSAGE"`) && !strings.Contains(p.rest, `"log"`) {
		return false
	}
	n := 0
	if p.rest[0] != '"' {
		n = strings.Index(p.rest, `, "`)
		if m := strings.Index(p.rest, `,"`); m >= 0 && (n < 0 || m < n) {
			n = m
		}
		if n < 0 || strings.IndexByte(p.rest[:n], '{') >= 0 || strings.IndexByte(p.rest[:n], '"') < 0 {
			return false
		}
	}
	return p.jsonFrom(n)
}

func (p *peeler) jsonFrom(n int) bool {
	var e envelope
	scanPairs(p.rest, n, e.set)
	if e.rank == 0 {
		return false
	}
	known := e.journal || e.docker || e.rank == messageKeys["log"]
	if !known && e.person && !isKernelIdent(e.ident) {
		return false
	}
	if !known && !e.source.Known() && !e.received.Known() && e.host == "" && !kernelText(e.message.text()) {
		return false // some object that happens to have a "message"
	}
	e.apply(p)
	p.setText(e.message)
	if !known {
		for _, v := range e.texts {
			p.extras = append(p.extras, v.text())
		}
	}
	for _, v := range e.lines {
		p.lines = append(p.lines, v.text())
	}
	return true
}

// jsonArray peels a list of records in one line: its first record is the message.
func (p *peeler) jsonArray() bool {
	rest := strings.TrimLeft(p.rest[1:], " ")
	return p.at == outer && strings.HasPrefix(rest, `{"`) && p.jsonFrom(len(p.rest)-len(rest))
}
