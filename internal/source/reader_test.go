package source

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"
)

// readAll collects an input: its text, the reader at the end and the blocks.
func readAll(t *testing.T, in Input, o Options) (string, *Reader, []Block) {
	t.Helper()
	r := in.Open(o)
	defer r.Close()
	var text []byte
	var blocks []Block
	for {
		b, err := r.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatalf("Next: %v", err)
			}
			return string(text), r, blocks
		}
		b.Data = bytes.Clone(b.Data)
		blocks = append(blocks, b)
		text = append(text, b.Data...)
	}
}

func gz(parts ...string) []byte {
	var out bytes.Buffer
	for _, p := range parts {
		w := gzip.NewWriter(&out)
		_, _ = io.WriteString(w, p)
		_ = w.Close()
	}
	return out.Bytes()
}

func wide(s string, big bool) []byte {
	out := []byte{0xff, 0xfe}
	if big {
		out = []byte{0xfe, 0xff}
	}
	for _, u := range utf16.Encode([]rune(s)) {
		if big {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return out
}

func TestReaderDecodes(t *testing.T) {
	text := "[ 1.000001] one\nzwei 掉卡 \U0001F600\n[ 3.000001] three"
	f := func(name string, data []byte, want, problem string) {
		t.Helper()
		got, r, _ := readAll(t, FromBytes(name, data), Options{})
		if got != want {
			t.Errorf("%s: text %q, want %q", name, got, want)
		}
		all := strings.Join(r.Problems(), "; ")
		if problem == "" && all != "" || !strings.Contains(all, problem) {
			t.Errorf("%s: problems %q, want %q", name, all, problem)
		}
	}
	f("plain", []byte(text), text, "")
	f("utf-8 mark", []byte("\xef\xbb\xbf"+text), text, "")
	f("utf-16le", wide(text, false), text, "")
	f("utf-16be", wide(text, true), text, "")
	f("utf-16 odd", append(wide("ab\n", false), 'x'), "ab\n", "")
	f("gzip", gz(text), text, "")
	f("gzip members", gz("a\n", "b\n"), "a\nb\n", "")
	f("gzip twice", gz(string(gz(text))), text, "")
	f("gzip with tail", append(gz("a\n"), "garbage behind the end"...), "a\n", "left out")
	f("empty", nil, "", "empty")
	f("zstd", []byte("\x28\xb5\x2f\xfd0000"), "", "zstd")
	f("xz", []byte("\xfd7zXZ\x00...."), "", "xz")
	f("journal", []byte("LPKSHHRH...."), "", "journalctl")
	f("invalid utf-8", []byte("a\xffb\n"), "a\xffb\n", "")
}

func TestReaderTruncatedGzip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var lines strings.Builder
	for range 20000 {
		lines.WriteString(strings.Repeat(string(rune('a'+rng.IntN(26))), rng.IntN(60)))
		lines.WriteByte('\n')
	}
	data := gz(lines.String())
	got, r, _ := readAll(t, FromBytes("x", data[:len(data)/2]), Options{})
	if len(got) < 1000 || !strings.HasPrefix(lines.String(), got) {
		t.Errorf("partial text: %d bytes", len(got))
	}
	if p := strings.Join(r.Problems(), ";"); !strings.Contains(p, "ends early") {
		t.Errorf("problems %q", p)
	}
	data[len(data)/2] ^= 0x55
	_, r, _ = readAll(t, FromBytes("x", data), Options{})
	if len(r.Problems()) == 0 {
		t.Error("damaged gzip: no problem")
	}
}

func TestReaderBinary(t *testing.T) {
	junk := make([]byte, 100_000)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range junk {
		junk[i] = byte(rng.IntN(256))
	}
	_, r, _ := readAll(t, FromBytes("junk", junk), Options{})
	if p := strings.Join(r.Problems(), ";"); !strings.Contains(p, "binary") {
		t.Errorf("problems %q", p)
	}
	// A hole that a power loss left in a log is no binary file.
	hole := "Jun  1 10:00:00 h kernel: a\n" + strings.Repeat("\x00", 64) + "Jun  1 10:02:00 h kernel: b\n"
	_, r, _ = readAll(t, FromBytes("hole", []byte(hole)), Options{})
	if len(r.Problems()) != 0 {
		t.Errorf("hole: problems %q", r.Problems())
	}
}

// checkBlocks holds the promises of Block on any text and any sizes.
func checkBlocks(t *testing.T, text string, o Options) {
	t.Helper()
	got, r, blocks := readAll(t, FromBytes("x", []byte(text)), o)
	if got != text {
		t.Fatalf("blocks of %d lose text", o.BlockSize)
	}
	line, off := 1, int64(0)
	for i, b := range blocks {
		if b.FirstLine != line || b.Offset != off {
			t.Fatalf("block %d at line %d offset %d, want %d %d", i, b.FirstLine, b.Offset, line, off)
		}
		nl := bytes.Count(b.Data, []byte("\n"))
		line, off = line+nl, off+int64(len(b.Data))
		ends := b.Data[len(b.Data)-1] == '\n'
		if !ends && !b.Cut && i != len(blocks)-1 {
			t.Fatalf("block %d ends inside a line", i)
		}
		if rows := nl + map[bool]int{true: 0, false: 1}[ends]; rows != b.Rows {
			t.Fatalf("block %d: %d rows, want %d", i, b.Rows, rows)
		}
	}
	want := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		want++
	}
	if r.Lines() != want || r.Bytes() != int64(len(text)) {
		t.Fatalf("lines %d bytes %d, want %d %d", r.Lines(), r.Bytes(), want, len(text))
	}
}

