package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic/internal/kmsg"
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
		r, ok := kmsg.Parse(string(line))
		if !ok {
			continue // a dictionary line " SUBSYSTEM=pci", or damage
		}
		if first {
			lost, first = uint64(r.Seq), false
		}
		writeRecord(&b, r, boot, host)
	}
	return b.Bytes(), lost
}

// writeRecord writes a record as the kernel's log has it, or, where the time of the boot is
// not known, as dmesg does.
func writeRecord(b *bytes.Buffer, r kmsg.Record, boot time.Time, host string) {
	if boot.IsZero() {
		fmt.Fprintf(b, "[%5d.%06d] %s\n", r.Usec/1e6, r.Usec%1e6, r.Text)
		return
	}
	b.WriteString(r.Line(boot.Add(time.Duration(r.Usec)*time.Microsecond), host) + "\n")
}
