package follow

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// collect runs a follower until f is content with the text so far, and gives the last
// position.
func collect(t *testing.T, f Follower, position string, enough func(text string, lost uint64) bool) (text, last string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := make(chan Chunk)
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx, position, out) }()
	var b strings.Builder
	var lost uint64
	last = position
	for {
		select {
		case c := <-out:
			if n := bytes.Count(c.Text, []byte{'\n'}); n != c.Lines {
				t.Errorf("a chunk of %d lines says %d", n, c.Lines)
			}
			b.Write(c.Text)
			lost += c.Lost
			last = c.Position
			if enough(b.String(), lost) {
				cancel()
				<-done
				return b.String(), last
			}
		case err := <-done:
			t.Fatalf("ended with %v after %q", err, b.String())
		}
	}
}

func has(want string) func(string, uint64) bool {
	return func(text string, _ uint64) bool { return strings.Contains(text, want) }
}

func bootTree(t *testing.T, id string) string {
	t.Helper()
	proc := t.TempDir()
	dir := filepath.Join(proc, "sys/kernel/random")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "boot_id"), []byte(id+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return proc
}

func kmsgFile(path, proc string) *Kmsg {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	return &Kmsg{Path: path, Proc: proc, Host: "n1", Quiet: time.Millisecond, Since: time.Hour,
		Now: func() time.Time { return now }, Uptime: func() time.Duration { return 2 * time.Hour }}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestKmsg(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kmsg")
	first := bootTree(t, "b0071d00-0000-4000-8000-000000000001")
	write(t, path, "6,0,1000000,-;too old to tell\n"+
		"4,1,3700000000,-;NVRM: first\\x09tab\n SUBSYSTEM=pci\n"+
		"30,2,7199000000,-;systemd[1]: Started\n4,3,7200000000,-;NVRM: last\n")
	text, position := collect(t, kmsgFile(path, first), "", has("last"))
	want := "2026-12-01T11:01:40.000000+00:00 n1 kernel: NVRM: first\ttab\n2026-12-01T11:59:59.000000+00:00 n1 systemd[1]: Started\n2026-12-01T12:00:00.000000+00:00 n1 kernel: NVRM: last\n"
	if text != want {
		t.Errorf("text %q", text)
	}
	// A restart reads what is new, and counts what was overwritten.
	write(t, path, "4,10,7200000001,-;NVRM: new\n")
	lost := uint64(0)
	text, position = collect(t, kmsgFile(path, first), position, func(s string, n uint64) bool { lost = n; return strings.Contains(s, "new") })
	if strings.Count(text, "\n") != 1 || lost != 6 {
		t.Errorf("after a restart: %q, %d lost", text, lost)
	}
	// Another boot begins with other numbers.
	second := filepath.Join(t.TempDir(), "kmsg")
	write(t, second, "4,0,7100000000,-;NVRM: of the next boot\n")
	text, next := collect(t, kmsgFile(second, bootTree(t, "b0071d00-0000-4000-8000-000000000002")), position, has("next boot"))
	if strings.Count(text, "\n") != 1 {
		t.Errorf("after a reboot: %q", text)
	}
	if boot, usec := LastKernel(next); !strings.HasSuffix(boot, "2") || usec != 7100000000 {
		t.Errorf("position %s", next)
	}
}

// TestKmsgDevice reads the real device, into which it writes a line of its own.
func TestKmsgDevice(t *testing.T) {
	f, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("the kernel's log cannot be written here: %v", err)
	}
	defer f.Close()
	mark := fmt.Sprintf("gpumedic-test %d: harmless line of a test", time.Now().UnixNano())
	k := kmsgFile("/dev/kmsg", "/proc")
	k.Now, k.Uptime = nil, nil
	go func() {
		time.Sleep(50 * time.Millisecond)
		_, _ = f.WriteString("<6>" + mark + "\n")
	}()
	text, position := collect(t, k, "", has(mark))
	if !strings.Contains(text, " n1 "+mark) {
		t.Errorf("the line is not there as it was written")
	}
	_, _ = f.WriteString("<6>" + mark + " again\n")
	if text, _ = collect(t, k, position, has("again")); strings.Contains(text, mark+"\n") {
		t.Error("a line was read twice")
	}
}

// TestKmsgPipe: a pipe is read as it comes.
func TestKmsgPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	go func() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return
		}
		defer f.Close()
		for n := range 3 {
			fmt.Fprintf(f, "4,%d,7200000000,-;NVRM: part", n)
			time.Sleep(5 * time.Millisecond)
			fmt.Fprintf(f, "ed %d\n", n)
		}
	}()
	text, _ := collect(t, kmsgFile(path, bootTree(t, "b")), "", has("parted 2"))
	if strings.Count(text, "parted") != 3 {
		t.Errorf("text %q", text)
	}
}

func tail(glob string) *Tail {
	return &Tail{Globs: []string{glob}, Every: 5 * time.Millisecond, Max: 16}
}

