package offline

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os/exec"
	"reflect"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/scan"
	"github.com/gpumedic/gpumedic/internal/source"
)

var packers = []struct {
	form string
	open func(io.Writer) (io.WriteCloser, error)
}{
	{"gzip", func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }},
	{"zstd", func(w io.Writer) (io.WriteCloser, error) {
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	}},
	{"xz", func(w io.Writer) (io.WriteCloser, error) { return xz.WriterConfig{DictCap: 1 << 16}.NewWriter(w) }},
	{"lz4", func(w io.Writer) (io.WriteCloser, error) { return lz4.NewWriter(w), nil }},
	{"bzip2", nil}, // Go has no writer: by the program, where there is one
}

// packWith compresses data, nil where that cannot be done here.
func packWith(t *testing.T, i int, data []byte) []byte {
	t.Helper()
	p := packers[i]
	if p.open == nil {
		cmd := exec.CommandContext(t.Context(), "bzip2", "-1c")
		cmd.Stdin = bytes.NewReader(data)
		out, err := cmd.Output()
		if errors.Is(err, exec.ErrNotFound) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	var out bytes.Buffer
	w, err := p.open(&out)
	if err == nil {
		_, err = w.Write(data)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// What the engine is given of every case of the catalog does not depend on the number of
// goroutines, on where blocks end or on compression; so neither does any answer. Every case
// is cut into blocks of 64 bytes for 1 to 4 goroutines and packed in one of the forms, in
// turns.
func TestAnswersDoNotDependOnReading(t *testing.T) {
	c, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string, data []byte, o scan.Options) scan.Result {
		res, err := d.scanner.Scan(t.Context(), []source.Input{source.FromBytes(name, data)}, o)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	n := 0
	packed := map[string]int{}
	for _, id := range c.FaultIDs() {
		cases, err := catalog.Cases(catalog.EmbeddedFS(), c.Faults[id])
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range cases {
			if n++; testing.Short() && n%11 != 0 {
				continue
			}
			data := []byte(k.Input)
			want := read(k.Name, data, scan.Options{Workers: 1})
			if got := read(k.Name, data, scan.Options{Workers: 1 + n%4, Source: source.Options{BlockSize: 64}}); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %d workers and blocks of 64 bytes tell something else", k.Pos.File, 1+n%4)
			}
			form := n % len(packers)
			if data = packWith(t, form, data); data == nil {
				continue
			}
			packed[packers[form].form]++
			if got := read(k.Name, data, scan.Options{Workers: 2}); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s tells something else", k.Pos.File, packers[form].form)
			}
		}
	}
	if n < 300 || packed["gzip"] == 0 || packed["xz"] == 0 {
		t.Errorf("%d cases, %v", n, packed)
	}
}
