package catalog

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"

	"go.yaml.in/yaml/v4"
)

//go:embed all:faults all:signals all:readings all:tables
var embedded embed.FS

// Catalog is the whole knowledge, loaded and checked.
type Catalog struct {
	Matchers []Matcher
	Readings []ReadingRule
	Faults   map[string]*Fault
	Notes    []string // overrides by --catalog, shown to the user
}

// FaultIDs returns the ids in order.
func (c *Catalog) FaultIDs() []string {
	ids := make([]string, 0, len(c.Faults))
	for id := range c.Faults {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	return ids
}

// Embedded loads the catalog that ships in the program.
func Embedded() (*Catalog, error) { return Load(embedded) }

// Load reads a catalog tree.
func Load(fsys fs.FS) (*Catalog, error) {
	c := &Catalog{Faults: map[string]*Fault{}}
	files, err := glob(fsys, "signals", ".yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		var f SignalFile
		if err := decodeFile(fsys, name, &f); err != nil {
			return nil, err
		}
		c.Matchers = append(c.Matchers, f.Matchers...)
	}
	if files, err = glob(fsys, "readings", ".yaml"); err != nil {
		return nil, err
	}
	for _, name := range files {
		var f ReadingFile
		if err := decodeFile(fsys, name, &f); err != nil {
			return nil, err
		}
		c.Readings = append(c.Readings, f.Rules...)
	}
	dirs, err := fs.ReadDir(fsys, "faults")
	if err != nil {
		return nil, err
	}
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		dir := path.Join("faults", d.Name())
		var f Fault
		if err := decodeFile(fsys, path.Join(dir, "fault.yaml"), &f); err != nil {
			return nil, err
		}
		f.Dir = dir
		if f.ID != d.Name() {
			return nil, fmt.Errorf("%s/fault.yaml: id %q differs from its folder", dir, f.ID)
		}
		if f.Cases, err = loadCases(fsys, path.Join(dir, "cases")); err != nil {
			return nil, err
		}
		c.Faults[f.ID] = &f
	}
	return c, nil
}

func glob(fsys fs.FS, dir, ext string) ([]string, error) {
	var out []string
	err := fs.WalkDir(fsys, dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() && strings.HasSuffix(p, ext) {
			out = append(out, p)
		}
		return nil
	})
	return out, err
}

func decodeFile(fsys fs.FS, name string, v any) error {
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	d, err := yaml.NewLoader(bytes.NewReader(b), yaml.WithKnownFields())
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := d.Load(v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func loadCases(fsys fs.FS, dir string) ([]Case, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, nil
	}
	var out []Case
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		b, err := fs.ReadFile(fsys, path.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		c := Case{Name: e.Name(), Want: map[string]string{}}
		rest := string(b)
		for {
			line, after, _ := strings.Cut(rest, "\n")
			k, v, ok := strings.Cut(strings.TrimPrefix(line, "# want "), ": ")
			if !ok || !strings.HasPrefix(line, "# want ") {
				break
			}
			c.Want[k] = strings.TrimSpace(v)
			rest = after
		}
		c.Input = rest
		out = append(out, c)
	}
	return out, nil
}
