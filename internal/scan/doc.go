// Package scan turns bytes into signals. It knows no message of any vendor: what
// to look for is in the catalog, what numbers mean is in internal/decode, what a
// logger puts around a message is in internal/frame.
//
//	block ──literal──► candidate rows ──frame──► messages ──catalog──► signals ──collapse──► Result
//
// Most of a log is never looked at twice. A block of 512 KiB is searched for the
// literals of all matchers at once (scan/literal); only rows with a hit are framed,
// and of each message only the matchers whose literal stands there are tried. A row
// in which none of them can match is known for that before framing (dull.go). A row
// may look at its neighbours through a window that is bounded in bytes and does not
// depend on where blocks end: any block size gives the same signals (a property
// test holds this).
//
// What a block alone tells (its candidate rows, their messages) is found out ahead by
// several goroutines (examine.go, ahead.go); what depends on order is done by one, so
// that their number does not show.
//
// Repeats are cheap. The outcome of a matcher on a message is remembered by the
// message's text, so that the second and the 800,000th equal Xid line cost a
// framing and a look-up. Equal signals become one with a count (collapse.go); a
// kind that floods with ever new texts is cut at 256 signals a GPU, earlier when the
// whole input floods, and its further lines are matched and counted, no more.
//
// Output of tools inside a log (nvidia-smi, lspci, …) is handed to scan/section,
// whose readings are judged together at the end of the input.
//
// Three readers follow more than one row. A traceback is put together from the lines
// of one writer, however others' lines interleave (scan/traceback): from its first line
// on all rows are framed until it and what follows it have been seen. The figures of
// training steps become curves (internal/series). A dump of NCCL's flight recorder is
// no text at all: internal/flight reads it, and the dumps of all inputs are compared.
//
// A file of nvidia-bug-report.sh is cut at its banners (cutter.go): each section is
// scanned by itself, as a source of its own kind, clock and origin, and what the sections
// say together is judged once (bugreport.go).
//
// What a program's last words mean is often said by a matcher: then the exception that
// carries them is marked known=yes. A line that others die of, and behind which this
// program goes on working, is marked survived=yes (known.go). The faults say for which
// signals this matters.
//
// Ranks come from the framing; a line without one takes the rank that its input states
// elsewhere, or that its path suggests.
//
// OPT: matching and collapse of one input are done by one goroutine. To split them would
// need the collapse to merge in order.
package scan
