package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// growing calls back before each read of a file.
type growing struct {
	io.ReadCloser
	before func()
}

func (g *growing) Read(p []byte) (int, error) {
	g.before()
	return g.ReadCloser.Read(p)
}

// A file that its writer keeps longer than us is read up to where it ended at first.
func TestGrowingFile(t *testing.T) {
	p := filepath.Join(t.TempDir(), "live.log")
	line := strings.Repeat("x", 63) + "\n"
	if err := os.WriteFile(p, []byte(strings.Repeat(line, 4096)), 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := os.OpenFile(p, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	in := FromReader("live.log", func() (io.ReadCloser, error) {
		f, err := openFile(p)
		return &growing{f, func() { _, _ = io.WriteString(w, strings.Repeat(line, 4096)) }}, err
	})
	got, r, _ := readAll(t, in, Options{})
	if len(got) != 4096*64 || len(r.Problems()) != 0 {
		t.Errorf("%d bytes, problems %q", len(got), r.Problems())
	}
}

func TestShrinkingFile(t *testing.T) {
	p := filepath.Join(t.TempDir(), "cut.log")
	if err := os.WriteFile(p, []byte(strings.Repeat("a line\n", 100_000)), 0o644); err != nil {
		t.Fatal(err)
	}
	done := false
	in := FromReader("cut.log", func() (io.ReadCloser, error) {
		f, err := openFile(p)
		return &growing{f, func() {
			if done {
				_ = os.Truncate(p, 1000)
			}
			done = true
		}}, err
	})
	got, r, _ := readAll(t, in, Options{})
	if len(got) == 0 || !r.Incomplete() || !strings.Contains(strings.Join(r.Problems(), ";"), "became shorter while it was read") {
		t.Errorf("%d bytes, problems %q", len(got), r.Problems())
	}
	// Files of /proc have no size and are whole all the same.
	if got, r, _ = readAll(t, Expand([]string{"/proc/self/status"}, ExpandOptions{})[0], Options{}); runtime.GOOS == "linux" && (len(got) < 100 || len(r.Problems()) > 0) {
		t.Errorf("/proc: %d bytes, problems %q", len(got), r.Problems())
	}
}

func TestPipes(t *testing.T) {
	p := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(p, 0o600); err != nil {
		t.Fatal(err)
	}
	// One that is written to is read.
	go func() {
		w, err := os.OpenFile(p, os.O_WRONLY, 0)
		if err == nil {
			_, _ = io.WriteString(w, "through the pipe\n")
			w.Close()
		}
	}()
	if got := summary(t, Expand([]string{p}, ExpandOptions{})); got != "fifo=through the pipe" {
		t.Error(got)
	}
	open := func(idle, writer time.Duration) Input {
		return FromReader("fifo", func() (io.ReadCloser, error) {
			f, err := os.OpenFile(p, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			return &pipe{f: f, idle: idle, writer: writer}, err
		})
	}
	// One without a writer, and one with a silent writer, end.
	if got := summary(t, []Input{open(time.Second, time.Millisecond)}); !strings.Contains(got, "no process writes to") {
		t.Error(got)
	}
	w, err := os.OpenFile(p, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	_, _ = io.WriteString(w, "begin\n")
	if got := summary(t, []Input{open(20*time.Millisecond, time.Second)}); got != "fifo=begin!is a pipe and nothing came for 20ms: stopped waiting" {
		t.Error(got)
	}
	// In a folder a pipe is passed by.
	if err := os.WriteFile(filepath.Join(filepath.Dir(p), "a.log"), []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := summary(t, Expand([]string{filepath.Dir(p)}, ExpandOptions{})); got != "a.log=a" {
		t.Error(got)
	}
}

func TestDevicesAndSockets(t *testing.T) {
	for _, dev := range []string{"/dev/zero", "/dev/null"} {
		if got := summary(t, Expand([]string{dev}, ExpandOptions{})); !strings.Contains(got, "is a device, not a file") {
			t.Error(got)
		}
	}
	dir, err := os.MkdirTemp("", "s") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := summary(t, Expand([]string{filepath.Join(dir, "sock")}, ExpandOptions{})); !strings.Contains(got, "is a socket") {
		t.Error(got)
	}
	// A file that became something else between listing and reading.
	p := filepath.Join(dir, "file")
	_ = os.WriteFile(p, []byte("x\n"), 0o600)
	ins := Expand([]string{p}, ExpandOptions{})
	_ = os.Remove(p)
	_ = os.Symlink("/dev/zero", p)
	if got := summary(t, ins); !strings.Contains(got, "is a device") {
		t.Error(got)
	}
}

func TestLinks(t *testing.T) {
	dir := t.TempDir()
	logs := filepath.Join(dir, "logs")
	_ = os.Mkdir(logs, 0o755)
	for link, target := range map[string]string{"loop": "loop2", "loop2": "loop", "up": "..", "self": ".", "gone": "nowhere", "to-file": "a.log"} {
		if err := os.Symlink(target, filepath.Join(logs, link)); err != nil {
			t.Fatal(err)
		}
	}
	_ = os.WriteFile(filepath.Join(logs, "a.log"), []byte("a\n"), 0o644)
	if got := summary(t, Expand([]string{logs}, ExpandOptions{})); got != "a.log=a!3 links in logs lead to no file | to-file=a" {
		t.Error(got)
	}
	if got := summary(t, Expand([]string{filepath.Join(logs, "loop")}, ExpandOptions{})); !strings.Contains(got, "symbolic links lead in a circle") {
		t.Error(got)
	}
	_ = os.Symlink("logs", filepath.Join(dir, "named"))
	if got := summary(t, Expand([]string{filepath.Join(dir, "named")}, ExpandOptions{})); !strings.HasPrefix(got, "a.log=a") {
		t.Errorf("a link to a folder: %s", got)
	}
}

func TestUnreadable(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&os.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, "permission denied"},
		{&os.PathError{Op: "read", Path: "x", Err: syscall.EIO}, "read: input/output error"},
		{fmt.Errorf("zstd: %w", &os.PathError{Op: "read", Path: "x", Err: syscall.ESTALE}), "read: stale"},
	} {
		in := FromReader("x", func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader("start\n"), &failing{c.err})), nil
		})
		if got := summary(t, []Input{in}); !strings.Contains(got, c.want) || !strings.HasPrefix(got, "x=start!") {
			t.Errorf("%v: %s", c.err, got)
		}
	}
	// The disk fails below a decoder: the disk's words, not the decoder's.
	for _, form := range packForms {
		packed := pack(t, form, logText(5000))
		in := FromReader("x", func() (io.ReadCloser, error) {
			bad := &failing{&os.PathError{Op: "read", Path: "x", Err: syscall.EIO}}
			return io.NopCloser(io.MultiReader(bytes.NewReader(packed[:len(packed)/2]), bad)), nil
		})
		_, r, _ := readAll(t, in, Options{})
		if p := strings.Join(r.Problems(), ";"); !strings.Contains(p, "input/output error") {
			t.Errorf("%s: problems %q", form, p)
		}
	}
}

