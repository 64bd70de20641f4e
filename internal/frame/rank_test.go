package frame

import (
	"fmt"
	"strings"
	"testing"
)

// sayRank is a message with what its prefix said of the process.
func sayRank(m Message) string {
	s := ""
	if m.Rank != "" {
		s = m.RankKind + " " + m.Rank + " "
	}
	if m.Host != "" {
		s += "@" + m.Host + " "
	}
	if m.PID != 0 {
		s += fmt.Sprintf("pid=%d ", m.PID)
	}
	return s + "| " + m.Text
}

func TestRankPrefixes(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"[rank3]: Traceback (most recent call last):", "global 3 | Traceback (most recent call last):"},
		{"[rank3]:   File \"a.py\", line 3, in f", "global 3 | File \"a.py\", line 3, in f"},
		{"[rank12]:[E909 08:12:01.123456789 ProcessGroupNCCL.cpp:616] [Rank 12] Watchdog caught", "global 12 | [E909 08:12:01.123456789 ProcessGroupNCCL.cpp:616] [Rank 12] Watchdog caught"},
		{"[default0]:using world size: 8", "local 0 | using world size: 8"},
		{"[default7]: [2023-03-14 06:02:06.085856] iteration", "local 7 | iteration"},
		{"[trainer3]:text", "local 3 | text"},
		{"[Rank 5] step 100", "global 5 | step 100"},
		{"[rank: 3] Received SIGTERM: 15", "global 3 | Received SIGTERM: 15"},
		{"[RANK 3] text", "global 3 | text"},
		{"[rank=3] text", "global 3 | text"},
		{"[Rank 3/8] text", "global 3 | text"},
		{"[local_rank: 2] text", "local 2 | text"},
		{"[node=1 rank=9]: text", "global 9 | text"},
		{"[rank3|local_rank1]: text", "global 3 | text"},
		{"rank 3: text", "global 3 | text"},
		{"Rank3: text", "global 3 | text"},
		{"[1,3]<stderr>:text", "global 3 | text"},
		{"[1,3]<stdout>: text", "global 3 | text"},
		{"[prterun-host-12345@1,3]<stderr>: text", "global 3 | text"},
		{"[3]<stderr>:text", "global 3 | text"},
		{"2024-01-02 03:04:05 [rank3]: text", "global 3 | text"},
		{"Jan  2 03:04:05 n1 torchrun[77]: [rank3]: text", "global 3 @n1 pid=77 | text"},
		{"2024-01-02T03:04:05.123456789Z stderr F [rank3]: text", "global 3 | text"},
		{`{"log":"[default2]:text\n","stream":"stderr","time":"2024-01-02T03:04:05Z"}`, "local 2 | text"},
		{"\x1b[31m[rank3]:\x1b[0m text", "global 3 | text"},
		{"worker-3  | text", "task 3 | text"},
		{"train-worker-3 | [rank24]: text", "global 24 | text"},
		{"(pid=123, ip=10.0.0.3) text", "@10.0.0.3 pid=123 | text"},
		{"(RayTrainWorker pid=4567) text", "pid=4567 | text"},
		{"(RayTrainWorker pid=4567, ip=10.0.0.3) [rank=3] text", "global 3 @10.0.0.3 pid=4567 | text"},
		{"(raylet, ip=10.0.0.3) text", "@10.0.0.3 | text"},
		{"(Worker_TP1 pid=44872) ERROR text", "local 1 pid=44872 | ERROR text"},
		{"(Worker_DP1_TP3 pid=44872) text", "local 3 pid=44872 | text"},
		{"(Worker_PP1_TP1 pid=44872) text", "pid=44872 | text"},
		{"(VllmWorker rank=1 pid=99) text", "global 1 pid=99 | text"},
		{"(EngineCore_0 pid=512399) ERROR text", "pid=512399 | ERROR text"},
		{"(EngineCore_DP0 pid=93) text", "pid=93 | text"},
		{"(ServeReplica:default:LLM(x) pid=77) text", "pid=77 | text"},
		{"(train_fn pid=5) text [repeated 3x across cluster]", "pid=5 | text"},
		{"[2025-02-03 04:05:06 TP3] Scheduler hit an exception", "local 3 | Scheduler hit an exception"},
		{"[2025-02-03 04:05:06 DP1 TP3 EP3] text", "local 3 | text"},
		{"[E ProcessGroupNCCL.cpp:475] [Rank 3] Watchdog caught", "| [E ProcessGroupNCCL.cpp:475] [Rank 3] Watchdog caught"},
		// Near misses: nothing comes off and no rank is claimed.
		{"12: foo", "| 12: foo"},
		{"10: 30", "| 10: 30"},
		{"  3: x", "| 3: x"},
		{"[ranking]: text", "| [ranking]: text"},
		{"[rank] text", "| [rank] text"},
		{"[3] text", "| [3] text"},
		{"[1,3] text", "| [1,3] text"},
		{"[0]: text", "| [0]: text"},
		{"[worker3] text", "| [worker3] text"},
		{"rank      : 3 (local_rank: 3)", "| rank      : 3 (local_rank: 3)"},
		{"rank 3 failed", "| rank 3 failed"},
		{"(see pid=3 of the other job) text", "| (see pid=3 of the other job) text"},
		{"(pid: 366) of binary", "| (pid: 366) of binary"},
		{"(most recent call last) x", "| (most recent call last) x"},
		{"node3: text", "| node3: text"},
		{"Epoch 3: 10%", "| Epoch 3: 10%"},
		{"[2024-01-02 03:04:05 step 3] text", "| [2024-01-02 03:04:05 step 3] text"},
		{"| worker-3 | 5 | 6 |", "| | worker-3 | 5 | 6 |"},
	} {
		msgs := New(Options{}).Frame(Line(c.in))
		if len(msgs) != 1 || sayRank(msgs[0]) != c.want {
			got := []string{}
			for _, m := range msgs {
				got = append(got, sayRank(m))
			}
			t.Errorf("frame %q\n got  %s\n want %s", c.in, strings.Join(got, " // "), c.want)
		}
	}
}