func FuzzReader(f *testing.F) {
	f.Add("a\nbb\n\nccc", 4, 8)
	f.Add(strings.Repeat("x", 100)+"\ny\n", 8, 16)
	f.Add("\n\n\n", 1, 1)
	f.Fuzz(func(t *testing.T, text string, block, long int) {
		if packed, _ := packedForm([]byte(text)); packed != "" || strings.HasPrefix(text, "\xef\xbb\xbf") ||
			strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
			r := FromBytes("x", []byte(text)).Open(Options{})
			for {
				if _, err := r.Next(); err != nil {
					return
				}
			}
		}
		checkBlocks(t, text, Options{BlockSize: block%64 + 1, MaxLine: long%128 + 1})
	})
}

// endless is a line of n bytes without a newline.
type endless struct{ n int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.n <= 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), e.n)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.n -= n
	return int(n), nil
}

// One line of 2 GiB (256 MiB in short mode) is read in pieces, in little memory.
func TestReaderEndlessLine(t *testing.T) {
	size := int64(2 << 30)
	if testing.Short() {
		size = 256 << 20
	}
	in := FromReader("x", func() (io.ReadCloser, error) { return io.NopCloser(&endless{size}), nil })
	r := in.Open(Options{})
	var peak uint64
	for i := 0; ; i++ {
		b, err := r.Next()
		if err != nil {
			break
		}
		if b.FirstLine != 1 {
			t.Fatalf("piece %d is on line %d", i, b.FirstLine)
		}
		r.Free(b)
		if i%256 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
		}
	}
	if r.Bytes() != size || r.Lines() != 1 {
		t.Errorf("bytes %d lines %d", r.Bytes(), r.Lines())
	}
	if peak > 32<<20 {
		t.Errorf("heap grew to %d MiB", peak>>20)
	}
	if p := strings.Join(r.Problems(), ";"); !strings.Contains(p, "line 1 is longer") {
		t.Errorf("problems %q", p)
	}
}

