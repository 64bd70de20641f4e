package frame

import (
	"strings"
	"testing"
)

// Prefixes that nothing defines, and decorations of people and terminals.
func TestLabels(t *testing.T) {
	f := func(in, want string) { t.Helper(); checkFrame(t, in, want) }
	f(xid, "unknown | "+xid)
	f("node12: "+xid, "unknown @node12 | "+xid)
	f("node12 "+xid, "unknown @node12 | "+xid)
	f("[node12] "+xid, "unknown @node12 | "+xid)
	f("(gpu3) "+xid, "unknown @gpu3 | "+xid)
	f("gpu-node-3: "+xid, "unknown @gpu-node-3 | "+xid)
	f("node12: Feb 03 05:03:37 node12 kernel: "+xid, "kernel @node12 kernel 0000-02-03T05:03:37?year?zone | "+xid)
	f("harrow: [ 1234.567890] "+xid, "kernel @harrow +20m34.56789s | "+xid)
	f("node12: [Sat Aug 15 13:42:19 2026] "+xid, "kernel @node12 2026-08-15T13:42:19?zone | "+xid)
	f("node12: 2026-08-30T02:14:39.841145+00:00 node12 kernel: "+xid, "kernel @node12 kernel 2026-08-30T02:14:39.841145 | "+xid)
	f("/var/log/kern.log:Feb 03 05:03:37 g1 kernel: "+xid, "kernel @g1 kernel 0000-02-03T05:03:37?year?zone | "+xid)
	f("/var/log/kern.log:123:Feb 03 05:03:37 g1 kernel: "+xid, "kernel @g1 kernel 0000-02-03T05:03:37?year?zone | "+xid)
	f("messages-20260101-124-Feb 03 05:03:37 g1 kernel: "+xid, "kernel @g1 kernel 0000-02-03T05:03:37?year?zone | "+xid)
	f("dmesg.txt:"+xid, "unknown | "+xid)
	f("123:"+xid, "unknown | "+xid)
	f("0: "+xid, "unknown | "+xid)
	f("> "+xid, "unknown | "+xid)
	f("> > [ 1234.567890] "+xid, "kernel +20m34.56789s | "+xid)
	f("| [ 1234.567890] "+xid, "kernel +20m34.56789s | "+xid)
	f("- [ 1234.567890] "+xid, "kernel +20m34.56789s | "+xid)
	f("* "+xid, "unknown | "+xid)
	f("`[ 1234.567890] "+xid+"`", "kernel +20m34.56789s | "+xid)
	f("**Feb  3 05:03:37 gpu12 kernel: [ 1234.567890] "+xid+"**", "kernel @gpu12 kernel 0000-02-03T05:03:37?year?zone +20m34.56789s | "+xid)
	f("** note: "+xid, "unknown | ** note: "+xid)
	f("gpu12 login: [ 1234.567890] "+xid, "kernel @gpu12 +20m34.56789s | "+xid)
	f("2026-01-07 11:15:11.123\tJan  7 03:15:11 gpu12 kernel: "+xid, "kernel @gpu12 kernel 2026-01-07T03:15:11?year?zone | "+xid)
	f(`2026-01-07 11:15:11.100000000 +0000 kernel.gpu12: {"priority":"3","message":"Out of memory: Killed process 7"}`, "kernel kernel 2026-01-07T11:15:11.1 | Out of memory: Killed process 7")
	f("2026-01-07T11:15:11+00:00\tkubernetes.var.log.pods.t\t{\"log\":\"step 3\\n\",\"stream\":\"stderr\"}", "unknown 2026-01-07T11:15:11 | step 3")
	f(`2026-01-07 11:15:11 +0000 settings: {"message":"hello"}`, `unknown 2026-01-07T11:15:11 | settings: {"message":"hello"}`)
	f("Feb  3 05:03:37 gpu12 nvidia 0000:3b:00.0: AER: x", "unknown @gpu12 0000-02-03T05:03:37?year?zone | nvidia 0000:3b:00.0: AER: x")
	f("Feb  3 05:03:37 gpu12 mce: [Hardware Error]: x", "unknown @gpu12 0000-02-03T05:03:37?year?zone | mce: [Hardware Error]: x")
	f("Feb  3 05:03:37 gpu12 /usr/bin/nvidia-persistenced[9]: x", "service @gpu12 nvidia-persistenced[9] 0000-02-03T05:03:37?year?zone | x")
	f("\t    "+xid, "unknown | "+xid)
	f("2026-01-07 03:15:11 "+xid, "unknown 2026-01-07T03:15:11?zone | "+xid)
	f("2026-01-07 03:15:11 node12 "+xid, "unknown @node12 2026-01-07T03:15:11?zone | "+xid)
	f("2026/01/07 03:15:11 node12: "+xid, "unknown @node12 2026-01-07T03:15:11?zone | "+xid)
	f("1767755830.5 node12 "+xid, "unknown @node12 2026-01-07T03:17:10.5 | "+xid)
	f("[2026-01-07T03:15:11.123] "+xid, "unknown 2026-01-07T03:15:11.123?zone | "+xid)
	f("03:15:11 node12 "+xid, "unknown @node12 | "+xid)
	f("node12 kernel: "+xid, "kernel @node12 kernel | "+xid)
	// Words of pdsh that only the neighbours confirm.
	checkWindow(t, "harrow: "+xid+"\nharrow: NVRM: GPU at PCI:0000:3b:00", 0, "unknown @harrow | "+xid)
	f("harrow: "+xid, "unknown | harrow: "+xid)
	checkWindow(t, "[09:15] bob: "+xid+"\n[09:15] bob: "+xid, 0, "unknown | [09:15] bob: "+xid)
}

