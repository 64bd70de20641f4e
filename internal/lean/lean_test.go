package lean

import (
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func TestCleanSpans(t *testing.T) {
	const smaps = `00400000-01000000 r-xp 00000000 08:01 42                         /usr/bin/gpumedic
Rss:               25000 kB
Anonymous:             0 kB
01000000-02000000 r--p 00c00000 08:01 42                         /usr/bin/gpumedic
Anonymous:             4 kB
02000000-02100000 rw-p 01c00000 08:01 42                         /usr/bin/gpumedic
Anonymous:             0 kB
02100000-02200000 r--p 01c00000 08:01 42                         /usr/bin/gpumedic (deleted)
Anonymous:             0 kB
7f0000000000-7f0000100000 r-xp 00000000 08:01 43                 /usr/lib/libc.so.6
Anonymous:             0 kB
7f0000200000-7f0000300000 r--s 00000000 08:01 42                 /usr/bin/gpumedic
Anonymous:             0 kB
7f0000400000-7f0000500000 rw-p 00000000 00:00 0
Anonymous:             0 kB
`
	want := []span{{0x400000, 0x1000000}}
	if got := cleanSpans(strings.NewReader(smaps), "/usr/bin/gpumedic"); !reflect.DeepEqual(got, want) {
		t.Errorf("spans %x, want %x", got, want)
	}
}

func TestReleaseIsHarmless(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux")
	}
	before := resident(t)
	Release()
	after := resident(t)
	if after >= before {
		t.Errorf("pages of files before %s, after %s: nothing was given back", before, after)
	}
	runtime.GC() // walks types and stacks: all must still be there
}

func resident(t *testing.T) string {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "RssFile:"); ok {
			return v
		}
	}
	t.Fatal("no RssFile")
	return ""
}

func FuzzCleanSpans(f *testing.F) {
	f.Add("00400000-01000000 r-xp 00000000 08:01 42 /a\nAnonymous: 0 kB\n", "/a")
	f.Fuzz(func(t *testing.T, smaps, file string) {
		for _, s := range cleanSpans(strings.NewReader(smaps), file) {
			if s.from >= s.to {
				t.Errorf("span %x", s)
			}
		}
	})
}
