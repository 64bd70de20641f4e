package gpumedic_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLinks: what a page points to inside this repository is there.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	pages, links := 0, 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pages++
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			to, _, _ := strings.Cut(m[1], "#")
			if to == "" || strings.Contains(to, ":") {
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), to)); err != nil {
				t.Errorf("%s points to %s: there is none", path, m[1])
			}
		}
		return nil
	})
	if err != nil || pages < 10 || links < 30 {
		t.Errorf("%d pages, %d links, error %v", pages, links, err)
	}
}

// TestRoomsAreDescribed: the table of ARCHITECTURE.md has a line for every room, and none
// for a room that is gone.
func TestRoomsAreDescribed(t *testing.T) {
	b, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for line := range strings.Lines(string(b)) {
		row, ok := strings.CutPrefix(line, "| ")
		if !ok {
			continue
		}
		rooms, _, _ := strings.Cut(row, " | ")
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(rooms, -1) {
			told = append(told, strings.TrimSuffix(m[1], "/"))
		}
	}
	for room := range mayImport {
		if room != "" && !slices.Contains(told, room) {
			t.Errorf("ARCHITECTURE.md has no line for %s", room)
		}
	}
	for _, room := range told {
		if st, err := os.Stat(room); err != nil || !st.IsDir() {
			t.Errorf("ARCHITECTURE.md tells of %s, which is no folder", room)
		}
	}
	for room := range mayImport {
		if files, _ := filepath.Glob(filepath.Join(room, "*.go")); len(files) == 0 {
			t.Errorf("the import table has %q, which holds no Go file", room)
		}
	}
}
