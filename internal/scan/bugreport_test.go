package scan

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/source"
)

func report(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/bugreport/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// inSections shows the abnormal signals with their section, node, count and time.
func inSections(sigs []gpumedic.Signal) string {
	var b strings.Builder
	for _, s := range sigs {
		if s.Level == gpumedic.LevelAbnormal || strings.HasPrefix(s.Kind, "xid.") || strings.HasPrefix(s.Kind, "smi.remap") {
			at := ""
			if s.First.Known() {
				at = s.First.Time.Format(" 2006-01-02 15:04:05")
			}
			fmt.Fprintf(&b, "%d [%s] %s x%d %s%s\n", s.Evidence.Line, s.Evidence.Section, s.Kind, s.Count, s.Subject.Node, at)
		}
	}
	return b.String()
}

func sectionNamed(parts []gpumedic.SectionInfo, name string) string {
	for _, p := range parts {
		if p.Name == name {
			return fmt.Sprintf("%s %d+%d", p.Kind, p.Line, p.Lines)
		}
	}
	return ""
}

// The ring buffer, a log file and the journal of one boot hold copies of an event, which
// count once, with the clock of the one that has one; the boot before has its own.
func TestBugReportSections(t *testing.T) {
	s, _ := embedded(t)
	res := scanText(t, s, report(t, "a10.log"), Options{})
	want := `117 [/var/log/kern.log] xid.63 x1 gpu-a10-3 2024-09-25 10:31:40
118 [/var/log/kern.log] xid.94 x1 gpu-a10-3 2024-09-25 10:31:40
126 [journalctl -b -1] xid.31 x1 gpu-a10-3 2024-09-20 07:11:12
366 [nvidia-smi] smi.remap_pending x1 gpu-a10-3
`
	if got := inSections(res.Signals); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	in := res.Inputs[0]
	if in.Kind != source.KindBugreport || in.Lines != 444 || in.Incomplete || len(in.Problems) != 0 || in.First != "2024-02-11T23:59:58Z" || in.Last != "2024-09-25T10:40:24Z" {
		t.Errorf("input %+v", in)
	}
	for name, want := range map[string]string{
		"header": "header 1+13", "dmesg": "kernlog 128+8", "lspci": "lspci 74+24", "nvidia-smi": "smi 221+206",
		"/var/log/Xorg.0.log": "xorg 60+14", "journalctl -b -1": "kernlog 125+3", "systemctl": "systemd 41+13",
		"/proc/iomem": "procfs 147+8", "nvidia-debugdump": "binary 162+59", "/proc/driver/nvidia/version": "procfs 155+7",
		"/sys/bus/pci/devices/0000:07:00.0/power/control": "sysfs 14+6",
	} {
		if got := sectionNamed(in.Sections, name); got != want {
			t.Errorf("section %s: got %q, want %q", name, got, want)
		}
	}
	for _, sig := range res.Signals {
		if sig.Kind == "xid.79" || sig.Kind == "app.oom" {
			t.Errorf("line %d: words in base64 were taken for a message", sig.Evidence.Line)
		}
	}
}

// The banners of 2009: no stars, no ls line, programs with their path.
func TestBugReportOfOldDriver(t *testing.T) {
	s, _ := embedded(t)
	res := scanText(t, s, report(t, "before-2010.log"), Options{})
	if got, want := inSections(res.Signals), "38 [/var/log/messages] xid.13 x1 charlie 2009-10-27 14:29:58\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, want := range map[string]string{"dmesg": "kernlog 42+5", "/etc/issue": "config 13+6", "/var/log/Xorg.0.log": "xorg 23+10"} {
		if got := sectionNamed(res.Inputs[0].Sections, name); got != want {
			t.Errorf("section %s: got %q, want %q", name, got, want)
		}
	}
}

