// Package frame strips what loggers put around a message: timestamps, hosts,
// identifiers, priorities, container and pod prefixes, JSON envelopes, colours.
// What remains is the message as its writer wrote it, with when, where and by whom.
//
// Framing is local: a framer sees one candidate line and may look at its
// neighbours through a [Window], since journal export records and multi-line
// driver messages spread over lines. It never fails: a line in no known form is a
// message of unknown origin without a time.
//
// Framings nest (a kubectl prefix around CRI around syslog around a dmesg stamp),
// so the work is a loop: peel.go takes one layer off the front until the front is
// the start of a message or nothing known. Two rules keep it honest:
//
//   - A message is never eaten: starts.go knows how messages begin, and nothing
//     is peeled from those.
//   - Who quotes the kernel is not the kernel: once a writer other than the kernel
//     is named, its text is left alone, and a prefix of unknown form comes off only
//     when it looks like a label and not like words of a person or a command.
//
// Time has a second pass: lines lack a year, a zone or any wall clock at all, and
// only the whole input tells. [Clock] collects stamps and fills in what it can.
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

func (o Origin) String() string {
	switch o {
	case Kernel:
		return "kernel"
	case Service:
		return "service"
	}
	return "unknown"
}

// Message is one message of one record.
type Message struct {
	Text string
	// Off is the byte offset of Text in the raw line, or -1 when Text was decoded
	// (JSON escapes, octal escapes) and has no one place there.
	Off int
	// Indent is how much white space stood before Text, after the framing.
	Indent int
	Stamp  gpumedic.Stamp
	Host   string
	Ident  string // syslog identifier; "" for container output, see Container
	// PID is that of the writer: of a syslog record, or of the worker that a Ray or
	// vLLM prefix names (Ident is empty then).
	PID       int
	Origin    Origin
	Pod       string
	Container string
	// Rank is the number of the process within its job, "" when the line does not
	// say; RankKind tells what the number counts.
	Rank     string
	RankKind string
	// Task is what the launcher's prefix calls the process ("3" of srun -l, a Ray
	// actor, a node of pdsh): lines of one writer share it.
	Task string
	// Repeat is how often the logger says the message came ("message repeated 5
	// times: [ … ]"), at least 1.
	Repeat int
}

// Window shows a framer the lines around a candidate: Line(0) is the candidate,
// Line(-1) the line before. ok is false where the window ends.
type Window interface {
	Line(delta int) (line []byte, ok bool)
}

// Options tell a framer what is known of an input beforehand.
type Options struct {
	// Host is the node of lines that name none.
	Host string
	// Origin is who wrote plain lines, when the source knows (the dmesg section
	// of a bug report). Lines that name their writer keep it.
	Origin Origin
}

// Framer frames the lines of one input. It keeps no state between lines, so one
// framer may serve several goroutines.
type Framer struct {
	opts    Options
	layered bool // tests want no line to be taken for a classic one
}

// New returns a framer for one input.
func New(opts Options) *Framer { return &Framer{opts: opts} }
