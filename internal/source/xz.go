package source

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// xzReader reads the .xz container: streams of blocks of LZMA2. The library's own
// reader allocates whatever dictionary a block asks for, up to 4 GiB, and keeps a
// record of every block; this one bounds the first and keeps none, and leaves to
// the library what is hard, LZMA2 itself.
type xzReader struct {
	src   *meterByte
	dict  int64 // the largest dictionary
	check byte
	block io.Reader
	sum   hash.Hash
	start int64 // where the compressed data of the block begins
	err   error
}

var errXZHeader = errors.New("no xz header")

func newXZReader(r *bufio.Reader, dict int64) *xzReader {
	return &xzReader{src: &meterByte{r: r}, dict: dict}
}

func (x *xzReader) Read(p []byte) (int, error) {
	for x.err == nil {
		if x.block == nil {
			x.err = x.next()
			continue
		}
		n, err := x.block.Read(p)
		if x.sum != nil {
			_, _ = x.sum.Write(p[:n])
		}
		switch {
		case errors.Is(err, io.EOF):
			x.err = x.endBlock()
		case err != nil:
			x.err = err
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, x.err
}

// next goes to the next block: through headers, the index and footers on the way.
func (x *xzReader) next() error {
	if x.src.n == 0 {
		return x.header(false)
	}
	size, err := x.src.ReadByte()
	if err != nil {
		return early(err)
	}
	if size != 0 {
		return x.blockHeader(size)
	}
	if err := x.tail(); err != nil {
		return err
	}
	return x.header(true)
}

// header reads the header of a stream; another one may follow the first, after
// padding in fours.
func (x *xzReader) header(again bool) error {
	var h [12]byte
	for {
		if _, err := io.ReadFull(x.src, h[:4]); err != nil {
			if again && errors.Is(err, io.EOF) {
				return io.EOF
			}
			return early(err)
		}
		if !again || h[0] != 0 || h[1] != 0 || h[2] != 0 || h[3] != 0 {
			break
		}
	}
	if _, err := io.ReadFull(x.src, h[4:]); err != nil {
		return early(err)
	}
	if string(h[:6]) != "\xfd7zXZ\x00" {
		return errXZHeader
	}
	if h[6] != 0 || h[7] > 15 || crc32.ChecksumIEEE(h[6:8]) != binary.LittleEndian.Uint32(h[8:]) {
		return errors.New("damaged stream header")
	}
	x.check = h[7]
	return nil
}

func (x *xzReader) blockHeader(size byte) error {
	h := make([]byte, (int(size)+1)*4)
	h[0] = size
	if _, err := io.ReadFull(x.src, h[1:]); err != nil {
		return early(err)
	}
	body, sum := h[:len(h)-4], h[len(h)-4:]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(sum) {
		return errors.New("damaged block header")
	}
	flags := body[1]
	rest := bytes.NewReader(body[2:])
	for _, bit := range []byte{0x40, 0x80} { // compressed size, uncompressed size
		if flags&bit != 0 {
			if _, err := binary.ReadUvarint(rest); err != nil {
				return errors.New("damaged block header")
			}
		}
	}
	id, err1 := binary.ReadUvarint(rest)
	n, err2 := binary.ReadUvarint(rest)
	code, err3 := rest.ReadByte()
	switch {
	case err1 != nil || err2 != nil || err3 != nil:
		return errors.New("damaged block header")
	case flags&0x3f != 0 || id != 0x21 || n != 1:
		return errors.New("uses a filter other than LZMA2, which is not read here")
	}
	dict, err := lzma.DecodeDictCap(code)
	if err != nil {
		return err
	}
	if dict > x.dict {
		return fmt.Errorf("needs a dictionary of %s, more than the %s that are allowed: unpack it first", byteSize(dict), byteSize(x.dict))
	}
	return x.begin(int(dict))
}

func (x *xzReader) begin(dict int) error {
	x.start = x.src.n
	switch x.check {
	case 1:
		x.sum = crc32.NewIEEE()
	case 4:
		x.sum = crc64.New(crc64.MakeTable(crc64.ECMA))
	case 10:
		x.sum = sha256.New()
	default:
		x.sum = nil
	}
	var err error
	x.block, err = lzma.Reader2Config{DictCap: max(dict, lzma.MinDictCap)}.NewReader2(x.src)
	return err
}

// checkSizes is how many bytes a check of each kind takes.
var checkSizes = [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}

func (x *xzReader) endBlock() error {
	x.block = nil
	pad := int(-(x.src.n - x.start) & 3)
	b := make([]byte, pad+checkSizes[x.check])
	if _, err := io.ReadFull(x.src, b); err != nil {
		return early(err)
	}
	if x.sum == nil {
		return nil
	}
	want, got := b[pad:], x.sum.Sum(nil)
	if x.check != 10 { // CRCs are stored with the low byte first
		for i, j := 0, len(got)-1; i < j; i, j = i+1, j-1 {
			got[i], got[j] = got[j], got[i]
		}
	}
	if !bytes.Equal(want, got) {
		return errors.New("wrong check value: the text may be damaged")
	}
	return nil
}

// tail skips the index and the footer. The blocks were checked one by one.
func (x *xzReader) tail() error {
	at := x.src.n - 1 // of the index indicator
	records, err := binary.ReadUvarint(x.src)
	if err != nil {
		return early(err)
	}
	for range records {
		for range 2 {
			if _, err := binary.ReadUvarint(x.src); err != nil {
				return early(err)
			}
		}
	}
	var b [3 + 4 + 12]byte
	pad := int(-(x.src.n - at) & 3)
	if _, err := io.ReadFull(x.src, b[:pad+4+12]); err != nil {
		return early(err)
	}
	if string(b[pad+14:pad+16]) != "YZ" {
		return errors.New("damaged footer")
	}
	return nil
}

// early is the end of the data where more had to come.
func early(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// meterByte counts the bytes of a buffered stream, which may be read one by one.
type meterByte struct {
	r *bufio.Reader
	n int64
}

func (m *meterByte) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.n += int64(n)
	return n, err
}

func (m *meterByte) ReadByte() (byte, error) {
	b, err := m.r.ReadByte()
	if err == nil {
		m.n++
	}
	return b, err
}
