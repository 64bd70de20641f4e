package frame

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic"
)

// say writes a message in one line: origin, host, identifier, pod, time, repeat and
// text. Only what is set appears.
func say(m Message) string {
	var b strings.Builder
	b.WriteString(m.Origin.String())
	if m.Host != "" {
		b.WriteString(" @" + m.Host)
	}
	if m.Ident != "" {
		b.WriteString(" " + m.Ident)
	}
	if m.PID != 0 {
		fmt.Fprintf(&b, "[%d]", m.PID)
	}
	if m.Pod != "" || m.Container != "" {
		b.WriteString(" pod=" + m.Pod + "/" + m.Container)
	}
	b.WriteString(sayStamp(m.Stamp))
	if m.Repeat != 1 {
		fmt.Fprintf(&b, " x%d", m.Repeat)
	}
	return b.String() + " | " + m.Text
}

// sayStamp writes wall clock and precision, "?" behind what was assumed, and time
// since boot.
func sayStamp(s gpumedic.Stamp) string {
	var b strings.Builder
	if s.Known() {
		b.WriteString(" " + s.Time.Format("2006-01-02T15:04:05.999999999"))
		for _, a := range []struct {
			bit  gpumedic.Assumed
			name string
		}{{gpumedic.AssumedYear, "?year"}, {gpumedic.AssumedZone, "?zone"}, {gpumedic.AssumedBoot, "?boot"}} {
			if s.Assumed&a.bit != 0 {
				b.WriteString(a.name)
			}
		}
	}
	if s.HasMono {
		b.WriteString(" +" + s.Mono.String())
	}
	return b.String()
}

func window(text string, at int) Lines {
	var all [][]byte
	for line := range strings.SplitSeq(text, "\n") {
		all = append(all, []byte(line))
	}
	return Lines{All: all, At: at}
}

// checkFrame frames one line and compares; it also checks what must hold always.
func checkFrame(t *testing.T, in string, want ...string) {
	t.Helper()
	checkWindow(t, in, 0, want...)
}

func checkWindow(t *testing.T, text string, at int, want ...string) {
	t.Helper()
	w := window(text, at)
	got := New(Options{}).Frame(w)
	checkOff(t, w.All[at], got)
	var said []string
	for _, m := range got {
		said = append(said, say(m))
	}
	if strings.Join(said, "\n") != strings.Join(want, "\n") {
		t.Errorf("frame %q\n got  %s\n want %s", w.All[at], strings.Join(said, "\n      "), strings.Join(want, "\n      "))
	}
}

func checkOff(t *testing.T, line []byte, msgs []Message) {
	t.Helper()
	for _, m := range msgs {
		if m.Repeat < 1 {
			t.Errorf("frame %q: repeat %d", line, m.Repeat)
		}
		if m.Off == -1 {
			continue
		}
		if m.Off < 0 || m.Off+len(m.Text) > len(line) || string(line[m.Off:m.Off+len(m.Text)]) != m.Text {
			t.Errorf("frame %q: offset %d is not where %q stands", line, m.Off, m.Text)
		}
	}
}

const xid = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus."

