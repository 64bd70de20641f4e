package catalog

import (
	"bytes"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const compiledFile = "compiled/catalog.bin"

// TestCompiled fails when the compiled catalog is not of the YAML beside it. Only this
// test knows whether it is: everything else works with whatever the file holds.
func TestCompiled(t *testing.T) {
	c := loadTree(t)
	want, err := compile(c)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(compiledFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if compiled == string(want) {
		return
	}
	old, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Errorf("%s is older than the YAML (%s)\n%s", compiledFile, strings.Join(differing(old, c), ", "), compileAgain)
}

// differing names the entries that are not the same in both catalogs.
func differing(a, b *Catalog) []string {
	entries := func(c *Catalog) map[string]any {
		m := map[string]any{}
		for id, f := range c.Faults {
			m["fault "+id] = f
		}
		for _, x := range c.Matchers {
			m["matcher "+x.ID] = x
		}
		for _, x := range c.Readings {
			m["reading "+x.ID] = x
		}
		for name, g := range c.Groups {
			m["group "+name] = g
		}
		return m
	}
	old, now := entries(a), entries(b)
	var out []string
	for k := range now {
		if !reflect.DeepEqual(old[k], now[k]) {
			out = append(out, k)
		}
	}
	for k := range old {
		if now[k] == nil {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

func loadTree(t testing.TB) *Catalog {
	t.Helper()
	c, err := Load(EmbeddedFS())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The whole catalog comes back as it was.
func TestCompileKeepsTheCatalog(t *testing.T) {
	want := loadTree(t)
	b, err := compile(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decompile(string(b))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("not the same after compiling: %s", strings.Join(differing(got, want), ", "))
	}
}

// Property: so does any entry whatever, empty lists and all.
func TestCompileKeepsEntries(t *testing.T) {
	entry := rapid.Custom(func(t *rapid.T) *Catalog {
		c := &Catalog{Matchers: rapid.SliceOfN(rapid.Make[Matcher](), 0, 2).Draw(t, "matchers"),
			Readings: rapid.SliceOfN(rapid.Make[ReadingRule](), 0, 2).Draw(t, "readings"),
			Notes:    rapid.Make[[]string]().Draw(t, "notes")}
		if rapid.Bool().Draw(t, "with faults") {
			f := rapid.Make[Fault]().Draw(t, "fault")
			c.Faults = map[string]*Fault{f.ID: &f}
			c.Groups = map[string][]Explains{"a": f.Explains, "b": {}}
		}
		return c
	})
	rapid.Check(t, func(t *rapid.T) {
		want := entry.Draw(t, "catalog")
		b, err := compile(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decompile(string(b))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v", got)
		}
		if again, _ := compile(got); !bytes.Equal(again, b) {
			t.Fatal("equal catalogs give different bytes")
		}
	})
}

func small(t testing.TB) string {
	t.Helper()
	six := 6.0
	b, err := compile(&Catalog{
		Matchers: []Matcher{{ID: "m", Literals: []string{"abc", "abc"}, Join: &Join{Lines: 2}, Set: map[string]string{"a": "b"}}},
		Readings: []ReadingRule{{ID: "r", When: []Condition{{Key: "k", GE: &six}}}},
		Faults:   map[string]*Fault{"f": {ID: "f", Prior: 0.5, Triggers: []Clue{{Signal: "m", MinCount: -3}}}},
		Groups:   map[string][]Explains{"g": {{Fault: "f"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A file from before a field was added can be read; one with a field that is gone says
// what to do.
func TestDecompileOtherTypes(t *testing.T) {
	good := small(t)
	for _, c := range []struct{ old, new, want string }{
		{"Prior float64", "Prier float64", "no field Prier float64; run: go generate ./catalog"},
		{"Prior float64", "Prior float32", "no field Prior float32"},
		{"form 1", "form 0", "wrong form; run: go generate ./catalog"},
	} {
		_, err := decompile(strings.Replace(good, c.old, c.new, 1))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: error %v, want %q", c.new, c.old, err, c.want)
		}
	}
	for n := range len(good) - 1 {
		if _, err := decompile(good[:n]); err == nil {
			t.Fatalf("no error after %d of %d bytes", n, len(good))
		}
	}
}

// FuzzDecompile: bad data gives an error, never a panic.
func FuzzDecompile(f *testing.F) {
	f.Add(small(f))
	f.Fuzz(func(t *testing.T, data string) {
		if c, err := decompile(data); err == nil && c == nil {
			t.Error("neither a catalog nor an error")
		}
	})
}

func BenchmarkEmbedded(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Embedded(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoadYAML is what Embedded saves.
func BenchmarkLoadYAML(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(EmbeddedFS()); err != nil {
			b.Fatal(err)
		}
	}
}
