package layout

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestWrapKeepsWidthAndWords: no line is wider than asked, nothing is lost.
func TestWrapKeepsWidthAndWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOfN(rapid.SampledFrom([]rune("abc def,掉卡。显存 GPU-（")), 0, 200, -1).Draw(t, "s")
		width := rapid.IntRange(10, 90).Draw(t, "width")
		lines := Wrap(s, width)
		for _, l := range lines {
			if Cells(l) > width+2 { // closing punctuation may hang over by one wide cell
				t.Fatalf("line %q is %d cells, want at most %d", l, Cells(l), width)
			}
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got := squeeze(strings.Join(lines, " ")); got != squeeze(s) {
			t.Fatalf("wrap lost text: %q from %q", got, s)
		}
	})
}

func TestShorten(t *testing.T) {
	for _, tc := range []struct {
		in   string
		n    int
		want string
	}{
		{"short", 10, "short"},
		{"abcdefghijklmnopqrstuvwxyz", 13, "abcdefgh…wxyz"},
	} {
		if got := Shorten(tc.in, tc.n); got != tc.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", tc.in, tc.n, got, tc.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		n := rapid.IntRange(8, 40).Draw(t, "n")
		if got := Shorten(s, n); Cells(got) > n && Cells(s) > n {
			t.Fatalf("%q is %d cells, want %d", got, Cells(got), n)
		}
	})
}

func TestShortenKeeping(t *testing.T) {
	for _, tc := range []struct {
		s, keep string
		n       int
		want    string
	}{
		{"short", "or", 20, "short"},
		{"the head of it SeqNum=7 and a long tail behind", "SeqNum=7", 26, "the head of it SeqNum=7 a…"},
		{"a very long head before the part SeqNum=7 and a long tail behind", "SeqNum=7", 40, "a very long head bef…SeqNum=7 and a lon…"},
		{"no such part in this long text at all", "SeqNum=7", 20, "no such part …at all"},
	} {
		got := ShortenKeeping(tc.s, tc.keep, tc.n)
		if got != tc.want {
			t.Errorf("ShortenKeeping(%q, %q, %d) = %q, want %q", tc.s, tc.keep, tc.n, got, tc.want)
		}
		if Cells(got) > tc.n && Cells(tc.s) > tc.n {
			t.Errorf("%q takes %d cells, %d are there", got, Cells(got), tc.n)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -100: "-100"} {
		if got := Thousands(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain 中文 é\tx": "plain 中文 é x", "a\nb": "a\nb", "\x1b[2Jgone": "·[2Jgone", "bad \xff": "bad ·", "c1 \u009b1m": "c1 ·1m",
		"python\u202egnp.exe": "python·gnp.exe", "a\u2066b\u2069": "a·b·", "line\u2028break": "line·break", "\u061c": "·",
	} {
		if got := Printable(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}
