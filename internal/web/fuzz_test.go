package web_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic/internal/web"
)

// FuzzLine: a mark of any kind takes nothing of a line away.
func FuzzLine(f *testing.F) {
	f.Add("NVRM: Xid 79", 6, 12)
	f.Add("显存", 1, 4)
	f.Fuzz(func(t *testing.T, text string, from, to int) {
		if l := web.LineOf("kmsg", 1, text, [2]int{from, to}, 1); l.Before+l.Mark+l.Rest != text {
			t.Errorf("%q became %+v", text, l)
		}
	})
}

// FuzzLocal: whatever a form says, the page leads to itself.
func FuzzLocal(f *testing.F) {
	for _, s := range []string{"/incidents?closed=1", "//evil.example", "/\\evil", "https:evil", "/%2f/evil"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got := web.Local(path)
		u, err := url.Parse(got)
		if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(got, "/") || strings.HasPrefix(got, "//") || strings.ContainsAny(got, "\\\r\n\t") {
			t.Errorf("%q leads to %q", path, got)
		}
	})
}
