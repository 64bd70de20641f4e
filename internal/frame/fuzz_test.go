package frame

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
)

func FuzzFrame(f *testing.F) {
	for _, s := range []string{
		"[ 1234.567890] " + xid, "Feb 03 05:03:37 g1 kernel: [ 12.5] a#012b", "<4>1 2026-06-23T22:48:32Z u kernel - - [a b=\"c\"] x",
		`{"MESSAGE":[78,86],"_TRANSPORT":"kernel"}`, `{"log":"a\nb\u001b[0m","time":"2026-08-17T16:02:09Z"}`, "MESSAGE\n\x03\x00\x00\x00\x00\x00\x00\x00abc",
		"6,1,2,-;a\\x0ab", "2026-04-19T09:30:00.1Z stdout P a\n2026-04-19T09:30:00.1Z stdout F b", "harrow: NVRM: a\nharrow: NVRM: b",
		"[Aug29 11:09] a\n[  +0.000316] b", "\x1b[32m[ 1.000000] \x1b[0mNVRM: x", "a\rb\r[ 1.000000] c", "2026年 01月 07日 水曜日 03:15:11 JST g kernel: x",
		"Feb 3 05:03:37 g kernel: Last message 'x' repeated 4 times", "Message from syslogd@g at Jan  7 03:15:11 ...\n kernel:x", "\t\"MESSAGE\" : \"x\"\n}",
		"7:kern  :err   : [ 1.5] x\n8:y", "1:1:1:1:1:x\n2:1:", "a.log-7-\u00a0x &#x27;\na.log:8:{\"log\":\"> y\\n\"}",
	} {
		f.Add([]byte(s))
	}
	if raw, err := os.ReadFile("testdata/samples.txt"); err == nil {
		f.Add(raw[:min(len(raw), 4096)])
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		lines := bytes.Split(raw, []byte("\n"))
		fr := New(Options{})
		for i := range lines[:min(len(lines), 64)] {
			msgs := fr.Frame(Lines{lines, i})
			if len(msgs) == 0 && len(bytes.Trim(lines[i], "\x00\r\n \t")) > 0 && bytes.IndexByte(lines[i], '\r') < 0 && !bytes.ContainsAny(lines[i], "#\\{\"\x1b\x00=") {
				t.Errorf("frame %q: no message", lines[i])
			}
			checkOff(t, lines[i], msgs)
			fr.Tool(Lines{lines, i})
			for _, m := range msgs {
				checkAgain(t, fr, m)
			}
			stampOf(lines[i])
		}
	})
}

// checkAgain frames a text that begins as kernel messages do once more: nothing may
// come off.
func checkAgain(t *testing.T, fr *Framer, m Message) {
	t.Helper()
	if m.Origin != Kernel || !startsMessage(m.Text) || bytes.ContainsAny([]byte(m.Text), "#\x1b\x00\r\n^") || m.Text[0] == '{' {
		return
	}
	again := fr.Frame(Line(m.Text))
	if len(again) != 1 || again[0].Text != m.Text {
		t.Errorf("frame %q again: %+v", m.Text, again)
	}
}

func FuzzTime(f *testing.F) {
	for _, s := range []string{
		"2026-01-07T03:17:10.123456+00:00", "Sat Aug 15 13:42:19 2026", "Feb 29 05:03:37", "1月 07 03:15:11", "7 janv. 2026 03:15:11", "1767755830.123456",
		"1234.567890", "01/07/2026-03:15:11", "W1201 02:01:13.367", "2026-01-07 03:15:11 PM", "Jan  7 11:59:60.999999999 CST 2026", "99999999999.1",
	} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		var c Clock
		var all []gpumedic.Stamp
		for _, s := range []string{a, b} {
			for _, parse := range []func(string) (gpumedic.Stamp, int){parseISO, parseMonthStamp, parseUSDate, parseEpoch, parseMono, parseKlog, parseLevelled, dmesgMinute} {
				st, n := parse(s)
				if n < 0 || n > len(s) {
					t.Fatalf("parse %q: %d bytes", s, n)
				}
				if n == 0 {
					continue
				}
				if st.Precision <= 0 || st.Precision > time.Minute || st.HasMono && st.Mono < 0 {
					t.Errorf("parse %q: %+v", s, st)
				}
				all = append(all, st)
			}
			all = append(all, stampOf([]byte(s)))
		}
		for i, st := range all {
			c.Observe(i+1, st)
		}
		for i, st := range all {
			got := c.ResolveAt(i+1, st)
			if again := c.ResolveAt(i+1, got); !again.Time.Equal(got.Time) && got.Time.Year() > 1 {
				t.Errorf("resolve %+v: %v, then %v", st, got.Time, again.Time)
			}
		}
	})
}
