package follow

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Kmsg follows the kernel's records.
type Kmsg struct {
	Path  string // /dev/kmsg
	Proc  string // /proc
	Host  string // written into each line
	Quiet time.Duration
	// Since leaves out older records at a start without a position.
	Since time.Duration
	// Line hears of each record as it comes, before it is gathered: whoever a record
	// names may be gone a moment later.
	Line func(text string)
	// Now and Uptime are the clocks, for tests.
	Now    func() time.Time
	Uptime func() time.Duration
}

// KernelInput is how evidence names the kernel's records.
const KernelInput = "/dev/kmsg"

// kmsgPosition is what is kept: the last record read, of which boot, and how many lines
// were handed on in all.
type kmsgPosition struct {
	Boot string `json:"boot"`
	Seq  int64  `json:"seq"`
	Usec int64  `json:"usec"`
	Line int    `json:"line"`
}

// LastKernel says of which boot the last record of a kept position is, and its time
// since that boot.
func LastKernel(position string) (boot string, usec int64) {
	var at kmsgPosition
	_ = json.Unmarshal([]byte(position), &at) // none is none
	return at.Boot, at.Usec
}

// BootID names this boot of the kernel, "" when that cannot be read.
func BootID(proc string) string {
	b, _ := os.ReadFile(filepath.Join(proc, "sys/kernel/random/boot_id"))
	id := string(bytes.TrimSpace(b))
	if strings.Trim(id, "0123456789abcdef-") != "" {
		return ""
	}
	return id
}

// Run implements Follower.
func (k *Kmsg) Run(ctx context.Context, position string, out chan<- Chunk) error {
	var at kmsgPosition
	_ = json.Unmarshal([]byte(position), &at) // none, or one that cannot be read: from the start
	fresh := position == ""
	if boot := BootID(k.Proc); boot != at.Boot {
		at.Boot, at.Seq = boot, -1
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f, err := openStream(k.Path)
	if err != nil {
		return fmt.Errorf("read kernel log: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { f.Close() })
	defer stop()
	defer f.Close()
	g := newGatherer(k.Quiet, out)
	done := make(chan struct{})
	go func() { defer close(done); g.run(ctx) }()
	defer func() { cancel(); <-done }()
	r := &kmsgReader{k: k, at: at, g: g, fresh: fresh}
	return r.read(ctx, f)
}

// openStream opens a device, a pipe or a file so that a read can be given up.
func openStream(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

type kmsgReader struct {
	k     *Kmsg
	at    kmsgPosition
	g     *gatherer
	fresh bool
	begun bool // a record was seen
	lost  uint64
}

// read reads records until the stream or the context ends. A file, and a pipe without a
// writer, end for the moment only.
func (r *kmsgReader) read(ctx context.Context, f *os.File) error {
	in := bufio.NewReaderSize(f, 16<<10) // a record is at most 8 KiB, and read whole
	var part []byte
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 {
			part = append(part, line...)
		}
		if err == nil || errors.Is(err, bufio.ErrBufferFull) && len(part) > MaxChunk {
			if e := r.record(ctx, part); e != nil {
				return e
			}
			part = part[:0]
		}
		switch {
		case err == nil, errors.Is(err, bufio.ErrBufferFull):
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, syscall.EPIPE): // overwritten: the next read goes on behind the gap
		case errors.Is(err, io.EOF):
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
		default:
			return fmt.Errorf("read kernel log: %w", err)
		}
	}
}

// record takes one line of the device: "6,339,5140900,-;text", or " KEY=value" below it.
func (r *kmsgReader) record(ctx context.Context, line []byte) error {
	rec, ok := parseKmsg(line)
	if !ok {
		return nil
	}
	if r.begun || r.at.Seq >= 0 {
		switch {
		case rec.seq <= r.at.Seq:
			return nil // known
		case rec.seq > r.at.Seq+1:
			r.lost += uint64(rec.seq - r.at.Seq - 1)
		}
	}
	r.begun = true
	r.at.Seq, r.at.Usec = rec.seq, rec.usec
	now := r.k.now()
	at := now.Add(time.Duration(rec.usec)*time.Microsecond - r.k.uptime())
	if r.fresh && r.k.Since > 0 && now.Sub(at) > r.k.Since {
		return nil
	}
	text := rec.line(at, r.k.Host)
	if r.k.Line != nil {
		r.k.Line(text)
	}
	r.at.Line++
	lost := r.lost
	r.lost = 0
	return r.g.add(ctx, KernelInput, r.at.Line, append([]byte(text), '\n'), r.position, lost)
}

// position is made for each line of a storm.
func (r *kmsgReader) position() string {
	b := make([]byte, 0, 128)
	b = append(append(append(b, `{"boot":"`...), r.at.Boot...), `","seq":`...)
	b = append(strconv.AppendInt(b, r.at.Seq, 10), `,"usec":`...)
	b = append(strconv.AppendInt(b, r.at.Usec, 10), `,"line":`...)
	return string(append(strconv.AppendInt(b, int64(r.at.Line), 10), '}'))
}

func (k *Kmsg) now() time.Time {
	if k.Now != nil {
		return k.Now()
	}
	return time.Now()
}

func (k *Kmsg) uptime() time.Duration {
	if k.Uptime != nil {
		return k.Uptime()
	}
	return monotonic()
}

type kmsgRecord struct {
	facility int
	seq      int64
	usec     int64
	text     string
}

func parseKmsg(line []byte) (kmsgRecord, bool) {
	head, text, ok := strings.Cut(strings.TrimRight(string(line), "\n"), ";")
	if !ok || head == "" || head[0] == ' ' {
		return kmsgRecord{}, false
	}
	f := strings.Split(head, ",")
	if len(f) < 3 {
		return kmsgRecord{}, false
	}
	pri, err1 := strconv.ParseUint(f[0], 10, 16)
	seq, err2 := strconv.ParseInt(f[1], 10, 62)
	usec, err3 := strconv.ParseInt(f[2], 10, 53)
	if err1 != nil || err2 != nil || err3 != nil || seq < 0 || usec < 0 {
		return kmsgRecord{}, false
	}
	return kmsgRecord{int(pri >> 3), seq, usec, unescape(text)}, true
}

// line writes a record as a log line. Who wrote it is the kernel only where the kernel
// says so: any program may write to /dev/kmsg.
func (r *kmsgRecord) line(at time.Time, host string) string {
	var b strings.Builder
	b.WriteString(at.UTC().Format("2006-01-02T15:04:05.000000-07:00"))
	b.WriteByte(' ')
	b.WriteString(host)
	b.WriteByte(' ')
	if r.facility == 0 {
		b.WriteString("kernel: ")
	}
	b.WriteString(r.text)
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
