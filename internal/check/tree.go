package check

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/gpumedic/gpumedic/internal/probe"
	"github.com/gpumedic/gpumedic/internal/probe/host"
	"github.com/gpumedic/gpumedic/internal/source"
)

// A recorded tree of /sys and /proc (a folder, or a tar of one) is read by the same probe
// as the running system. Limits keep a hostile archive from filling the disk.
const (
	maxTreeFiles = 200_000
	maxTreeBytes = 256 << 20
)

// Recorded turns the paths of --from into inputs: a recorded system tree gives the
// readings of the host's probe, everything else is read as diagnose reads it. done
// removes what was unpacked; it is never nil.
func Recorded(ctx context.Context, paths []string, o source.ExpandOptions, h host.Options) (inputs []source.Input, done func(), err error) {
	var remove []string
	done = func() {
		for _, dir := range remove {
			_ = os.RemoveAll(dir) // a temporary folder that stays is the system's to clean
		}
	}
	for _, p := range paths {
		root, temporary, err := systemTree(p)
		if err != nil {
			done()
			return nil, func() {}, err
		}
		if root == "" {
			inputs = append(inputs, source.Expand([]string{p}, o)...)
			continue
		}
		if temporary {
			remove = append(remove, root)
		}
		var doc bytes.Buffer
		h.Root = root
		if err := host.Probe(ctx, probe.NewWriter(&doc), h); err != nil {
			done()
			return nil, func() {}, fmt.Errorf("read tree %s: %w", p, err)
		}
		inputs = append(inputs, source.FromBytes(filepath.Base(p), doc.Bytes()))
	}
	return inputs, done, nil
}

// systemTree is the folder of a recorded tree, unpacked when p is an archive; "" when p
// is something else.
func systemTree(p string) (root string, temporary bool, err error) {
	fi, err := os.Stat(p)
	switch {
	case err != nil:
		return "", false, nil // the ordinary path says what is wrong with it
	case fi.IsDir():
		for _, sub := range []string{"sys/class", "sys/bus/pci", "sys/devices"} {
			if s, err := os.Stat(filepath.Join(p, sub)); err == nil && s.IsDir() {
				return p, false, nil
			}
		}
		return "", false, nil
	case !fi.Mode().IsRegular():
		return "", false, nil
	}
	r, closer, err := tarOf(p)
	if err != nil {
		return "", false, nil
	}
	defer closer.Close()
	first, err := r.Next()
	if err != nil || !strings.HasPrefix(path.Clean("/"+first.Name)+"/", "/sys/") && !strings.HasPrefix(path.Clean("/"+first.Name)+"/", "/proc/") {
		return "", false, nil
	}
	dir, err := os.MkdirTemp("", "gpumedic-tree-")
	if err != nil {
		return "", false, fmt.Errorf("unpack %s: %w", p, err)
	}
	if err := unpackTree(dir, first, r); err != nil {
		return "", false, fmt.Errorf("unpack %s: %w", p, errors.Join(err, os.RemoveAll(dir)))
	}
	return dir, true, nil
}

// tarOf opens a tar, plain or gzipped.
func tarOf(p string) (*tar.Reader, io.Closer, error) {
	f, err := os.Open(p)
	if err != nil {
		return nil, nil, err
	}
	var magic [2]byte
	if _, err := io.ReadFull(f, magic[:]); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	if magic != [2]byte{0x1f, 0x8b} {
		return tar.NewReader(f), f, nil
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return tar.NewReader(z), f, nil
}

// unpackTree writes the entries below dir. Links that lead out of it are left out.
func unpackTree(dir string, h *tar.Header, r *tar.Reader) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var links []string
	left, n := int64(maxTreeBytes), 0
	for ; err == nil; h, err = r.Next() {
		name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		if name == "" {
			continue
		}
		if n++; n > maxTreeFiles {
			return fmt.Errorf("more than %d entries", maxTreeFiles)
		}
		if e := root.MkdirAll(path.Dir(name), 0o755); e != nil {
			continue // below a link or a file: not of a tree
		}
		switch h.Typeflag {
		case tar.TypeDir:
			_ = root.MkdirAll(name, 0o755) // an unusable folder shows in its files
		case tar.TypeSymlink:
			if !path.IsAbs(h.Linkname) && root.Symlink(h.Linkname, name) == nil {
				links = append(links, name)
			}
		case tar.TypeReg:
			if h.Size > left {
				return fmt.Errorf("more than %d MiB", maxTreeBytes>>20)
			}
			left -= h.Size
			b, e := io.ReadAll(io.LimitReader(r, h.Size))
			if e != nil {
				return e
			}
			_ = root.WriteFile(name, b, 0o644) // a name that leads out is refused here
		}
	}
	real, e := filepath.EvalSymlinks(dir)
	if e != nil {
		return e
	}
	for _, l := range links {
		to, e := filepath.EvalSymlinks(filepath.Join(dir, l))
		if e == nil && to != real && !strings.HasPrefix(to, real+string(filepath.Separator)) {
			if e := root.Remove(l); e != nil {
				return e
			}
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
