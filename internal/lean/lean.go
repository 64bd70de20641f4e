// Package lean keeps a process that runs for weeks small: it gives pages of the program's
// file back that only the start needed. They stay in the page cache and come again when
// they are used, so that nothing is lost but a moment.
//
// What comes again is to be what is used. At a touch of one page the kernel maps the whole
// 64 KiB around it, as far as the mapping goes, and of a program of 30 MiB that does little
// two thirds are back within seconds. So its mappings are parted into small ones, by a flag
// that does nothing for them: every second piece is left out of core dumps, in which there
// is no program text anyway.
package lean

import (
	"bufio"
	"encoding/binary"
	"io"
	"strconv"
	"strings"
)

// A span of memory.
type span struct{ from, to uint64 }

// programSpans reads /proc/self/maps: the private mappings of the file that cannot be
// written.
func programSpans(maps io.Reader, file string) []span {
	var out []span
	s := bufio.NewScanner(maps)
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) < 6 || len(f[1]) != 4 || f[1][1] != '-' || f[1][3] != 'p' || strings.Join(f[5:], " ") != file {
			continue
		}
		from, to, _ := strings.Cut(f[0], "-")
		a, err1 := strconv.ParseUint(from, 16, 64)
		b, err2 := strconv.ParseUint(to, 16, 64)
		if err1 == nil && err2 == nil && a < b {
			out = append(out, span{a, b})
		}
	}
	return out
}

// Bits of an entry of /proc/self/pagemap.
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageOfFile  = 1 << 61
)

// asInFile reports whether no page of a part of /proc/self/pagemap differs from the file:
// one that the loader or a debugger has changed would be lost.
func asInFile(pagemap []byte) bool {
	for ; len(pagemap) >= 8; pagemap = pagemap[8:] {
		switch e := binary.NativeEndian.Uint64(pagemap); {
		case e&pageSwapped != 0, e&pagePresent != 0 && e&pageOfFile == 0:
			return false
		}
	}
	return true
}