// A folder of more files than are taken, as one of 100,000: the bound is said, memory
// stays small. The walk ends at the bound, so the rest need not be there.
func TestHugeFolder(t *testing.T) {
	dir := t.TempDir()
	one := filepath.Join(dir, "rank_0.log")
	if err := os.WriteFile(one, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range maxFiles + 10 {
		if i%10_000 == 0 {
			_ = os.Mkdir(filepath.Join(dir, fmt.Sprintf("d%02d", i/10_000)), 0o755)
		}
		p := filepath.Join(dir, fmt.Sprintf("d%02d", i/10_000), fmt.Sprintf("rank_%05d.log", i))
		err := os.Link(one, p) // cheaper than a file
		if err != nil {
			err = os.WriteFile(p, nil, 0o644)
		}
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			t.Skip("no room for so many files: " + err.Error())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	ins := Expand([]string{dir}, ExpandOptions{})
	runtime.GC()
	runtime.ReadMemStats(&m)
	if len(ins) != maxFiles || !ins[0].Incomplete || !strings.Contains(strings.Join(ins[0].Problems, ";"), "only the first 50000 files") {
		t.Errorf("%d inputs, problems %q", len(ins), ins[0].Problems)
	}
	if grew := int64(m.HeapAlloc) - int64(before); grew > 48<<20 {
		t.Errorf("inputs take %d MiB", grew>>20)
	}
	runtime.KeepAlive(ins)
}
