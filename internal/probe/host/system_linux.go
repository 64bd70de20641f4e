package host

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

func statfs(path string) (usage, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return usage{}, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	size := uint64(st.Frsize)
	if size == 0 {
		size = uint64(st.Bsize)
	}
	var id string
	if st.Fsid.Val != [2]int32{} {
		id = fmt.Sprint(st.Fsid.Val)
	}
	return usage{
		total: st.Blocks * size, free: st.Bfree * size, available: st.Bavail * size,
		files: st.Files, filesFree: st.Ffree, readOnly: st.Flags&unix.ST_RDONLY != 0, id: id,
	}, nil
}

// isProc reports whether a proc file system is mounted there.
func isProc(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Type == unix.PROC_SUPER_MAGIC
}

// mayUse reports whether this process may read and write a file by its mode.
func mayUse(path string) error { return unix.Access(path, unix.R_OK|unix.W_OK) }

// isDevice reports whether a file is a character device.
func isDevice(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

// openDevice opens a device and closes it again.
func openDevice(path string) error {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// readRecords reads /dev/kmsg: one record a read, until there are no more. A reader
// that was overtaken by the writer goes on with the oldest record there is.
func readRecords(path string, limit int) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var out []byte
	buf := make([]byte, 16<<10) // a record has 8 KiB at most
	for len(out) < limit {
		n, err := unix.Read(fd, buf)
		switch {
		case err == unix.EINTR || err == unix.EPIPE:
			continue
		case err == unix.EAGAIN:
			return out, nil
		case err != nil:
			return out, &os.PathError{Op: "read", Path: path, Err: err}
		case n == 0:
			return out, nil
		}
		out = append(out, buf[:n]...)
	}
	return out, nil
}

// readFile reads a regular file, at most its first limit bytes. A device in a recorded
// tree might answer without end.
//
// These are the bare calls: package os asks the kernel eight times more about a file, in
// vain for those of /proc and /sys, and a probe reads hundreds of them.
func readFile(name string, limit int64) ([]byte, error) {
	fd, err := openToRead(name, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, &os.PathError{Op: "stat", Path: name, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, fs.ErrInvalid
	}
	out := make([]byte, 0, min(max(512, st.Size+1), limit)) // /proc states no size
	for int64(len(out)) < limit {
		if len(out) == cap(out) {
			out = append(out, 0)[:len(out)]
		}
		n, err := unix.Read(fd, out[len(out):min(int64(cap(out)), limit)])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return out, &os.PathError{Op: "read", Path: name, Err: err}
		case n == 0:
			return out, nil
		default:
			out = out[:len(out)+n]
		}
	}
	return out, nil
}

// readNames gives the names in a folder, as they come.
func readNames(dir string) ([]string, error) {
	fd, err := openToRead(dir, unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var names []string
	buf := make([]byte, 8<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return names, &os.PathError{Op: "readdirent", Path: dir, Err: err}
		case n == 0:
			return names, nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

func openToRead(name string, flags int) (int, error) {
	for {
		fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC|flags, 0)
		if err == nil {
			return fd, nil
		}
		if err != unix.EINTR {
			return -1, &os.PathError{Op: "open", Path: name, Err: err}
		}
	}
}
