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
	trace     bool        // torchrun's error file: message is a call stack
}

// messageKeys are the keys that hold the message, the surest highest.
var messageKeys = map[string]int{
	"MESSAGE": 9, "log": 8, "message": 7, "msg": 6, "_msg": 6, "short_message": 5, "Message": 5, "line": 4, "text": 3, "event": 2,
}

// set notes one field of a JSON record.
func (e *envelope) set(key string, v jsonValue) {
	if r, ok := messageKeys[key]; ok && (v.kind == jsonString || key == "MESSAGE") {
		if r > e.rank {
			if e.rank > 0 {
				e.texts = append(e.texts, e.message)
			}
			e.message, e.rank = v, r
			e.journal = e.journal || key == "MESSAGE"
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
		if key == "kubernetes" || key == "log" || key == "attrs" {
			scanPairs(v.raw, 0, func(k string, in jsonValue) { e.field(k, in.text()) })
		}
		return
	}
	if !e.field(key, v.text()) && v.kind == jsonString && len(v.raw) > 16 && strings.IndexByte(v.raw, ' ') > 0 {
		e.texts = append(e.texts, v)
	}
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
	p.at = outer
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
	if !known && !e.source.Known() && !e.received.Known() && e.host == "" {
		return false // some object that happens to have a "message"
	}
	e.apply(p)
	p.setText(e.message)
	if !known {
		for _, v := range e.texts {
			p.extras = append(p.extras, v.text())
		}
	}
	return true
}
