// Package sourcetest makes packed inputs for the tests of several rooms.
package sourcetest

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
)

// Pack compresses in one of the forms: gzip, zstd, xz, lz4.
func Pack(t testing.TB, form string, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch form {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "zstd":
		w, err = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	case "xz":
		w, err = xz.NewWriter(&out)
	case "lz4":
		z := lz4.NewWriter(&out)
		err, w = z.Apply(lz4.BlockSizeOption(lz4.Block64Kb)), z
	default:
		t.Fatal("no form " + form)
	}
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
