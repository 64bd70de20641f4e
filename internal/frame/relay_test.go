package frame

import (
	"strings"
	"testing"
)

// What log shippers, cloud loggers, exports and web pages make of a kernel line.
func TestRelays(t *testing.T) {
	f := func(in string, want ...string) { t.Helper(); checkFrame(t, in, want...) }
	// Talos.
	f("10.5.0.2: kern: warning: [2026-06-07T19:46:55.169268123Z]: "+xid, "kernel @10.5.0.2 2026-06-07T19:46:55.169268123 | "+xid)
	f("worker-3: kern:     err: [2026-06-07T19:46:55.169268123Z]: "+xid, "kernel @worker-3 2026-06-07T19:46:55.169268123 | "+xid)
	f("kern: warning: [2026-06-07T19:46:55.16Z]: "+xid, "kernel 2026-06-07T19:46:55.16 | "+xid)
	f("fd00::2: kern:    info: [2026-06-07T19:46:55.16Z]: NVRM: a", "kernel @fd00::2 2026-06-07T19:46:55.16 | NVRM: a")
	f("10.5.0.2: user: warning: [2026-06-07T19:46:55.16Z]: [talos] "+xid, "service @10.5.0.2 2026-06-07T19:46:55.16 | [talos] "+xid)
	f("10.5.0.2: daemon: info: [2026-06-07T19:46:55.16Z]: udevd[7]: starting", "service @10.5.0.2 udevd[7] 2026-06-07T19:46:55.16 | starting")
	// Facility and level in words.
	f("kernel:warn: [ 1234.567890] "+xid, "kernel kernel +20m34.56789s | "+xid)
	f("Feb  3 05:03:37 g1 kernel: err: [ 1234.567890] "+xid, "kernel @g1 kernel 0000-02-03T05:03:37?year?zone +20m34.56789s | "+xid)
	f("kern.warn: [ 1234.567890] "+xid, "kernel +20m34.56789s | "+xid)
	// JSON, the message at any depth.
	f(`{"insertId":"a","textPayload":"`+xid+`","timestamp":"2026-07-01T10:16:00Z"}`, "unknown 2026-07-01T10:16:00 | "+xid)
	f(`{"insertId":"a","jsonPayload":{"message":"`+xid+`","hostname":"n1"},"timestamp":"2026-07-01T10:16:00Z"}`, "unknown @n1 2026-07-01T10:16:00 | "+xid)
	f(`{"jsonPayload":{"MESSAGE":"`+xid+`","SYSLOG_IDENTIFIER":"kernel","_HOSTNAME":"n1"},"resource":{"type":"k8s_node","labels":{"node_name":"n1"}},"timestamp":"2026-07-01T10:16:00Z"}`,
		"kernel @n1 kernel 2026-07-01T10:16:00 | "+xid)
	f(`{"jsonPayload":{"MESSAGE":"`+xid+`","SYSLOG_IDENTIFIER":"sudo","_HOSTNAME":"n1"},"timestamp":"2026-07-01T10:16:00Z"}`, "service @n1 sudo 2026-07-01T10:16:00 | "+xid)
	f(`{"line":"[ 1234.567890] `+xid+`"}`, "kernel +20m34.56789s | "+xid)
	f(`{"labels":{"host":"n2","transport":"kernel"},"line":"`+xid+`","timestamp":"2026-07-01T10:16:00Z"}`, "unknown @n2 2026-07-01T10:16:00 | "+xid)
	f(`{"_index":"logs","_source":{"@timestamp":"2026-07-01T10:16:00Z","host":{"name":"n3"},"log":{"syslog":{"appname":"kernel"}},"message":"`+xid+`"}}`,
		"kernel @n3 kernel 2026-07-01T10:16:00 | "+xid)
	f(`{"preview":false,"result":{"_raw":"Feb  3 05:03:37 g1 kernel: [ 12.500000] `+xid+`"}}`, "kernel @g1 kernel 0000-02-03T05:03:37?year?zone +12.5s | "+xid)
	f(`{"body":{"stringValue":"<4>[ 12.500000] `+xid+`"},"timeUnixNano":"1"}`, "kernel +12.5s | "+xid)
	f(`{"message":"{\"line\":\"`+xid+`\"}","time":"2026-07-01T10:16:00Z"}`, "unknown 2026-07-01T10:16:00 | "+xid)
	f(`[{"timestamp":"2026-07-01T10:16:00Z","textPayload":"`+xid+`"}]`, "unknown 2026-07-01T10:16:00 | "+xid)
	f(`{"log_events":[{"message":"`+xid+`"},{"message":"[ 2.500000] NVRM: b"}]}`, "unknown | "+xid, "kernel +2.5s | NVRM: b")
	f(`{"streams":[{"stream":{"host":"n1"},"values":[["1782900960000000000","`+xid+`"],["1782900961000000000","[ 2.500000] NVRM: b"]]}]}`,
		"unknown @n1 2026-07-01T10:16:00 | "+xid, "kernel @n1 2026-07-01T10:16:00 +2.5s | NVRM: b")
	// gpud and others quote the line that they report in a field of its own.
	f(`{"level":"warn","ts":"2026-08-30T15:38:16Z","caller":"diagnose/scan.go:145","msg":"known xid","line":"[Fri Aug 28 11:43:09 2026] `+xid+`"}`,
		"unknown 2026-08-30T15:38:16 | known xid", "kernel 2026-08-28T11:43:09?zone | "+xid)
	// logfmt of a shipper that says where it read.
	f(`ts=2026-07-01T10:16:00Z level=warn job=systemd-journal host=n4 msg="`+xid+`"`, "unknown @n4 2026-07-01T10:16:00 | "+xid)
	f(`time=2026-07-01T10:16:00Z syslog_identifier=kernel hostname=n4 message="[ 12.500000] `+xid+`"`, "kernel @n4 kernel 2026-07-01T10:16:00 +12.5s | "+xid)
	f(`filename=/var/log/kern.log line="Feb  3 05:03:37 g1 kernel: [ 12.500000] `+xid+`"`, "kernel @g1 kernel 0000-02-03T05:03:37?year?zone +12.5s | "+xid)
	// Tables.
	f(`2026-07-01 10:16:00,lynx4,kernel,warning,"`+xid+`"`, "kernel @lynx4 kernel 2026-07-01T10:16:00?zone | "+xid)
	f(`"2026-07-01T10:16:00Z","lynx4","`+xid+`"`, "unknown @lynx4 2026-07-01T10:16:00 | "+xid)
	f(`2026-07-01 10:16:00,lynx4,kernel,`+xid, "kernel @lynx4 kernel 2026-07-01T10:16:00?zone | "+xid)
	f("2026-07-01T10:16:00Z\tlynx4\tkernel\t"+xid, "kernel @lynx4 kernel 2026-07-01T10:16:00 | "+xid)
	f(`lynx4,kernel,"[ 12.500000] NVRM: a ""quoted"" word"`, `kernel @lynx4 kernel +12.5s | NVRM: a "quoted" word`)
	// Web pages.
	f("&gt; [ 1234.567890] "+xid, "kernel +20m34.56789s | "+xid)
	f("[ 1234.567890] NVRM: Xid (PCI:0000:3b:00): 48, pid=&#39;&lt;unknown&gt;&#39;, name=&lt;unknown&gt;, x", "kernel +20m34.56789s | NVRM: Xid (PCI:0000:3b:00): 48, pid='<unknown>', name=<unknown>, x")
	f("<pre>[ 1234.567890] "+xid+"</pre>", "kernel +20m34.56789s | "+xid)
	f(`<td class="log"><code>[ 1234.567890] `+xid+`</code></td>`, "kernel +20m34.56789s | "+xid)
	// A record over several lines.
	pretty := "{\n  \"insertId\": \"a\",\n  \"jsonPayload\": {\n    \"hostname\": \"n1\",\n    \"message\": \"" + xid + "\"\n  },\n}"
	checkWindow(t, pretty, 4, "unknown @n1 | "+xid)
}

