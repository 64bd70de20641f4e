package offline

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/source"
)

// packed is a file of an incident.
type packed struct {
	name string
	text []byte
}

// packagings are the ways in which somebody may hand over the same files.
func packagings(files []packed) map[string][]source.Input {
	join := func(list []packed) []byte {
		var b bytes.Buffer
		for _, f := range list {
			b.Write(f.text)
			if n := len(f.text); n > 0 && f.text[n-1] != '\n' {
				b.WriteByte('\n')
			}
		}
		return b.Bytes()
	}
	if len(files) == 1 {
		return map[string][]source.Input{
			"as given": {source.FromBytes(files[0].name, files[0].text)},
			"renamed":  {source.FromBytes("part-z"+filepath.Ext(files[0].name), files[0].text)},
			"stdin":    {source.FromBytes("-", files[0].text)},
		}
	}
	back := slices.Clone(files)
	slices.Reverse(back)
	out := map[string][]source.Input{"as given": nil, "renamed": nil, "reversed": nil,
		"stdin":           {source.FromBytes("-", join(files))},
		"one file":        {source.FromBytes("all.log", join(files))},
		"one, in reverse": {source.FromBytes("all.log", join(back))},
	}
	for i := range files {
		out["as given"] = append(out["as given"], source.FromBytes(files[i].name, files[i].text))
		out["renamed"] = append(out["renamed"], source.FromBytes("part-"+string(rune('z'-i))+filepath.Ext(files[i].name), files[i].text))
		out["reversed"] = append(out["reversed"], source.FromBytes(back[i].name, back[i].text))
	}
	return out
}

// answer is the verdict and the root cause.
func answer(t *testing.T, d *Diagnoser, in []source.Input) string {
	t.Helper()
	r, err := d.Run(t.Context(), in, Options{Lang: "en"})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) > 0 && r.Findings[0].Role == gpumedic.RoleRoot {
		return r.Verdict + " " + r.Findings[0].Fault
	}
	return r.Verdict
}

// TestPackagingDoesNotMoveTheRoot: names and order of files, one file of all, or standard
// input: the same root cause.
func TestPackagingDoesNotMoveTheRoot(t *testing.T) {
	c, err := catalog.Load(catalog.EmbeddedFS())
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, files []packed) {
		forms := packagings(files)
		want := answer(t, d, forms["as given"])
		for form, in := range forms {
			if got := answer(t, d, in); got != want {
				t.Errorf("%s, %s: %q, want %q", name, form, got, want)
			}
		}
	}
	for _, id := range c.FaultIDs() {
		cases, err := catalog.Cases(catalog.EmbeddedFS(), c.Faults[id])
		if err != nil {
			t.Fatal(err)
		}
		if len(cases) > 0 { // one a fault: all of them take long and tell no more
			k := cases[0]
			check(k.Pos.File, []packed{{filepath.Base(k.Name), []byte(k.Input)}})
		}
	}
	kerns, err := filepath.Glob("testdata/h200/*.kern.log")
	if err != nil || len(kerns) == 0 {
		t.Fatalf("no pairs of logs: %v", err)
	}
	for _, kern := range kerns {
		var files []packed
		for _, p := range []string{kern, strings.TrimSuffix(kern, ".kern.log") + ".log"} {
			text, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, packed{filepath.Base(p), text})
		}
		check(kern, files)
	}
}
