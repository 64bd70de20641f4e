package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

const (
	// pipeIdle is how long a named pipe may be silent before reading it ends; a
	// process substitution may have to log in somewhere first.
	pipeIdle = 60 * time.Second
	// pipeWriter is how long a named pipe may be without a process that writes.
	pipeWriter = 2 * time.Second
)

// openFile opens what a path names: a regular file, which is read up to the size
// that it has now, or a pipe (as <(command) makes one), which is read with a
// deadline. Devices are never opened: reading one may block for ever, and opening
// one may do things.
func openFile(path string) (io.ReadCloser, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := refused(info.Mode()); err != nil {
		return nil, err
	}
	// Without O_NONBLOCK opening a pipe waits for a writer. Regular files ignore it.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err = f.Stat() // again: the path may lead elsewhere by now
	if err == nil {
		err = refused(info.Mode())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	if info.Mode()&fs.ModeNamedPipe != 0 {
		return &pipe{f: f, idle: pipeIdle, writer: pipeWriter}, nil
	}
	return &regular{f: f, size: info.Size()}, nil
}

func refused(m fs.FileMode) error {
	switch {
	case m.IsRegular(), m&fs.ModeNamedPipe != 0:
		return nil
	case m.IsDir():
		return inputError("is a folder now: it was a file before")
	case m&fs.ModeDevice != 0:
		return inputError("is a device, not a file: pipe its text in (for /dev/kmsg: dmesg | gpumedic diagnose -)")
	case m&fs.ModeSocket != 0:
		return inputError("is a socket, not a file: pipe its text in")
	}
	return inputError("is no regular file")
}

// regular is a file read once: what is appended while it is read is left for the
// next time, or a busy writer would keep the reader for ever.
type regular struct {
	f    *os.File
	size int64 // when it was opened; 0 also for files of /proc
	pos  int64
}

func (r *regular) Read(p []byte) (int, error) {
	if r.size > 0 {
		if r.pos >= r.size {
			return 0, io.EOF
		}
		p = p[:min(int64(len(p)), r.size-r.pos)]
	}
	n, err := r.f.Read(p)
	r.pos += int64(n)
	if errors.Is(err, io.EOF) && r.pos < r.size {
		// Files of /sys end before their size; a file cut short has another size now.
		if info, e := r.f.Stat(); e == nil && info.Size() < r.size {
			err = inputError(fmt.Sprintf("became shorter while it was read (from %s to %s): rotated or truncated meanwhile",
				byteSize(r.size), byteSize(info.Size())))
		}
	}
	return n, err
}

// Seek lets an archive be skipped through.
func (r *regular) Seek(off int64, whence int) (int64, error) {
	if whence == io.SeekEnd {
		off, whence = r.size+off, io.SeekStart
	}
	pos, err := r.f.Seek(off, whence)
	if err == nil {
		r.pos = pos
	}
	return pos, err
}

func (r *regular) Close() error { return r.f.Close() }

// pipe is a named pipe or a process substitution.
type pipe struct {
	f      *os.File
	idle   time.Duration
	writer time.Duration
	got    bool
}

func (p *pipe) Read(b []byte) (int, error) {
	began := time.Now()
	for {
		_ = p.f.SetReadDeadline(time.Now().Add(p.idle)) // where it can't, reads just block
		n, err := p.f.Read(b)
		switch {
		case n > 0:
			p.got = true
			return n, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return 0, inputError(fmt.Sprintf("is a pipe and nothing came for %v: stopped waiting", p.idle))
		case errors.Is(err, io.EOF) && !p.got:
			if time.Since(began) > p.writer {
				return 0, inputError("is a pipe that no process writes to: start the writer first, or use -")
			}
			time.Sleep(20 * time.Millisecond)
		default:
			return 0, err
		}
	}
}

func (p *pipe) Close() error { return p.f.Close() }
