package lean

import (
	"encoding/binary"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func TestProgramSpans(t *testing.T) {
	const maps = `00400000-01000000 r-xp 00000000 08:01 42                         /usr/bin/gpumedic
01000000-02000000 r--p 00c00000 08:01 42                         /usr/bin/gpumedic
02000000-02100000 rw-p 01c00000 08:01 42                         /usr/bin/gpumedic
02100000-02200000 r--p 01c00000 08:01 42                         /usr/bin/gpumedic (deleted)
7f0000000000-7f0000100000 r-xp 00000000 08:01 43                 /usr/lib/libc.so.6
7f0000200000-7f0000300000 r--s 00000000 08:01 42                 /usr/bin/gpumedic
7f0000400000-7f0000500000 rw-p 00000000 00:00 0
`
	want := []span{{0x400000, 0x1000000}, {0x1000000, 0x2000000}}
	if got := programSpans(strings.NewReader(maps), "/usr/bin/gpumedic"); !reflect.DeepEqual(got, want) {
		t.Errorf("spans %x, want %x", got, want)
	}
}

func TestAsInFile(t *testing.T) {
	for _, c := range []struct {
		entries []uint64
		want    bool
	}{
		{nil, true},
		{[]uint64{0, pagePresent | pageOfFile, pagePresent | pageOfFile | 1<<55}, true},
		{[]uint64{pagePresent | pageOfFile, pagePresent}, false}, // a breakpoint was written there
		{[]uint64{pageSwapped}, false},
	} {
		var b []byte
		for _, e := range c.entries {
			b = binary.NativeEndian.AppendUint64(b, e)
		}
		if got := asInFile(b); got != c.want {
			t.Errorf("%x: %v", c.entries, got)
		}
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

func FuzzProgramSpans(f *testing.F) {
	f.Add("00400000-01000000 r-xp 00000000 08:01 42 /a\n", "/a")
	f.Fuzz(func(t *testing.T, maps, file string) {
		for _, s := range programSpans(strings.NewReader(maps), file) {
			if s.from >= s.to {
				t.Errorf("span %x", s)
			}
		}
	})
}
