package source

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// tarball hands out the entries of a tar. A packed tar can only be read from its
// start, so the place that was reached is kept: entries opened in order, as a scan
// does, cost one pass and not one pass each.
type tarball struct {
	open func() (io.ReadCloser, error)
	last int // the last entry that anyone will ask for

	mu   sync.Mutex
	idle []*tarCursor
}

// maxIdle is how many places are kept: one for each entry that is read at a time.
const maxIdle = 8

// tarCursor is a tar read up to some entry.
type tarCursor struct {
	rc io.ReadCloser
	l  *layers
	tr *tar.Reader
	at int // headers that were read
}

func (c *tarCursor) close() {
	c.l.close()
	_ = c.rc.Close()
}

// tar lists a tar. The entries come in the order of the archive: any other one would
// read it again for each.
func (s *shelf) tar(l *layers, raw io.Reader) {
	ball := &tarball{open: s.a.open}
	tr := tar.NewReader(tarSource(l, raw))
	for i := 0; ; i++ {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			s.cutoff(err)
			return
		}
		if !s.tarEntry(h) {
			continue
		}
		if !s.room(h.Size) {
			return
		}
		ball.last = i
		s.add(h.Name, tr, func() (io.ReadCloser, error) { return ball.entry(i) })
	}
}

// tarEntry reports whether an entry is a file to be read.
func (s *shelf) tarEntry(h *tar.Header) bool {
	switch h.Typeflag {
	case tar.TypeReg, '\x00', tar.TypeCont:
		if sparse(h) { // a header can make a terabyte of nothing
			s.skip("sparse files")
			return false
		}
		return true
	case tar.TypeGNUSparse:
		s.skip("sparse files")
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		s.skip("devices and pipes")
	}
	return false // folders; links, whose target is an entry itself or lies outside
}

func sparse(h *tar.Header) bool {
	for k := range h.PAXRecords {
		if strings.HasPrefix(k, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// tarSource is what the tar is read from: the file itself when it is not packed, as
// that can be skipped through.
func tarSource(l *layers, raw io.Reader) io.Reader {
	if f, ok := raw.(io.ReadSeeker); ok && l.depth == 0 {
		if _, err := f.Seek(0, io.SeekStart); err == nil {
			return f
		}
	}
	return l.r
}

// entry opens an entry by its number.
func (b *tarball) entry(i int) (io.ReadCloser, error) {
	c, err := b.cursor(i)
	if err != nil {
		return nil, err
	}
	for c.at <= i {
		if _, err := c.tr.Next(); err != nil {
			c.close()
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, inputError(fmt.Sprintf("is no longer in the archive as it was (%v)", err))
		}
		c.at++
	}
	return &tarFile{ball: b, c: c}, nil
}

// cursor is the kept place nearest before an entry, or a new one at the start.
func (b *tarball) cursor(i int) (*tarCursor, error) {
	b.mu.Lock()
	best := -1
	for k, c := range b.idle {
		if c.at <= i && (best < 0 || c.at > b.idle[best].at) {
			best = k
		}
	}
	if best >= 0 {
		c := b.idle[best]
		b.idle = slices.Delete(b.idle, best, best+1)
		b.mu.Unlock()
		return c, nil
	}
	b.mu.Unlock()
	rc, err := b.open()
	if err != nil {
		return nil, err
	}
	l, _ := peel(rc)
	return &tarCursor{rc: rc, l: l, tr: tar.NewReader(tarSource(l, rc))}, nil
}

// keep takes a place back.
func (b *tarball) keep(c *tarCursor) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.at > b.last || len(b.idle) >= maxIdle {
		c.close()
		if c.at > b.last { // the end: nobody comes behind in a scan
			for _, o := range b.idle {
				o.close()
			}
			b.idle = nil
		}
		return
	}
	b.idle = append(b.idle, c)
}

// tarFile is one entry while it is read.
type tarFile struct {
	ball *tarball
	c    *tarCursor
}

func (f *tarFile) Read(p []byte) (int, error) {
	if f.c == nil {
		return 0, io.ErrClosedPipe
	}
	return f.c.tr.Read(p)
}

func (f *tarFile) Close() error {
	if f.c != nil {
		f.ball.keep(f.c)
		f.c = nil
	}
	return nil
}