// Bare messages in comments and handbooks are words about the kernel's; those of a
// report are a log that lost its framing.
func TestBareQuotes(t *testing.T) {
	const oom = "Out of memory: Killed process 77 (train) total-vm:9kB, anon-rss:8kB"
	f := func(above, line, want string) {
		t.Helper()
		n := strings.Count(above, "\n")
		checkWindow(t, above+line, n, want)
	}
	f("/*\n * What the kernel prints:\n", " * "+oom, "service | "+oom)
	f("int x;\n", "// "+oom, "service | "+oom)
	f("/* seen in the field\n", "   "+oom, "service | "+oom)
	f("/* done */\n", oom, "unknown | "+oom)
	f("* first point\n", "* "+xid, "unknown | "+xid)
	f("If dmesg has this line, the card is gone:\n\n", "    "+xid, "service | "+xid)
	f("如果内核日志出现：\n```\n", xid, "service | "+xid)
	f("内核日志如下：\n", xid, "unknown | "+xid)
	f("We see many errors, for example:\n", xid, "unknown | "+xid)
	f("If dmesg has this line, the card is gone:\n", "[ 1234.567890] "+xid, "kernel +20m34.56789s | "+xid)
}

// Who quotes the kernel is not the kernel, and keeps his line whole.
func TestQuotesStayWhole(t *testing.T) {
	for _, in := range []string{
		"type=EXECVE msg=audit(1718871000.101:9): argc=3 a0=\"grep\" a1=\"" + xid + "\"",
		"soak : TTY=unknown ; PWD=/ ; USER=root ; COMMAND=/usr/bin/grep NVRM: Xid (PCI:0000:30:00): 79",
		"Invoked with _raw_params=dmesg | grep -i 'NVRM: Xid (PCI:0000:30:00): 79' _uses_shell=True",
		"$ dmesg | grep NVRM: Xid (PCI:0000:30:00): 79",
		"root@gpu12:~# echo " + xid,
		"+ echo " + xid,
		"we saw NVRM: Xid (PCI:0000:30:00): 79 on three nodes",
		"Hi all, NVRM: Xid (PCI:0000:30:00): 79 what is it?",
		"<alice> " + xid,
		"alice: " + xid,
		"alice  3:15 PM " + xid,
		"error: " + xid,
		"python3[42]: " + xid,
		"xid-exporter: " + xid,
		"2026-01-07 03:15:11 [WARN] " + xid,
		"2026-01-07 03:15:11,123 - monitor - ERROR - " + xid,
		"2026-01-07 03:15:11 INFO xid_watch.py:33 " + xid,
		"2026-01-07T03:15:11Z gpu-health: " + xid,
		"node12 had " + xid,
		"node12 reports " + xid,
		" 1021  dmesg | grep " + xid,
		"gpu-monitor-2: " + xid,
		"node-problem-detector: " + xid,
		"I got [ 1234.567890] " + xid,
		"matched pattern \"NVRM: Xid\" in " + xid,
		"msg=" + xid,
		"description: " + xid,
		"sudo: " + xid,
		`time="2026-08-21T09:02:12Z" level=info msg="` + xid + `"`,
		`{"level":"warn","pattern":"` + xid + `"}`,
		"E0830 02:15:04.392088    3473 xid.go:1] " + xid,
		"see kernel: [ 1.500000] " + xid + " above",
	} {
		for _, m := range New(Options{}).Frame(Line(in)) {
			if m.Origin == Kernel || strings.HasPrefix(m.Text, "NVRM:") {
				t.Errorf("frame %q: %v, %q", in, m.Origin, m.Text)
			}
		}
	}
	// The same with a writer named.
	f := func(in, want string) { t.Helper(); checkFrame(t, in, want) }
	f("Aug 21 09:01:01 n4 sudo[60426]: soak : COMMAND=/usr/bin/sh -c dmesg | grep 'NVRM: Xid'", "service @n4 sudo[60426] 0000-08-21T09:01:01?year?zone | soak : COMMAND=/usr/bin/sh -c dmesg | grep 'NVRM: Xid'")
	f("Aug 21 09:01:01 n4 ansible-ansible.legacy.command[123]: Invoked with "+xid, "service @n4 ansible-ansible.legacy.command[123] 0000-08-21T09:01:01?year?zone | Invoked with "+xid)
	f("Aug 21 09:01:01 n4 audit[1]: EXECVE argc=3 a0=\"grep\"", "service @n4 audit[1] 0000-08-21T09:01:01?year?zone | EXECVE argc=3 a0=\"grep\"")
	f("Aug 21 09:01:01 n4 python3[42]: [ 1234.567890] "+xid, "service @n4 python3[42] 0000-08-21T09:01:01?year?zone | [ 1234.567890] "+xid)
	f("Aug 21 09:01:01 n4 python3[42]: kernel: "+xid, "service @n4 python3[42] 0000-08-21T09:01:01?year?zone | kernel: "+xid)
	f("Jan  7 03:15:11 gpu12 root: "+xid, "service @gpu12 root 0000-01-07T03:15:11?year?zone | "+xid)
	f("Aug 21 09:01:01 n4 node-problem-detector: "+xid, "service @n4 node-problem-detector 0000-08-21T09:01:01?year?zone | "+xid)
	f("Aug 21 09:01:01 n4 kernel: audit: type=1309 audit(1787302860.664:8800): argc=3 a0=\"grep\" a1=\"xid\"",
		"kernel @n4 kernel 2026-08-21T09:01:01?year?zone | audit: type=1309 audit(1787302860.664:8800): argc=3 a0=\"grep\" a1=\"xid\"")
}