func TestDmesg(t *testing.T) {
	f := func(in, want string) { t.Helper(); checkFrame(t, in, want) }
	f("[ 1234.567890] "+xid, "kernel +20m34.56789s | "+xid)
	f("[1084456.093350] "+xid, "kernel +301h14m16.09335s | "+xid)
	f("[    0.000000] Linux version 6.8.0-40-generic", "kernel +0s | Linux version 6.8.0-40-generic")
	f("[100.1] "+xid, "kernel +1m40.1s | "+xid)
	f("[ 7232.647720] [ T51877] "+xid, "kernel +2h0m32.64772s | "+xid)
	f("[ 7232.647720][    C12] "+xid, "kernel +2h0m32.64772s | "+xid)
	f("[ 7232.647720] [    T1] vethb9866e2: renamed from eth0", "kernel +2h0m32.64772s | vethb9866e2: renamed from eth0")
	f("[Sat Aug 15 13:42:19 2026] "+xid, "kernel 2026-08-15T13:42:19?zone | "+xid)
	f("[Sat Aug  5 03:42:19 2026] [   T431] "+xid, "kernel 2026-08-05T03:42:19?zone | "+xid)
	f("[Sa Mär  7 13:42:19 2026] "+xid, "kernel 2026-03-07T13:42:19?zone | "+xid)
	f("[六 8月 15 13:42:19 2026] "+xid, "kernel 2026-08-15T13:42:19?zone | "+xid)
	f("[sam. août 15 13:42:19 2026] "+xid, "kernel 2026-08-15T13:42:19?zone | "+xid)
	f("kern  :warn  : [ 1234.567890] "+xid, "kernel +20m34.56789s | "+xid)
	f("kern  :err   : [Sat Aug 15 13:42:19 2026] "+xid, "kernel 2026-08-15T13:42:19?zone | "+xid)
	f("daemon:info  : [    2.123456] systemd[1]: Hostname set to <gpu12>.", "service systemd[1] +2.123456s | Hostname set to <gpu12>.")
	f("user  :warn  : [   12.123456] "+xid, "service +12.123456s | "+xid)
	f("2026-08-30T02:14:10,992151+00:00 "+xid, "kernel 2026-08-30T02:14:10.992151 | "+xid)
	f("2026-08-30T10:14:10,992151+08:00 pcieport 0000:3a:00.0: AER: Multiple", "kernel 2026-08-30T02:14:10.992151 | pcieport 0000:3a:00.0: AER: Multiple")
	f("2026-08-30T02:14:10,992151+00:00 device veth0: left promiscuous mode", "kernel 2026-08-30T02:14:10.992151 | device veth0: left promiscuous mode")
	f("[Aug29 11:09] "+xid, "kernel 0000-08-29T11:09:00?year?zone | "+xid)
	f("[  +0.000316] "+xid, "kernel | "+xid)
	f("[ 1234.567890 <    0.000012>] "+xid, "kernel +20m34.56789s | "+xid)
	f("[<    0.000012>] "+xid, "kernel | "+xid)
	f("<4>[ 1234.567890] "+xid, "kernel +20m34.56789s | "+xid)
	f("<12>[ 1234.567890] "+xid, "service +20m34.56789s | "+xid)
	f("[ 1234.567890] audit: type=1309 audit(1787302860.664:8800): argc=2 a0=\"grep\" a1=\""+xid+"\"",
		"kernel 2026-08-21T09:01:00.664 +20m34.56789s | audit: type=1309 audit(1787302860.664:8800): argc=2 a0=\"grep\" a1=\""+xid+"\"")
	f("[ 1234.567890]  out_of_memory+0x21b/0x510", "kernel +20m34.56789s | out_of_memory+0x21b/0x510")
	f("[   30.123] (EE) NVIDIA(GPU-0): Failed to initialize the NVIDIA GPU", "service Xorg +30.123s | (EE) NVIDIA(GPU-0): Failed to initialize the NVIDIA GPU")
	// Truncated.
	f("4.567890] "+xid, "unknown | "+xid)
	f("[ 1234.567890] NVRM: Xid (PCI:00", "kernel +20m34.56789s | NVRM: Xid (PCI:00")
	f("[ 1234.567890]", "kernel +20m34.56789s | ")
	f("[ 1234.56", "unknown | [ 1234.56")
}

func TestDmesgRelative(t *testing.T) {
	log := "[Aug29 11:09] nvidia: loading\n[  +1.500000] a\n[  +0.000316] b\n[  +2.000000] c"
	checkWindow(t, log, 2, "kernel 0000-08-29T11:09:01.500316?year?zone | b")
	checkWindow(t, log, 3, "kernel 0000-08-29T11:09:03.500316?year?zone | c")
	checkWindow(t, "text\n[  +0.000316] b", 1, "kernel | b")
}

