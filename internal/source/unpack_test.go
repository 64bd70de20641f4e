package source

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/gpumedic/gpumedic/internal/source/sourcetest"
)

var pack = sourcetest.Pack

var packForms = []string{"gzip", "zstd", "xz", "lz4"}

// logText is text that compresses as logs do.
func logText(lines int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&b, "[%8d.%06d] NVRM: Xid (PCI:0000:3b:00): %d, pid=%d, name=python\n", i, rng.IntN(1e6), rng.IntN(150), rng.IntN(1e5))
	}
	return b.Bytes()
}

func TestUnpackEveryForm(t *testing.T) {
	text := logText(8_000)
	for _, form := range packForms {
		packed := pack(t, form, text)
		got, r, _ := readAll(t, FromBytes("x", packed), Options{})
		if got != string(text) || len(r.Problems()) != 0 || r.Kind() != KindKernlog {
			t.Errorf("%s: %d bytes of %d, kind %s, problems %q", form, len(got), len(text), r.Kind(), r.Problems())
		}
		// Several streams behind one another are one text.
		got, r, _ = readAll(t, FromBytes("x", append(bytes.Clone(packed), packed...)), Options{})
		if got != string(text)+string(text) || len(r.Problems()) != 0 {
			t.Errorf("%s twice: %d bytes of %d, problems %q", form, len(got), 2*len(text), r.Problems())
		}
		// Cut off: what came before is there, and it is said.
		got, r, _ = readAll(t, FromBytes("x", packed[:len(packed)*3/4]), Options{})
		if len(got) < 1000 || !strings.HasPrefix(string(text), got) || !r.Incomplete() || !strings.Contains(strings.Join(r.Problems(), ";"), form+" data ends early") {
			t.Errorf("%s cut: %d bytes, problems %q", form, len(got), r.Problems())
		}
		// Damaged in the middle.
		bad := bytes.Clone(packed)
		for i := range 16 {
			bad[len(bad)/2+i] ^= 0x5a
		}
		_, r, _ = readAll(t, FromBytes("x", bad), Options{})
		if !r.Incomplete() || !strings.Contains(strings.Join(r.Problems(), ";"), form) {
			t.Errorf("%s damaged: problems %q", form, r.Problems())
		}
		// Twice packed, and too often.
		got, r, _ = readAll(t, FromBytes("x", pack(t, "gzip", packed)), Options{})
		if got != string(text) {
			t.Errorf("gzip of %s: problems %q", form, r.Problems())
		}
		_, r, _ = readAll(t, FromBytes("x", pack(t, form, pack(t, form, pack(t, form, packed)))), Options{})
		if p := strings.Join(r.Problems(), ";"); !strings.Contains(p, "more than 3 times") {
			t.Errorf("%s four times: problems %q", form, p)
		}
	}
}

// bzip2 of "a line of text\n", since Go has no writer for it.
const bzipped = "425a68393141592653597e7a6b9d0000025b800010400020000c20200030cc0529a61a3c2ee48a70a120fcf4d73a"

func TestUnpackBzip2(t *testing.T) {
	data, err := hex.DecodeString(bzipped)
	if err != nil {
		t.Fatal(err)
	}
	name, _ := packedForm(data)
	if name != "bzip2" {
		t.Errorf("form %q", name)
	}
	_, r, _ := readAll(t, FromBytes("x", data[:20]), Options{})
	if !strings.Contains(strings.Join(r.Problems(), ";"), "bzip2 data ends early") {
		t.Errorf("problems %q", r.Problems())
	}
}

// peakOf is how far the heap grows while an input is read.
func peakOf(t *testing.T, in Input) (peak uint64, r *Reader) {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.HeapInuse
	r = in.Open(Options{})
	defer r.Close()
	for i := 0; ; i++ {
		b, err := r.Next()
		if err != nil {
			return peak, r
		}
		r.Free(b)
		if i%64 == 0 {
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse-min(before, m.HeapInuse))
		}
	}
}

