package frame

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// layers frames a line the long way, layer by layer.
func layers(lines [][]byte, i int) []Message {
	f := New(Options{})
	f.layered = true
	return f.Frame(Lines{lines, i})
}

// TestClassic: what is peeled at once equals what comes off layer by layer.
func TestClassic(t *testing.T) {
	heads := []string{
		"Feb 11 12:00:00 gpu-n019 kernel: ", "Feb  1 02:03:04 n kernel:", "Feb 11 12:00:00 n1 kubelet[29]: ", "Dec 31 23:59:60 n1 CRON[7]: ",
		"Feb 11 12:00:00 info kernel: ", "Feb 11 12:00:00 stdout F kernel: ", "Feb 11 12:00:00 kern.warn kernel: ", "Feb 30 12:00:00 n1 kernel: ",
		"Feb 11 12:00:00 n1  kernel: ", "Feb 11 12:00:00 n1 app ", "Feb 11 12:00:00 n1 a b[3]: ", "Feb 11 12:00:00 n1 vmkernel: cpu2:3)", "Feb 11 12:00:00.5 n1 kernel: ",
		"Feb 11 12:00:00 2026 n1 kernel: ", "Feb 11 12:00:00 UTC n1 kernel: ", "feb 11 12:00:00 n1 systemd-udevd: ", "Feb 11 12:00:00 n1.example.org kernel: ",
		"<4>Feb 11 12:00:00 n1 kernel: ", "host: Feb 11 12:00:00 n1 kernel: ", "Feb 11 12:00:00 n1", "Feb 11 12:00:00 n1 ", "Feb 11 12:00:00 n1 INFO: task x:1 ",
		"Feb 11 12:00:00 n1 /usr/sbin/x[4] ", "Feb 11 12:00:00 n1 last message repeated 3 times", "Feb 11 12:00:00 debug: x[3]: ",
	}
	tails := []string{"[813300.490000] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", "NVRM: x", "I0211 12:00:00.1 3 a.go:1] b", "[rank3]: y", "{\"log\":\"z\"}", ""}
	for _, head := range heads {
		for _, tail := range tails {
			line := [][]byte{[]byte(head + tail)}
			if d := cmp.Diff(layers(line, 0), New(Options{}).Frame(Lines{line, 0})); d != "" {
				t.Errorf("%q: layer by layer against at once:\n%s", line[0], d)
			}
		}
	}
}

// FuzzClassic is TestClassic for any lines.
func FuzzClassic(f *testing.F) {
	f.Add([]byte("Feb 11 12:00:00 gpu-n019 kernel: [813300.490000] NVRM: Xid\nFeb 11 12:00:00 n app[3]: x"))
	if raw, err := os.ReadFile("testdata/samples.txt"); err == nil {
		for block := range strings.SplitSeq(string(raw), "\n\n") {
			if strings.Contains(block, " kernel: ") {
				f.Add([]byte(block))
			}
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		lines := bytes.Split(raw, []byte("\n"))
		for i := range lines[:min(len(lines), 64)] {
			if d := cmp.Diff(layers(lines, i), New(Options{}).Frame(Lines{lines, i})); d != "" {
				t.Fatalf("%q: layer by layer against at once:\n%s", lines[i], d)
			}
		}
	})
}