func TestJournal(t *testing.T) {
	f := func(in, want string) { t.Helper(); checkFrame(t, in, want) }
	f("Feb 03 05:03:37 bx-gpu-0417 kernel: "+xid, "kernel @bx-gpu-0417 kernel 0000-02-03T05:03:37?year?zone | "+xid)
	f("Feb  3 05:03:37.123456 rig17 kernel: "+xid, "kernel @rig17 kernel 0000-02-03T05:03:37.123456?year?zone | "+xid)
	f("Feb 03 05:03:37 kernel: "+xid, "kernel kernel 0000-02-03T05:03:37?year?zone | "+xid)
	f("2025-04-22T18:02:00+0000 bluefin kernel: "+xid, "kernel @bluefin kernel 2025-04-22T18:02:00 | "+xid)
	f("2025-04-22T18:02:00+08:00 bluefin kernel: "+xid, "kernel @bluefin kernel 2025-04-22T10:02:00 | "+xid)
	f("2025-04-22T18:02:00.123456-0700 a.b.example kernel: "+xid, "kernel @a.b.example kernel 2025-04-23T01:02:00.123456 | "+xid)
	f("Wed 2026-01-07 03:17:10 UTC dgxh-31 kernel: "+xid, "kernel @dgxh-31 kernel 2026-01-07T03:17:10 | "+xid)
	f("Wed 2026-01-07 03:17:10 CST dgxh-31 nv-hostengine[1]: started", "service @dgxh-31 nv-hostengine[1] 2026-01-07T03:17:10?zone | started")
	f("Wed 2026-01-07 12:17:10 JST dgxh-31 nvidia-persistenced.service[77]: started", "service @dgxh-31 nvidia-persistenced[77] 2026-01-07T03:17:10 | started")
	f("水 2026-01-07 12:17:10 JST dgxh-31 kernel: "+xid, "kernel @dgxh-31 kernel 2026-01-07T03:17:10 | "+xid)
	f("[  123.456789] dgxh-31 kernel: "+xid, "kernel @dgxh-31 kernel +2m3.456789s | "+xid)
	f("[  123.456789] dgxh-31 sshd[88]: Connection closed", "service @dgxh-31 sshd[88] +2m3.456789s | Connection closed")
	f("[  123.456789 <    0.001234 >] dgxh-31 kernel: "+xid, "kernel @dgxh-31 kernel +2m3.456789s | "+xid)
	f("[  123.456789] usb 1-3: new high-speed USB device", "kernel +2m3.456789s | usb 1-3: new high-speed USB device")
	f("[  123.456789] traps: python3[42] trap invalid opcode", "kernel +2m3.456789s | traps: python3[42] trap invalid opcode")
	f("1767755830.123456 dgxh-31 kernel: "+xid, "kernel @dgxh-31 kernel 2026-01-07T03:17:10.123456 | "+xid)
	f("systemd[1]: nvidia-imex.service: Failed with result 'timeout'.", "service systemd[1] | nvidia-imex.service: Failed with result 'timeout'.")
	f("worker[3]: step 10 done", "unknown | worker[3]: step 10 done")
	f("Jan 07 03:13:30 dgxh-31 systemd[1]: Starting Daily", "service @dgxh-31 systemd[1] 0000-01-07T03:13:30?year?zone | Starting Daily")
	f("Jan 07 03:13:30 dgxh-31 kernel: python3[42]: segfault at 7f0 ip", "kernel @dgxh-31 kernel 0000-01-07T03:13:30?year?zone | python3[42]: segfault at 7f0 ip")
	f("Jan 07 03:13:30 dgxh-31 Web Content[42]: text", "service @dgxh-31 Web Content[42] 0000-01-07T03:13:30?year?zone | text")
	f("Jan 07 03:13:30 dgxh-31 (sd-pam)[42]: text", "service @dgxh-31 (sd-pam)[42] 0000-01-07T03:13:30?year?zone | text")
	f("Aug 24 06:04:12 y01 kernel:  rwsem_down_read_slowpath+0x2a1/0x550", "kernel @y01 kernel 0000-08-24T06:04:12?year?zone | rwsem_down_read_slowpath+0x2a1/0x550")
	f("-- Boot 138f48e02e65ecc6fd483e5e719874e0 --", "unknown | -- Boot 138f48e02e65ecc6fd483e5e719874e0 --")
}

