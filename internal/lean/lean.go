// Package lean keeps a process that runs for weeks small: it gives pages of the program's
// file back that only the start needed. They stay in the page cache and come again when
// they are used, so that nothing is lost but a moment.
package lean

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// A span of memory.
type span struct{ from, to uint64 }

// cleanSpans reads /proc/self/smaps: mappings of the file that cannot be written and of
// which no page differs from the file. A page that the loader has changed would be lost.
func cleanSpans(smaps io.Reader, file string) []span {
	var out []span
	var now span
	mine, clean := false, false
	s := bufio.NewScanner(smaps)
	flush := func() {
		if mine && clean {
			out = append(out, now)
		}
		mine, clean = false, false
	}
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) >= 5 && strings.Contains(f[0], "-") && len(f[1]) == 4 {
			flush()
			from, to, _ := strings.Cut(f[0], "-")
			a, err1 := strconv.ParseUint(from, 16, 64)
			b, err2 := strconv.ParseUint(to, 16, 64)
			now = span{a, b}
			mine = err1 == nil && err2 == nil && a < b && f[1][1] == '-' && f[1][3] == 'p' && len(f) >= 6 && strings.Join(f[5:], " ") == file
			continue
		}
		if len(f) >= 2 && f[0] == "Anonymous:" {
			clean = f[1] == "0"
		}
	}
	flush()
	return out
}