func TestRankInText(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := RankInText(in); got != want {
			t.Errorf("rank in %q: %q, want %q", in, got, want)
		}
	}
	f("[E ProcessGroupNCCL.cpp:475] [Rank 3] Watchdog caught", "3")
	f("RuntimeError: [PG ID 0 PG GUID 0(default_pg) Rank 6] Watchdog", "6")
	f("  what():  [Rank 0] Watchdog", "0")
	f("Last error: rank 3 is gone", "")
	f("[bank 3] text", "")
}

// Labels that only the neighbours can confirm.
func TestVotedLabels(t *testing.T) {
	const srun = "slurmstepd: info: hello\n3: start\n0: start\n1: start\n2: start\n0: loss 1.0\n1: Traceback (most recent call last):\n1:   File \"a.py\", line 3, in f\n2: loss 1.0\n1: RuntimeError: x\n3: loss 2"
	const padded = "00: a\n11: a\n01: b\n11: boom\n00: c\n01: d"
	const single = "0: a\n0: b\n0: c\n0: d\n0: e\n0: f\n0: g"
	const pdsh = "GPU2B1: [INFO] a\nGPU7C3: [INFO] a\nGPU7C3: boom\nGPU2B1: b\nGPU7C3: c"
	const yaml = "classes:\n  0: cat\n  1: dog\n  2: x\n  3: y\n  4: z"
	const times = "meetings\n9: 30 a\n10: 30 b\n10: 45 c\n9: 10 d"
	const interfaces = "1: lo: <LOOPBACK,UP>\n    link/loopback\n    inet 127.0.0.1\n2: eth0: <UP>\n    link/ether\n    inet 10.0.0.1"
	const layers = "layer1: ok\nlayer2: ok\nlayer1: ok\nlayer2: ok\nlayer3: ok"
	const levels = "INFO: a\nWARNING: b\nINFO: c\nWARNING: d\nINFO: e"
	const once = "text\ntext\ntext\n3: x\ntext\ntext\n4: y\ntext"
	cri := prefixed("2026-09-01T10:00:00.123456789Z stderr F ", srun)
	pods := prefixed("[pod/train-0/main] ", srun)
	journal := prefixed("Sep 01 10:00:00 n1 train[77]: ", srun)
	relay := prefixed("2026-09-01 10:00:00,123 INFO worker: ", srun)
	airflow := prefixed("[2026-09-01 10:00:00,123] INFO - ", strings.ReplaceAll(srun, "1: ", "[rank1]: "))
	const logger = "2026-09-01 10:00:00 INFO a: x\n2026-09-01 10:00:00 INFO a: x\n2026-09-01 10:00:00 INFO a: [rank1] x\nTraceback (most recent call last):\n2026-09-01 10:00:00 INFO a: x\n2026-09-01 10:00:00 INFO a: x\n2026-09-01 10:00:00 INFO a: x"
	for _, c := range []struct {
		text string
		at   int
		want string
	}{
		{srun, 6, "task 1 | Traceback (most recent call last):"},
		{srun, 7, "task 1 | File \"a.py\", line 3, in f"},
		{srun, 0, "| slurmstepd: info: hello"},
		{padded, 3, "task 11 | boom"},
		{padded, 5, "task 1 | d"},
		{single, 3, "task 0 | d"},
		{pdsh, 2, "@GPU7C3 | boom"},
		{yaml, 2, "| 1: dog"},
		{times, 2, "| 10: 30 b"},
		{interfaces, 3, "| 2: eth0: <UP>"},
		{layers, 2, "| layer1: ok"},
		{levels, 2, "| INFO: c"},
		{once, 3, "| 3: x"},
		{cri, 6, "task 1 | Traceback (most recent call last):"},
		{pods, 6, "task 1 | Traceback (most recent call last):"},
		{journal, 7, "task 1 @n1 pid=77 | File \"a.py\", line 3, in f"},
		{relay, 9, "task 1 | RuntimeError: x"},
		{relay, 0, "| slurmstepd: info: hello"},
		{airflow, 9, "global 1 | RuntimeError: x"},
		{logger, 2, "| INFO a: [rank1] x"},
		{prefixed("Sep 01 10:00:00 n1 train[77]: ", times), 2, "@n1 pid=77 | 10: 30 b"},
	} {
		msgs := New(Options{}).Frame(window(c.text, c.at))
		if len(msgs) != 1 || sayRank(msgs[0]) != c.want {
			t.Errorf("line %d of %.40q: got %s, want %s", c.at, c.text, sayRank(msgs[0]), c.want)
		}
	}
}

