package lazyre

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic/catalog"
)

// agree wants the filter to say what the expression says, and to know it of ASCII texts.
func agree(t *testing.T, expr, text string) {
	t.Helper()
	re, err := regexp.Compile(expr)
	if err != nil {
		return
	}
	f := NewFilter(expr)
	want := re.MatchString(text)
	ascii := !strings.ContainsFunc(text, func(r rune) bool { return r >= 128 })
	for range 2 { // the second time all states are there
		got, known := f.Match(text)
		if known && got != want {
			t.Fatalf("%q matches %q: %v, want %v", expr, text, got, want)
		}
		if f != nil && ascii && !known && len(text) < 100 {
			t.Fatalf("%q matches %q: not known", expr, text)
		}
	}
}

func TestFilter(t *testing.T) {
	for _, expr := range []string{`^Xid \d+$`, `(?i)loss[:=]\s*nan\b`, `\bkb\b`, `a(b|c)*d`, `(?m)^x$`, `\B\w`, `(?s).x.`, `^$`, `(?i)k`, `[^a-z]{3}`, `x|^y`, `a{2,4}b?$`, `\z`, `(?U)a+b`} {
		for _, text := range []string{"", "Xid 79", "Xid 79 ", "Loss= NaN", "loss=nanx", "a kb b", "akb", "abcbcd", "abce", "a\nx\nb", "a\nx", "\n", "K", "\u212a", "ABC", "yx", "aaaab", "héé loss=nan", "aab\x00"} {
			agree(t, expr, text)
		}
	}
	if _, known := NewFilter("(").Match("x"); known {
		t.Error("a filter that is none knows")
	}
}

// TestManyStates: an expression that needs more states than there may be still answers.
func TestManyStates(t *testing.T) {
	f := NewFilter(`(a|b)*a(a|b){14}c`)
	text := strings.Repeat("abaabbbaababbaab", 2000)
	for i := range 40 {
		if match, known := f.Match(text[i:] + "a" + strings.Repeat("b", 14) + "c"); known && !match {
			t.Fatal("a match is not found")
		}
	}
	if match, known := NewFilter(`x`).Match(text); match || !known {
		t.Error("finds what is not there")
	}
}

// TestFilterOfCatalog compares every expression of the catalog on the literals of all.
func TestFilterOfCatalog(t *testing.T) {
	c, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for i := range c.Matchers {
		texts = append(texts, c.Matchers[i].Literals...)
	}
	for i := range c.Matchers {
		m := &c.Matchers[i]
		for k := range 20 {
			agree(t, m.Pattern, texts[(i*7+k*131)%len(texts)]+" 12: "+m.Literals[k%len(m.Literals)]+" 0x1f, "+texts[(i+k)%len(texts)])
		}
	}
}

func FuzzFilter(f *testing.F) {
	f.Add(`^a(b|c)*\b`, "abc d")
	f.Add(`(?i)[k-z]+$|\Bx`, "KELVIN\n")
	f.Fuzz(func(t *testing.T, expr, text string) {
		if len(expr) < 60 && len(text) < 200 {
			agree(t, expr, text)
		}
	})
}

// TestManyCalls: after some calls the filter answers first; nothing else may change.
func TestManyCalls(t *testing.T) {
	const expr = `(?i)\bfailed: (\d+)`
	lazy, plain, fast := New(expr), regexp.MustCompile(expr), NewFast(expr)
	for i := range 300 {
		text := strings.Repeat("step ok ", i%5) + []string{"Failed: 12", "failed 12", "failed: x", "失败 failed: 3", ""}[i*7%5]
		if loc, known := fast.Find(text); known && !slices.Equal(loc, plain.FindStringSubmatchIndex(text)) {
			t.Fatalf("call %d: %v in %q", i, loc, text)
		}
		if lazy.MatchString(text) != plain.MatchString(text) ||
			!slices.Equal(lazy.FindStringSubmatch(text), plain.FindStringSubmatch(text)) ||
			!slices.Equal(lazy.FindStringSubmatchIndex(text), plain.FindStringSubmatchIndex(text)) ||
			!slices.Equal(lazy.FindStringIndex(text), plain.FindStringIndex(text)) ||
			lazy.FindString(text) != plain.FindString(text) {
			t.Fatalf("call %d: differs on %q", i, text)
		}
	}
}
