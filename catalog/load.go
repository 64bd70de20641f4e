package catalog

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

//go:embed all:faults all:signals all:readings all:tables groups.yaml
var embedded embed.FS

// Catalog is the whole knowledge.
type Catalog struct {
	Matchers []Matcher
	Readings []ReadingRule
	Faults   map[string]*Fault
	Groups   map[string][]Explains
	Notes    []string // what --catalog added or replaced, shown to the user
}

// FaultIDs returns the ids in order.
func (c *Catalog) FaultIDs() []string { return slices.Sorted(maps.Keys(c.Faults)) }

// EmbeddedFS is the catalog tree that ships in the program, as people edit it. What
// proves the catalog loads this; everything else calls [Embedded].
func EmbeddedFS() fs.FS { return embedded }

// DropExamples forgets what only proves the catalog, for a process that runs for weeks: the
// examples and near misses of matchers and rules are a sixth of its memory.
func (c *Catalog) DropExamples() {
	for i := range c.Matchers {
		c.Matchers[i].Examples, c.Matchers[i].NearMisses = nil, nil
	}
	for i := range c.Readings {
		c.Readings[i].Examples, c.Readings[i].NearMiss = nil, nil
	}
}

// Load reads a catalog tree: signals/*.yaml, readings/*.yaml and faults/*/fault.yaml.
// It checks the form only; [Validate] checks the sense.
func Load(fsys fs.FS) (*Catalog, error) {
	c := &Catalog{Faults: map[string]*Fault{}}
	var g GroupFile
	if err := decodeFile(fsys, "groups.yaml", &g); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c.Groups = g.Groups
	if err := c.loadSignals(fsys); err != nil {
		return nil, err
	}
	if err := c.loadReadings(fsys); err != nil {
		return nil, err
	}
	if err := c.loadFaults(fsys); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Catalog) loadSignals(fsys fs.FS) error {
	files, err := glob(fsys, "signals", ".yaml")
	if err != nil {
		return err
	}
	for _, name := range files {
		var f SignalFile
		if err := decodeFile(fsys, name, &f); err != nil {
			return err
		}
		for i := range f.Matchers {
			f.Matchers[i].Pos.File = name
		}
		c.Matchers = append(c.Matchers, f.Matchers...)
	}
	return nil
}

func (c *Catalog) loadReadings(fsys fs.FS) error {
	files, err := glob(fsys, "readings", ".yaml")
	if err != nil {
		return err
	}
	for _, name := range files {
		var f ReadingFile
		if err := decodeFile(fsys, name, &f); err != nil {
			return err
		}
		for i := range f.Rules {
			f.Rules[i].Pos.File = name
		}
		c.Readings = append(c.Readings, f.Rules...)
	}
	return nil
}

func (c *Catalog) loadFaults(fsys fs.FS) error {
	dirs, err := fs.ReadDir(fsys, "faults")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		dir := path.Join("faults", d.Name())
		f := Fault{Dir: dir}
		f.Pos.File = path.Join(dir, "fault.yaml")
		if err := decodeFile(fsys, f.Pos.File, &f); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue // a folder still being written holds no fault yet
			}
			return err
		}
		c.Faults[d.Name()] = &f
	}
	return nil
}

// Cases reads the cases of a fault.
func Cases(fsys fs.FS, f *Fault) ([]Case, error) {
	return loadCases(fsys, path.Join(f.Dir, "cases"))
}

// Overlay adds a user's catalog tree: an entry with a known id replaces it. Notes
// tell what changed.
func (c *Catalog) Overlay(dir string) error {
	if st, err := os.Stat(dir); err != nil {
		return fmt.Errorf("read catalog %s: %w", dir, err)
	} else if !st.IsDir() {
		return fmt.Errorf("read catalog %s: not a folder", dir)
	}
	fsys := os.DirFS(dir)
	u, err := Load(fsys)
	if err != nil {
		return fmt.Errorf("read catalog %s: %w", dir, err)
	}
	if len(u.Faults)+len(u.Matchers)+len(u.Readings) == 0 {
		return fmt.Errorf("read catalog %s: no faults/*/fault.yaml, signals/*.yaml or readings/*.yaml in it", dir)
	}
	c.merge(u, dir)
	if p := Validate(fsys, u, c); len(p) > 0 {
		return fmt.Errorf("read catalog %s: %w", dir, p[0])
	}
	return nil
}

func (c *Catalog) merge(u *Catalog, dir string) {
	var added, replaced []string
	news := func(id string, known bool) {
		if known {
			replaced = append(replaced, id)
		} else {
			added = append(added, id)
		}
	}
	if c.Groups == nil {
		c.Groups = map[string][]Explains{}
	}
	maps.Copy(c.Groups, u.Groups)
	for _, id := range u.FaultIDs() {
		news(id, c.Faults[id] != nil)
		c.Faults[id] = u.Faults[id]
	}
	c.Matchers = overlay(c.Matchers, u.Matchers, func(m *Matcher) string { return m.ID }, news)
	c.Readings = overlay(c.Readings, u.Readings, func(r *ReadingRule) string { return r.ID }, news)
	if len(added) > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("catalog %s adds %s", dir, strings.Join(added, ", ")))
	}
	if len(replaced) > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("catalog %s replaces %s", dir, strings.Join(replaced, ", ")))
	}
}

// overlay puts each entry of own in the place of the one with its id in base, or behind
// all; news hears of it.
func overlay[T any](base, own []T, id func(*T) string, news func(id string, known bool)) []T {
	at := map[string]int{}
	for i := range base {
		at[id(&base[i])] = i
	}
	for i := range own {
		key := id(&own[i])
		j, known := at[key]
		if known {
			base[j] = own[i]
		} else {
			base = append(base, own[i])
		}
		news(key, known)
	}
	return base
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
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return out, err
}

func decodeFile(fsys fs.FS, name string, v any) error {
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	l, err := yaml.NewLoader(bytes.NewReader(b), yaml.WithKnownFields())
	if err == nil {
		err = l.Load(v)
	}
	return located(name, b, err)
}

// loadCases reads the files of a cases/ folder: "# want key: value" lines, then the input.
func loadCases(fsys fs.FS, dir string) ([]Case, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Case
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		name := path.Join(dir, e.Name())
		b, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		out = append(out, parseCase(e.Name(), name, string(b)))
	}
	return out, nil
}

func parseCase(name, file, text string) Case {
	c := Case{Name: name, Want: map[string]string{}, Pos: Pos{File: file, Line: 1}}
	for {
		line, after, _ := strings.Cut(text, "\n")
		k, v, ok := strings.Cut(strings.TrimPrefix(line, "# want "), ":")
		if !ok || !strings.HasPrefix(line, "# want ") {
			break
		}
		c.Want[strings.TrimSpace(k)] = strings.TrimSpace(v)
		text = after
		c.Pos.Line++
	}
	c.Input = text
	return c
}
