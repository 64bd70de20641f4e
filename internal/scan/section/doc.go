// Package section reads the output of tools that people paste into logs and
// tickets, or give as a file: nvidia-smi in all its forms, lspci, ibstat, dcgmi,
// systemctl and a few more. It turns a block of lines into readings (normal names,
// one subject each) and lets the catalog's reading rules judge them.
//
// The flow:
//
//	Starts ──► (block scan finds a literal) ──► Parse ──► []Readings ──► Judge ──► []Signal
//
// Three promises hold for callers:
//
//   - [Starts] are plain literals (case matters). A line with one of them may
//     belong to a section; [Parse] decides. One that reports consumed = 0 says
//     "not mine", and the line stays an ordinary line.
//   - [Parse] may look back (a grep excerpt loses its head line), but the lines it
//     uses up are always 0..consumed-1. A line inside a section whose text is also a
//     log message (an NVRM line in the middle of a table) ends the section before it.
//   - [Judge] takes all sets of one input together, so that rules can use readings of
//     the node and of peers, and so that the same GPU seen by two tools is judged
//     once. It is pure: same readings, same signals, in the same order.
//
// The names of readings are stable and documented in docs/readings.md; live sources
// (NVML, sysfs) use the same names and go through the same [Judge].
//
// Values are normalised: a number stands without its unit where the name carries
// the unit, "N/A", "[N/A]" and "Not Supported" stay as "N/A", yes/no, enabled/disabled
// and active/not active are lower case. A reading that is N/A is never a fault.
package section

import "github.com/gpumedic/gpumedic"

// Lines is the cursor that the scan lends to Parse. Line(0) is the line with the
// literal; negative indices look back. ok is false where the input ends.
type Lines interface {
	Line(i int) (text string, ok bool)
}

// Readings are what one tool said about one subject.
type Readings struct {
	Tool    string // nvidia-smi -q, nvidia-smi, lspci, ibstat, …
	Subject gpumedic.Subject
	Values  map[string]Reading
}

// Reading is one value with the line it was read from.
type Reading struct {
	Key   string // normal name, see docs/readings.md
	Value string
	// Line is the place of the evidence. Parse counts from its own line 0; the
	// scan adds the absolute position before it calls Judge (see [Readings.Shift]).
	Line int
	Text string // the line as it stands
}

// Shift makes the line numbers of a set absolute: line is the number of the line
// that was Line(0) for Parse.
func (r *Readings) Shift(line int) {
	for k, v := range r.Values {
		v.Line += line
		r.Values[k] = v
	}
}
