package scan

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/source"
)

// tracebackLines are those of a failing rank, without any prefix.
func tracebackLines(file, class, message string) []string {
	return []string{
		"Traceback (most recent call last):",
		fmt.Sprintf(`  File "/home/u/%s", line 7, in main`, file),
		"    step(batch)",
		`  File "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py", line 9, in _call_impl`,
		"    return f()",
		class + ": " + message,
	}
}

// inShort is what a signal says, without its place in the input.
func inShort(sigs []gpumedic.Signal, kinds string) []string {
	var out []string
	for _, s := range sigs {
		if !strings.HasPrefix(s.Kind, kinds) {
			continue
		}
		rank := "-"
		if s.Subject.Rank != nil {
			rank = fmt.Sprint(*s.Subject.Rank)
		}
		out = append(out, fmt.Sprintf("%s rank %s pid %d node %q %s %s final=%s", s.Kind, rank, s.Subject.Process.PID, s.Subject.Node, s.Subject.Location,
			s.Fields["type"], s.Fields["final"]))
	}
	slices.Sort(out)
	return out
}

// TestWrappings: the same two ranks in every wrapping that launchers and loggers know.
func TestWrappings(t *testing.T) {
	s := small(t)
	a := tracebackLines("train.py", "torch.OutOfMemoryError", "CUDA out of memory. Tried")
	b := tracebackLines("data.py", "ValueError", "bad sample")
	for _, c := range []struct {
		name, one, two string
		rank           [2]string
		rest           [2]string // pid and node
	}{
		{"torchrun", "[rank3]: ", "[rank1]: ", [2]string{"3", "1"}, [2]string{}},
		{"older torchrun", "[default3]:", "[default1]:", [2]string{"3", "1"}, [2]string{}},
		{"mpirun", "[1,3]<stderr>:", "[1,1]<stderr>:", [2]string{"3", "1"}, [2]string{}},
		{"srun -l", "3: ", "1: ", [2]string{"3", "1"}, [2]string{}},
		{"srun -l of many", "03: ", "11: ", [2]string{"3", "11"}, [2]string{}},
		{"Ray", "(RayTrainWorker pid=33, ip=10.0.0.3) ", "(RayTrainWorker pid=11, ip=10.0.0.1) ", [2]string{"-", "-"}, [2]string{`pid 33 node "10.0.0.3"`, `pid 11 node "10.0.0.1"`}},
		{"vLLM", "(Worker_TP3 pid=33) ERROR 11-21 10:10:03 [executor.py:12] ", "(Worker_TP1 pid=11) ERROR 11-21 10:10:03 [executor.py:12] ", [2]string{"3", "1"}, [2]string{`pid 33 node ""`, `pid 11 node ""`}},
		{"compose", "worker-3  | ", "worker-1  | ", [2]string{"3", "1"}, [2]string{}},
		{"pods", "[pod/train-3/main] ", "[pod/train-1/main] ", [2]string{"-", "-"}, [2]string{}},
		{"CRI", "2024-06-01T10:00:00.123456789Z stderr F [rank3]: ", "2024-06-01T10:00:00.223456789Z stderr F [rank1]: ", [2]string{"3", "1"}, [2]string{}},
		{"loguru", "[rank3]: 2024-06-01 10:00:00 | ERROR | stderr | ", "[rank1]: 2024-06-01 10:00:00 | ERROR | stderr | ", [2]string{"3", "1"}, [2]string{}},
		{"syslog", "Jun  1 10:00:00 n1 torchrun[7]: [rank3]: ", "Jun  1 10:00:00 n2 torchrun[7]: [rank1]: ", [2]string{"3", "1"}, [2]string{`pid 0 node "n1"`, `pid 0 node "n2"`}},
		{"hosts", "node3: ", "node1: ", [2]string{"-", "-"}, [2]string{`pid 0 node "node3"`, `pid 0 node "node1"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.rest {
				if c.rest[i] == "" {
					c.rest[i] = `pid 0 node ""`
				}
			}
			want := []string{
				fmt.Sprintf("app.oom rank %s %s /home/u/train.py:7  final=yes", c.rank[0], c.rest[0]),
				fmt.Sprintf("py.exception rank %s %s /home/u/train.py:7 OutOfMemoryError final=yes", c.rank[0], c.rest[0]),
				fmt.Sprintf("py.exception rank %s %s /home/u/data.py:7 ValueError final=yes", c.rank[1], c.rest[1]),
			}
			slices.Sort(want)
			var lines []string
			for i := range a { // one line of each in turn
				lines = append(lines, c.one+a[i], c.two+b[i])
			}
			if c.name == "hosts" || strings.HasPrefix(c.name, "srun") {
				lines = append([]string{c.one + "start", c.two + "start", c.one + "go", c.two + "go"}, lines...)
			}
			got := inShort(scanText(t, s, strings.Join(lines, "\n"), Options{}).Signals, "")
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// TestPackaging: a file a rank, one file of both, or standard input: the same signals.
func TestPackaging(t *testing.T) {
	s := small(t)
	var texts []string
	for _, r := range []string{"3", "1"} {
		lines := tracebackLines("train.py", "torch.OutOfMemoryError", "CUDA out of memory on "+r)
		texts = append(texts, "[rank"+r+"]: "+strings.Join(lines, "\n[rank"+r+"]: ")+"\n")
	}
	run := func(ins ...source.Input) []string {
		res, err := s.Scan(context.Background(), ins, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return inShort(res.Signals, "")
	}
	want := run(source.FromBytes("a", []byte(texts[0])), source.FromBytes("b", []byte(texts[1])))
	for name, got := range map[string][]string{
		"other order": run(source.FromBytes("a", []byte(texts[1])), source.FromBytes("b", []byte(texts[0]))),
		"one file":    run(source.FromBytes("stdin", []byte(texts[0]+texts[1]))),
		"named":       run(source.FromBytes("rank_3.log", []byte(texts[0])), source.FromBytes("rank_1.log", []byte(texts[1]))),
		"misnamed":    run(source.FromBytes("rank_7.log", []byte(texts[0]+texts[1]))),
	} {
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
	}
}

// TestHints: without ranks in the text the names tell them.
func TestHints(t *testing.T) {
	s := small(t)
	text := []byte(strings.Join(tracebackLines("train.py", "ValueError", "x"), "\n"))
	res, err := s.Scan(context.Background(), []source.Input{
		source.FromBytes("node0_gpu2.out", text), source.FromBytes("run/attempt_0/3/stderr.log", text), source.FromBytes("node1/rank_9.log", text), source.FromBytes("train.log", text),
		source.FromBytes("a.log", append([]byte("+ env: LOCAL_RANK=1 RANK=5 WORLD_SIZE=8\n"), text...)), source.FromBytes("b.log", append([]byte("RANK=5\nRANK=6\n"), text...)),
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`py.exception rank - pid 0 node "" /home/u/train.py:7 ValueError final=yes`,
		`py.exception rank - pid 0 node "" /home/u/train.py:7 ValueError final=yes`,
		`py.exception rank 2 pid 0 node "node0" /home/u/train.py:7 ValueError final=yes`,
		`py.exception rank 3 pid 0 node "" /home/u/train.py:7 ValueError final=yes`,
		`py.exception rank 5 pid 0 node "" /home/u/train.py:7 ValueError final=yes`,
		`py.exception rank 9 pid 0 node "node1" /home/u/train.py:7 ValueError final=yes`,
	}
	if d := cmp.Diff(want, inShort(res.Signals, "")); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestTerminal: progress bars and colours do not hide a traceback.
func TestTerminal(t *testing.T) {
	lines := tracebackLines("train.py", "ValueError", "x")
	lines[0] = " 10%|#| 1/10 [00:01<00:09]\r 20%|##| 2/10 [00:02<00:08]\r" + lines[0]
	lines[5] = "\x1b[31m" + lines[5] + "\x1b[0m"
	want := []string{`py.exception rank - pid 0 node "" /home/u/train.py:7 ValueError final=yes`}
	if d := cmp.Diff(want, inShort(scanText(t, small(t), strings.Join(lines, "\n"), Options{}).Signals, "")); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	// Escaped into one line, and in torchrun's error file.
	one := "ERROR failed: " + strings.Join(tracebackLines("train.py", "ValueError", "x"), `\n`)
	if d := cmp.Diff(want, inShort(scanText(t, small(t), one, Options{}).Signals, "")); d != "" {
		t.Errorf("escaped (-want +got)\n%s", d)
	}
	file := `{"message": {"message": "ValueError: x", "extraInfo": {"py_callstack": ` + fmt.Sprintf("%q", strings.Join(tracebackLines("train.py", "ValueError", "x"), "\n")) + `, "timestamp": "1700000000"}}}`
	if d := cmp.Diff(want, inShort(scanText(t, small(t), file, Options{}).Signals, "")); d != "" {
		t.Errorf("error file (-want +got)\n%s", d)
	}
}

// TestFlightRecorder: dumps of a job, as a folder and one behind the other.
func TestFlightRecorder(t *testing.T) {
	s := small(t)
	const dir = "../flight/testdata/ranks9and14"
	files, _ := filepath.Glob(dir + "/*")
	var all []byte
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	want := []string{
		`flight.late_rank rank 14 pid 0 node ""   final=`,
		`flight.late_rank rank 9 pid 0 node ""   final=`,
	}
	for name, ins := range map[string][]source.Input{
		"folder": source.Expand([]string{dir}, source.ExpandOptions{}), "concatenated": {source.FromBytes("stdin", all)},
	} {
		res, err := s.Scan(context.Background(), ins, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, inShort(res.Signals, "flight.late")); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
		for _, in := range res.Inputs {
			if in.Kind != source.KindFlight || in.Incomplete || len(in.Problems) > 0 {
				t.Errorf("%s: %+v", name, in)
			}
		}
	}
	res := scanText(t, s, "\x80\x02X\x09\x00\x00\x00pg_configcos\nsystem\n.", Options{})
	if in := res.Inputs[0]; !in.Incomplete || len(in.Problems) != 1 || !strings.Contains(in.Problems[0], "refused") {
		t.Errorf("a hostile dump: %+v", in)
	}
}

// TestClock: seconds since boot, missing years and several boots of one input resolve.
func TestClock(t *testing.T) {
	const text = "[    1.000000] rtc_cmos 00:01: setting system clock to 2024-05-31T23:00:00 UTC (1717196400)\n" +
		"[  101.000000] NVRM: Xid (PCI:0000:3b:00): 79, first boot\n" +
		"[    0.000000] Linux version 6.8.0-40-generic\n" +
		"[    2.000000] audit: type=2000 audit(1719878400.000:1): state=initialized\n" +
		"[   12.000000] NVRM: Xid (PCI:0000:3b:00): 31, second boot\n"
	res := scanText(t, small(t), text, Options{})
	got := map[string]string{}
	for _, s := range res.Signals {
		got[s.Kind] = s.First.Time.Format("2006-01-02 15:04:05")
	}
	want := map[string]string{"xid.79": "2024-05-31 23:01:40", "xid.31": "2024-07-02 00:00:10"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if in := res.Inputs[0]; in.First == "" || in.Last == "" || in.First >= in.Last {
		t.Errorf("first %q, last %q", in.First, in.Last)
	}
	years := scanText(t, small(t), "Dec 31 23:59:00 n1 systemd[1]: x\n2025-01-01T00:00:30+00:00 n1 systemd[1]: y\nJan  1 00:01:00 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, x\n", Options{})
	if at := years.Signals[0].First.Time; at.Year() != 2025 {
		t.Errorf("year of %v", at)
	}
}
