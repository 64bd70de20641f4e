// Package kmsg reads records of /dev/kmsg and writes them as lines of a log that the scan
// reads: the host's probe takes all there are, the daemon each as it comes.
//
// Source: https://www.kernel.org/doc/Documentation/ABI/testing/dev-kmsg
package kmsg

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Record is one record: "6,339,5140900,-;text", level and facility in the first number.
type Record struct {
	Facility, Level int
	Seq             int64
	Usec            int64 // since boot
	Text            string
}

// Parse reads the first line of a record. A dictionary line (" SUBSYSTEM=pci") is none.
func Parse(line string) (Record, bool) {
	head, text, ok := strings.Cut(strings.TrimRight(line, "\n"), ";")
	if !ok || head == "" || head[0] == ' ' {
		return Record{}, false
	}
	f := strings.Split(head, ",")
	if len(f) < 3 {
		return Record{}, false
	}
	pri, err1 := strconv.ParseUint(f[0], 10, 16)
	seq, err2 := strconv.ParseUint(f[1], 10, 62)
	usec, err3 := strconv.ParseUint(f[2], 10, 53)
	if errors.Join(err1, err2, err3) != nil {
		return Record{}, false
	}
	return Record{int(pri >> 3), int(pri & 7), int64(seq), int64(usec), unescape(text)}, true
}

// Line writes a record as a log line. Who wrote it is the kernel only where the kernel
// says so: any program may write to /dev/kmsg.
func (r *Record) Line(at time.Time, host string) string {
	var b strings.Builder
	b.WriteString(at.UTC().Format("2006-01-02T15:04:05.000000-07:00"))
	b.WriteByte(' ')
	b.WriteString(host)
	b.WriteByte(' ')
	if r.Facility == 0 {
		b.WriteString("kernel: ")
	}
	b.WriteString(r.Text)
	return b.String()
}

// unescape undoes \x09 and the like; what would move a terminal becomes a blank.
func unescape(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && s[i+1] == 'x' {
			if n, err := strconv.ParseUint(s[i+2:i+4], 16, 8); err == nil {
				if n < ' ' && n != '\t' || n == 0x7f {
					n = ' '
				}
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
