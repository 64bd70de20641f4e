package frame

import (
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
)

// clockOf observes all lines of a text and returns the clock and the stamps by line.
func clockOf(text string) (*Clock, []gpumedic.Stamp) {
	c := &Clock{}
	var stamps []gpumedic.Stamp
	for i, line := range strings.Split(text, "\n") {
		st := stampOf([]byte(line))
		c.Observe(i+1, st)
		stamps = append(stamps, st)
	}
	return c, stamps
}

// stampOf is the time that a line states, whoever wrote it.
func stampOf(line []byte) gpumedic.Stamp {
	p := newPeeler(nil, clean(line[:min(len(line), 512)]).text)
	p.run()
	if p.relative {
		return gpumedic.Stamp{}
	}
	p.readTextTime(p.rest)
	return p.m.Stamp
}

// A scan samples the end of an input before it is done: what comes out of order turns
// no year.
func TestSamplesTurnNoYear(t *testing.T) {
	c, stamps := clockOf("Feb 11 10:00:00 h kernel: a\nSep 24 10:00:00 h kernel: b\n2024-09-25T10:00:00Z h kernel: c")
	c.Observe(1, stamps[0])
	for i, want := range []string{"2024-02-11", "2024-09-24", "2024-09-25"} {
		if got := c.ResolveAt(i+1, stamps[i]).Time.Format("2006-01-02"); got != want {
			t.Errorf("line %d: %s, want %s", i+1, got, want)
		}
	}
}

// checkClock resolves the stamps of all lines; a want of "" leaves a line out.
func checkClock(t *testing.T, text string, want ...string) {
	t.Helper()
	c, stamps := clockOf(text)
	for i, w := range want {
		if w == "" {
			continue
		}
		if got := strings.TrimSpace(sayStamp(c.ResolveAt(i+1, stamps[i]))); got != w {
			t.Errorf("line %d of\n%s\n got  %s\n want %s", i+1, text, got, w)
		}
	}
}

func TestClockYear(t *testing.T) {
	// A full stamp anywhere gives the year.
	checkClock(t, "Feb 03 05:03:37 g kernel: a\n2026-02-03T05:04:00Z g x[1]: b\nFeb 03 05:05:00 g kernel: c",
		"2026-02-03T05:03:37?year?zone", "2026-02-03T05:04:00", "2026-02-03T05:05:00?year?zone")
	// December, then January.
	checkClock(t, "Dec 31 23:59:59 g kernel: a\nJan 01 00:00:01 g kernel: b\n[Thu Jan  1 00:00:02 2026] c",
		"2025-12-31T23:59:59?year?zone", "2026-01-01T00:00:01?year?zone")
	checkClock(t, "[Wed Dec 31 23:00:00 2025] c\nDec 31 23:59:59 g kernel: a\nJan 01 00:00:01 g kernel: b",
		"", "2025-12-31T23:59:59?year?zone", "2026-01-01T00:00:01?year?zone")
	// A log of most of a year, and the full stamp at its end.
	checkClock(t, "Jan 05 00:00:00 g kernel: a\nJun 05 00:00:00 g kernel: b\nDec 20 00:00:00 g kernel: c\nSun Dec 20 10:00:00 2026",
		"2026-01-05T00:00:00?year?zone", "2026-06-05T00:00:00?year?zone", "2026-12-20T00:00:00?year?zone")
	// Two sections, the older one last.
	checkClock(t, "Jan 02 00:00:00 g kernel: a\nDec 30 00:00:00 g kernel: b\nJan 01 00:00:00 g kernel: c\n2026-01-02T00:00:00Z g x[1]: d",
		"2026-01-02T00:00:00?year?zone", "2025-12-30T00:00:00?year?zone", "2026-01-01T00:00:00?year?zone")
	// No year known: order is kept, the newest in year 0.
	checkClock(t, "Dec 31 23:59:59 g kernel: a\nJan 01 00:00:01 g kernel: b",
		"-0001-12-31T23:59:59?year?zone", "0000-01-01T00:00:01?year?zone")
	// The text of a line tells it: containerd writes full stamps.
	checkClock(t, "Aug 21 09:02:12 n4 containerd[1]: time=\"2026-08-21T09:02:12.45Z\" level=info\nAug 21 09:03:00 n4 kernel: a",
		"2026-08-21T09:02:12?year?zone", "2026-08-21T09:03:00?year?zone")
	// A build date is not a time.
	checkClock(t, "[    0.000000] Linux version 6.8.0 (gcc) #1 SMP Mon Dec 30 17:44:08 UTC 2024\nFeb 03 05:03:37 g kernel: a",
		"+0s", "0000-02-03T05:03:37?year?zone")
	checkClock(t, "Feb 29 05:03:37 g kernel: a\n2028-02-29T06:00:00Z g x[1]: b", "2028-02-29T05:03:37?year?zone")
}