func TestLocales(t *testing.T) {
	for stamp, month := range map[string]string{
		"1月 07 03:15:11": "01", "12月 07 03:15:11": "12", " 1月  7 03:15:11": "01", "Jän 07 03:15:11": "01", "Mär 07 03:15:11": "03", "Mai 07 03:15:11": "05",
		"Okt 07 03:15:11": "10", "Dez 07 03:15:11": "12", "janv. 07 03:15:11": "01", "févr. 07 03:15:11": "02", "août 07 03:15:11": "08", "déc. 07 03:15:11": "12",
		"ene 07 03:15:11": "01", "ago 07 03:15:11": "08", "dic 07 03:15:11": "12", "fev 07 03:15:11": "02", "set 07 03:15:11": "09", "out 07 03:15:11": "10",
		"gen 07 03:15:11": "01", "giu 07 03:15:11": "06", "янв 07 03:15:11": "01", "мая 07 03:15:11": "05", "дек 07 03:15:11": "12", "ДЕК 07 03:15:11": "12",
		"1월 07 03:15:11": "01", "mrt 07 03:15:11": "03", "paź 07 03:15:11": "10", "十二月 07 03:15:11": "12",
	} {
		checkFrame(t, stamp+" gpu12 kernel: "+xid, "kernel @gpu12 kernel 0000-"+month+"-07T03:15:11?year?zone | "+xid)
	}
	f := func(in, want string) { t.Helper(); checkFrame(t, in, want) }
	f("2026年 01月 07日 水曜日 03:15:11 JST gpu12 kernel: "+xid, "kernel @gpu12 kernel 2026-01-06T18:15:11 | "+xid)
	f("2026年01月07日 星期三 03:15:11 gpu12 kernel: "+xid, "kernel @gpu12 kernel 2026-01-07T03:15:11?zone | "+xid)
	f("7 janv. 2026 03:15:11 gpu12 kernel: "+xid, "kernel @gpu12 kernel 2026-01-07T03:15:11?zone | "+xid)
	f("Jan  7 2026 03:15:11 gpu12 kernel: "+xid, "kernel @gpu12 kernel 2026-01-07T03:15:11?zone | "+xid)
	f("2026 Jan  7 03:15:11 gpu12 kernel: "+xid, "kernel @gpu12 kernel 2026-01-07T03:15:11?zone | "+xid)
	f("mer. 2026-01-07 03:17:10 CET gpu12 kernel: "+xid, "kernel @gpu12 kernel 2026-01-07T02:17:10 | "+xid)
}