func TestExpand(t *testing.T) {
	dir := t.TempDir()
	put := func(name, data string) {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []string{"syslog", "syslog.1", "syslog.10.gz", "syslog.2.gz", "rank10.log", "rank2.log",
		"sub/kern.log-20240611", "sub/kern.log-20240604", "sub/kern.log", ".hidden/x"} {
		put(n, "line\n")
	}
	put("a.png", "\x89PNG\r\n\x1a\n"+strings.Repeat("\x00\x01\x02\x80", 50))
	var names []string
	ins := Expand([]string{"h1=" + dir}, ExpandOptions{})
	for _, in := range ins {
		names = append(names, in.Name)
		if in.Node != "h1" {
			t.Errorf("%s: node %q", in.Name, in.Node)
		}
	}
	want := "rank2.log rank10.log syslog.10.gz syslog.2.gz syslog.1 syslog kern.log-20240604 kern.log-20240611 kern.log"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("names\n got %s\nwant %s", got, want)
	}
	if p := strings.Join(ins[0].Problems, ";"); !strings.Contains(p, "left out 1 file ") {
		t.Errorf("problems %q", p)
	}

	put("n1/dmesg", "a\n")
	put("n2/dmesg", "b\n")
	ins = Expand([]string{filepath.Join(dir, "n1/dmesg"), filepath.Join(dir, "n2/dmesg"), filepath.Join(dir, "gone"), "-", "-"},
		ExpandOptions{Stdin: strings.NewReader("x\n")})
	if ins[0].Name != "n1/dmesg" || ins[1].Name != "n2/dmesg" || ins[2].Name != "gone" || ins[3].Name != "stdin" {
		t.Errorf("names %q %q %q %q", ins[0].Name, ins[1].Name, ins[2].Name, ins[3].Name)
	}
	if len(ins[2].Problems) != 1 || len(ins[4].Problems) != 1 {
		t.Errorf("problems %q %q", ins[2].Problems, ins[4].Problems)
	}
	if text, _, _ := readAll(t, ins[3], Options{}); text != "x\n" {
		t.Errorf("stdin %q", text)
	}
	empty := filepath.Join(dir, "empty")
	_ = os.Mkdir(empty, 0o755)
	ins = Expand([]string{empty}, ExpandOptions{})
	if len(ins) != 1 || !strings.Contains(strings.Join(ins[0].Problems, ""), "no log files") {
		t.Errorf("empty folder: %+v", ins)
	}
}

func TestKindOf(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := KindOf([]byte(text)); got != want {
			t.Errorf("%.60q is %s, want %s", text, got, want)
		}
	}
	f("[    0.000001] Linux version\n[    1.5000] x\n", KindKernlog)
	f("Jun  1 10:00:00 host kernel: NVRM: Xid (PCI:0000:3b:00): 79\n", KindKernlog)
	f("2024-06-01T10:00:00.123456+02:00 host systemd[1]: Started x.\n", KindKernlog)
	f("[Mon Jun  3 10:00:00 2024] NVRM: loading\n", KindKernlog)
	f("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n", KindKernlog)
	f("__CURSOR=s=1\n__REALTIME_TIMESTAMP=1\nMESSAGE=x\n\n", KindJournal)
	f(`{"MESSAGE":"x","__REALTIME_TIMESTAMP":"1"}`+"\n", KindJournal)
	f("Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\nRuntimeError: CUDA error: x\n", KindJoblog)
	f("==============NVSMI LOG==============\n\nTimestamp : x\n", KindSMI)
	f("| NVIDIA-SMI 535.54   Driver Version: 535.54 |\n", KindSMI)
	f("index, name, ecc.mode.current\n0, A100, Enabled\n", KindSMI)
	f("Start of NVIDIA bug report log file.  Please include\n", KindBugreport)
	f("hello world\n", KindUnknown)
}

func TestLooksUTF16(t *testing.T) {
	noise := make([]byte, 500) // every byte value, in no order that text has
	for i := range noise {
		noise[i] = byte(i*167 + i*i*13)
	}
	for _, big := range []bool{false, true} {
		for _, text := range []string{"", "[ 1.0] NVRM: Xid 79\r\n", "2026-05-01 训练失败：显存不足 \U0001F600\n", "训练失败显存不足请检查节点状态后重试\n"} {
			if !looksUTF16(wide(text, big)[2:], big) {
				t.Errorf("%q (big %v) is text", text, big)
			}
		}
		for name, b := range map[string][]byte{"noise": noise, "zeros": make([]byte, 64), "ascii bytes": []byte("plain text of single bytes that pair up to rare signs")} {
			if looksUTF16(b, big) {
				t.Errorf("%s (big %v) is no UTF-16 text", name, big)
			}
		}
	}
}
