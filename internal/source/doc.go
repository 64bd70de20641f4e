// Package source opens what the user named on the command line and hands it on as
// blocks of text.
//
//	arguments ──Expand──► []Input ──Open──► Reader ──Next──► Block, Block, …
//
// An argument is a file, a folder (walked; rotated logs come oldest first), an
// archive, "-" for standard input, or any of these as host=path. Compression (gzip,
// bzip2, zstd, xz, lz4), archives (tar, zip), systemd journals and encodings are told
// by content, never by name.
//
// Nothing here stops a run: a missing file, a denied permission, a truncated
// gzip stream or a binary file is a value, [Input.Problems] or [Reader.Problems],
// and whatever text could be read is still delivered. Input is untrusted:
//
//   - An archive's entries become inputs named archive/path. No entry is written to
//     disk, and its path is a name only. Entries, bytes, ratio and depth are bounded
//     (archiveLimits), and it is said when a bound is met.
//   - A stream that unpacks to far more than a log can is ended (maxRatio).
//   - A file is read once, up to the size that it had when it was opened; a pipe is
//     read with a deadline; a device is never opened.
//   - Journals go through journalctl, which has a deadline for each piece.
//
// Memory is bounded whatever the input holds: by the block size, and by the window
// of the decoder, 32 MiB for zstd and 64 MiB for xz -9, of which only what the text
// fills is used. A block holds whole lines, except that a line longer than [MaxLine]
// comes in pieces (Block.Cut), so that a file of one endless line costs no more than
// any other.
package source
