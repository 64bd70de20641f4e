package lazyre

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic/catalog"
)

// sameMatch wants a program to find what package regexp finds, groups too.
func sameMatch(t *testing.T, p *program, re *regexp.Regexp, text string) (known bool) {
	t.Helper()
	got, known := p.find(text, nil)
	if want := re.FindStringSubmatchIndex(text); known && !slices.Equal(got, want) {
		t.Fatalf("%q in %q: %v, want %v", re, text, got, want)
	}
	return known
}

func TestProgram(t *testing.T) {
	for _, expr := range []string{
		``, `a`, `^Xid \d+$`, `(?i)loss[:=]\s*nan\b`, `\bkb\b`, `a(b|c)*d`, `(?m)^x$`, `\B\w`, `(?s).x.`, `^$`, `(?i)k`, `[^a-z]{3}`,
		`x|^y`, `a{2,4}b?$`, `\z`, `(?U)a+b`, `(a+)(a*)b`, `(a|ab)(c|bcd)(d*)`, `(?:(a)|b)*`, `(a|b){0,3}(b?)`, `(?:a?){2,3}b`, `(x?)*y`,
		`.*?b(.*)`, `(\w+)\s+(\w+?)c?$`, `a.{0,3}?b`, `(?P<k>\w+)=(?P<v>\S*)`, `([ab]{2,3})+?b`, `\d{1,3}(?:\.\d{1,3}){3}`, `é|b`,
	} {
		re, p := regexp.MustCompile(expr), buildProgram(expr)
		if p == nil {
			if !strings.Contains(expr, "?)*") {
				t.Errorf("%q: no program", expr)
			}
			continue
		}
		if !slices.Equal(p.names, re.SubexpNames()) {
			t.Errorf("%q: names %q, want %q", expr, p.names, re.SubexpNames())
		}
		for _, text := range []string{"", "Xid 79", "Xid 79 ", "Loss= NaN", "loss=nanx", "a kb b", "akb", "abcbcd", "abce", "a\nx\nb", "a\nx", "\n",
			"K", "ABC", "yx", "aaaab", "aab\x00", "abcd", "bba", "foo barc", "k=v w=", "aabab", "10.0.255.1:8", "axxxb axb"} {
			if !sameMatch(t, p, re, text) {
				t.Errorf("%q in %q: not known", expr, text)
			}
		}
		if sameMatch(t, p, re, "héé loss=nan") {
			t.Errorf("%q: knows what is not ASCII", expr)
		}
	}
	if buildProgram("(") != nil {
		t.Error("a program of no expression")
	}
}

// TestProgramGivesUp: no expression takes more than its share of steps.
func TestProgramGivesUp(t *testing.T) {
	p := buildProgram(`(a|aa)+$`)
	if _, known := p.find(strings.Repeat("a", 60)+"b", nil); known {
		t.Error("an answer without trying all ways")
	}
	if loc := New(`(a|aa)+$`).FindStringIndex(strings.Repeat("a", 60) + "b"); loc != nil {
		t.Errorf("found %v", loc)
	}
}

// TestProgramsOfCatalog compares every expression of the catalog on its own examples, on
// examples of others and on what stands in the cases.
func TestProgramsOfCatalog(t *testing.T) {
	c, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i := range c.Matchers {
		for _, e := range c.Matchers[i].Examples {
			lines = append(lines, e.Line)
		}
	}
	files, err := fs.Glob(catalog.EmbeddedFS(), "faults/*/cases/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		b, err := fs.ReadFile(catalog.EmbeddedFS(), name)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(string(b), "\n")...)
	}
	if len(lines) < 1000 {
		t.Fatalf("%d lines only", len(lines))
	}
	known, asked := 0, 0
	for i := range c.Matchers {
		m := &c.Matchers[i]
		re, p := regexp.MustCompile(m.Pattern), buildProgram(m.Pattern)
		try := func(text string) {
			asked++
			if p != nil && sameMatch(t, p, re, text) {
				known++
			}
		}
		for _, e := range m.Examples {
			try(e.Line)
		}
		for k := i % 40; k < len(lines); k += 40 {
			line := lines[k]
			try(line)
			try(line[min(len(line), k%60):])
		}
	}
	if known*100 < asked*95 {
		t.Errorf("the programs know %d of %d answers", known, asked)
	}
}

func FuzzProgram(f *testing.F) {
	f.Add(`^a(b|c)*\b`, "abc d")
	f.Add(`(?i)[k-z]+$|\Bx`, "KELVIN\n")
	f.Add(`(a|ab)(c|bcd)(d*)`, "abcd")
	f.Add(`(?:(a)|b){1,3}?.*?(\d{2,})`, "abbba12 345")
	f.Add(`(\w{2,5}?)\bab(.*)ab.{0,3}?ba`, "xxabab\nabababab ba")
	f.Add(`(?s)a.{2,3}?aba|.*(ab)$`, "aabababa\nab")
	f.Fuzz(func(t *testing.T, expr, text string) {
		if len(expr) > 60 || len(text) > 200 {
			return
		}
		if re, err := regexp.Compile(expr); err == nil {
			sameMatch(t, buildProgram(expr), re, text)
		}
	})
}

// BenchmarkProgram and BenchmarkRegexp match a typical message of a driver.
func BenchmarkProgram(b *testing.B) {
	f := NewFast(xidExpr)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		f.Find(xidText(i))
	}
}

func BenchmarkRegexp(b *testing.B) {
	re := regexp.MustCompile(xidExpr)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		re.FindStringSubmatchIndex(xidText(i))
	}
}

const xidExpr = `^NVRM: (?:GPU\d+ )?Xid \((?:PCI:)?(?P<gpu>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)\): (?P<code>\d+), (?:pid=(?P<pid>'?[^,]*), )?(?:name=(?P<process>[^,]*), )?(?P<detail>.*)$`

func xidText(i int) string {
	return fmt.Sprintf("NVRM: Xid (PCI:0000:3b:00): 31, pid=1234, name=python, Ch %08x, intr 00000000. MMU Fault", i)
}
