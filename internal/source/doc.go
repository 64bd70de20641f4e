// Package source opens what the user named on the command line and hands it on as
// blocks of text.
//
//	arguments ──Expand──► []Input ──Open──► Reader ──Next──► Block, Block, …
//
// An argument is a file, a folder (walked; rotated logs come oldest first), "-" for
// standard input, or any of these as host=path. Compression and encoding are told
// by content, never by name.
//
// Nothing here stops a run: a missing file, a denied permission, a truncated
// gzip stream or a binary file is a value, [Input.Problems] or [Reader.Problems],
// and whatever text could be read is still delivered.
//
// Memory is bounded whatever the input holds. A block holds whole lines, except
// that a line longer than [MaxLine] comes in pieces (Block.Cut), so that a file of
// one endless line costs no more than any other.
package source