func TestClockBoot(t *testing.T) {
	// Lines with both clocks place those with one.
	checkClock(t, "Aug 29 11:09:16 g kernel: [1084456.093350] a\n[1084457.093350] b\n2026-08-29T12:00:00Z g x[1]: c",
		"2026-08-29T11:09:16?year?zone +301h14m16.09335s", "2026-08-29T11:09:17?year?zone?boot +301h14m17.09335s")
	// The kernel's audit records state both.
	checkClock(t, "[  100.000001] a\n[  101.500000] audit: type=1400 audit(1774754168.500:7): x\n[  102.000000] b",
		"2026-03-29T03:16:07.000001?boot +1m40.000001s", "", "2026-03-29T03:16:09?boot +1m42s")
	// Several boots.
	checkClock(t, "2026-01-01T00:01:40Z g kernel: [  100.000000] a\n[  200.000000] b\n2026-01-02T00:00:10Z g kernel: [   10.000000] c\n[   20.000000] d",
		"", "2026-01-01T00:03:20?boot +3m20s", "", "2026-01-02T00:00:20?boot +20s")
	// A copy of a boot elsewhere in the input: one record in common is enough.
	two := "2026-01-01T00:01:40Z g kernel: [  100.123456] a\n2026-01-02T00:00:10Z g kernel: [   10.654321] c\n"
	checkClock(t, two+"[    9.500001] x\n[   10.654321] c\n[   11.654321] y", "", "", "2026-01-02T00:00:08.84568?boot +9.500001s", "", "2026-01-02T00:00:11?boot +11.654321s")
	// Several boots and nothing in common: open.
	checkClock(t, two+"[    5.500000] x", "", "", "+5.5s")
	// A logger that starts late writes the whole boot at one time.
	checkClock(t, "Jan 01 00:00:30 g kernel: [    1.000000] a\nJan 01 00:00:30 g kernel: [   20.000000] b\nJan 01 00:00:31 g kernel: [   31.000000] c\n[    2.000000] d\n2026-01-01T01:00:00Z g x[1]: e",
		"", "", "", "2026-01-01T00:00:02?year?zone?boot +2s")
	checkClock(t, "[  100.000001] a", "+1m40.000001s")
}

func TestClockBehindTheLines(t *testing.T) {
	c, stamps := clockOf("Dec 31 23:59:59 g kernel: [ 10.000000] a\nJan 01 00:00:01 g kernel: [ 12.000000] b\n2026-01-01T01:00:00Z g x[1]: c")
	for i, want := range []int{2025, 2026} {
		if got := c.ResolveAt(i+1, stamps[i]).Time.Year(); got != want {
			t.Errorf("year of stamp %d: %d, want %d", i, got, want)
		}
	}
	got := c.ResolveAt(4, gpumedic.Stamp{Mono: 13 * time.Second, HasMono: true})
	if want := time.Date(2026, 1, 1, 0, 0, 2, 0, time.UTC); !got.Time.Equal(want) {
		t.Errorf("mono 13 s: %v, want %v", got.Time, want)
	}
	if got := c.ResolveAt(4, gpumedic.Stamp{}); got.Known() {
		t.Errorf("the unknown stamp became %v", got)
	}
}

// Hundreds of thousands of observations must stay within the bounds of memory.
func TestClockBounds(t *testing.T) {
	c := &Clock{}
	wall := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 300_000 {
		at := time.Duration(i) * 1234567 * time.Nanosecond
		c.Observe(i, gpumedic.Stamp{Time: wall.Add(at), Mono: at, HasMono: true, Precision: time.Microsecond})
	}
	if n := len(c.boots[0].pairs); n > maxPairs || len(c.exact) > maxExact {
		t.Errorf("%d pairs, %d exact", n, len(c.exact))
	}
	got := c.ResolveAt(150_000, gpumedic.Stamp{Mono: 100 * time.Second, HasMono: true})
	if want := wall.Add(100 * time.Second); !got.Time.Equal(want) {
		t.Errorf("got %v, want %v", got.Time, want)
	}
}

func TestStamps(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := strings.TrimSpace(sayStamp(stampOf([]byte(in)))); got != want {
			t.Errorf("stamp of %q: %s, want %s", in, got, want)
		}
	}
	f("2026-01-07T03:17:10.5-07 g kernel: x", "2026-01-07T10:17:10.5")
	f("2026-01-07 03:17:10 +0800 g kernel: x", "2026-01-06T19:17:10")
	f("2026-01-07T24:17:10Z x", "")
	f("2026-13-07T03:17:10Z x", "")
	f("Feb 30 25:00:00 g kernel: x", "")
	f("Wed 2026-01-07 03:17:10 CEST g kernel: x", "2026-01-07T01:17:10")
	f("01/07/2026 | 03:15:11 | Power Unit #0x01 | Failure detected", "2026-01-07T03:15:11?zone")
	f("  1 | 01/07/2026 | 03:15:11 UTC | Power Unit", "2026-01-07T03:15:11")
	f("[    1.2] rtc_cmos 00:01: setting system clock to 2026-01-07T03:17:10 UTC (1767755830)", "2026-01-07T03:17:10 +1.2s")
	f("Sat Aug 15 01:42:19 PM UTC 2026", "2026-08-15T13:42:19")
	f("07/Jan/2026:03:15:11 +0800 GET", "2026-01-06T19:15:11")
	f("Linux version 6.8.0 #1 SMP 2026-01-07", "")
	f("", "")
}

func BenchmarkFrame(b *testing.B) {
	fr := New(Options{})
	w := Line("Aug 29 11:09:16 brazil4 kernel: [1084456.093350] [   T431] " + xid)
	b.ReportAllocs()
	for b.Loop() {
		fr.Frame(w)
	}
}