func TestSyslog(t *testing.T) {
	f := func(in, want string) { t.Helper(); checkFrame(t, in, want) }
	f("<4>Feb  3 05:03:37 gpu12 kernel: "+xid, "kernel @gpu12 kernel 0000-02-03T05:03:37?year?zone | "+xid)
	f("Aug 29 11:09:16 brazil4 kernel: [1084456.093350] "+xid, "kernel @brazil4 kernel 0000-08-29T11:09:16?year?zone +301h14m16.09335s | "+xid)
	f("Aug 29 11:09:16 brazil4 kernel:[1084456.093350] "+xid, "kernel @brazil4 kernel 0000-08-29T11:09:16?year?zone +301h14m16.09335s | "+xid)
	f("Aug 29 11:09:16 brazil4 kernel: [ 4456.093350][ T431] "+xid, "kernel @brazil4 kernel 0000-08-29T11:09:16?year?zone +1h14m16.09335s | "+xid)
	f("Aug 29 11:09:16 brazil4 kernel: [ 4456.093350] [UFW BLOCK] IN=eno1", "kernel @brazil4 kernel 0000-08-29T11:09:16?year?zone +1h14m16.09335s | [UFW BLOCK] IN=eno1")
	f("2026-08-30T02:14:39.841145+00:00 h20 kernel: [ 12.500000] "+xid, "kernel @h20 kernel 2026-08-30T02:14:39.841145 +12.5s | "+xid)
	f("<4>1 2026-06-23T22:48:32.096039Z uds kernel - - - "+xid, "kernel @uds kernel 2026-06-23T22:48:32.096039 | "+xid)
	f("<4>1 2026-06-23T22:48:32.096039Z uds kernel - - - [ 12.500000] "+xid, "kernel @uds kernel 2026-06-23T22:48:32.096039 +12.5s | "+xid)
	f("<28>1 2026-06-23T22:48:32+08:00 uds multipathd 802 - - sda: add missing path", "service @uds multipathd[802] 2026-06-23T14:48:32 | sda: add missing path")
	f("<4>1 2026-06-23T22:48:32Z uds kernel - ID47 [exampleSDID@32473 iut=\"3\" s=\"a\\\"]\"][x y=\"1\"] \ufeff"+xid, "kernel @uds kernel 2026-06-23T22:48:32 | "+xid)
	f("<4>1 - - kernel - - - "+xid, "kernel kernel | "+xid)
	f("<13>1 2026-06-23T22:48:32Z uds logger - - - "+xid, "service @uds logger 2026-06-23T22:48:32 | "+xid)
	f("213 <4>1 2026-06-23T22:48:32Z uds kernel - - - "+xid, "kernel @uds kernel 2026-06-23T22:48:32 | "+xid)
	f("Feb  3 05:03:37 10.0.0.5 [ 1234.567890] "+xid, "kernel @10.0.0.5 0000-02-03T05:03:37?year?zone +20m34.56789s | "+xid)
	f("Wed Jan  7 03:15:11 2026 kern.warn kernel: [ 12.500000] "+xid, "kernel kernel 2026-01-07T03:15:11?zone +12.5s | "+xid)
	f("Jan  7 03:15:11 ap1 kern.warn kernel: "+xid, "kernel @ap1 kernel 0000-01-07T03:15:11?year?zone | "+xid)
	f("Feb  3 05:03:37 gpu12 "+xid, "unknown @gpu12 0000-02-03T05:03:37?year?zone | "+xid)
	f("Feb  3 05:03:37 "+xid, "unknown 0000-02-03T05:03:37?year?zone | "+xid)
	f("37 gpu12 kernel: "+xid, "kernel @gpu12 kernel | "+xid)
	f("gpu12 kernel: "+xid, "kernel @gpu12 kernel | "+xid)
	f("kernel: "+xid, "kernel kernel | "+xid)
	f("Jan  7 03:15:11 esx1 vmkernel: cpu12:2097152)"+xid, "kernel @esx1 vmkernel 0000-01-07T03:15:11?year?zone | "+xid)
	f("2026-01-07T03:15:11.123Z cpu12:2097152 opID=ab12)"+xid, "kernel vmkernel 2026-01-07T03:15:11.123 | "+xid)
	f("Feb  3 05:03:37 gpu12 kernel: NVRM: a #011b", "kernel @gpu12 kernel 0000-02-03T05:03:37?year?zone | NVRM: a \tb")
}

func TestNewlinesFolded(t *testing.T) {
	checkFrame(t, "Feb  3 05:03:37 gpu12 kernel: NVRM: The NVIDIA GPU 0000:3b:00.0#012NVRM: (PCI ID: 10de:26b5) installed in this system has#012               NVRM: fallen off the bus",
		"kernel @gpu12 kernel 0000-02-03T05:03:37?year?zone | NVRM: The NVIDIA GPU 0000:3b:00.0",
		"kernel @gpu12 kernel 0000-02-03T05:03:37?year?zone | NVRM: (PCI ID: 10de:26b5) installed in this system has",
		"kernel @gpu12 kernel 0000-02-03T05:03:37?year?zone | NVRM: fallen off the bus")
	checkFrame(t, `6,1234,987654321,-;NVRM: The NVIDIA GPU 0000:3b:00.0\x0aNVRM: (PCI ID: 10de:26b5)`,
		"kernel +16m27.654321s | NVRM: The NVIDIA GPU 0000:3b:00.0",
		"kernel +16m27.654321s | NVRM: (PCI ID: 10de:26b5)")
	checkFrame(t, `{"_TRANSPORT":"kernel","_HOSTNAME":"g1","MESSAGE":"NVRM: a\nNVRM: b\n"}`,
		"kernel @g1 kernel | NVRM: a", "kernel @g1 kernel | NVRM: b")
	checkFrame(t, `{"log":"[ 1.500000] NVRM: a\n[ 2.500000] NVRM: b\n","stream":"stdout","time":"2026-08-17T16:02:09.8Z"}`,
		"kernel 2026-08-17T16:02:09.8 +1.5s | NVRM: a", "kernel 2026-08-17T16:02:09.8 +2.5s | NVRM: b")
}

