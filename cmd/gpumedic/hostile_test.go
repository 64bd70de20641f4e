package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf16"

	"github.com/gpumedic/gpumedic/internal/source/sourcetest"
)

// What people and broken disks give a program that reads files: each case says what must
// be told, that what could be read was used, and with which status the program ends. The
// sizes are those that a laptop tests in seconds; GPUMEDIC_TEST_FULL=1 takes the line of
// 2 GiB and the folder of 100,000 files.

const lost = "[  100.200001] NVRM: Xid (PCI:0000:3b:00): 79, pid=12, name=python3, GPU has fallen off the bus.\n"

func full() bool { return os.Getenv("GPUMEDIC_TEST_FULL") != "" }

// faulty is a log whose first line is a fault and the rest is nothing, and does not
// compress to nothing.
func faulty(lines int) []byte {
	rng := rand.New(rand.NewPCG(7, 7))
	var b bytes.Buffer
	b.WriteString(lost)
	for i := range lines {
		fmt.Fprintf(&b, "[%5d.%06d] audit: type=1400 op=\"file_%x\" pid=%d\n", 101+i, rng.IntN(1e6), rng.Uint64(), rng.IntN(1e5))
	}
	return b.Bytes()
}

// hostile is one case: what is given, what must be said, and how it ends.
type hostile struct {
	name   string
	data   []byte // of the file, when there is one
	make   func(t *testing.T, dir string) string
	stdin  io.Reader
	status int
	says   []string
}

func TestHostileInputs(t *testing.T) {
	found := "fallen off the bus" // the line of evidence: what could be read was used
	for _, c := range []hostile{
		{name: "nul.log", data: []byte("[    1.000001] a\n" + strings.Repeat("\x00", 4096) + lost), status: 2, says: []string{found}},
		{name: "utf16le.log", data: wide(lost, false), status: 2, says: []string{found}},
		{name: "utf16be.log", data: wide(lost, true), status: 2, says: []string{found}},
		{name: "random.bin", data: noise(1 << 18), status: 3, says: []string{"random.bin", "looks like binary data"}},
		{name: "random.gz", data: append([]byte("\x1f\x8b\x08\x00"), noise(4096)...), status: 3, says: []string{"random.gz", "gzip data"}},
		{name: "empty.log", data: []byte{}, status: 3, says: []string{"empty.log", "nothing to read"}},
		{name: "cut.log.gz", data: cut(packed(t, "gzip")), status: 2, says: []string{found, "cut.log.gz", "gzip data ends early"}},
		{name: "cut.log.zst", data: cut(packed(t, "zstd")), status: 2, says: []string{found, "cut.log.zst", "zstd data ends early"}},
		{name: "cut.log.xz", data: cut(packed(t, "xz")), status: 2, says: []string{found, "cut.log.xz", "xz data ends early"}},
		{name: "cut.log.lz4", data: cut(packed(t, "lz4")), status: 2, says: []string{found, "cut.log.lz4", "lz4 data ends early"}},
		{name: "cut.log.bz2", data: cut(bzipped(t)), status: 2, says: []string{found, "cut.log.bz2", "bzip2 data ends early"}},
		{name: "members.gz", data: append(gzipOf([]byte("[    1.000001] a\n")), gzipOf([]byte(lost))...), status: 2, says: []string{found}},
		{name: "bomb.gz", data: bomb(lost), status: 2, says: []string{found, "bomb.gz", "times its size"}},
		{name: "quiet-bomb.gz", data: bomb("nothing\n"), status: 3, says: []string{"quiet-bomb.gz", "times its size"}},
		{name: "bomb.zip", data: zipped(t, "a.log.gz", string(bomb(string(faulty(3000))))), status: 2, says: []string{found, "times its size"}},
		{name: "evil.tar", data: tarred(t, "../../etc/cron.d/x", lost), status: 2, says: []string{found, "lead out of it", "nothing is written"}},
		{name: "nested.tar", data: tarred(t, "a.tar", string(tarred(t, "b.log", lost))), status: 2, says: []string{found}},
		{name: "too-deep.tar", data: tarred(t, "a.tar", string(tarred(t, "b.tar", string(tarred(t, "c.log", lost))))), status: 3, says: []string{"archive inside of an archive"}},
		{name: "links", make: links, status: 2, says: []string{found, "2 links in links lead to no file"}},
		{name: "loop", make: func(t *testing.T, dir string) string { _ = links(t, dir); return filepath.Join(dir, "links", "loop") }, status: 3, says: []string{"loop", "lead in a circle"}},
		{name: "fifo", make: fifo, status: 2, says: []string{found}},
		{name: "silent fifo", make: silent, status: 3, says: []string{"silent", "no process writes to"}},
		{name: "device", make: func(*testing.T, string) string { return "/dev/zero" }, status: 3, says: []string{"zero", "is a device"}},
		{name: "missing", make: func(_ *testing.T, dir string) string { return filepath.Join(dir, "no", "such.log") }, status: 64, says: []string{"such.log", "no such file"}},
		{name: "endless line", make: func(*testing.T, string) string { return "-" }, stdin: endless(), status: 2, says: []string{found, "longer than 1024 KiB"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			arg := filepath.Join(dir, c.name)
			if c.make != nil {
				arg = c.make(t, dir)
			} else if err := os.WriteFile(arg, c.data, 0o600); err != nil {
				t.Fatal(err)
			}
			expect(t, c, exec.CommandContext(t.Context(), "gpumedic", "diagnose", arg))
		})
	}
}

