package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const maxLog = 64 << 20

// KernelLog gives the kernel's log since boot, a line a record with its absolute time.
// It reads /dev/kmsg below root; on the running system the journal or dmesg stand in
// where that is refused or has lost its beginning. Without permission the error says so.
func KernelLog(ctx context.Context, root string) ([]byte, error) {
	o := Options{Root: root}
	if root == "" || root == "/" {
		o.Exec = Command
	}
	return kernelLog(ctx, o)
}

// Command runs a program; it is the usual Options.Exec. More than maxLog of its output is
// an error: it would be held in memory.
func Command(ctx context.Context, name string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.WaitDelay = time.Second // a grandchild may hold the pipe
	out, said := bounded{most: maxLog}, bounded{most: 4 << 10}
	c.Stdout, c.Stderr = &out, &said
	err := c.Run()
	if line, _, _ := strings.Cut(strings.TrimSpace(said.kept.String()), "\n"); err != nil && line != "" {
		err = fmt.Errorf("%w: %s", err, line)
	}
	if err == nil && out.cut {
		err = fmt.Errorf("run %s: more than %d MiB of output", name, maxLog>>20)
	}
	return out.kept.Bytes(), err
}

// bounded keeps the beginning of what is written to it. The buffer is no embedded one: its
// ReadFrom would take all.
type bounded struct {
	kept bytes.Buffer
	most int
	cut  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	keep := p[:min(len(p), b.most-b.kept.Len())]
	b.cut = b.cut || len(keep) < len(p)
	b.kept.Write(keep)
	return len(p), nil
}

func kernelLog(ctx context.Context, o Options) ([]byte, error) {
	h := newProber(ctx, nil, o)
	h.wait = 3 * time.Second
	raw, err := guarded(h.tree, "/dev/kmsg", func() ([]byte, error) { return readRecords(h.at("/dev/kmsg"), maxLog) })
	var text []byte
	lost := uint64(0)
	if err == nil {
		text, lost = h.records(raw)
		if len(text) > 0 && lost == 0 {
			return text, nil
		}
	}
	// --output-fields would be older systemd's end; short-iso-precise is of 2017. Of a journal
	// of weeks the latest lines count, and they fit maxLog.
	if out, e := h.run(5*time.Second, "journalctl", "-k", "-b", "-n", "300000", "-o", "short-iso-precise", "--no-pager", "-q"); e == nil && kernelLines(out) > bytes.Count(text, []byte("\n")) {
		return out, nil
	}
	if err == nil && len(text) > 0 {
		note := fmt.Sprintf("-- %d earlier records are no longer in the kernel's buffer --\n", lost)
		return append([]byte(note), text...), nil
	}
	if out, e := h.run(5*time.Second, "dmesg", "--time-format", "iso", "--nopager"); e == nil && len(out) > 0 {
		return out, nil
	}
	if err == nil {
		err = errors.New("no records")
	}
	return nil, fmt.Errorf("read kernel log: %s", why("/dev/kmsg", err))
}

func kernelLines(b []byte) int { return bytes.Count(b, []byte(" kernel: ")) }

// records writes kmsg records as lines of a log. Times are boot time plus the record's.
func (h *prober) records(raw []byte) (text []byte, lost uint64) {
	boot, _ := h.bootTime()
	host, _ := h.read("/proc/sys/kernel/hostname")
	if host == "" || strings.ContainsAny(host, " \t") {
		host = "localhost"
	}
	var b bytes.Buffer
	first := true
	for line := range bytes.Lines(raw) {
		r, ok := parseRecord(strings.TrimRight(string(line), "\n"))
		if !ok {
			continue // a dictionary line " SUBSYSTEM=pci", or damage
		}
		if first {
			lost, first = r.seq, false
		}
		writeRecord(&b, r, boot, host)
	}
	return b.Bytes(), lost
}

func writeRecord(b *bytes.Buffer, r record, boot time.Time, host string) {
	if boot.IsZero() {
		fmt.Fprintf(b, "[%5d.%06d] ", r.usec/1e6, r.usec%1e6)
	} else {
		t := boot.Add(time.Duration(r.usec) * time.Microsecond)
		b.WriteString(t.UTC().Format("2006-01-02T15:04:05.000000-07:00") + " " + host + " ")
		if r.facility == 0 {
			b.WriteString("kernel: ")
		}
	}
	b.WriteString(r.text + "\n")
}

// A record of /dev/kmsg: "6,339,5140900,-;text", level and facility in the first number.
type record struct {
	facility, level int
	seq, usec       uint64
	text            string
}

func parseRecord(line string) (record, bool) {
	head, text, ok := strings.Cut(line, ";")
	if !ok || line == "" || line[0] == ' ' {
		return record{}, false
	}
	f := strings.Split(head, ",")
	if len(f) < 3 {
		return record{}, false
	}
	pri, err1 := strconv.ParseUint(f[0], 10, 16)
	seq, err2 := strconv.ParseUint(f[1], 10, 64)
	usec, err3 := strconv.ParseUint(f[2], 10, 53)
	if errors.Join(err1, err2, err3) != nil {
		return record{}, false
	}
	return record{int(pri >> 3), int(pri & 7), seq, usec, unescape(text)}, true
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
