package replace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "report.json")
	for _, content := range []string{"first, and longer", "second"} {
		if err := File(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != content {
			t.Errorf("content is %q, want %q", got, content)
		}
	}
	if st, _ := os.Stat(path); st.Mode().Perm() != 0o644 {
		t.Errorf("mode is %v: others could not read it", st.Mode())
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestFileKeepsWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{link: target, filepath.Join(dir, "null"): os.DevNull} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
		if err := File(from, []byte("new")); err != nil {
			t.Fatal(err)
		}
		if st, err := os.Lstat(from); err != nil || st.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", from)
		}
	}
	if got, _ := os.ReadFile(target); string(got) != "new" {
		t.Errorf("target holds %q", got)
	}
	if st, err := os.Stat(os.DevNull); err != nil || st.Mode().IsRegular() {
		t.Errorf("%s was replaced", os.DevNull)
	}
}

func TestFileErrors(t *testing.T) {
	dir := t.TempDir()
	if err := File(filepath.Join(dir, "none", "x"), nil); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), dir) {
		t.Errorf("no such folder: %v", err)
	}
	if err := File(dir, nil); err == nil {
		t.Error("a folder was written to")
	}
}
