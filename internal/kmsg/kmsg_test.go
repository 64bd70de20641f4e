package kmsg

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	r, ok := Parse(`4,1234,98765432,-,caller=T77;NVRM: Xid (PCI:0000:3b:00): 79, pid='\x3cunknown\x3e'`)
	if !ok || r.Facility != 0 || r.Level != 4 || r.Seq != 1234 || r.Usec != 98765432 || !strings.HasSuffix(r.Text, "pid='<unknown>'") {
		t.Errorf("%+v %v", r, ok)
	}
	if r, ok := Parse("30,9,1,-;systemd[1]: Reloading."); !ok || r.Facility != 3 {
		t.Errorf("%+v %v", r, ok)
	}
	for _, bad := range []string{"", " SUBSYSTEM=pci", "x,1,2,-;y", "4,1;y", "4,1,2,-", `4,-1,2,-;y`} {
		if r, ok := Parse(bad); ok {
			t.Errorf("%q: %+v", bad, r)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("6,339,5140900,-;NVRM: text\\x09\n"))
	f.Add([]byte(" SUBSYSTEM=pci\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, ok := Parse(string(line))
		if ok && (r.Seq < 0 || strings.ContainsAny(r.Line(time.Time{}, "h"), "\x00\x1b") && !bytes.ContainsAny(line, "\x00\x1b")) {
			t.Errorf("%q gives %+v", line, r)
		}
	})
}
