// Package frame strips what loggers put around a message: timestamps, hosts,
// identifiers, priorities, container and pod prefixes, JSON envelopes, colours.
// What remains is the message as its writer wrote it, with when, where and by whom.
//
// Framing is local: a framer sees one candidate line and may look at its
// neighbours through a [Window], since journal export records and multi-line
// driver messages spread over lines. It never fails: a line in no known form is a
// message of unknown origin without a time.
package frame

import "github.com/gpumedic/gpumedic"

// Origin says who wrote a message.
type Origin uint8

const (
	// Unknown: no framing told who wrote it (plain lines, job output).
	Unknown Origin = iota
	// Kernel: a kernel record (dmesg form, identifier "kernel", transport kernel).
	Kernel
	// Service: a named writer other than the kernel.
	Service
)

// Message is one message of one record.
type Message struct {
	Text string
	// Off is the byte offset of Text in the raw line, or -1 when Text was decoded
	// (JSON escapes, octal escapes) and has no one place there.
	Off       int
	Stamp     gpumedic.Stamp
	Host      string
	Ident     string // syslog identifier or container name
	PID       int
	Origin    Origin
	Pod       string
	Container string
	// Repeat is how often the logger says the message came ("message repeated 5
	// times: [ … ]"), at least 1.
	Repeat int
}

// Window shows a framer the lines around a candidate: Line(0) is the candidate,
// Line(-1) the line before. ok is false where the window ends.
type Window interface {
	Line(delta int) (line []byte, ok bool)
}