func TestRepeated(t *testing.T) {
	f := func(in, want string) { t.Helper(); checkFrame(t, in, want) }
	f("Feb  3 05:03:37 gpu12 kernel: message repeated 5 times: [ "+xid+"]", "kernel @gpu12 kernel 0000-02-03T05:03:37?year?zone x5 | "+xid)
	f("Feb  3 05:03:37 gpu12 kernel: message repeated 2 times: [ [ 1234.567890] "+xid+"]", "kernel @gpu12 kernel 0000-02-03T05:03:37?year?zone +20m34.56789s x2 | "+xid)
	f("Feb  3 05:03:37 gpu12 kernel: [ 1234.567890] message repeated 2 times: ["+xid+"]", "kernel @gpu12 kernel 0000-02-03T05:03:37?year?zone +20m34.56789s x2 | "+xid)
	f("Feb  3 05:03:37 gpu12 sshd[7]: message repeated 3 times: [ Failed password for root]", "service @gpu12 sshd[7] 0000-02-03T05:03:37?year?zone x3 | Failed password for root")
	f("Feb  3 05:03:37 gpu12 kernel: Last message '"+xid+"' repeated 4 times, suppressed by syslog-ng on gpu12", "kernel @gpu12 kernel 0000-02-03T05:03:37?year?zone x4 | "+xid)
	f("Feb  3 05:03:37 gpu12 last message repeated 3 times", "unknown @gpu12 0000-02-03T05:03:37?year?zone | last message repeated 3 times")
	f("Feb  3 05:03:37 gpu12 kernel: last message repeated 3 times", "kernel @gpu12 kernel 0000-02-03T05:03:37?year?zone | last message repeated 3 times")
}

