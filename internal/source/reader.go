package source

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	// DefaultBlock is the size of a block: large enough that the cost per block
	// vanishes, small enough to stay in the processor's second-level cache.
	DefaultBlock = 1 << 19
	// MaxLine is the longest line that is handed on in one piece.
	MaxLine = 1 << 20
)

// Options of a Reader. Zero values mean the defaults; tests use small ones.
type Options struct {
	BlockSize int
	MaxLine   int
}

// Block is a run of whole lines. The last line of an input may lack its newline.
type Block struct {
	Data []byte
	// FirstLine is the number, from 1, of the line that Data begins in.
	FirstLine int
	// Offset is where Data begins in the decoded text.
	Offset int64
	// Rows is how many lines (or pieces of a line) Data holds.
	Rows int
	// Cut says that the last row is a piece of a line that goes on in the next block.
	Cut bool
}

// Reader hands out the blocks of one input.
type Reader struct {
	in       Input
	opts     Options
	text     *bufio.Reader
	closer   io.Closer
	layers   *layers
	form     string
	kind     string
	problems []string
	missed   bool // something could not be read

	carry    []byte // start of the line after the last block
	err      error  // sticky: io.EOF or what ended the stream early
	line     int    // number of the line that the next block begins in
	offset   int64
	midLine  bool // the last block was cut
	longLine int  // number of the first line that was cut, 0 for none
	long     int  // how many lines were cut
	free     [][]byte
}

// Open starts reading. It never fails: what is wrong is in Problems, and Next then
// returns io.EOF.
func (in Input) Open(o Options) *Reader {
	if o.MaxLine <= 0 {
		o.MaxLine = MaxLine
	}
	if o.BlockSize <= 0 {
		o.BlockSize = DefaultBlock
	}
	o.BlockSize = min(o.BlockSize, o.MaxLine)
	r := &Reader{in: in, opts: o, line: 1, kind: KindUnknown, err: io.EOF, missed: in.Incomplete}
	r.problems = append(r.problems, in.Problems...)
	if in.open == nil {
		return r
	}
	f, err := in.open()
	if err != nil {
		r.lost(pathProblem(err))
		return r
	}
	r.start(f)
	return r
}

// start decodes a stream up to its text.
func (r *Reader) start(f io.ReadCloser) {
	var err error
	r.closer = f
	r.text, r.layers, err = decoded(f)
	r.form = r.layers.form
	if u, ok := errors.AsType[unreadable](err); ok && u.name == formJournal {
		var j io.ReadCloser
		if j, err = openJournal(r.in, r.layers, journalIdle); err == nil {
			_ = r.Close()
			r.closer = j
			r.text, r.layers, err = decoded(j)
		}
	}
	if err != nil {
		r.err = err
		r.endProblem()
		_ = r.Close()
		return
	}
	r.err = nil
	r.sniff()
}

// Kind is what the text is, told by its first 64 KiB.
func (r *Reader) Kind() string { return r.kind }

// Problems lists what was wrong so far.
func (r *Reader) Problems() []string { return r.problems }

// Incomplete reports whether something of the input could not be read. A line
// that came in pieces was read all the same.
func (r *Reader) Incomplete() bool { return r.missed }

// Lines and Bytes say how much text was handed out.
func (r *Reader) Lines() int {
	if r.midLine {
		return r.line
	}
	return r.line - 1
}

// Bytes is the size of the decoded text handed out.
func (r *Reader) Bytes() int64 { return r.offset }

// Close ends reading and releases the file.
func (r *Reader) Close() error {
	if r.closer == nil {
		return nil
	}
	c := r.closer
	r.layers.close()
	r.closer, r.text, r.err = nil, nil, io.EOF
	return c.Close()
}

func (r *Reader) problem(s string) {
	for _, p := range r.problems {
		if p == s {
			return
		}
	}
	r.problems = append(r.problems, s)
}

// lost notes a problem that kept something from being read.
func (r *Reader) lost(s string) {
	r.missed = true
	r.problem(s)
}

// sniff decides the kind from the head and notes an empty or binary input.
func (r *Reader) sniff() {
	head, err := r.text.Peek(headSize)
	if len(head) == 0 {
		if errors.Is(err, io.EOF) {
			r.problem("empty: there is nothing to read")
		}
		return
	}
	if isFlight(head) {
		r.kind = KindFlight
		return
	}
	if looksBinary(head) {
		r.lost("looks like binary data, not text: scanned as it is, but expect little")
		return
	}
	r.kind = KindOf(head)
}

// Free gives a block's memory back. Its Data must not be used any more.
func (r *Reader) Free(b Block) {
	if len(r.free) < 4 {
		r.free = append(r.free, b.Data[:0])
	}
}

