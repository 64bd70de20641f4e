// Package traceback puts Python tracebacks together and says what they mean: which
// exception, with what message, raised below which line of the user's own code.
//
// Lines come one at a time, each with the stream it belongs to (rank, worker,
// container, host): tracebacks of many ranks may be interleaved line by line, and
// loggers may have put a prefix before each line or before the first one only.
//
//	Add(line) ──► stream ──► block (one traceback) ──► chain (linked ones) ──► Exception
//
// Reading begins at a line with one of [Literals] and goes on while [Reader.Active]:
// first through the traceback, then a while behind it, to see whether the program
// went on working. An exception after which its stream shows nothing but the noise
// of an ending is final: it ended the program. One that the program survived is not.
//
// Which frame is the user's? The innermost that lies neither in installed packages
// nor in the standard library, nor in a launcher's script, nor in a checkout of a
// well-known framework. Where all frames are of such kinds there is none.
//
// Everything is bounded: lines and bytes of a traceback, streams, and how long an
// ending is watched. What is cut off is reported with what there is.
package traceback
