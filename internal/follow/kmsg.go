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

	"github.com/gpumedic/gpumedic/internal/kmsg"
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

// Booted is when this boot began, by the clock of the kernel's records.
func Booted(now time.Time) time.Time { return now.Add(-monotonic()) }

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
	rec, ok := kmsg.Parse(string(line))
	if !ok {
		return nil
	}
	if r.begun || r.at.Seq >= 0 {
		switch {
		case rec.Seq <= r.at.Seq:
			return nil // known
		case rec.Seq > r.at.Seq+1:
			r.lost += uint64(rec.Seq - r.at.Seq - 1)
		}
	}
	r.begun = true
	r.at.Seq, r.at.Usec = rec.Seq, rec.Usec
	now := r.k.now()
	at := now.Add(time.Duration(rec.Usec)*time.Microsecond - r.k.uptime())
	if r.fresh && r.k.Since > 0 && now.Sub(at) > r.k.Since {
		return nil
	}
	text := rec.Line(at, r.k.Host)
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
