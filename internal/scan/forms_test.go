package scan

import (
	"strings"
	"testing"
)

func TestPlainText(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		p := plainText([]byte(in))
		if string(p.data) != want {
			t.Errorf("plain text of %q is %q, want %q", in, p.data, want)
		}
	}
	f("NVRM:\u00a0Xid (", "NVRM: Xid (")
	f("can&#x27;t &lt;x&gt;", "can't <x>")
	f("a && b &amplitude &#8211; é", "a && b &amplitude &#8211; é")
	p := plainText([]byte("\u00a0a&#39;b"))
	for at, want := range []int{0, 2, 3, 8, 9} {
		if got := p.raw(at); at > 0 && got != want {
			t.Errorf("raw place of %d is %d, want %d", at, got, want)
		}
	}
}

// FuzzForms: places in a changed text are places of the raw one, in order.
func FuzzForms(f *testing.F) {
	for _, s := range []string{"\u00a0NVRM: a&#39;b", `exec: \"x\": \\" y`, "NVRM: a   NVRM: b NVRM: ", "NVRM:  NVRM: \\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		forms := []asPlain{plainText([]byte(s))}
		for _, form := range []func(string) (asPlain, bool){unquoted, oneMessage} {
			if p, ok := form(s); ok {
				forms = append(forms, p)
			}
		}
		for _, p := range forms {
			last := 0
			for at := 0; at <= len(p.data); at++ {
				raw := p.raw(at)
				if raw < last || raw > len(s) {
					t.Fatalf("place %d of %q is %d of %d", at, p.data, raw, len(s))
				}
				last = raw
			}
		}
	})
}

// A line made of nothing but prefixes costs no more than its length.
func TestManyPrefixes(t *testing.T) {
	s := small(t)
	for _, unit := range []string{"1:", "> ", "a.log:", "&#39;", "\u00a0", `\"`, "NVRM: "} {
		scanText(t, s, strings.Repeat(unit, 20_000)+"NVRM: Xid (PCI:0000:3b:00): 79, x\n", Options{})
	}
}