// A report that stops in the middle tells what it has, and that something is missing.
func TestBugReportCutShort(t *testing.T) {
	s, _ := embedded(t)
	text := report(t, "a10.log")
	cut := strings.Index(text, "/usr/bin/nvidia-smi --query")
	res := scanText(t, s, text[:cut], Options{})
	if got := inSections(res.Signals); strings.Count(got, "\n") != 3 || !strings.Contains(got, "xid.94 x1") {
		t.Errorf("got\n%s", got)
	}
	if in := res.Inputs[0]; !in.Incomplete || len(in.Problems) != 1 || !strings.Contains(in.Problems[0], "has no end") {
		t.Errorf("input %+v", in)
	}
	for n := len("____\n\nStart of NVIDIA bug report log file"); n < len(text); n += 997 {
		scanText(t, s, text[:n], Options{}) // no panic, wherever it ends
	}
}

// Two reports in one file are of two machines: neither lends the other its name, its year
// or its readings.
func TestTwoBugReportsInOneFile(t *testing.T) {
	s, _ := embedded(t)
	old := report(t, "before-2010.log")
	res := scanText(t, s, old+report(t, "a10.log"), Options{})
	n := strings.Count(old, "\n")
	got := inSections(res.Signals)
	for _, want := range []string{
		"38 [/var/log/messages] xid.13 x1 charlie 2009-10-27 14:29:58\n",
		fmt.Sprintf("%d [/var/log/kern.log] xid.94 x1 gpu-a10-3 2024-09-25 10:31:40\n", n+118),
		fmt.Sprintf("%d [nvidia-smi] smi.remap_pending x1 gpu-a10-3\n", n+366),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%swant %s", got, want)
		}
	}
}

// Where blocks end and how many goroutines work does not show in a bug report either.
func TestBugReportBlocksDoNotShow(t *testing.T) {
	s, _ := embedded(t)
	text := report(t, "a10.log")
	want := scanText(t, s, text, Options{})
	for _, size := range []int{64, 1000, 4096} {
		if d := cmp.Diff(want, scanText(t, s, text, Options{Workers: 2, Source: source.Options{BlockSize: size}})); d != "" {
			t.Errorf("blocks of %d bytes differ:\n%s", size, d)
		}
	}
	crlf := scanText(t, s, strings.ReplaceAll(text, "\n", "\r\n"), Options{})
	if got := inSections(crlf.Signals); got != inSections(want.Signals) {
		t.Errorf("with carriage returns:\n%s", got)
	}
}

// The name that the user gives for the machine goes before the script's.
func TestBugReportOfNamedNode(t *testing.T) {
	s, _ := embedded(t)
	in := source.FromBytes("in", []byte(report(t, "a10.log")))
	in.Node = "rack7"
	res, err := s.Scan(t.Context(), []source.Input{in}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range res.Signals {
		if sig.Subject.Node != "rack7" {
			t.Errorf("line %d: node %q", sig.Evidence.Line, sig.Subject.Node)
		}
	}
}

// FuzzCutter: the sections together are the file, byte for byte and line for line.
func FuzzCutter(f *testing.F) {
	for _, name := range []string{"a10.log", "before-2010.log"} {
		f.Add([]byte(report(f, name)), 4096)
	}
	f.Add([]byte("____________________________________________\n____________________________________________"), 1)
	s := small(f)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		if len(data) == 0 || bytes.IndexByte(data, 0) >= 0 {
			return // encodings are the source's matter
		}
		o := source.Options{BlockSize: 1 + max(size, 0)%8192, MaxLine: 8192}
		rd := source.FromBytes("in", data).Open(o)
		var whole []byte
		for {
			b, err := rd.Next()
			if err != nil {
				break
			}
			whole = append(whole, b.Data...)
		}
		c := &cutter{rd: source.FromBytes("in", data).Open(o), x: newExaminer(s, nil)}
		var got []byte
		line := 1
		for c.begin() {
			for b := c.piece(); b != nil; b = c.piece() {
				if b.FirstLine != line {
					t.Fatalf("a piece begins in line %d, want %d", b.FirstLine, line)
				}
				line += bytes.Count(b.Data, []byte{'\n'})
				got = append(got, b.Data...)
			}
		}
		if !bytes.Equal(got, whole) {
			t.Fatalf("%d bytes of %d", len(got), len(whole))
		}
	})
}
