package catalog

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gpumedic/gpumedic/internal/golden"
)

const compiledFile = "compiled/catalog.bin"

// TestCompiled fails when the compiled catalog is not of the YAML beside it. Nothing
// else does, since Embedded parses the YAML then.
func TestCompiled(t *testing.T) {
	body, err := compile(loadTree(t))
	if err != nil {
		t.Fatal(err)
	}
	want := headOf(EmbeddedFS()) + string(body)
	if golden.Updating() {
		if err := os.WriteFile(compiledFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if Stale() {
		t.Fatalf("catalog/%s is older than the YAML or the types: run go generate ./catalog", compiledFile)
	}
	if compiled != want {
		t.Fatalf("catalog/%s is not what its fingerprint says: run go generate ./catalog; when the form changed, raise compiledForm", compiledFile)
	}
}

// Any change of what Load reads makes the compiled form stale; a case does not.
func TestFingerprint(t *testing.T) {
	tree := func() fstest.MapFS {
		return fstest.MapFS{"groups.yaml": {Data: []byte("groups: {}")}, "signals/a.yaml": {Data: []byte("family: a")},
			"faults/f/fault.yaml": {Data: []byte("id: f")}, "faults/f/cases/x.log": {Data: []byte("x")}}
	}
	was := headOf(tree())
	for name, change := range map[string]func(fstest.MapFS){
		"other text":     func(m fstest.MapFS) { m["signals/a.yaml"].Data = []byte("family: b") },
		"another file":   func(m fstest.MapFS) { m["readings/r.yaml"] = &fstest.MapFile{} },
		"a file renamed": func(m fstest.MapFS) { m["signals/b.yaml"] = m["signals/a.yaml"]; delete(m, "signals/a.yaml") },
		"a fault gone":   func(m fstest.MapFS) { delete(m, "faults/f/fault.yaml") },
		"groups":         func(m fstest.MapFS) { m["groups.yaml"].Data = nil },
	} {
		m := tree()
		change(m)
		if headOf(m) == was {
			t.Errorf("%s: the fingerprint stays", name)
		}
	}
	m := tree()
	m["faults/f/cases/y.log"] = &fstest.MapFile{Data: []byte("y")}
	if headOf(m) != was {
		t.Error("a case changes the fingerprint, but is not compiled")
	}
}

func loadTree(t testing.TB) *Catalog {
	t.Helper()
	c, err := Load(EmbeddedFS())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Embedded gives what the YAML says, from a fresh file and in spite of an old one.
func TestEmbeddedIsTheYAML(t *testing.T) {
	want := loadTree(t)
	body, err := compile(want)
	if err != nil {
		t.Fatal(err)
	}
	shipped := compiled
	defer func() { compiled = shipped }()
	for name, file := range map[string]string{
		"fresh": headOf(EmbeddedFS()) + string(body), "old": headOf(fstest.MapFS{}) + string(body), "empty": "",
	} {
		compiled = file
		if Stale() != (name != "fresh") {
			t.Errorf("%s: stale is %v", name, Stale())
		}
		got, err := Embedded()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: not the same after compiling:\n%s", name, cmp.Diff(want, got))
		}
	}
}

// Every user gets a catalog of his own.
func TestEmbeddedIsNotShared(t *testing.T) {
	a, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	b, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for id, f := range a.Faults {
		f.Triggers[0].Signal = "changed"
		if b.Faults[id].Triggers[0].Signal == "changed" {
			t.Fatal("a change of one catalog is seen in another")
		}
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

// A file that is cut off says so.
func TestDecompileCutOff(t *testing.T) {
	good := small(t)
	if _, err := decompile(good); err != nil {
		t.Fatal(err)
	}
	for n := range len(good) {
		if _, err := decompile(good[:n]); err == nil || !strings.Contains(err.Error(), "go generate ./catalog") {
			t.Fatalf("after %d of %d bytes: error %v", n, len(good), err)
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
	if Stale() {
		b.Fatal("the compiled catalog is stale: run go generate ./catalog")
	}
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
