package check

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/probe/host"
	"github.com/gpumedic/gpumedic/internal/source"
)

// unpack gives the recorded outputs as a folder. They come from public repositories,
// whose licences are in the archive.
func unpack(t *testing.T) string {
	t.Helper()
	f, err := os.Open("testdata/recorded.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			var b []byte
			if b, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, b, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecordedOutputs judges each real output alone, as its row of expected.tsv says.
func TestRecordedOutputs(t *testing.T) {
	dir := unpack(t)
	table, err := os.ReadFile(filepath.Join(dir, "expected.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	cat, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(string(table)), "\n")
	if len(rows) < 140 {
		t.Fatalf("%d rows", len(rows))
	}
	names := []string{"ok", "warning", "fault", "unknown"}
	for _, row := range rows[1:] {
		c := strings.Split(row, "\t")
		file, expected, findings, accepted, also, mustNot := c[0], c[1], list(c[2]), list(c[4]), list(c[5]), list(c[6])
		if strings.HasPrefix(file, "nsight/") {
			continue // an SQLite file of two megabytes: not kept, and not read
		}
		inputs, done, err := Recorded(t.Context(), []string{filepath.Join(dir, file)}, source.ExpandOptions{}, host.Options{})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		n, err := Judge(t.Context(), cat, inputs, Options{Lang: "en", ExpectGPUs: -1})
		done()
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		var all, counted []string
		for _, f := range n.Findings {
			all = append(all, f.Fault)
			if f.Role != gpumedic.RoleIncidental {
				counted = append(counted, f.Fault)
			}
		}
		if got := names[n.Status]; got != expected && !slices.Contains(accepted, got) {
			t.Errorf("%s: %s, want %s (%s); findings %v", file, got, expected, c[3], all)
		}
		missing := slices.ContainsFunc(findings, func(f string) bool { return !slices.Contains(all, f) })
		if missing && !slices.ContainsFunc(also, func(f string) bool { return slices.Contains(all, f) }) {
			t.Errorf("%s: findings %v, want %v", file, all, findings)
		}
		for _, f := range mustNot {
			if slices.Contains(counted, f) {
				t.Errorf("%s: false alarm %s", file, f)
			}
		}
	}
}

func list(s string) []string {
	if s == "-" {
		return nil
	}
	return strings.Split(s, ";")
}