func TestJSON(t *testing.T) {
	f := func(in, want string) { t.Helper(); checkFrame(t, in, want) }
	f(`{"__REALTIME_TIMESTAMP": "1769911900307061", "_HOSTNAME": "db-gpu2", "PRIORITY": "6", "SYSLOG_IDENTIFIER": "kernel", "_TRANSPORT": "kernel", "MESSAGE": "nvidia-uvm: Loaded", "_SOURCE_MONOTONIC_TIMESTAMP": "91075087131"}`,
		"kernel @db-gpu2 kernel 2026-02-01T02:11:40.307061 +25h17m55.087131s | nvidia-uvm: Loaded")
	f(`{"__REALTIME_TIMESTAMP":"1769911900307061","SYSLOG_IDENTIFIER":"sshd","_TRANSPORT":"syslog","_PID":"42","MESSAGE":"say \"NVRM: Xid\""}`,
		`service sshd[42] 2026-02-01T02:11:40.307061 | say "NVRM: Xid"`)
	f(`{"SYSLOG_IDENTIFIER":"kernel","_TRANSPORT":"syslog","_PID":"42","MESSAGE":"`+xid+`"}`, "service kernel[42] | "+xid)
	f(`{"MESSAGE":[78,86,82,77,58,32,27,91,51,49,109,88],"_TRANSPORT":"kernel"}`, "kernel kernel | NVRM: X")
	f(`{"MESSAGE":null,"_TRANSPORT":"kernel"}`, "kernel kernel | ")
	f(`{"MESSAGE":"`+xid+`","_TRANSPORT":"kern`, "unknown | "+xid)
	f(`{"_TRANSPORT":"kernel","MESSAGE":"`+xid, "kernel kernel | "+xid)
	f(`TAMP":"1769911900307061","_HOSTNAME":"g1","_TRANSPORT":"kernel","MESSAGE":"`+xid+`"}`, "kernel @g1 kernel | "+xid)
	f(`data: {"_TRANSPORT":"kernel","MESSAGE":"`+xid+`"}`, "kernel kernel | "+xid)
	f("\x1e"+`{"_TRANSPORT":"kernel","MESSAGE":"`+xid+`"}`, "kernel kernel | "+xid)
	f(`{"log": "`+xid+`\n", "stream": "stdout", "time": "2026-08-17T16:02:09.800239Z"}`, "unknown 2026-08-17T16:02:09.800239 | "+xid)
	f(`{"time":"2026-08-17T16:02:09.8Z","stream":"stderr","log":"E0817 16:02:09.1 12 gpu.go:9] caf\u00e9 \ud83d\ude00\u001b[0m\n"}`, "unknown 2026-08-17T16:02:09.8 | E0817 16:02:09.1 12 gpu.go:9] café 😀")
	f(`{"log":"<4>Feb  3 05:03:37 gpu12 kernel: [ 12.500000] NVRM: a\r\n","stream":"stdout","time":"2026-02-03T05:03:38Z"}`,
		"kernel @gpu12 kernel 2026-02-03T05:03:37?year +12.5s | NVRM: a")
	f(`{"@timestamp":"2026-08-17T16:02:09.8Z","host":"g7","ident":"kernel","message":"`+xid+`"}`, "kernel @g7 kernel 2026-08-17T16:02:09.8 | "+xid)
	f(`{"log":"x","kubernetes":{"pod_name":"p-1","container_name":"c","host":"n1"},"time":"2026-08-17T16:02:09.8Z"}`, "unknown @n1 pod=p-1/c 2026-08-17T16:02:09.8 | x")
	checkFrame(t, `{"time":"2026-08-17T16:02:09.8Z","level":"error","msg":"step failed","error":"RuntimeError: CUDA out of memory"}`,
		"unknown 2026-08-17T16:02:09.8 | step failed", "unknown 2026-08-17T16:02:09.8 | RuntimeError: CUDA out of memory")
	f(`{"a":1,"b":[1,2]}`, `unknown | {"a":1,"b":[1,2]}`)
	f(`{1}[Hardware Error]: Hardware error from APEI`, `unknown | {1}[Hardware Error]: Hardware error from APEI`)
}

func TestJournalRecords(t *testing.T) {
	export := "__CURSOR=s=1\n__REALTIME_TIMESTAMP=1769911900307061\n_TRANSPORT=kernel\nMESSAGE=" + xid + "\n_HOSTNAME=g1\nSYSLOG_IDENTIFIER=kernel\n_SOURCE_MONOTONIC_TIMESTAMP=12500000\n\n__CURSOR=s=2\n_HOSTNAME=other"
	checkWindow(t, export, 3, "kernel @g1 kernel 2026-02-01T02:11:40.307061 +12.5s | "+xid)
	forged := "_TRANSPORT=stdout\nSYSLOG_IDENTIFIER=python3\n_PID=7\nMESSAGE=" + xid + "\n"
	checkWindow(t, forged, 3, "service python3[7] | "+xid)
	binary := "_TRANSPORT=kernel\n_HOSTNAME=g1\nMESSAGE\n\x3c\x00\x00\x00\x00\x00\x00\x00NVRM: The NVIDIA GPU 0000:3b:00.0\nNVRM: (PCI ID: 10de:26b5)\nSYSLOG_IDENTIFIER=kernel\n\n"
	checkWindow(t, binary, 3, "kernel @g1 kernel | NVRM: The NVIDIA GPU 0000:3b:00.0")
	checkWindow(t, binary, 4, "kernel @g1 kernel | NVRM: (PCI ID: 10de:26b5)")
	verbose := "Wed 2026-01-07 03:17:10.123456 UTC [s=ab;i=1;b=cd]\n    PRIORITY=4\n    _TRANSPORT=kernel\n    MESSAGE=" + xid + "\n    _HOSTNAME=g1\nWed 2026-01-07 03:17:11.123456 UTC [s=ab;i=2;b=cd]\n    _HOSTNAME=g2"
	checkWindow(t, verbose, 3, "kernel @g1 kernel 2026-01-07T03:17:10.123456 | "+xid)
	pretty := "{\n\t\"_TRANSPORT\" : \"kernel\",\n\t\"MESSAGE\" : \"" + xid + "\",\n\t\"_HOSTNAME\" : \"g1\",\n\t\"__REALTIME_TIMESTAMP\" : \"1769911900307061\"\n}\n{\n\t\"_HOSTNAME\" : \"g2\"\n}"
	checkWindow(t, pretty, 2, "kernel @g1 kernel 2026-02-01T02:11:40.307061 | "+xid)
}