// The same forms around somebody's words.
func TestRelaysOfQuotes(t *testing.T) {
	for _, in := range []string{
		`{"role":"user","content":"` + xid + `"}`,
		`{"author":"alice","timestamp":"2026-07-01T10:16:00Z","content":"` + xid + `"}`,
		`{"messages":[{"role":"user","content":"` + xid + `"}]}`,
		`{"username":"bob","message":"` + xid + `","time":"2026-07-01T10:16:00Z"}`,
		`{"time":"2026-07-01T10:16:00Z","cmd":"grep","args":"-c ` + xid + `"}`,
		`ts=2026-07-01T10:16:00Z level=error component=xid-watch msg="` + xid + `"`,
		`ts=2026-07-01T10:16:00Z job=systemd-journal ident=sudo msg="` + xid + `"`,
		`ts=2026-07-01T10:16:00Z job=journal msg="COMMAND=grep ` + xid + `"`,
		`2026-07-01 10:16:00,alice,"` + xid + `"`,
		`2026-07-01 10:16:00,xid-exporter,"` + xid + `"`,
		`2026-07-01 10:16:00,n4,sudo,"` + xid + `"`,
		`2026-07-01 10:16:00,n4,kernel,"we saw ` + xid + `"`,
		`what is this,"` + xid + `"`,
		`<li>` + xid + `</li>`,
		`<p>We saw ` + xid + `</p>`,
		`We saw &quot;` + xid + `&quot;`,
		"sudo: kern: warning: " + xid,
		"10.5.0.2: user: warning: [2026-06-07T19:46:55.16Z]: " + xid,
	} {
		for _, m := range New(Options{}).Frame(Line(in)) {
			if m.Origin == Kernel || m.Origin != Service && strings.HasPrefix(m.Text, "NVRM:") {
				t.Errorf("frame %q: %v, %q", in, m.Origin, m.Text)
			}
		}
	}
}
