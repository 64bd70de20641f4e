package scan

import (
	"fmt"
	"strings"
	"testing"
)

// collectors are what stands before the lines of a report on its way to a log.
var collectors = map[string]func(n int, line string) string{
	"quoted":  func(_ int, l string) string { return "> " + l },
	"compose": func(_ int, l string) string { return "svc-1  | " + l },
	"pdsh":    func(_ int, l string) string { return "node12: " + l },
	"kubectl": func(n int, l string) string { return fmt.Sprintf("2026-07-01T10:00:%02d.5Z %s", n%60, l) },
	"grep -H": func(_ int, l string) string { return "n3/job.log:" + l },
	"grep -n": func(n int, l string) string { return fmt.Sprintf("%d:%s", n+1, l) },
	"json-file": func(n int, l string) string {
		return fmt.Sprintf(`{"log":%q,"stream":"stdout","time":"2026-07-01T10:00:%02dZ"}`, l+"\n", n%60)
	},
	"cloud": func(n int, l string) string {
		return fmt.Sprintf(`{"textPayload":%q,"timestamp":"2026-07-01T10:00:%02dZ"}`, l, n%60)
	},
	"no-break": func(_ int, l string) string { return strings.ReplaceAll(l, " ", "\u00a0") },
}

const wrappedReport = `$ nvidia-smi -q -d PAGE_RETIREMENT

==============NVSMI LOG==============

Timestamp                                 : Wed Mar 23 17:02:11 2022
Driver Version                            : 470.82.01
CUDA Version                              : 11.4

Attached GPUs                             : 2
GPU 00000001:00:00.0
    Retired Pages
        Single Bit ECC                    : 0
        Double Bit ECC                    : 0
        Pending Page Blacklist            : No

GPU 00000002:00:00.0
    Retired Pages
        Single Bit ECC                    : 0
        Double Bit ECC                    : 1
        Pending Page Blacklist            : Yes
`

const wrappedTable = `index, pci.bus_id, utilization.gpu [%], clocks_throttle_reasons.hw_slowdown, clocks_throttle_reasons.hw_power_brake_slowdown
0, 00000000:3B:00.0, 100 %, Active, Active
1, 00000000:AF:00.0, 100 %, Not Active, Not Active
2, 00000000:B0:00.0, 100 %, Not Active, Not Active
3, 00000000:B1:00.0, 100 %, Not Active, Not Active
4, 00000000:B2:00.0, 100 %, Not Active, Not Active
5, 00000000:B3:00.0, 100 %, Not Active, Not Active
6, 00000000:B4:00.0, 100 %, Not Active, Not Active
`

// A report says the same behind the prefixes of collectors as it does alone.
func TestWrappedReports(t *testing.T) {
	s, _ := embedded(t)
	said := func(text string) string {
		var out []string
		for _, sig := range scanText(t, s, text, Options{}).Signals {
			out = append(out, fmt.Sprintf("%s %s line %d", sig.Kind, sig.Subject.GPU, sig.Evidence.Line))
		}
		return strings.Join(out, "\n")
	}
	for _, report := range []string{wrappedReport, wrappedTable} {
		want := said(report)
		if want == "" {
			t.Fatalf("the report says nothing:\n%s", report)
		}
		for name, wrap := range collectors {
			lines := strings.Split(strings.TrimSuffix(report, "\n"), "\n")
			for i, l := range lines {
				lines[i] = wrap(i, l)
			}
			if got := said(strings.Join(lines, "\n") + "\n"); got != want {
				t.Errorf("%s\n got  %s\n want %s", name, got, want)
			}
		}
	}
}

// The evidence of a wrapped report is the line as it stands.
func TestWrappedEvidence(t *testing.T) {
	s, _ := embedded(t)
	text := "svc-1  | " + strings.ReplaceAll(wrappedTable, "\n", "\nsvc-1  | ")
	for _, sig := range scanText(t, s, text, Options{}).Signals {
		if line := strings.Split(text, "\n")[sig.Evidence.Line-1]; sig.Evidence.Text != line {
			t.Errorf("%s: evidence %q, line %q", sig.Kind, sig.Evidence.Text, line)
		}
	}
}

