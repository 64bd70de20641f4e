package source

import (
	"archive/zip"
	"bufio"
	"compress/bzip2"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// zip lists a zip. It is read from its end, so one that is no file of its own is
// copied first.
func (s *shelf) zip(l *layers) {
	f, size := s.a.file, s.a.size
	if f == nil {
		var err error
		if f, size, err = spool(l.r, s.a.lim.spool); err != nil {
			s.cutoff(err)
			return
		}
	}
	dir := &frugal{r: f, left: s.a.lim.dir}
	zr, err := zip.NewReader(dir, size)
	if err != nil && zr == nil || errors.Is(err, errFrugal) {
		s.cutoff(err)
		return
	}
	dir.open = true
	zr.RegisterDecompressor(12, func(r io.Reader) io.ReadCloser { return io.NopCloser(bzip2.NewReader(r)) })
	zr.RegisterDecompressor(93, unzstd)
	zr.RegisterDecompressor(95, func(r io.Reader) io.ReadCloser { return io.NopCloser(newXZReader(bufio.NewReader(r), xzDict)) })
	files := slices.Clone(zr.File)
	order := map[string]*zip.File{}
	names := make([]string, 0, len(files))
	for _, e := range files {
		if e.Mode().IsDir() || strings.HasSuffix(e.Name, "/") {
			continue
		}
		if e.Mode()&fs.ModeType != 0 {
			if e.Mode()&fs.ModeSymlink == 0 {
				s.skip("devices and pipes")
			}
			continue
		}
		if order[e.Name] != nil { // the same name twice: the last one counts
			order[e.Name] = e
			continue
		}
		order[e.Name] = e
		names = append(names, e.Name)
	}
	sortLogs(names)
	for _, n := range names {
		if !s.zipEntry(order[n]) {
			return
		}
	}
}

// zipEntry takes one file; false ends the listing.
func (s *shelf) zipEntry(e *zip.File) bool {
	size := int64(min(e.UncompressedSize64, 1<<62))
	if !s.room(size) {
		return false
	}
	name := e.Name
	if !strings.Contains(name, "/") {
		name = strings.ReplaceAll(name, `\`, "/") // packed on Windows
	}
	open := func() (io.ReadCloser, error) {
		if e.Flags&1 != 0 {
			return nil, inputError("is encrypted: unpack it with its password")
		}
		rc, err := e.Open()
		if errors.Is(err, zip.ErrAlgorithm) {
			return nil, inputError("is packed in a way that is not read here: unpack it")
		}
		if err != nil {
			return nil, formError{"zip", err}
		}
		return &zipFile{rc: rc, left: size}, nil
	}
	rc, err := open()
	if err != nil {
		in := broken(s.a.path+"/"+s.name(name), s.a.node, pathProblem(err))
		in.tail = s.a.tail + strings.Count(in.Path[len(s.a.path):], "/")
		s.ins = append(s.ins, in)
		return true
	}
	defer rc.Close()
	s.add(name, rc, open)
	return true
}

func unzstd(r io.Reader) io.ReadCloser {
	z, err := newZstd(r)
	if err != nil {
		return io.NopCloser(&failing{err})
	}
	return z.IOReadCloser()
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// zipFile is one entry while it is read: no longer than it said, since the limits
// went by that.
type zipFile struct {
	rc   io.ReadCloser
	left int64
}

func (z *zipFile) Read(p []byte) (n int, err error) {
	defer func() {
		if x := recover(); x != nil {
			n, err = 0, formError{"zip", errors.New("damaged data")}
		}
	}()
	n, err = z.rc.Read(p)
	if z.left -= int64(n); z.left < 0 {
		return max(0, n+int(z.left)), formError{"zip", errors.New("an entry is longer than the directory says")}
	}
	if err != nil {
		err = inForm("zip", err)
	}
	return n, err
}

func (z *zipFile) Close() error { return z.rc.Close() }

// frugal bounds what is read for the directory of a zip: the library keeps all of it.
type frugal struct {
	r    io.ReaderAt
	left int64
	open bool // the directory is read
}

var errFrugal = inputError("has a directory larger than is read: unpack it and name the folder")

func (f *frugal) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.r.ReadAt(p, off)
	if !f.open {
		if f.left -= int64(n); f.left < 0 {
			return 0, errFrugal
		}
	}
	return n, err
}