func expect(t *testing.T, c hostile, cmd *exec.Cmd) {
	t.Helper()
	cmd.Stdin = c.stdin
	cmd.Env = append(cmd.Environ(), "LC_ALL=C", "COLUMNS=200")
	out, err := cmd.CombinedOutput()
	status := 0
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		status = e.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(out)), " ") // lines are wrapped
	if status != c.status {
		t.Errorf("status %d, want %d:\n%s", status, c.status, out)
	}
	for _, want := range c.says {
		if !strings.Contains(text, want) {
			t.Errorf("does not say %q:\n%s", want, out)
		}
	}
	if strings.Contains(text, "panic") || strings.Contains(text, "goroutine ") {
		t.Errorf("panicked:\n%s", out)
	}
}

// Who may not read a file is told so, and what else there is is read. Root may read all,
// so that another user has to ask.
func TestUnreadableFile(t *testing.T) {
	dir := t.TempDir()
	for at := dir; at != os.TempDir() && len(at) > 1; at = filepath.Dir(at) {
		_ = os.Chmod(at, 0o755)
	}
	for name, mode := range map[string]os.FileMode{"secret.log": 0, "open.log": 0o644} {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(lost), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
	}
	run := func(arg string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "gpumedic", "diagnose", filepath.Join(dir, arg))
		if os.Getuid() == 0 {
			cmd.Path = copyOfMe(t)
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		return cmd
	}
	expect(t, hostile{status: 3, says: []string{"secret.log", "permission denied"}}, run("secret.log"))
	expect(t, hostile{status: 2, says: []string{"fallen off the bus", "secret.log", "permission denied"}}, run("."))
}

// copyOfMe is the program where every user may run it.
func copyOfMe(t *testing.T) string {
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(me)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "all")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := filepath.Join(dir, "gpumedic")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(p, data, 0o755), os.Chmod(p, 0o755)); err != nil {
		t.Fatal(err)
	}
	return p
}

// A folder of 100,000 files ends at the bound, says so, and used what it read.
func TestFolderOfManyFiles(t *testing.T) {
	if !full() {
		t.Skip("takes a minute: GPUMEDIC_TEST_FULL=1; the bound itself is tested in internal/source")
	}
	dir := t.TempDir()
	for i := range 100_000 {
		sub := filepath.Join(dir, fmt.Sprintf("d%02d", i/10_000))
		_ = os.Mkdir(sub, 0o755)
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("rank_%05d.log", i)), []byte(lost), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, hostile{status: 2, says: []string{"fallen off the bus", "only the first 50000 files"}},
		exec.CommandContext(t.Context(), "gpumedic", "diagnose", dir))
}

func noise(n int) []byte {
	rng := rand.New(rand.NewPCG(3, 3))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func cut(b []byte) []byte { return b[:len(b)*3/4] }

func gzipOf(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

// bomb is a small file of a first line and a gigabyte of nothing: packed twice, as one
// layer of deflate cannot go beyond what a log of equal lines does.
func bomb(first string) []byte {
	inner := gzipOf(make([]byte, 64<<20))
	return gzipOf(append(gzipOf([]byte(first)), bytes.Repeat(inner, 16)...))
}

func packed(t *testing.T, form string) []byte {
	t.Helper()
	return sourcetest.Pack(t, form, faulty(20_000))
}

// bzipped needs the program: Go has no writer for it.
func bzipped(t *testing.T) []byte {
	cmd := exec.CommandContext(t.Context(), "bzip2", "-1c")
	cmd.Stdin = bytes.NewReader(faulty(20_000))
	out, err := cmd.Output()
	if err != nil {
		t.Skip("no bzip2 to make the input with: " + err.Error())
	}
	return out
}

func zipped(t *testing.T, name, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	f, err := w.Create(name)
	if err == nil {
		_, err = io.WriteString(f, text)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func tarred(t *testing.T, name, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg})
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func wide(s string, big bool) []byte {
	out := []byte{0xff, 0xfe}
	if big {
		out = []byte{0xfe, 0xff}
	}
	for _, u := range utf16.Encode([]rune(s)) {
		if lo, hi := byte(u), byte(u>>8); big {
			out = append(out, hi, lo)
		} else {
			out = append(out, lo, hi)
		}
	}
	return out
}

func links(t *testing.T, dir string) string {
	t.Helper()
	p := filepath.Join(dir, "links")
	err := os.Mkdir(p, 0o755)
	for link, target := range map[string]string{"loop": "loop2", "loop2": "loop", "up": "..", "self": "."} {
		err = errors.Join(err, os.Symlink(target, filepath.Join(p, link)))
	}
	if err := errors.Join(err, os.WriteFile(filepath.Join(p, "a.log"), []byte(lost), 0o644)); err != nil {
		t.Fatal(err)
	}
	return p
}

func fifo(t *testing.T, dir string) string {
	p := silent(t, dir)
	go func() {
		if w, err := os.OpenFile(p, os.O_WRONLY, 0); err == nil {
			_, _ = io.WriteString(w, lost)
			w.Close()
		}
	}()
	return p
}

func silent(t *testing.T, dir string) string {
	t.Helper()
	p := filepath.Join(dir, "silent")
	if err := syscall.Mkfifo(p, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// endless is a line of 128 MiB (2 GiB in full), made as it is read, and a fault behind it.
func endless() io.Reader {
	n := int64(128 << 20)
	if full() {
		n = 2 << 30
	}
	return io.MultiReader(io.LimitReader(same('x'), n), strings.NewReader("\n"+lost))
}

type same byte

func (s same) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(s)
	}
	return len(p), nil
}
