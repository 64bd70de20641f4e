package scan

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
)

// TestCatalogExamples runs the examples and near misses of every matcher through
// the whole scan, with real framing.
func TestCatalogExamples(t *testing.T) {
	s, c := embedded(t)
	for i := range c.Matchers {
		m := &c.Matchers[i]
		where := matcherPlace(m)
		for n, e := range m.Examples {
			sigs := scanText(t, s, e.Line, Options{}).Signals
			if why := unmet(m, sigs, e.Want); why != "" {
				t.Errorf("%s: matcher %s: example %d: %s\n line %q\n signals %s", where, m.ID, n+1, why, e.Line, brief(sigs))
			}
		}
		// A near miss of one matcher may be the business of another of the same kind.
		alone, err := New(&catalog.Catalog{Matchers: []catalog.Matcher{*m}}, testDecoder())
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		kind := kindPattern(m.Kind)
		for n, line := range m.NearMisses {
			for _, sig := range scanText(t, alone, line, Options{}).Signals {
				if kind.MatchString(sig.Kind) {
					t.Errorf("%s: matcher %s: near miss %d gives %s\n line %q", where, m.ID, n+1, sig.Kind, line)
				}
			}
		}
	}
}

// A short or common literal makes every second line a candidate.
func TestLiteralsAreLong(t *testing.T) {
	_, c := embedded(t)
	for i := range c.Matchers {
		m := &c.Matchers[i]
		for _, l := range m.Literals {
			if len(l) < 4 {
				t.Errorf("%s: matcher %s: literal %q is too short: give 4 bytes or more, rare ones", matcherPlace(m), m.ID, l)
			}
		}
	}
}

// matcherPlace says where a matcher stands: the loader knows, or the file is searched.
func matcherPlace(m *catalog.Matcher) string {
	if m.Pos.File != "" && m.Pos.Line > 0 {
		return fmt.Sprintf("%s:%d", m.Pos.File, m.Pos.Line)
	}
	files, _ := filepath.Glob("../../catalog/signals/*.yaml")
	for _, f := range files {
		data, _ := os.ReadFile(f)
		for n, l := range strings.Split(string(data), "\n") {
			if strings.TrimSpace(l) == "- id: "+m.ID {
				return fmt.Sprintf("%s:%d", filepath.Base(f), n+1)
			}
		}
	}
	return "catalog"
}

// unmet says what of an example's expectation no signal meets, "" when one meets all.
func unmet(m *catalog.Matcher, sigs []gpumedic.Signal, want map[string]string) string {
	kind := kindPattern(m.Kind)
	best := "no signal"
	for _, sig := range sigs {
		if w := want["kind"]; w != "" && w != sig.Kind {
			if best == "no signal" {
				best = fmt.Sprintf("kind is %s, want %s", sig.Kind, w)
			}
			continue
		} else if w == "" && !kind.MatchString(sig.Kind) {
			continue
		}
		missing := ""
		for k, w := range want {
			if have := sig.Part(k); k != "kind" && !sameValue(have, w) {
				missing = fmt.Sprintf("%s of %s is %q, want %q", k, sig.Kind, have, w)
			}
		}
		if missing == "" {
			return ""
		}
		best = missing
	}
	return best
}

// sameValue compares a value with what an example wants: addresses in any
// spelling, and words as decoders write them (Non-fatal, nonfatal).
func sameValue(have, want string) bool {
	word := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "-", "")) }
	if pci := gpumedic.NormalPCI(want); pci != "" {
		return gpumedic.NormalPCI(have) == pci
	}
	return have == want || word(have) == word(want)
}

var quotedHole = regexp.MustCompile(`\\\{\w+\\\}`)

func kindPattern(kind string) *regexp.Regexp {
	return regexp.MustCompile("^" + quotedHole.ReplaceAllString(regexp.QuoteMeta(kind), `[a-z0-9_.]*`) + "$")
}

// The lines that another project collected for its tests: all of them, alone, in a
// syslog and in dmesg form. One has a placeholder for the number and is no event.
func TestXidLinesOfGpud(t *testing.T) {
	s, _ := embedded(t)
	lines := readLines(t, "gpud/xid-lines-from-tests.txt")
	shape := regexp.MustCompile(`^NVRM: Xid \(PCI:([0-9a-f:]+)\): (\d+)`)
	if len(lines) != 95 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, prefix := range []string{"", "Jun  1 10:00:00 n1 kernel: ", "[  123.456789] ", "2024-06-01T10:00:00+02:00 n1 kernel: [ 12.345678] "} {
		events := 0
		for _, l := range lines {
			want := ""
			if m := shape.FindStringSubmatch(l); m != nil {
				want = "xid." + m[2] + " " + gpumedic.NormalPCI(m[1])
				events++
			}
			got := ""
			for _, sig := range scanText(t, s, prefix+l+"\n", Options{}).Signals {
				got += sig.Kind + " " + sig.Subject.GPU.PCI
				if p := sig.Subject.Process; strings.Contains(l, "<unknown>") && p != (gpumedic.Process{}) {
					t.Errorf("%q: process %+v", l, p)
				}
			}
			if got != want {
				t.Errorf("%q: got %q, want %q", prefix+l, got, want)
			}
		}
		if events != 94 {
			t.Errorf("%d events", events)
		}
	}
	whole := scanText(t, s, strings.Join(lines, "\n")+"\n", Options{})
	total := 0
	for _, sig := range whole.Signals {
		if strings.HasPrefix(sig.Kind, "xid.") {
			total += sig.Count
		}
	}
	if total != 94 {
		t.Errorf("all lines in one input: %d events, want 94", total)
	}
}

func TestIncidentOfTwelveLines(t *testing.T) {
	s, _ := embedded(t)
	lines := readLines(t, "incident-twelve-lines.log")
	xids := map[string]int{}
	for _, sig := range scanText(t, s, strings.Join(lines, "\n"), Options{}).Signals {
		if !strings.HasPrefix(sig.Kind, "xid.") {
			continue
		}
		xids[sig.Kind+" "+sig.Subject.GPU.PCI] += sig.Count
		if !sig.First.HasMono {
			t.Errorf("line %d: no time", sig.Evidence.Line)
		}
	}
	want := map[string]int{"xid.63 0000:3b:00.0": 1, "xid.48 0000:3b:00.0": 1, "xid.94 0000:3b:00.0": 1,
		"xid.45 0000:3b:00.0": 4, "xid.45 0000:5d:00.0": 1, "xid.45 0000:9d:00.0": 1,
		"xid.154 0000:3b:00.0": 1, "xid.154 0000:5d:00.0": 1}
	if fmt.Sprint(xids) != fmt.Sprint(want) {
		t.Errorf("got %v\nwant %v", xids, want)
	}
}

func TestRealKernelLogOfH200(t *testing.T) {
	s, _ := embedded(t)
	lines := readLines(t, "h200-kernel-real-xids.log")
	got := ""
	for _, sig := range scanText(t, s, strings.Join(lines, "\n"), Options{}).Signals {
		if strings.HasPrefix(sig.Kind, "xid.") {
			got += fmt.Sprintf("%d %s %s %s\n", sig.Evidence.Line, sig.Kind, sig.Subject.GPU.PCI, sig.Subject.Process.Name)
		}
	}
	want := `8 xid.31 0000:00:06.0 oob
9 xid.43 0000:00:06.0 as
10 xid.13 0000:00:06.0 
11 xid.13 0000:00:06.0 
12 xid.13 0000:00:06.0 as
13 xid.43 0000:00:06.0 python3
14 xid.43 0000:00:06.0 oob
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
