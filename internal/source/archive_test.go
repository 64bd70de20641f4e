package source

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// item is a file of an archive.
type item struct{ name, text string }

func tarOf(t testing.TB, items ...item) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, i := range items {
		h := &tar.Header{Name: i.name, Mode: 0o644, Size: int64(len(i.text)), Typeflag: tar.TypeReg}
		if strings.HasSuffix(i.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, i.text)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipOf(t testing.TB, items ...item) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, i := range items {
		f, err := w.Create(i.name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(f, i.text)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// expandBytes puts data into a file and expands it.
func expandBytes(t testing.TB, name string, data []byte, lim *limits) []Input {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return Expand([]string{p}, ExpandOptions{limits: lim})
}

// summary is "name=text" of inputs, or "name!problem".
func summary(t *testing.T, ins []Input) string {
	t.Helper()
	var out []string
	for _, in := range ins {
		text, r, _ := readAll(t, in, Options{})
		s := in.Name + "=" + strings.TrimSpace(text)
		if p := r.Problems(); len(p) > 0 {
			s += "!" + strings.Join(p, "; ")
		}
		out = append(out, s)
	}
	return strings.Join(out, " | ")
}

func TestArchives(t *testing.T) {
	items := []item{{"var/log/syslog", "one\n"}, {"var/log/rank_3.log", "two\n"}, {"a.png", "\x89PNG\r\n\x1a\n" + strings.Repeat("\x00\x01\x02\x80", 50)}}
	ball := tarOf(t, items...)
	want := "X/var/log/syslog=one!left out 1 file without text in X (a.png) | X/var/log/rank_3.log=two"
	f := func(name string, data []byte, want string) {
		t.Helper()
		if got := summary(t, expandBytes(t, name, data, nil)); got != strings.ReplaceAll(want, "X", name) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, strings.ReplaceAll(want, "X", name))
		}
	}
	f("logs.tar", ball, want)
	for _, form := range packForms {
		f("logs.tar."+form, pack(t, form, ball), want)
	}
	f("no-ending", pack(t, "gzip", ball), want)
	f("logs.zip", zipOf(t, items...), "X/var/log/rank_3.log=two!left out 1 file without text in X (a.png) | X/var/log/syslog=one")
	f("rotated.zip", zipOf(t, item{"syslog", "c"}, item{"syslog.1", "b"}, item{"syslog.2.gz", string(gz("a"))}), "X/syslog.2.gz=a | X/syslog.1=b | X/syslog=c")
	f("logs.zip.gz", gz(string(zipOf(t, item{"x.log", "one"}))), "X/x.log=one")
	// One level of archives in archives.
	inner := tarOf(t, item{"deep.log", "in\n"})
	f("outer.tar.gz", gz(string(tarOf(t, item{"a.log", "a\n"}, item{"n/inner.tgz", string(gz(string(inner)))}, item{"z.log", "z\n"}))),
		"X/a.log=a | X/n/inner.tgz/deep.log=in | X/z.log=z")
	f("outer.tar", tarOf(t, item{"in.zip", string(zipOf(t, item{"d/e.log", "in"}))}), "X/in.zip/d/e.log=in")
	f("outer.zip", zipOf(t, item{"in.tar", string(inner)}), "X/in.tar/deep.log=in")
	f("deep.tar", tarOf(t, item{"in.tar", string(tarOf(t, item{"in2.tar", string(inner)}))}),
		"X/in.tar/in2.tar=!is an archive inside of an archive inside of another: unpack it first")
	f("empty.tar", tarOf(t, item{"dir/", ""}), "X=!archive holds no log files")
	f("empty.zip", zipOf(t), "X=!archive holds no log files")
	f("twice.tar", tarOf(t, item{"a.log", "1"}, item{"a.log", "2"}), "X/a.log=1 | X/a.log#2=2")
	if h := expandBytes(t, "logs.tar", ball, nil)[1].Hint; h.Rank != "3" {
		t.Errorf("hint %+v", h)
	}
}

func TestArchiveOnStdin(t *testing.T) {
	ball := tarOf(t, item{"a.log", "one\n"}, item{"b.log", "two\n"})
	for name, data := range map[string][]byte{"tar": ball, "tar.gz": gz(string(ball)), "zip": zipOf(t, item{"a.log", "one\n"}, item{"b.log", "two\n"})} {
		ins := Expand([]string{"h=-"}, ExpandOptions{Stdin: bytes.NewReader(data)})
		if got := summary(t, ins); got != "stdin/a.log=one | stdin/b.log=two" || ins[0].Node != "h" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := summary(t, Expand([]string{"-"}, ExpandOptions{Stdin: bytes.NewReader(gz("text\n"))})); got != "stdin=text" {
		t.Errorf("packed text: %s", got)
	}
}

func TestArchiveInFolder(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string][]byte{"a.log": []byte("a\n"), "n1.tgz": gz(string(tarOf(t, item{"dmesg", "b\n"}))), "n2.tgz": gz(string(tarOf(t, item{"dmesg", "c\n"})))} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := summary(t, Expand([]string{dir}, ExpandOptions{})); got != "a.log=a | n1.tgz/dmesg=b | n2.tgz/dmesg=c" {
		t.Error(got)
	}
}

// Names of entries cannot lead anywhere, nor write to a terminal.
func TestArchiveNames(t *testing.T) {
	got := summary(t, expandBytes(t, "evil.tar", tarOf(t, item{"../../etc/passwd", "x\n"}, item{"/abs/y.log", "y\n"}, item{"a\x1b[31m\u202e.log", "z\n"}), nil))
	want := `evil.tar/etc/passwd=x!names in evil.tar lead out of it (1, first "../../etc/passwd"): nothing is written, they are read under shorter names | evil.tar/abs/y.log=y | evil.tar/a?[31m?.log=z`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got = summary(t, expandBytes(t, "evil.zip", zipOf(t, item{`..\..\win.log`, "x\n"}), nil))
	if !strings.HasPrefix(got, "evil.zip/win.log=x!names in evil.zip lead out of it") {
		t.Error(got)
	}
}

// Only files are read: no link is followed, no device made.
func TestArchiveLinks(t *testing.T) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range []*tar.Header{
		{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc/shadow"}, {Name: "loop", Typeflag: tar.TypeSymlink, Linkname: "loop"},
		{Name: "hard", Typeflag: tar.TypeLink, Linkname: "../../x"}, {Name: "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}, {Name: "p", Typeflag: tar.TypeFifo},
		{Name: "real.log", Typeflag: tar.TypeReg, Size: 2, Mode: 0o600},
	} {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = w.Write([]byte("x\n"))
	_ = w.Close()
	if got := summary(t, expandBytes(t, "l.tar", out.Bytes(), nil)); got != "l.tar/real.log=x!l.tar holds devices and pipes, which were left out (2)" {
		t.Error(got)
	}
}

func TestArchiveLimits(t *testing.T) {
	small := func(change func(*limits)) *limits {
		l := archiveLimits
		change(&l)
		return &l
	}
	var many []item
	for i := range 40 {
		many = append(many, item{fmt.Sprintf("f%02d.log", i), "text\n"})
	}
	f := func(what string, ins []Input, count int, problem string) {
		t.Helper()
		all := ""
		for _, in := range ins {
			all += strings.Join(in.Problems, "; ")
		}
		if len(ins) != count || !strings.Contains(all, problem) || !ins[0].Incomplete {
			t.Errorf("%s: %d inputs, problems %q", what, len(ins), all)
		}
	}
	entries := small(func(l *limits) { l.entries = 10 })
	f("tar entries", expandBytes(t, "m.tar", tarOf(t, many...), entries), 10, "only the first 10 entries of m.tar")
	f("zip entries", expandBytes(t, "m.zip", zipOf(t, many...), entries), 10, "only the first 10 entries of m.zip")
	total := small(func(l *limits) { l.total = 52 })
	f("tar total", expandBytes(t, "m.tar", tarOf(t, many...), total), 10, "unpacks to more than 52 bytes")
	f("zip total", expandBytes(t, "m.zip", zipOf(t, many...), total), 10, "unpacks to more than 52 bytes")
	big := item{"big.log", strings.Repeat("0", 1<<20)}
	ratio := small(func(l *limits) { l.floor, l.ratio = 1<<18, 50 })
	f("zip ratio", expandBytes(t, "b.zip", zipOf(t, item{"a.log", "a"}, big), ratio), 1, "more than 50 times its size")
	f("tar ratio", expandBytes(t, "b.tgz", gz(string(tarOf(t, item{"a.log", "a"}, big))), ratio), 1, "more than 50 times its size")
	inner := string(tarOf(t, item{"x.log", "x"}))
	nested := small(func(l *limits) { l.nested = 2 })
	f("nested", expandBytes(t, "n.tar", tarOf(t, item{"1.tar", inner}, item{"2.tar", inner}, item{"3.tar", inner}), nested), 2, "only the first 2 archives inside")
	dir := small(func(l *limits) { l.dir = 500 })
	f("zip directory", expandBytes(t, "m.zip", zipOf(t, many...), dir), 1, "directory larger than is read")
	spool := small(func(l *limits) { l.spool = 100 })
	f("spool", expandBytes(t, "m.zip.gz", gz(string(zipOf(t, many...))), spool), 1, "larger than the 100 bytes that are copied")
}

// A bomb inside a tar, and a sparse file that says it is a terabyte.
func TestArchiveBombs(t *testing.T) {
	var bomb bytes.Buffer
	w, _ := flate.NewWriter(&bomb, flate.BestCompression)
	_, _ = io.Copy(w, io.LimitReader(zeros{}, 32<<20))
	_ = w.Close()
	// A zip whose directory says 10 bytes for 32 MiB.
	var out bytes.Buffer
	zw := zip.NewWriter(&out)
	e, err := zw.CreateRaw(&zip.FileHeader{Name: "a.log", Method: zip.Deflate, CompressedSize64: uint64(bomb.Len()), UncompressedSize64: 10})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = e.Write(bomb.Bytes())
	_ = zw.Close()
	ins := expandBytes(t, "lie.zip", out.Bytes(), nil)
	for _, in := range ins {
		_, r, _ := readAll(t, in, Options{})
		if r.Bytes() > 10 || !r.Incomplete() && len(in.Problems) == 0 {
			t.Errorf("%s: %d bytes, problems %q", in.Name, r.Bytes(), r.Problems())
		}
	}
	sparse := tarOf(t, item{"a.log", "a\n"})
	h := slices.Clone(sparse[:512])
	copy(h, "huge.log\x00")
	copy(h[124:], "\x80\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00") // a tebibyte
	fixTar(h)
	got := expandBytes(t, "s.tar", append(h, sparse...), nil)
	if p := strings.Join(got[0].Problems, ";"); len(got) != 1 || !strings.Contains(p, "unpacks to more than") {
		t.Errorf("problems %q", p)
	}
}

func fixTar(h []byte) {
	copy(h[148:156], "        ")
	sum := 0
	for _, c := range h[:512] {
		sum += int(c)
	}
	copy(h[148:156], fmt.Sprintf("%06o\x00 ", sum))
}

func TestArchiveDamaged(t *testing.T) {
	text := strings.Repeat("a line of a log\n", 4000)
	ball := tarOf(t, item{"a.log", text}, item{"b.log", text})
	ins := expandBytes(t, "cut.tar", ball[:len(ball)*2/3], nil)
	got, r, _ := readAll(t, ins[1], Options{})
	if len(ins) != 2 || !strings.HasPrefix(text, got) || len(got) < 1000 || !r.Incomplete() || !strings.Contains(strings.Join(r.Problems(), ";"), "ends early") {
		t.Errorf("cut tar: %d inputs, %d bytes, problems %q", len(ins), len(got), r.Problems())
	}
	if p := strings.Join(ins[0].Problems, ";"); !strings.Contains(p, "cut.tar ends early") {
		t.Errorf("problems of the first: %q", p)
	}
	packed := pack(t, "zstd", tarOf(t, item{"a.log", string(logText(8_000))}))
	if ins = expandBytes(t, "cut.tar.zst", packed[:len(packed)/2], nil); len(ins) == 0 || !ins[0].Incomplete {
		t.Errorf("cut tar.zst: %+v", ins)
	}
	zipped := zipOf(t, item{"a.log", text})
	if ins = expandBytes(t, "cut.zip", zipped[:len(zipped)-10], nil); len(ins) != 1 || !strings.Contains(strings.Join(ins[0].Problems, ""), "cut.zip ends early or is damaged") {
		t.Errorf("cut zip: %+v", ins)
	}
	zipped = zipOf(t, item{"a.log", text})
	i := bytes.Index(zipped, []byte("a.log")) + 5
	zipped[i+20] ^= 0xff
	ins = expandBytes(t, "bad.zip", zipped, nil)
	if _, r, _ = readAll(t, ins[0], Options{}); !r.Incomplete() {
		t.Errorf("damaged zip: problems %q", r.Problems())
	}
}

// The entries of a packed tar are read by several at once and in any order, and in
// order they cost one pass.
func TestTarEntriesInAnyOrder(t *testing.T) {
	var items []item
	for i := range 60 {
		items = append(items, item{fmt.Sprintf("f%d.log", i), strings.Repeat(fmt.Sprintf("%d\n", i), 500)})
	}
	ins := expandBytes(t, "o.tgz", gz(string(tarOf(t, items...))), nil)
	if len(ins) != len(items) {
		t.Fatalf("%d inputs", len(ins))
	}
	var wg sync.WaitGroup
	next := make(chan int)
	for range 4 {
		wg.Go(func() {
			for i := range next {
				r := ins[i].Open(Options{})
				b, err := r.Next()
				if err != nil || string(b.Data) != items[i].text {
					t.Errorf("entry %d: %v", i, err)
				}
				r.Close()
			}
		})
	}
	for i := range ins {
		next <- len(ins) - 1 - i
	}
	for i := range ins {
		next <- i
	}
	close(next)
	wg.Wait()

	opens := 0
	ball := &tarball{last: len(items) - 1, open: func() (io.ReadCloser, error) {
		opens++
		return io.NopCloser(bytes.NewReader(tarOf(t, items...))), nil
	}}
	for i := range items {
		rc, err := ball.entry(i)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadFull(rc, make([]byte, 10)) // not to its end
		rc.Close()
	}
	if opens != 1 || len(ball.idle) != 0 {
		t.Errorf("%d passes, %d kept", opens, len(ball.idle))
	}
}

func TestArchiveManyEntries(t *testing.T) {
	var items []item
	for i := range 25_000 {
		items = append(items, item{fmt.Sprintf("d/f%05d", i), ""})
	}
	data := tarOf(t, items...)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.HeapInuse
	ins := expandBytes(t, "many.tar", data, nil)
	runtime.ReadMemStats(&m)
	if len(ins) != archiveLimits.entries || !ins[0].Incomplete {
		t.Errorf("%d inputs, problems %q", len(ins), ins[0].Problems)
	}
	if grew := int64(m.HeapInuse) - int64(before); grew > 64<<20 {
		t.Errorf("heap grew by %d MiB", grew>>20)
	}
}

// FuzzArchive: whatever an archive is, listing and reading it ends, without an escape.
func FuzzArchive(f *testing.F) {
	ball := tarOf(f, item{"a.log", "one\n"}, item{"../b", "two\n"})
	f.Add(ball)
	f.Add(ball[:700])
	f.Add(zipOf(f, item{"a.log", "one\n"}, item{"b/c.log", "two\n"}))
	f.Add(gz(string(ball)))
	f.Add(tarOf(f, item{"in.tar", string(ball)}, item{"in.zip", string(zipOf(f, item{"x", "y"}))}))
	lim := archiveLimits
	lim.entries, lim.total, lim.spool, lim.nested = 20, 1<<20, 1<<20, 3
	f.Fuzz(func(t *testing.T, data []byte) {
		ins := Expand([]string{"-"}, ExpandOptions{Stdin: bytes.NewReader(data), limits: &lim})
		for _, in := range ins {
			if strings.Contains("/"+in.Name+"/", "/../") || strings.ContainsAny(in.Name, "\x00\x1b\n") {
				t.Errorf("name %q", in.Name)
			}
			r := in.Open(Options{BlockSize: 4096, MaxLine: 4096})
			for range 64 {
				if _, err := r.Next(); err != nil {
					break
				}
			}
			r.Close()
		}
	})
}