// A driver's report in a line that no matcher can read is not passed over; a quote of
// one is.
func TestUnreadReports(t *testing.T) {
	s, _ := embedded(t)
	const report = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
	count := func(text string) (unread, xid int) {
		for _, sig := range scanText(t, s, text+"\n", Options{}).Signals {
			switch {
			case sig.Kind == unreadKind:
				unread++
			case strings.HasPrefix(sig.Kind, "xid."):
				xid++
			}
		}
		return unread, xid
	}
	for _, text := range []string{
		"(12|03|2026) 09.15.57 vrx7 kernel ERR " + report,
		"<E> 09h15 n3.lab kernel ERR " + report,
		"NVRM: Xid (PCI:0000:3b:00 GPU-Q:0x1): 79, GPU has fallen off the bus.",
		"9.15 n3 kernel ERR nvidia-nvswitch0: SXid (PCI:0000:86:00.0): 20034, Fatal, Link 31 LTSSM Fault Up",
	} {
		if unread, xid := count(text); unread != 1 || xid != 0 {
			t.Errorf("%q: %d unread, %d xid", text, unread, xid)
		}
	}
	for _, text := range []string{
		`Aug 21 09:01:00 n4 kernel: audit: type=1309 audit(1787302860.664:8800): argc=3 a0="grep" a1="` + report + `"`,
		"Aug 21 09:01:01 n4 sudo[60426]: soak : TTY=unknown ; PWD=/ ; USER=root ; COMMAND=/usr/bin/grep " + report,
		"Aug 21 09:01:01 n4 python3[77]: ansible-command Invoked with _raw_params=dmesg | grep " + report,
		"Aug 21 09:01:01 n4 relay[77]: " + report,
		"$ dmesg | grep '" + report + "'",
		"[09:15] bob: " + report,
		"<bob> do you know " + report,
		"昨天看到 " + report,
		"2026-08-21 09:01:01 INFO pattern " + report,
		"NVRM: Xid (PCI:0000:3b:00): %d, GPU",
	} {
		if unread, xid := count(text); unread != 0 || xid != 0 {
			t.Errorf("quote %q: %d unread, %d xid", text, unread, xid)
		}
	}
	if unread, xid := count("16:Mar 11 09:15:57 vrx7 kernel: " + report); unread != 0 || xid != 1 {
		t.Errorf("grep -n: %d unread, %d xid", unread, xid)
	}
}

// What a logger escaped or joined is read as its writer had it.
func TestChangedForms(t *testing.T) {
	s, _ := embedded(t)
	f := func(text, kind string, want bool) {
		t.Helper()
		got := false
		for _, sig := range scanText(t, s, text+"\n", Options{}).Signals {
			got = got || sig.Kind == kind
			if m := sig.Evidence.Mark; m[0] < 0 || m[1] > len(sig.Evidence.Text) || m[0] > m[1] {
				t.Errorf("%q: mark %v", text, m)
			}
		}
		if got != want {
			t.Errorf("%q: %s is %v, want %v", text, kind, got, want)
		}
	}
	const hook = `Mar 11 09:17:13 n1 dockerd[1301]: level=error msg="OCI runtime create failed: exec: \"nvidia-container-runtime-hook\": executable file not found in $PATH: unknown"`
	f(hook, "container.docker_unknown_runtime", true)
	f(strings.ReplaceAll(hook, "nvidia-container-runtime-hook", "nvidia-container-runtime-hooks"), "container.docker_unknown_runtime", false)
	const open = "<4>1 2026-05-11T19:29:44Z n1 kernel - - - NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2b85)"
	f(open+"          NVRM: installed in this system requires use of the NVIDIA open kernel modules.", "nvrm.open_module_required", true)
	f(open+"#012          NVRM: installed in this system requires use of the NVIDIA open kernel modules.", "nvrm.open_module_required", true)
	f(open+"          NVRM: installed in this system is supported.", "nvrm.open_module_required", false)
}
