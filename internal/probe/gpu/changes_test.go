package gpu

import (
	"bytes"
	"strings"
	"testing"
)

func TestChanges(t *testing.T) {
	const head = "# gpumedic readings 1\n"
	gpu := func(pci, power, used string) string {
		return "[gpu " + pci + "]\npci: " + pci + "\nmemory.used.mib: " + used + "\npower.draw.watts: " + power + "\n"
	}
	before := head + gpu("0000:0a:00.0", "71.2", "0") + gpu("0000:1a:00.0", "70.9", "0")
	f := func(now, want string, wantOK bool) {
		t.Helper()
		got, ok := changes([]byte("kept "), []byte(before), []byte(now))
		if ok != wantOK || string(got) != "kept "+want {
			t.Errorf("changes to\n%s\n%q, %v, want %q, %v", now, got, ok, want, wantOK)
		}
	}
	f(before, head, true)
	f(head+gpu("0000:0a:00.0", "71.2", "0")+gpu("0000:1a:00.0", "72.0", "0"), head+"[gpu 0000:1a:00.0]\npower.draw.watts: 72.0\n", true)
	f(head+gpu("0000:0a:00.0", "72", "512")+gpu("0000:1a:00.0", "70.9", "9"),
		head+"[gpu 0000:0a:00.0]\nmemory.used.mib: 512\npower.draw.watts: 72\n[gpu 0000:1a:00.0]\nmemory.used.mib: 9\n", true)
	// A reading that is new or gone, another GPU, another order: the whole document tells.
	f(head+gpu("0000:0a:00.0", "71.2", "0"), "", false)
	f(before+"status: gpu is lost\n", "", false)
	f(head+gpu("0000:0a:00.0", "71.2", "0")+gpu("0000:2a:00.0", "70.9", "0"), "", false)
	f(head+gpu("0000:1a:00.0", "70.9", "0")+gpu("0000:0a:00.0", "71.2", "0"), "", false)
	before = ""
	f(head+gpu("0000:0a:00.0", "71.2", "0"), "", false)
}

// FuzzChanges: what is left out is in the document before, line for line.
func FuzzChanges(f *testing.F) {
	f.Add("# h\n[gpu a]\nx: 1\ny: 2\n", "# h\n[gpu a]\nx: 1\ny: 3\n")
	f.Add("[gpu a]\nx: 1", "\n\n[gpu a]\n: 1")
	f.Fuzz(func(t *testing.T, before, now string) {
		got, ok := changes(nil, []byte(before), []byte(now))
		if !ok {
			if len(got) > 0 {
				t.Errorf("%q is left", got)
			}
			return
		}
		said := strings.SplitAfter(before, "\n")
		for line := range strings.Lines(now) {
			if !strings.Contains(string(got), line) && !strings.Contains("\x00"+strings.Join(said, "\x00"), "\x00"+line) {
				t.Errorf("%q is in neither", line)
			}
		}
		if bytes.Count(got, []byte("\n")) > 2*strings.Count(now, "\n") {
			t.Errorf("%q is longer than %q", got, now)
		}
	})
}