// Next returns the next block, io.EOF at the end. There is no other error: a
// stream that breaks off ends, with a problem.
func (r *Reader) Next() (Block, error) {
	buf := r.buffer()
	buf = append(buf, r.carry...)
	r.carry = r.carry[:0]
	buf, end := r.fill(buf, r.opts.BlockSize)
	for !end && bytes.IndexByte(buf, '\n') < 0 && len(buf) <= r.opts.MaxLine {
		buf, end = r.fill(buf, min(2*len(buf), r.opts.MaxLine+1))
	}
	if len(buf) == 0 {
		r.finish()
		return Block{}, io.EOF
	}
	n, cut := len(buf), false
	if nl := bytes.LastIndexByte(buf, '\n'); nl >= 0 {
		if !end {
			n = nl + 1
		}
	} else if len(buf) > r.opts.MaxLine {
		n, cut = cutPoint(buf[:r.opts.MaxLine]), true
	}
	r.carry = append(r.carry, buf[n:]...)
	return r.emit(buf[:n], cut), nil
}

func (r *Reader) emit(data []byte, cut bool) Block {
	b := Block{Data: data, FirstLine: r.line, Offset: r.offset, Cut: cut}
	lines := bytes.Count(data, []byte{'\n'})
	b.Rows = lines
	if data[len(data)-1] != '\n' {
		b.Rows++
		if !cut {
			r.line++ // the last line of the input
		}
	}
	r.line += lines
	r.offset += int64(len(data))
	if cut && !r.midLine {
		r.long++
		if r.longLine == 0 {
			r.longLine = b.FirstLine
		}
	}
	r.midLine = cut
	return b
}

// fill reads until buf holds size bytes; end says that the stream is over.
func (r *Reader) fill(buf []byte, size int) (_ []byte, end bool) {
	for len(buf) < size && r.err == nil {
		if cap(buf) < size {
			buf = append(make([]byte, 0, size), buf...)
		}
		var n int
		n, r.err = r.text.Read(buf[len(buf):size])
		buf = buf[:len(buf)+n]
	}
	return buf, r.err != nil
}

func (r *Reader) buffer() []byte {
	if n := len(r.free); n > 0 {
		b := r.free[n-1]
		r.free = r.free[:n-1]
		return b
	}
	return make([]byte, 0, r.opts.BlockSize)
}

// cutPoint chooses where a line that is too long is cut: behind the last byte that
// ends a word near the end, so that a message inside seldom breaks.
func cutPoint(line []byte) int {
	for i := len(line) - 1; i > len(line)-min(len(line), 4096); i-- {
		switch line[i] {
		case '\r', 0, '}', ';':
			return i + 1
		}
	}
	for i := len(line) - 1; i > len(line)-min(len(line), 4096); i-- {
		if line[i] == ' ' || line[i] == ',' {
			return i + 1
		}
	}
	return len(line)
}

// finish notes, once, what the whole input showed.
func (r *Reader) finish() {
	r.endProblem()
	if r.long > 0 && r.kind != KindFlight {
		more := ""
		if r.long > 1 {
			more = fmt.Sprintf(" and %d more lines are", r.long-1)
		} else {
			more = " is"
		}
		r.problem(fmt.Sprintf("line %d%s longer than %d KiB: read in pieces", r.longLine, more, r.opts.MaxLine>>10))
	}
	r.err, r.long = io.EOF, 0
}

// endProblem words the error that ended the stream.
func (r *Reader) endProblem() {
	err := r.err
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return
	}
	sofar := fmt.Sprintf("%d bytes of text were read before", r.offset)
	if u, ok := errors.AsType[unreadable](err); ok {
		r.lost(u.Error())
		return
	}
	if _, ok := errors.AsType[bombError](err); ok {
		r.lost(err.Error())
		return
	}
	form := r.form
	if fe, ok := errors.AsType[formError](err); ok {
		form = fe.form
	}
	if form == "" {
		form = "archive" // an entry of one
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		r.lost(form + " data ends early (truncated file?): " + sofar)
	case errors.Is(err, gzip.ErrHeader) || errors.Is(err, zstd.ErrMagicMismatch) || errors.Is(err, errXZHeader):
		if r.offset > 0 {
			r.lost("bytes behind the " + form + " data are no " + form + " data and were left out")
			return
		}
		r.lost(form + " header is damaged: nothing could be read")
	case errors.Is(err, gzip.ErrChecksum) || errors.Is(err, zstd.ErrCRCMismatch) || errors.Is(err, zip.ErrChecksum):
		r.lost(form + " checksum is wrong: the text may be damaged")
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		r.lost(fmt.Sprintf("zstd needs more than the %s of memory that are allowed (packed with --long?): zstd -dc --long=31 FILE | gpumedic diagnose -", byteSize(zstdWindow)))
	default:
		if fe, ok := errors.AsType[formError](err); ok {
			r.lost(form + " data is damaged (" + fe.err.Error() + "): " + sofar)
			return
		}
		r.lost(pathProblem(err))
	}
}