func TestContainers(t *testing.T) {
	f := func(in, want string) { t.Helper(); checkFrame(t, in, want) }
	f("2026-04-19T09:30:00.073Z stderr F "+xid, "unknown 2026-04-19T09:30:00.073 | "+xid)
	f("2026-04-19T09:30:00.073123456+08:00 stdout F device veth0: x", "unknown 2026-04-19T01:30:00.073123456 | device veth0: x")
	f("[pod/drv-x2k9f/nvidia-driver-ctr] 2026-04-19T09:30:14.6Z stdout F Loading modules...", "unknown pod=drv-x2k9f/nvidia-driver-ctr 2026-04-19T09:30:14.6 | Loading modules...")
	f("[pod/drv-x2k9f/ctr] I0830 02:15:04.392088    3473 file.go:1] text", "unknown pod=drv-x2k9f/ctr 0000-08-30T02:15:04.392088?year?zone | I0830 02:15:04.392088    3473 file.go:1] text")
	f("2026-04-19T09:30:00Z stdout F Apr 19 09:29:59 gpu12 kernel: [ 12.500000] "+xid, "kernel @gpu12 kernel 2026-04-19T09:29:59?year +12.5s | "+xid)
	f("worker-3  | RuntimeError: CUDA error", "unknown pod=/worker-3 | RuntimeError: CUDA error")
	f("trainer  | "+xid, "unknown | trainer  | "+xid)
	f("train_1 | [ 12.500000] "+xid, "kernel pod=/train_1 +12.5s | "+xid)
	f("1 | train_criterion | CustomMSELoss | 0", "unknown | 1 | train_criterion | CustomMSELoss | 0")
	checkWindow(t, "2026-04-19T09:30:00.1Z stdout P NVRM: Xid (PCI:0000:3b:00): \n2026-04-19T09:30:00.1Z stdout F 79, gone\n2026-04-19T09:30:00.1Z stdout F next", 0,
		"unknown 2026-04-19T09:30:00.1 | NVRM: Xid (PCI:0000:3b:00): 79, gone")
}

func TestKmsg(t *testing.T) {
	f := func(in, want string) { t.Helper(); checkFrame(t, in, want) }
	f("6,1234,987654321,-;"+xid, "kernel +16m27.654321s | "+xid)
	f("4,1234,987654321,-,caller=T431;"+xid, "kernel +16m27.654321s | "+xid)
	f("12,1234,987654321,-;"+xid, "service +16m27.654321s | "+xid)
	f("30,1234,987654321,-;systemd[1]: Hostname set to <g1>.", "service systemd[1] +16m27.654321s | Hostname set to <g1>.")
	f("6.8.0-40-generic,4,1234,987654321,-;"+xid, "kernel +16m27.654321s | "+xid)
	f("4,1234,987654321,-,ncfrag=0/33;"+xid, "kernel +16m27.654321s | "+xid)
	f("a,b;c", "unknown | a,b;c")
	checkWindow(t, "Message from syslogd@gpu12 at Jan  7 03:15:11 ...\n kernel:[1234.567890] "+xid, 1, "kernel @gpu12 kernel 0000-01-07T03:15:11?year?zone +20m34.56789s | "+xid)
}