// Lines of jobs keep what their readers need: levels, klog headers. Ranks come off.
func TestJobLines(t *testing.T) {
	f := func(in, want string) { t.Helper(); checkFrame(t, in, want) }
	f("[rank1]: Traceback (most recent call last):", "unknown | Traceback (most recent call last):")
	f("[rank1]:[E1201 02:01:13.367000000 ProcessGroupNCCL.cpp:616] Watchdog", "unknown 0000-12-01T02:01:13.367?year?zone | [E1201 02:01:13.367000000 ProcessGroupNCCL.cpp:616] Watchdog")
	f("W1201 02:01:13.367000 1051 torch/distributed/run.py:851] ***", "unknown 0000-12-01T02:01:13.367?year?zone | W1201 02:01:13.367000 1051 torch/distributed/run.py:851] ***")
	f("[default0]:[2024-07-12 14:02:03,675] [INFO] text", "unknown 2024-07-12T14:02:03.675?zone | [INFO] text")
	f("2026-12-01 01:59:05,306 INFO train: step 0 loss 1.6", "unknown 2026-12-01T01:59:05.306?zone | INFO train: step 0 loss 1.6")
	f("2026-04-21 02:04:11 | INFO | root | [rank 1] parameters", "unknown 2026-04-21T02:04:11?zone | | INFO | root | [rank 1] parameters")
	f("ERROR 04-09 02:16:56 [engine.py:160] torch.OutOfMemoryError", "unknown 0000-04-09T02:16:56?year?zone | ERROR 04-09 02:16:56 [engine.py:160] torch.OutOfMemoryError")
	f("[11/02/2023-10:18:00] [TRT-LLM] [I] Serially build", "unknown 2023-11-02T10:18:00?zone | [TRT-LLM] [I] Serially build")
	f("[2026-04-19 06:12:44] ci-7:118702:118921 [0] misc/shmutils.cc:132 NCCL WARN Error", "unknown 2026-04-19T06:12:44?zone | ci-7:118702:118921 [0] misc/shmutils.cc:132 NCCL WARN Error")
	f("slurmstepd: error: Detected 1 oom_kill event", "unknown | slurmstepd: error: Detected 1 oom_kill event")
	f("[2026-01-07T03:15:11.123] error: Node n1 not responding", "unknown 2026-01-07T03:15:11.123?zone | error: Node n1 not responding")
	f("[Jan 07 2026 03:15:11] [ERROR] [tid 1234] failed", "unknown 2026-01-07T03:15:11?zone | [ERROR] [tid 1234] failed")
	f("Wed Jan  7 03:15:11 2026       ", "unknown 2026-01-07T03:15:11?zone | Wed Jan  7 03:15:11 2026")
	f("Timestamp                                 : Sat Aug 15 14:02:51 2026", "unknown 2026-08-15T14:02:51?zone | Timestamp                                 : Sat Aug 15 14:02:51 2026")
	f("|   0  NVIDIA H100 80GB HBM3          On  | 00000000:3B:00.0 Off |                    0 |", "unknown | |   0  NVIDIA H100 80GB HBM3          On  | 00000000:3B:00.0 Off |                    0 |")
	f("0, 00000000:8A:00.0, 99 %, 5, 5, 16, 16, P1", "unknown | 0, 00000000:8A:00.0, 99 %, 5, 5, 16, 16, P1")
	f("(EngineCore_0 pid=512399) ERROR fatal", "unknown[512399] | ERROR fatal")
	f("Epoch 0:   5%|          | 300/5200 [02:16<37:07,  2.20it/s]", "unknown | Epoch 0:   5%|          | 300/5200 [02:16<37:07,  2.20it/s]")
}