// prefixed is a text with the same prefix on each line.
func prefixed(prefix, text string) string {
	return prefix + strings.ReplaceAll(text, "\n", "\n"+prefix)
}

// FuzzRanks: a prefix never panics, and peeling never invents text.
func FuzzRanks(f *testing.F) {
	for _, s := range []string{"[rank3]: x", "[1,3]<stderr>:x", "(a pid=1, ip=1.2.3.4) x", "3: x\n3: y", "[2025-02-03 04:05:06 TP3] x", "node1: a\nnode2: b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for i, line := range strings.Split(s, "\n") {
			for _, m := range New(Options{}).Frame(window(s, i)) {
				if m.Off >= 0 && (m.Off+len(m.Text) > len(line) || line[m.Off:m.Off+len(m.Text)] != m.Text) {
					t.Errorf("text %q is not at %d of %q", m.Text, m.Off, line)
				}
				if (m.Rank == "") != (m.RankKind == "") || len(m.Rank) > 6 {
					t.Errorf("rank %q of kind %q", m.Rank, m.RankKind)
				}
			}
		}
	})
}

// TestErrorFile: torchrun's error file gives the lines of its call stack.
func TestErrorFile(t *testing.T) {
	const in = `{"message": {"message": "ValueError: bad", "extraInfo": {"py_callstack": "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    g()\nValueError: bad\n", "timestamp": "1700000000"}}}`
	var got []string
	for _, m := range New(Options{}).Frame(Line(in)) {
		got = append(got, m.Text)
		if m.Stamp.Time.Unix() != 1700000000 {
			t.Errorf("time %v", m.Stamp.Time)
		}
	}
	want := "Traceback (most recent call last):\nFile \"a.py\", line 3, in f\ng()\nValueError: bad"
	if strings.Join(got, "\n") != want {
		t.Errorf("got %q", got)
	}
	if m := New(Options{}).Frame(Line(`{"loss": {"message": {"a": "b"}}}`)); len(m) != 1 || m[0].Text[0] != '{' {
		t.Errorf("other objects stay: %v", m)
	}
}
