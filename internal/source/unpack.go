package source

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

const (
	// maxLayers is how often a file may be packed over: logs.gz.xz is two.
	maxLayers = 3
	// maxRatio is how many bytes of text one packed byte may give once bombFloor
	// bytes came: deflate cannot go beyond 1032, and real logs stay far below it.
	maxRatio  = 1100
	bombFloor = 256 << 20
	// zstdWindow and xzDict bound what a decoder may keep of the past, which the
	// file decides. 32 MiB is what zstd uses below --long, 64 MiB is xz -9. Both
	// fill only as far as there is text.
	zstdWindow = 32 << 20
	xzDict     = 64 << 20
)

// layers is a stream with its compression undone.
type layers struct {
	r       *bufio.Reader
	form    string // the innermost form that was undone, "" for none
	depth   int
	closers []func()
}

func (l *layers) close() {
	for _, c := range l.closers {
		c()
	}
	l.closers = nil
}

// unpack undoes the compression of a stream, layer by layer, and stops at the first
// bytes that are something else; size is that of the buffers. On an error the stream
// that was reached stays in r.
func unpack(r io.Reader, size int) (*layers, error) {
	raw := &meter{r: r}
	l := &layers{r: bufio.NewReaderSize(raw, size)}
	for {
		head, _ := l.r.Peek(512)
		name, hint := packedForm(head)
		if hint != "" || !compressed(name) {
			return l, nil
		}
		if l.depth == maxLayers {
			return l, fmt.Errorf("is packed more than %d times over: unpack it first", maxLayers)
		}
		form := name
		next, done, err := decompress(form, l.r)
		if err != nil {
			l.form = form
			return l, inForm(form, err)
		}
		if done != nil {
			l.closers = append(l.closers, done)
		}
		l.depth++
		l.form = form
		l.r = bufio.NewReaderSize(&unpacker{r: next, form: form, raw: raw}, max(size, 4096))
	}
}

func compressed(form string) bool {
	switch form {
	case "gzip", "bzip2", "zstd", "xz", "lz4":
		return true
	}
	return false
}

func decompress(form string, r *bufio.Reader) (io.Reader, func(), error) {
	switch form {
	case "gzip":
		z, err := gzip.NewReader(r)
		return z, nil, err
	case "bzip2":
		return bzip2.NewReader(r), nil, nil
	case "zstd":
		z, err := newZstd(r)
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	case "xz":
		return newXZReader(r, xzDict), nil, nil
	case "lz4":
		return lz4.NewReader(r), nil, nil
	}
	return nil, nil, errors.New("unknown form " + form)
}

// newZstd opens a zstd stream with bounded memory.
func newZstd(r io.Reader) (*zstd.Decoder, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
}

// meter counts the bytes of a stream.
type meter struct {
	r io.Reader
	n int64
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.n += int64(n)
	return n, err
}

// unpacker is the output of a decoder: it words the decoder's errors, ends a bomb,
// and survives a decoder that gives up on hostile data in a panic.
type unpacker struct {
	r    io.Reader
	form string
	raw  *meter
	n    int64
	err  error
}

func (u *unpacker) Read(p []byte) (n int, err error) {
	if u.err != nil {
		return 0, u.err
	}
	defer func() {
		if x := recover(); x != nil {
			n, err = 0, formError{u.form, fmt.Errorf("%v", x)}
			u.err = err
		}
	}()
	n, err = u.r.Read(p)
	u.n += int64(n)
	if err != nil {
		err = inForm(u.form, err)
	} else if u.n > bombFloor && u.n/maxRatio > u.raw.n {
		err = bombError{u.n, u.raw.n}
	}
	u.err = err
	return n, err
}

// formError is what a decoder says of damaged data.
type formError struct {
	form string
	err  error
}

func (e formError) Error() string { return e.form + ": " + e.err.Error() }
func (e formError) Unwrap() error { return e.err }

// inForm marks an error as the decoder's. The end, and what the file system says of
// the packed bytes, stay what they are.
func inForm(form string, err error) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	if _, ok := errors.AsType[*os.PathError](err); ok {
		return err
	}
	if _, ok := errors.AsType[inputError](err); ok {
		return err
	}
	if _, ok := errors.AsType[bombError](err); ok {
		return err
	}
	if _, ok := errors.AsType[formError](err); ok {
		return err // of the layer below
	}
	return formError{form, err}
}

// bombError ends a stream that unpacks to far more than a log can.
type bombError struct{ text, packed int64 }

func (b bombError) Error() string {
	return fmt.Sprintf("unpacks to more than %d times its size: stopped after %s as no log does that", maxRatio, byteSize(b.text))
}

// inputError is a problem that is told as it stands.
type inputError string

func (e inputError) Error() string { return string(e) }

// byteSize words a size for a person.
func byteSize(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// content is what a stream holds once its compression is undone.
type content uint8

const (
	contentText content = iota // or what only opening it can tell
	contentOther
	contentTar
	contentZip
)

// peel looks under the compression of a stream. What cannot be unpacked counts as
// text: reading it tells the problem.
func peel(r io.Reader) (*layers, content) {
	l, err := unpack(r, 4096)
	if err != nil {
		return l, contentText
	}
	head, _ := l.r.Peek(4096)
	switch name, _ := packedForm(head); {
	case name == formTar:
		return l, contentTar
	case name == formZip:
		return l, contentZip
	case name != "" || len(head) == 0:
		return l, contentText
	}
	if looksBinary(head) && !isFlight(head) {
		return l, contentOther
	}
	return l, contentText
}

// isTar also knows the header of before POSIX, which has no magic: its checksum holds.
func isTar(head []byte) bool {
	if len(head) < 512 {
		return false
	}
	if bytes.HasPrefix(head[257:], []byte("ustar")) {
		return true
	}
	want, digits := 0, 0
	for _, c := range bytes.Trim(head[148:156], " \x00") {
		if c < '0' || c > '7' {
			return false
		}
		want, digits = want*8+int(c-'0'), digits+1
	}
	if digits < 4 || head[0] == 0 {
		return false
	}
	sum := 8 * int(' ')
	for i, c := range head[:512] {
		if i < 148 || i >= 156 {
			sum += int(c)
		}
	}
	return sum == want
}