func TestTerminals(t *testing.T) {
	f := func(in, want string) { t.Helper(); checkFrame(t, in, want) }
	f("\x1b[32m[ 1234.567890] \x1b[0m\x1b[33mNVRM: \x1b[0mXid (PCI:0000:3b:00): 79\x1b[0m", "kernel +20m34.56789s | NVRM: Xid (PCI:0000:3b:00): 79")
	f("\x1b[32m[ 1234.567890] \x1b[0m"+xid, "kernel +20m34.56789s | "+xid)
	f("^[[32m[ 1234.567890] ^[[0m"+xid, "kernel +20m34.56789s | "+xid)
	f("[32m[ 1234.567890] [0m"+xid, "kernel +20m34.56789s | "+xid)
	f("\x1b]0;title\x07[ 1234.567890] "+xid, "kernel +20m34.56789s | "+xid)
	f("[ 1234.567890] "+xid+"\r", "kernel +20m34.56789s | "+xid)
	f("\x00\x00[ 1234.567890] NV\x00RM: x\x00", "kernel +20m34.56789s | NVRM: x")
	f("\ufeff[ 1234.567890] "+xid, "kernel +20m34.56789s | "+xid)
	f("[ 1234.567890] NVRM: \xff\xfe bad", "kernel +20m34.56789s | NVRM: \xff\xfe bad")
	checkFrame(t, "\r 10%|#\r 20%|##\r[ 1234.567890] "+xid, "unknown | 10%|#", "unknown | 20%|##", "kernel +20m34.56789s | "+xid)
}

