package scan

import (
	"context"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/source"
)

// knownCatalog has two messages that mean something, one that no fault is told by, and
// lines of exceptions.
func knownCatalog(t *testing.T) *Scanner {
	t.Helper()
	matcher := func(id, kind, level, literal string) catalog.Matcher {
		return catalog.Matcher{ID: id, Kind: kind, Level: level, Literals: []string{literal}, Pattern: literal}
	}
	line := catalog.Matcher{ID: "line", Kind: bareException, Level: "notice", Literals: []string{"Error: "}, Pattern: `^(?P<type>\w+Error): (?P<message>.*)`}
	s, err := New(&catalog.Catalog{
		Matchers: []catalog.Matcher{line, matcher("disk", "disk.full", "abnormal", "file write failed"),
			matcher("oom", "torch.oom", "abnormal", "out of memory"), matcher("odd", "odd.one", "abnormal", "odd state")},
		Faults: map[string]*catalog.Fault{
			"disk-full": {ID: "disk-full", Triggers: []catalog.Clue{{Signal: "disk.*"}}},
			"oom":       {ID: "oom", Triggers: []catalog.Clue{{Signal: "torch.oom | x.oom", Where: map[string]string{survivedField: ""}}}},
			"exception": {ID: "exception", Triggers: []catalog.Clue{{Signal: bareException, Where: map[string]string{knownField: "", survivedField: ""}}, {Signal: "odd.one"}}},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestKnownAndSurvived(t *testing.T) {
	s := knownCatalog(t)
	trace := func(last string) string {
		return "Traceback (most recent call last):\n  File \"/srv/a.py\", line 3, in f\n    g()\n" + last + "\n"
	}
	const during = "\nDuring handling of the above exception, another exception occurred:\n\n"
	const steps = "step 1 loss 2.0\nstep 2 loss 2.0\n"
	for _, c := range []struct{ name, text, kind, want string }{
		{"on its line", trace("OSError: file write failed"), "py.exception", "known"},
		{"in its chain", trace("OSError: file write failed") + during + trace("ValueError: short"), "py.exception", "known known"},
		{"nobody knows it", trace("ValueError: short"), "py.exception", "abnormal"},
		{"only the last resort knows it", trace("ValueError: odd state"), "py.exception", ""},
		{"nobody knows it, and it was caught", trace("ValueError: short") + steps, "py.exception", ""},
		{"line without traceback", "OSError: file write failed\n", bareException, "known"},
		{"unknown line", "ValueError: short\n", bareException, ""},
		{"line that was survived", "ValueError: short\n" + steps, bareException, "survived"},
		{"refusal in a traceback that was caught", trace("MemError: out of memory") + steps, "torch.oom", "survived"},
		{"refusal in a traceback", trace("MemError: out of memory"), "torch.oom", "abnormal"},
		{"refusal on a line, survived at its last time", "out of memory\nout of memory\n" + steps, "torch.oom", "survived"},
		{"refusal on a line, survived at first", "out of memory\n" + steps + "out of memory\n", "torch.oom", "abnormal"},
		{"refusals as a habit", strings.Repeat("out of memory\nstep 1 loss 2.0\n", 5) + "done\n", "torch.oom", "survived"},
		{"the last of a habit", strings.Repeat("out of memory\nstep 1 loss 2.0\n", 5) + "out of memory\n", "torch.oom", "abnormal"},
		{"no matter for this one", "odd state\n" + steps, "odd.one", "abnormal"},
	} {
		res, err := s.Scan(context.Background(), []source.Input{source.FromBytes("in", []byte(c.text))}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, sig := range res.Signals {
			if sig.Kind != c.kind {
				continue
			}
			switch {
			case sig.Field(knownField) == "yes":
				got = append(got, "known")
			case sig.Field(survivedField) == "yes":
				got = append(got, "survived")
			case sig.Level == gpumedic.LevelAbnormal:
				got = append(got, "abnormal")
			}
		}
		if have := strings.Join(got, " "); have != c.want {
			t.Errorf("%s: %q, want %q", c.name, have, c.want)
		}
	}
}

// TestFolded: Rich folds a message at the width of a terminal; matchers see it whole.
func TestFolded(t *testing.T) {
	s := knownCatalog(t)
	text := "╭──── Traceback (most recent call last) ────╮\n│ /srv/app.py:61 in main                    │\n╰───────────────────────────────────────────╯\n" +
		"OSError: PytorchStreamWriter and the file\nwrite failed\n"
	res, err := s.Scan(context.Background(), []source.Input{source.FromBytes("in", []byte(text))}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, sig := range res.Signals {
		if sig.Kind == "disk.full" && sig.Evidence.Line == 4 {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d signals of the folded message: %+v", n, res.Signals)
	}
}
