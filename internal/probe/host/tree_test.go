package host

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/probe"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

// planted are the trees that tests only read.
var planted = map[string]string{}

func TestMain(m *testing.M) {
	status := m.Run()
	for _, root := range planted {
		_ = os.RemoveAll(root) // a folder for temporary files is swept anyway
	}
	os.Exit(status)
}

// shared is a tree that no test changes.
func shared(t *testing.T, name string) string {
	t.Helper()
	if planted[name] == "" {
		root, err := os.MkdirTemp("", "gpumedic-tree-")
		must(t, err)
		planted[name] = root
		plantAt(t, root, name)
	}
	return planted[name]
}

// plant unpacks a tree of testdata/trees (see testdata/README.md).
func plant(t *testing.T, name string) string {
	t.Helper()
	root := t.TempDir()
	plantAt(t, root, name)
	return root
}

func plantAt(t *testing.T, root, name string) {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", "trees", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		at := filepath.Join(root, f.Name)
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		text := string(f.Data)
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			must(t, os.Symlink(strings.TrimSpace(target), at))
			continue
		}
		if spec, ok := strings.CutPrefix(text, "config "); ok {
			text = string(configSpace(t, spec))
		}
		must(t, os.WriteFile(at, []byte(strings.ReplaceAll(text, `\0`, "\x00")), 0o644))
	}
}

// configSpace builds "256 0:de103523 100:0d000115".
func configSpace(t *testing.T, spec string) []byte {
	t.Helper()
	f := strings.Fields(spec)
	n, err := strconv.Atoi(f[0])
	must(t, err)
	b := make([]byte, n)
	for _, part := range f[1:] {
		off, digits, _ := strings.Cut(part, ":")
		at, err := strconv.ParseInt(off, 16, 32)
		must(t, err)
		raw, err := hex.DecodeString(digits)
		must(t, err)
		copy(b[at:], raw)
	}
	return b
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// unpack unpacks a recorded tree.
func unpack(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	must(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	must(t, err)
	root := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return root
		}
		must(t, err)
		at := filepath.Join(root, h.Name)
		switch h.Typeflag {
		case tar.TypeDir:
			must(t, os.MkdirAll(at, 0o755))
		case tar.TypeSymlink:
			must(t, os.MkdirAll(filepath.Dir(at), 0o755))
			must(t, os.Symlink(h.Linkname, at))
		case tar.TypeReg:
			must(t, os.MkdirAll(filepath.Dir(at), 0o755))
			b, err := io.ReadAll(r)
			must(t, err)
			must(t, os.WriteFile(at, b, 0o644))
		}
	}
}

var today = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)

func document(t *testing.T, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if o.Now.IsZero() {
		o.Now = today
	}
	o.Tables = catalog.Tables()
	must(t, Probe(t.Context(), probe.NewWriter(&b), o))
	return b.String()
}

// sets reads a document back as the scan does.
func sets(t *testing.T, doc string) map[string]section.Readings {
	t.Helper()
	l := section.TextOf(doc)
	list, n := section.Parse(l)
	if n != len(l) {
		t.Fatalf("%d of %d lines read; then %q", n, len(l), l[n])
	}
	out := map[string]section.Readings{}
	for _, s := range list {
		out[nameOfSet(s)] = s
	}
	return out
}

func nameOfSet(s section.Readings) string {
	switch u := s.Subject; {
	case u.Process.PID != 0:
		return strconv.Itoa(u.Process.PID)
	case u.GPU.PCI != "":
		return u.GPU.PCI
	}
	return s.Subject.Port + s.Subject.NVSwitch + s.Subject.Unit + s.Subject.Location
}

// value is a reading's text, "-" where there is none.
func value(s section.Readings, key string) string {
	if r, ok := s.Values[key]; ok {
		return r.Value
	}
	return "-"
}

// program answers for the programs that a probe may run.
func program(answers map[string]string) func(context.Context, string, ...string) ([]byte, error) {
	return func(_ context.Context, name string, _ ...string) ([]byte, error) {
		if s, ok := answers[name]; ok {
			return []byte(s), nil
		}
		return nil, errors.New("not found")
	}
}