func TestContinuation(t *testing.T) {
	j := "Feb 03 05:03:37 g1 kernel: NVRM: The NVIDIA GPU 0000:3b:00.0\n" +
		"                           NVRM: (PCI ID: 10de:26b5) installed in this system has\n" +
		"                           NVRM: fallen off the bus\nNVRM: bare\n\n   NVRM: after a gap"
	checkWindow(t, j, 1, "kernel @g1 kernel 0000-02-03T05:03:37?year?zone | NVRM: (PCI ID: 10de:26b5) installed in this system has")
	checkWindow(t, j, 2, "kernel @g1 kernel 0000-02-03T05:03:37?year?zone | NVRM: fallen off the bus")
	checkWindow(t, j, 5, "unknown | NVRM: after a gap")
	d := "[ 12.500000] NVRM: The NVIDIA GPU 0000:3b:00.0\nNVRM: (PCI ID: 10de:26b5)\nNVRM: fallen off the bus\nplain"
	checkWindow(t, d, 1, "kernel +12.5s | NVRM: (PCI ID: 10de:26b5)")
	checkWindow(t, d, 2, "kernel +12.5s | NVRM: fallen off the bus")
	checkWindow(t, d, 3, "unknown | plain")
	s := "Feb 03 05:03:37 g1 python3[7]: NVRM: quoted\n        NVRM: quoted too"
	checkWindow(t, s, 1, "unknown | NVRM: quoted too")
}

func TestOptions(t *testing.T) {
	got := New(Options{Host: "g9", Origin: Kernel}).Frame(Line(xid))
	if want := "kernel @g9 | " + xid; say(got[0]) != want {
		t.Errorf("got %s, want %s", say(got[0]), want)
	}
	got = New(Options{Host: "g9", Origin: Kernel}).Frame(Line("Aug 21 09:01:01 n4 sudo[1]: x"))
	if got[0].Host != "n4" || got[0].Origin != Service {
		t.Errorf("got %s", say(got[0]))
	}
}

// Answers of Loki, whole and in pieces.
func TestLoki(t *testing.T) {
	f := func(in, want string) { t.Helper(); checkFrame(t, in, want) }
	f(`["1767755830500000000","`+xid+`"]]}`, "unknown 2026-01-07T03:17:10.5 | "+xid)
	f(`  ["1767755830500000000", "`+xid+`"],`, "unknown 2026-01-07T03:17:10.5 | "+xid)
	f(`["1767755830500000000","Feb 03 05:03:37 g1 kernel: `+xid+`"]]}]}}`, "kernel @g1 kernel 2026-02-03T05:03:37?year?zone | "+xid)
	f(`["17677558","`+xid+`"]`, `unknown | ["17677558","`+xid+`"]`)
	f(`2026-01-07T03:15:11Z {job="kern", node="g7:9100"} `+xid, "unknown @g7 2026-01-07T03:15:11 | "+xid)
	checkWindow(t, "[\n\"1767755830500000000\",\n\""+xid+"\"\n]", 2, "unknown 2026-01-07T03:17:10.5 | "+xid)
	checkWindow(t, "[\n\"another\",\n\""+xid+"\"\n]", 2, "unknown | \""+xid+"\"")
}
