package frame

import "testing"

// What grep puts before a line comes off, whatever framing follows.
func TestSearchPrefixes(t *testing.T) {
	f := func(in, want string) { t.Helper(); checkFrame(t, in, want) }
	const syslog = "kernel @g1 kernel 0000-02-03T05:03:37?year?zone | " + xid
	f("16:Feb 03 05:03:37 g1 kernel: "+xid, syslog)
	f("16-Feb 03 05:03:37 g1 kernel: "+xid, syslog)
	f("kern.log:16:Feb 03 05:03:37 g1 kernel: "+xid, syslog)
	f("n3/kern.log.1:Feb 03 05:03:37 g1 kernel: "+xid, syslog)
	f("16:kern  :err   : [ 1234.567890] "+xid, "kernel +20m34.56789s | "+xid)
	f("dmesg.txt:kern  :err   : [ 1234.567890] "+xid, "kernel +20m34.56789s | "+xid)
	f("dmesg.txt:7-kern  :err   : [ 1234.567890] "+xid, "kernel +20m34.56789s | "+xid)
	f("talos.log:10.5.0.2: kern: warning: [2026-06-07T19:46:55.169268123Z]: "+xid, "kernel @10.5.0.2 2026-06-07T19:46:55.169268123 | "+xid)
	f("2026-06-07T19:46:56Z 10.5.0.2: kern: warning: [2026-06-07T19:46:55.169268123Z]: "+xid, "kernel @10.5.0.2 2026-06-07T19:46:55.169268123 | "+xid)
	f(`16:{"log":"`+xid+`\n","stream":"stderr","time":"2026-08-17T16:02:09Z"}`, "unknown 2026-08-17T16:02:09 | "+xid)
	// A neighbour with the next number, or the same file, confirms what has no framing.
	checkWindow(t, "7:epoch one\n8:epoch two", 0, "unknown | epoch one")
	checkWindow(t, "out/rank0.log:epoch one\nout/rank0.log:epoch two", 1, "unknown | epoch two")
	// Near misses: an enumeration, a ratio, a compiler's message, a lone line.
	checkWindow(t, "7: epoch one\n8: epoch two", 0, "unknown | 7: epoch one")
	checkWindow(t, "src/a.cu:12: error\nsrc/a.cu:13: error", 0, "unknown | src/a.cu:12: error")
	checkWindow(t, "7:epoch one\n10:epoch two", 0, "unknown | 7:epoch one")
	f("7:epoch one", "unknown | 7:epoch one")
	f("16:saw "+xid, "unknown | 16:saw "+xid)
}

// Blanks that do not break and signs that a page escaped are what they stand for.
func TestPageText(t *testing.T) {
	f := func(in, want string) { t.Helper(); checkFrame(t, in, want) }
	f("[\u00a01234.567890]\u00a0NVRM:\u00a0GPU\u00a0at PCI:0000:3b:00", "kernel +20m34.56789s | NVRM: GPU at PCI:0000:3b:00")
	f("[ 1234.567890] vfio: can&#x27;t reserve", "kernel +20m34.56789s | vfio: can't reserve")
	f("NVRM: can&#39;t &amp; won&apos;t", "unknown | NVRM: can't & won't")
	f("fetch ?a=1&amplitude=2", "unknown | fetch ?a=1&amplitude=2")
}

// A tool's line keeps its own indentation behind the prefixes of collectors.
func TestToolLines(t *testing.T) {
	f := func(text string, at int, want string, ok bool) {
		t.Helper()
		got, is := New(Options{}).Tool(window(text, at))
		if is != ok || got.Text != want {
			t.Errorf("tool line %d of %q\n got  %q %v\n want %q %v", at, text, got.Text, is, want, ok)
		}
	}
	f("> GPU 0", 0, " GPU 0", true)
	f(">     Current : 1", 0, "     Current : 1", true)
	f("svc-1  |     Current : 1", 0, "     Current : 1", true)
	f("2026-07-01T10:00:00.5Z     Current : 1", 0, "     Current : 1", true)
	f("2026-07-01T10:00:00.5Z ", 0, "", true)
	f("2026-07-01T10:00:00.5Z stdout F     Current : 1", 0, "    Current : 1", true)
	f(`{"log":"    Current : 1\n","stream":"stdout","time":"2026-07-01T10:00:00Z"}`, 0, "    Current : 1", true)
	f(`{"log":"2026/07/01 10:00:00.1, 0, 35\n","stream":"stdout","time":"2026-07-01T10:00:00Z"}`, 0, "2026/07/01 10:00:00.1, 0, 35", true)
	f("a.log:GPU 0\na.log:    Current : 1", 1, "    Current : 1", true)
	f("a.log:00:02.0 VGA\na.log:00:03.0 VGA", 0, "00:02.0 VGA", true)
	f("8:00:02.0 VGA\n9:00:03.0 VGA", 0, "00:02.0 VGA", true)
	f("GPU 0: Tesla", 0, "", false)
	f("2026/07/01 10:00:00.1, 0, 35", 0, "", false)
	f("Feb 03 05:03:37 g1 kernel: GPU 0: x", 0, "", false)
}

// What stands before a quoted message is told from framing of a form not known.
func TestIsFraming(t *testing.T) {
	for _, s := range []string{"", "> ", "[12/03/2026|09:15:57] ", "9:15.57,123 vrx7 kernel ", "#1"[1:] + ") ", "<E> n3.lab ERR: "} {
		if !IsFraming(s) {
			t.Errorf("%q is no framing", s)
		}
	}
	for _, s := range []string{"bob: ", "[09:15] bob: ", "saw ", "12 times: ", "grep -c ", "a1=\"", "- pattern: '", "audit: type=1309 ", "gpu-agent[3]: ", "看到 ", "`", "$ dmesg | "} {
		if IsFraming(s) {
			t.Errorf("%q is framing", s)
		}
	}
}