// zeros is an endless nothing.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A bomb of 300 GiB (gzip in gzip) ends soon, in little memory, with its reason.
func TestUnpackBomb(t *testing.T) {
	var inner bytes.Buffer
	w, _ := gzip.NewWriterLevel(&inner, gzip.BestCompression)
	if _, err := io.Copy(w, io.LimitReader(zeros{}, 64<<20)); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	bomb := pack(t, "gzip", bytes.Repeat(inner.Bytes(), 100))
	peak, r := peakOf(t, FromBytes("bomb", bomb))
	if p := strings.Join(r.Problems(), ";"); !strings.Contains(p, "times its size") || !r.Incomplete() {
		t.Errorf("problems %q", p)
	}
	if r.Bytes() > bombFloor+16<<20 {
		t.Errorf("read %d bytes of a bomb", r.Bytes())
	}
	if peak > 64<<20 {
		t.Errorf("heap grew by %d MiB", peak>>20)
	}
}

// A decoder asks for memory as the file says. These say too much.
func TestUnpackMemoryIsBounded(t *testing.T) {
	// zstd, one frame with a window of 2 GiB and a raw block of one byte.
	wide := []byte("\x28\xb5\x2f\xfd\x00\xa8\x09\x00\x00x")
	peak, r := peakOf(t, FromBytes("x", wide))
	if p := strings.Join(r.Problems(), ";"); !strings.Contains(p, "zstd needs more than the 32 MiB") || peak > 64<<20 {
		t.Errorf("zstd: problems %q, heap %d MiB", p, peak>>20)
	}
	// xz, a dictionary of 128 MiB.
	var out bytes.Buffer
	w, err := xz.WriterConfig{DictCap: 128 << 20, BufSize: 4096}.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write([]byte("text\n"))
	_ = w.Close()
	peak, r = peakOf(t, FromBytes("x", out.Bytes()))
	if p := strings.Join(r.Problems(), ";"); !strings.Contains(p, "dictionary of 128 MiB") || peak > 64<<20 {
		t.Errorf("xz: problems %q, heap %d MiB", p, peak>>20)
	}
}

func TestXZChecks(t *testing.T) {
	text := logText(500)
	for name, check := range map[string]byte{"crc32": xz.CRC32, "crc64": xz.CRC64, "sha256": xz.SHA256, "none": xz.None} {
		var out bytes.Buffer
		c := xz.WriterConfig{CheckSum: check, BlockSize: 4096}
		if check == xz.None {
			c = xz.WriterConfig{NoCheckSum: true, BlockSize: 4096}
		}
		w, err := c.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(text)
		_ = w.Close()
		padded := append(bytes.Clone(out.Bytes()), 0, 0, 0, 0)
		for what, data := range map[string][]byte{"plain": out.Bytes(), "padded": append(padded, out.Bytes()...)} {
			got, r, _ := readAll(t, FromBytes("x", data), Options{})
			if !strings.HasPrefix(got, string(text)) || len(r.Problems()) != 0 {
				t.Errorf("%s %s: %d bytes, problems %q", name, what, len(got), r.Problems())
			}
		}
	}
}

// FuzzUnpack: no decoder falls over, whatever comes.
func FuzzUnpack(f *testing.F) {
	for _, form := range packForms {
		f.Add(pack(f, form, []byte("a line\nand another\n")))
	}
	b, _ := hex.DecodeString(bzipped)
	f.Add(b)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := FromReader("x", func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }).Open(Options{BlockSize: 4096, MaxLine: 4096})
		defer r.Close()
		for range 64 {
			b, err := r.Next()
			if err != nil {
				return
			}
			r.Free(b)
		}
	})
}

// A bug report is known by its content, packed or not, of any version, and all of it
// is text to be scanned.
func TestBugReport(t *testing.T) {
	line := "____________________________________________\n\n"
	body := line + "*** /proc/driver/nvidia/version\n" + line + "/usr/bin/nvidia-smi --query\n\n==============NVSMI LOG==============\n\n" +
		line + "/usr/bin/dmesg:\n\n[   12.345678] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
	for _, head := range []string{
		line + "Start of NVIDIA bug report log file.  Please include this file, along\nwith a detailed description of your problem.\n\nnvidia-bug-report.sh Version: 34275561\n\nDate: x\n",
		"\nnvidia-bug-report.sh Version: 12345\n\n", line + "Start of NVIDIA bug report log file.\n",
	} {
		for _, form := range []string{"", "gzip", "zstd"} {
			data := []byte(head + body)
			if form != "" {
				data = pack(t, form, data)
			}
			got, r, _ := readAll(t, FromBytes("report", data), Options{})
			if r.Kind() != KindBugreport || got != head+body || len(r.Problems()) != 0 {
				t.Errorf("%s %.30q: kind %s, problems %q", form, head, r.Kind(), r.Problems())
			}
		}
	}
}