// TestTail: a path is one stream, whatever happens to its file.
func TestTail(t *testing.T) {
	dir := t.TempDir()
	glob, log := filepath.Join(dir, "*.log"), filepath.Join(dir, "job.log")
	write(t, log, "over long ago\n")
	steps := []struct {
		do   func()
		want string
	}{
		{func() { write(t, log, "one\n") }, "one\n"},
		{func() { write(t, log, "two, not yet wh"); time.Sleep(30 * time.Millisecond); write(t, log, "ole\n") }, "two, not yet whole\n"},
		{func() { // rotated, with a last line in the old file
			write(t, log, "last of the old\n")
			must(t, os.Rename(log, log+".1"))
			write(t, log, "first of the new\n")
		}, "last of the old\nfirst of the new\n"},
		{func() {
			must(t, os.Truncate(log, 0))
			time.Sleep(40 * time.Millisecond)
			write(t, log, "after a truncation\n")
		}, "after a truncation\n"},
		{func() { must(t, os.Remove(log)); time.Sleep(80 * time.Millisecond); write(t, log, "made anew\n") }, "made anew\n"},
		{func() { write(t, filepath.Join(dir, "second.log"), "a new file\n") }, "a new file\n"},
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := make(chan Chunk)
	go func() { _ = tail(glob).Run(ctx, "", out) }()
	<-out // the files are known
	position := ""
	for n, s := range steps {
		s.do()
		got := ""
		for len(got) < len(s.want) {
			select {
			case c := <-out:
				got += string(c.Text)
				position = c.Position
			case <-ctx.Done():
				t.Fatalf("step %d: %q, want %q", n, got, s.want)
			}
		}
		if got != s.want {
			t.Errorf("step %d: %q, want %q", n, got, s.want)
		}
	}
	cancel()
	// While nobody looks: more lines, a rotation, and a new file.
	write(t, log, "unseen\n")
	must(t, os.Rename(log, log+".1"))
	write(t, log, "unseen new\n")
	write(t, filepath.Join(dir, "third.log"), "third\n")
	text, _ := collect(t, tail(glob), position, func(s string, _ uint64) bool { return strings.Count(s, "\n") >= 3 })
	for _, want := range []string{"unseen\n", "unseen new\n", "third\n"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("after a restart: %q lacks %q", text, want)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestJournal follows a journalctl that is a script, with records as systemd writes them.
func TestJournal(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	var b bytes.Buffer
	rec := func(cursor, transport, boot, mono, ident, message string) {
		fmt.Fprintf(&b, "__CURSOR=%s\n__REALTIME_TIMESTAMP=1764590400000000\n_BOOT_ID=%s\n_TRANSPORT=%s\n", cursor, boot, transport)
		if mono != "" {
			fmt.Fprintf(&b, "_SOURCE_MONOTONIC_TIMESTAMP=%s\n", mono)
		}
		if ident != "" {
			fmt.Fprintf(&b, "SYSLOG_IDENTIFIER=%s\n_PID=7\n", ident)
		}
		if strings.Contains(message, "\n") {
			b.WriteString("MESSAGE\n")
			_ = binary.Write(&b, binary.LittleEndian, uint64(len(message)))
			b.WriteString(message + "\n\n")
			return
		}
		fmt.Fprintf(&b, "MESSAGE=%s\n\n", message)
	}
	rec("c1", "syslog", "aa", "", "nv-fabricmanager", "failed to start")
	rec("c2", "kernel", "aa", "5", "", "NVRM: of this boot, read elsewhere")
	rec("c3", "kernel", "bb", "10", "", "NVRM: of the boot before, known")
	rec("c4", "kernel", "bb", "11", "", "NVRM: the last words before the restart")
	rec("c5", "stdout", "aa", "", "python3", "two\nlines")
	must(t, os.WriteFile(filepath.Join(dir, "records"), b.Bytes(), 0o600))
	script := filepath.Join(dir, "journalctl")
	must(t, os.WriteFile(script, []byte("#!/bin/sh\necho \"$@\" >"+dir+"/args\ncat "+dir+"/records\nexec sleep 60\n"), 0o700))
	j := &Journal{Program: script, Host: "n1", Quiet: time.Millisecond, Boot: "aa", SkipKernel: true, Done: "bb", DoneUsec: 10}
	text, position := collect(t, j, "", has("lines\n"))
	const at = "2025-12-01T12:00:00.000000+00:00 n1 "
	want := at + "nv-fabricmanager[7]: failed to start\n" + at + "kernel: NVRM: the last words before the restart\n" + at + "python3[7]: two\n" + at + "python3[7]: lines\n"
	if text != want {
		t.Errorf("text %q, want %q", text, want)
	}
	_, _ = collect(t, j, position, has("lines\n"))
	if args, _ := os.ReadFile(dir + "/args"); !strings.Contains(string(args), "--after-cursor=c5") {
		t.Errorf("arguments %s", args)
	}
	must(t, os.WriteFile(script, []byte("#!/bin/sh\necho 'No journal files were found.' >&2\nexit 1\n"), 0o700))
	if err := j.Run(t.Context(), "", make(chan Chunk)); err == nil || !strings.Contains(err.Error(), "No journal files") {
		t.Errorf("error %v", err)
	}
}

func FuzzExport(f *testing.F) {
	f.Add([]byte("__CURSOR=a\nMESSAGE=b\n\n"))
	f.Add([]byte("MESSAGE\n\x03\x00\x00\x00\x00\x00\x00\x00a\nb\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bufio.NewReader(bytes.NewReader(data))
		for range 100 {
			if _, err := readExport(in); err != nil {
				return
			}
		}
	})
}
