package scan

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/source"
)

// embedded is a scanner of the catalog that ships.
func embedded(t testing.TB) (*Scanner, *catalog.Catalog) {
	t.Helper()
	c, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(c, testDecoder())
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// small is a scanner of a few matchers for tests of the mechanism.
func small(t testing.TB) *Scanner {
	t.Helper()
	c, err := catalog.Load(fstest.MapFS{
		"signals/x.yaml": &fstest.MapFile{Data: []byte(smallCatalog)},
		"readings/.keep": &fstest.MapFile{}, "faults/.keep": &fstest.MapFile{},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const smallCatalog = `
family: x
matchers:
  - id: xid
    kind: xid.{code}
    origin: kernel
    literals: ["Xid ("]
    split: "NVRM: Xid ("
    pattern: '^NVRM: Xid \((?:PCI:)?(?P<gpu>[0-9a-fA-F:.]+)(?: GPU-I:(?P<gi>\d+))?(?: GPU-CI:(?P<ci>\d+))?\): (?P<code>\d+)(?:, pid=(?P<pid>[^,]+))?(?:, name=(?P<process>[^,]+))?,?\s*(?P<text>.*)$'
  - id: bus
    kind: nvrm.fallen
    origin: kernel
    literals: ["The NVIDIA GPU "]
    pattern: '^NVRM: The NVIDIA GPU (?P<gpu>[0-9a-f:.]+)(?: \(PCI ID: (?P<id>[0-9a-f:]+)\))?(?P<rest>.*)'
    join: {lines: 4, strip: '^NVRM:\s+', until: 'responding to commands'}
  - id: oom
    kind: app.oom
    literals: ["out of memory"]
    fold: true
    pattern: '(?i)(?P<what>cuda|host) out of memory'
    key: [what]
  - id: oom-again
    kind: app.oom
    literals: ["out of memory"]
    pattern: 'out of memory'
`

func scanText(t testing.TB, s *Scanner, text string, o Options) Result {
	t.Helper()
	res, err := s.Scan(context.Background(), []source.Input{source.FromBytes("in", []byte(text))}, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// brief shows signals in one line each: what tests compare.
func brief(sigs []gpumedic.Signal) string {
	var b strings.Builder
	for _, s := range sigs {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%d %s x%d", s.Evidence.Line, s.Kind, s.Count)
		if g := s.Subject.GPU.String(); g != "" {
			b.WriteString(" " + g)
		}
		if m := s.Subject.GPU.MIG; m != "" {
			b.WriteString(" mig " + m)
		}
		if p := s.Subject.Process; p.PID != 0 || p.Name != "" {
			fmt.Fprintf(&b, " pid %d %s", p.PID, p.Name)
		}
		if d := s.Field("distinct"); d != "" {
			b.WriteString(" distinct " + d)
		}
	}
	return b.String()
}

func TestScanMechanism(t *testing.T) {
	s := small(t)
	f := func(name, text, want string) {
		t.Helper()
		if got := brief(scanText(t, s, text, Options{}).Signals); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	const k = "Jun  1 10:00:00 n1 kernel: "
	f("nothing", "hello\n", "")
	f("plain line", "NVRM: Xid (PCI:0000:3b:00): 79, pid=12, name=a, gone", "1 xid.79 x1 0000:3b:00.0 pid 12 a")
	f("mig and unknown", k+"NVRM: Xid (PCI:0000:3B:00 GPU-I:05 GPU-CI:00): 43, pid='<unknown>', name=<unknown>, x\n",
		"1 xid.43 x1 0000:3b:00.0 mig 05/00")
	f("equal lines", strings.Repeat(k+"NVRM: Xid (PCI:0000:3b:00): 79, gone\n", 5), "1 xid.79 x5 0000:3b:00.0")
	f("split", k+"NVRM: Xid (PCI:0000:3b:00): 79, gone. NVRM: Xid (PCI:0000:3b:00): 45, pid=7, name=b, Ch 8\n",
		"1 xid.79 x1 0000:3b:00.0\n1 xid.45 x1 0000:3b:00.0 pid 7 b")
	f("other writer", "Jun  1 10:00:00 n1 grep[12]: NVRM: Xid (PCI:0000:3b:00): 79, gone\n", "")
	f("logger repeats", k+"NVRM: Xid (PCI:0000:3b:00): 79, gone\nJun  1 10:00:09 n1 last message repeated 4 times\n",
		"1 xid.79 x5 0000:3b:00.0")
	f("logger repeats for another host", k+"NVRM: Xid (PCI:0000:3b:00): 79, gone\nJun  1 10:00:09 n2 last message repeated 4 times\n",
		"1 xid.79 x1 0000:3b:00.0")
	f("suppressed", k+"__ratelimit: 42 callbacks suppressed\n", "1 kernel.suppressed x1")
	f("one kind once", "CUDA out of memory\n", "1 app.oom x1")
	f("carriage returns", "step 1\rstep 2\rcuda out of memory\rstep 3\r\n", "1 app.oom x1")
	f("crlf", k+"NVRM: Xid (PCI:0000:3b:00): 69\r\n", "1 xid.69 x1 0000:3b:00.0")
	f("key", "cuda out of memory 1\nCuda out of memory 2\nhost out of memory\n", "1 app.oom x1\n2 app.oom x1\n3 app.oom x1")
}

func TestScanJoin(t *testing.T) {
	s := small(t)
	f := func(name, text, want string) {
		t.Helper()
		sigs := scanText(t, s, text, Options{}).Signals
		got := brief(sigs)
		for _, s := range sigs {
			if s.Kind == "nvrm.fallen" {
				got += " " + s.Field("id") + s.Field("rest")
			}
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	const a, b, c = "NVRM: The NVIDIA GPU 0000:3b:00.0\n", "NVRM: (PCI ID: 10de:26b5) installed in this system has\n",
		"NVRM: fallen off the bus and is not responding to commands.\n"
	all := "1 nvrm.fallen x1 0000:3b:00.0 10de:26b5 installed in this system has fallen off the bus and is not responding to commands."
	f("whole", a+b+c+"NVRM: more\n", all)
	f("another subsystem between", a+"pcieport 0000:3a:00.0: AER: x\n"+b+"systemd[1]: x\n"+c, all)
	f("too many between", a+"x\ny\nz\n"+b+c, "1 nvrm.fallen x1 0000:3b:00.0 ")
	f("syslog", strings.ReplaceAll(a+b+c, "NVRM:", "Jun  1 10:00:00 n1 kernel: NVRM:"), all)
	f("alone", a, "1 nvrm.fallen x1 0000:3b:00.0 ")
	f("two heads", a+"NVRM: The NVIDIA GPU 0000:5d:00.0\n", "1 nvrm.fallen x1 0000:3b:00.0\n2 nvrm.fallen x1 0000:5d:00.0  ")
}

func TestScanStorm(t *testing.T) {
	s := small(t)
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "[%5d.000000] NVRM: Xid (PCI:0000:3b:00): 31, pid=%d, name=p, fault @ %x\n", i, 100+i%3, i%1000)
		fmt.Fprintf(&b, "[%5d.000000] NVRM: Xid (PCI:0000:5d:00): 31, pid=1, name=p, same\n", i)
	}
	res := scanText(t, s, b.String(), Options{})
	total := 0
	for _, sig := range res.Signals {
		total += sig.Count
	}
	if len(res.Signals) != maxDistinct+2 || total != 6000 {
		t.Fatalf("%d signals, %d counted", len(res.Signals), total)
	}
	rest := res.Signals[len(res.Signals)-1]
	if rest.Field("distinct") != fmt.Sprint(3000-maxDistinct) || rest.Subject.GPU.PCI != "0000:3b:00.0" ||
		rest.Subject.Process.PID != 0 || rest.Field("text") != "" || rest.Field("code") != "31" {
		t.Errorf("rest is %+v", rest)
	}
}

// TestScanFlood: many GPUs with many texts each cost no more signals than a few thousand,
// every GPU keeps one at least, and every line is counted.
func TestScanFlood(t *testing.T) {
	s := small(t)
	const gpus, texts = 200, 100
	var b strings.Builder
	for i := range texts {
		for g := range gpus {
			fmt.Fprintf(&b, "[%5d.%06d] NVRM: Xid (PCI:%04x:3b:00): 31, pid=1, name=p, fault @ %x\n", i, g, g, i)
		}
	}
	total := 0
	seen := map[string]bool{}
	res := scanText(t, s, b.String(), Options{})
	for _, sig := range res.Signals {
		total += sig.Count
		seen[sig.Subject.GPU.PCI] = true
	}
	if total != gpus*texts || len(seen) != gpus || len(res.Signals) > 10*gpus {
		t.Errorf("%d signals of %d GPUs, %d counted", len(res.Signals), len(seen), total)
	}
}

func TestScanWindowOfTime(t *testing.T) {
	s := small(t)
	var b strings.Builder
	for h := range 10 {
		fmt.Fprintf(&b, "2024-06-01T%02d:00:00+00:00 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, gone\n", h)
	}
	at := func(h int) time.Time { return time.Date(2024, 6, 1, h, 0, 0, 0, time.UTC) }
	window := Options{Since: at(3), Until: at(6)}
	if got := brief(scanText(t, s, "NVRM: Xid (PCI:0000:5d:00): 79, gone\n", window).Signals); got != "1 xid.79 x1 0000:5d:00.0" {
		t.Errorf("unknown time: got %s", got)
	}
	if got := brief(scanText(t, s, "Jun  1 02:00:00 n kernel: NVRM: Xid (PCI:0000:5d:00): 79, gone\n", window).Signals); got != "" {
		t.Errorf("no year: got %s", got)
	}
	res := scanText(t, s, b.String(), window)
	if got := brief(res.Signals); got != "4 xid.79 x4 0000:3b:00.0" {
		t.Errorf("got %s", got)
	}
	if in := res.Inputs[0]; in.First != "2024-06-01T00:00:00Z" || in.Last != "2024-06-01T09:00:00Z" || in.Lines != 10 {
		t.Errorf("input %+v", in)
	}
	if f := res.Signals[0]; !f.First.Time.Equal(at(3)) || !f.Last.Time.Equal(at(6)) || f.Subject.Node != "n1" {
		t.Errorf("signal %+v", f)
	}
}

func TestScanCancel(t *testing.T) {
	s := small(t)
	ctx, cancel := context.WithCancel(context.Background())
	text := strings.Repeat("NVRM: Xid (PCI:0000:3b:00): 79, gone\n", 100)
	res, err := s.Scan(ctx, []source.Input{source.FromBytes("in", []byte(text))}, Options{
		Source:   source.Options{BlockSize: 64},
		Progress: func(p Progress) { cancel() },
	})
	if err == nil || len(res.Signals) != 1 || res.Signals[0].Count >= 100 || len(res.Inputs[0].Problems) != 1 {
		t.Errorf("err %v, result %+v", err, res)
	}
}

func TestScanEvidence(t *testing.T) {
	s := small(t)
	line := "Jun  1 10:00:00 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, gone"
	res := scanText(t, s, "x\n"+line+"\n", Options{})
	ev := res.Signals[0].Evidence
	if ev.Text != line || ev.Line != 2 || ev.Input != "in" {
		t.Errorf("evidence %+v", ev)
	}
	if m := ev.Text[ev.Mark[0]:ev.Mark[1]]; m != "NVRM: Xid (PCI:0000:3b:00): 79, gone" {
		t.Errorf("mark %q", m)
	}
	in := source.FromBytes("in", []byte(line))
	in.Node = "gpu7"
	res, _ = s.Scan(context.Background(), []source.Input{in}, Options{})
	if n := res.Signals[0].Subject.Node; n != "gpu7" {
		t.Errorf("node %q", n)
	}
}

// The same event in the forms of many loggers: kind, GPU and node are the same.
func TestScanForms(t *testing.T) {
	s := small(t)
	const msg = "NVRM: Xid (PCI:0000:3b:00): 79, pid=7, name=p, gone"
	f := func(text string, line int, node string) {
		t.Helper()
		sigs := scanText(t, s, text, Options{}).Signals
		want := fmt.Sprintf("%d xid.79 x1 0000:3b:00.0 pid 7 p", line)
		if got := brief(sigs); got != want {
			t.Fatalf("%q:\n got %s\nwant %s", text, got, want)
		}
		if n := sigs[0].Subject.Node; n != node {
			t.Errorf("%q: node %q, want %q", text, n, node)
		}
		if ev := sigs[0].Evidence; !strings.Contains(ev.Text, "Xid (") || !strings.Contains(ev.Text[ev.Mark[0]:ev.Mark[1]], "Xid (") {
			t.Errorf("%q: evidence %+v", text, ev)
		}
	}
	f("[12345.678901] "+msg, 1, "")
	f("[Mon Jun  3 10:00:00 2024] "+msg, 1, "")
	f("kern  :err   : [12345.678901] "+msg, 1, "")
	f("Jun  3 10:00:00 n1 kernel: [12345.678901] "+msg, 1, "n1")
	f("2024-06-03T10:00:00.123456+02:00 n1 kernel: "+msg, 1, "n1")
	f("<3>1 2024-06-03T10:00:00Z n1 kernel - - - "+msg, 1, "n1")
	f("3,1234,12345678901,-;"+msg+"\n SUBSYSTEM=pci\n", 1, "")
	f("__CURSOR=s\n__REALTIME_TIMESTAMP=1717408800000000\n_TRANSPORT=kernel\n_HOSTNAME=n1\nMESSAGE="+msg+"\nPRIORITY=3\n\n", 5, "n1")
	f(`{"__REALTIME_TIMESTAMP":"1717408800000000","_TRANSPORT":"kernel","_HOSTNAME":"n1","MESSAGE":"`+msg+`"}`, 1, "n1")
	f(`{"log":"`+msg+`\n","stream":"stdout","time":"2024-06-03T10:00:00.123456789Z"}`, 1, "")
	f("2024-06-03T10:00:00.123456789Z stdout F "+msg, 1, "")
	f("\x1b[32m[12345.678901] \x1b[33m"+msg+"\x1b[0m\r\n", 1, "")
}

// Memory stays small whatever a line holds.
func TestScanEndlessLine(t *testing.T) {
	s := small(t)
	piece := []byte(strings.Repeat("junk ", 2000) + "cuda out of memory ")
	var peak uint64
	res, err := s.Scan(context.Background(), []source.Input{source.FromReader("in", func() (io.ReadCloser, error) {
		return io.NopCloser(io.LimitReader(repeat(piece), 256<<20)), nil
	})}, Options{Progress: func(p Progress) {
		if p.Bytes>>20%16 == 0 {
			runtime.GC() // what other tests left is no matter of this one
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
	}})
	if err != nil || len(res.Signals) != 1 || res.Inputs[0].Lines != 1 || len(res.Inputs[0].Problems) != 1 {
		t.Errorf("err %v, %d signals, input %+v", err, len(res.Signals), res.Inputs[0])
	}
	if peak > 40<<20 {
		t.Errorf("heap grew to %d MiB", peak>>20)
	}
}

// repeat is an endless stream of p.
type repeat []byte

func (r repeat) Read(p []byte) (int, error) { return copy(p, r), nil }

// A giant line is scanned in pieces and its hits are found.
func TestScanLongLine(t *testing.T) {
	s := small(t)
	text := strings.Repeat("junk ", 600_000) + "cuda out of memory " + strings.Repeat("junk ", 600_000) + "\nhost out of memory\n"
	res := scanText(t, s, text, Options{})
	if got := brief(res.Signals); got != "1 app.oom x1\n2 app.oom x1" {
		t.Errorf("got %s", got)
	}
	if len(res.Inputs[0].Problems) != 1 || res.Inputs[0].Lines != 2 {
		t.Errorf("input %+v", res.Inputs[0])
	}
}

// readLines reads the lines of a file under testdata.
func readLines(t testing.TB, name string) []string {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	for sc := bufio.NewScanner(f); sc.Scan(); {
		out = append(out, sc.Text())
	}
	return out
}
