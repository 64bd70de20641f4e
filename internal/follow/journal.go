package follow

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Journal follows systemd's journal through journalctl, which knows every version of the
// format.
type Journal struct {
	Program string // journalctl
	Host    string
	Quiet   time.Duration
	Since   time.Duration // how far back at a start without a position
	// Boot is this boot. Kernel records of it are left out when SkipKernel says that
	// they are read from /dev/kmsg; of Done, the boot that was read there last, those up
	// to DoneUsec. What remains is what the kernel said last before a restart.
	Boot       string
	SkipKernel bool
	Done       string
	DoneUsec   int64
	Now        func() time.Time
}

// JournalInput is how evidence names the journal.
const JournalInput = "journal"

type journalPosition struct {
	Cursor string `json:"cursor"`
	Line   int    `json:"line"`
}

// Run implements Follower. It ends when journalctl does.
func (j *Journal) Run(ctx context.Context, position string, out chan<- Chunk) error {
	var at journalPosition
	_ = json.Unmarshal([]byte(position), &at) // none: from Since
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	args := []string{"--follow", "--output=export", "--no-pager", "--quiet", "--all"}
	if at.Cursor != "" {
		args = append(args, "--after-cursor="+at.Cursor, "--no-tail")
	} else {
		now := time.Now
		if j.Now != nil {
			now = j.Now
		}
		args = append(args, "--no-tail", "--since=@"+strconv.FormatInt(now().Add(-j.Since).Unix(), 10))
	}
	cmd := exec.CommandContext(ctx, j.Program, args...)
	cmd.Env = append(os.Environ(), "SYSTEMD_COLORS=0", "LC_ALL=C")
	cmd.SysProcAttr = childAttr()
	cmd.WaitDelay = time.Second
	var said headBuffer
	cmd.Stderr = &said
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("follow journal: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("follow journal: %w", err)
	}
	g := newGatherer(j.Quiet, out)
	done := make(chan struct{})
	go func() { defer close(done); g.run(ctx) }()
	err = j.read(ctx, bufio.NewReaderSize(pipe, 64<<10), &at, g)
	cancel()
	wait := cmd.Wait()
	<-done
	if err == nil || errors.Is(err, io.EOF) {
		err = errors.Join(errors.New("journalctl has ended"), wait)
	}
	if s := said.String(); s != "" {
		err = fmt.Errorf("%w: %s", err, s)
	}
	return fmt.Errorf("follow journal: %w", err)
}

func (j *Journal) read(ctx context.Context, in *bufio.Reader, at *journalPosition, g *gatherer) error {
	for {
		e, err := readExport(in)
		if err != nil {
			return err
		}
		if e["MESSAGE"] == "" || j.known(e) {
			continue
		}
		at.Cursor = e["__CURSOR"]
		head := j.head(e)
		for text := range strings.Lines(e["MESSAGE"]) {
			at.Line++
			line := head + strings.TrimRight(text, "\n") + "\n"
			if err := g.add(ctx, JournalInput, at.Line, []byte(line), at.String, 0); err != nil {
				return err
			}
		}
	}
}

func (at *journalPosition) String() string {
	b, _ := json.Marshal(at) // of strings and numbers
	return string(b)
}

// known reports whether a record of the kernel is read elsewhere.
func (j *Journal) known(e map[string]string) bool {
	if e["_TRANSPORT"] != "kernel" || !j.SkipKernel {
		return false
	}
	boot := strings.ReplaceAll(j.Boot, "-", "")
	switch id := strings.ReplaceAll(e["_BOOT_ID"], "-", ""); {
	case id == boot:
		return true
	case id == strings.ReplaceAll(j.Done, "-", "") && id != "":
		usec, err := strconv.ParseInt(e["_SOURCE_MONOTONIC_TIMESTAMP"], 10, 64)
		return err != nil || usec <= j.DoneUsec
	}
	return false
}

// head is the line's beginning: time, host, writer.
func (j *Journal) head(e map[string]string) string {
	stamp := e["_SOURCE_REALTIME_TIMESTAMP"]
	if stamp == "" {
		stamp = e["__REALTIME_TIMESTAMP"]
	}
	var b strings.Builder
	if usec, err := strconv.ParseInt(stamp, 10, 64); err == nil {
		b.WriteString(time.UnixMicro(usec).UTC().Format("2006-01-02T15:04:05.000000-07:00") + " ")
	}
	host := j.Host
	if host == "" {
		host = e["_HOSTNAME"]
	}
	b.WriteString(host + " ")
	if e["_TRANSPORT"] == "kernel" {
		b.WriteString("kernel: ")
		return b.String()
	}
	name := e["SYSLOG_IDENTIFIER"]
	if name == "" {
		name = e["_COMM"]
	}
	pid := e["_PID"]
	if pid == "" {
		pid = e["SYSLOG_PID"]
	}
	switch {
	case name != "" && pid != "":
		b.WriteString(name + "[" + pid + "]: ")
	case name != "":
		b.WriteString(name + ": ")
	}
	return b.String()
}

// Bounds of one record: what no log line has is not kept.
const (
	maxField  = 64 << 10
	maxFields = 512
)

// wantedFields are those that a line is made of.
var wantedFields = map[string]bool{
	"MESSAGE": true, "__CURSOR": true, "__REALTIME_TIMESTAMP": true, "_SOURCE_REALTIME_TIMESTAMP": true, "_SOURCE_MONOTONIC_TIMESTAMP": true,
	"_BOOT_ID": true, "_TRANSPORT": true, "_HOSTNAME": true, "SYSLOG_IDENTIFIER": true, "_COMM": true, "_PID": true, "SYSLOG_PID": true,
}

// readExport reads one record of the journal's export format: KEY=value lines, or a line
// KEY, a length of eight bytes and as many bytes; an empty line ends it.
func readExport(in *bufio.Reader) (map[string]string, error) {
	e := map[string]string{}
	for range maxFields {
		line, err := boundedLine(in)
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			if len(e) == 0 {
				continue
			}
			return e, nil
		}
		key, value, plain := bytes.Cut(line, []byte{'='})
		if !plain {
			if value, err = binaryField(in); err != nil {
				return nil, err
			}
		}
		if k := string(key); wantedFields[k] && e[k] == "" {
			e[k] = strings.ToValidUTF8(string(value), "?")
		}
	}
	return e, nil
}

// boundedLine reads a line and keeps only its beginning when it is very long.
func boundedLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if room := maxField - len(line); room > 0 {
			line = append(line, part[:min(len(part), room)]...)
		}
		if err == nil {
			return bytes.TrimRight(line, "\n"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

func binaryField(in *bufio.Reader) ([]byte, error) {
	var size [8]byte
	if _, err := io.ReadFull(in, size[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(size[:])
	if n > 1<<30 {
		return nil, fmt.Errorf("read journal: a field of %d bytes", n)
	}
	value := make([]byte, min(n, maxField))
	if _, err := io.ReadFull(in, value); err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, in, int64(n)-int64(len(value))+1); err != nil { // and its line feed
		return nil, err
	}
	return value, nil
}

// childAttr ends the child with us.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// headBuffer keeps the start of what a program says, in one line.
type headBuffer struct{ b []byte }

func (t *headBuffer) Write(p []byte) (int, error) {
	if room := 300 - len(t.b); room > 0 {
		t.b = append(t.b, p[:min(len(p), room)]...)
	}
	return len(p), nil
}

func (t *headBuffer) String() string { return strings.Join(strings.Fields(string(t.b)), " ") }
