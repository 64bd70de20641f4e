package frame

import (
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
)

// peekStamp reads a time that is part of the message and stays there: klog and glog
// headers, logfmt, Python log levels, audit records, BMC event lists.
func peekStamp(text string) (gpumedic.Stamp, bool) {
	head := text[:min(len(text), 160)]
	if !mayTell(head) {
		return gpumedic.Stamp{}, false
	}
	if st, ok := auditTime(head); ok {
		return st, true
	}
	if i := strings.Index(head, `time=`); i >= 0 && (i == 0 || head[i-1] == ' ') {
		if st, n := parseISO(strings.TrimPrefix(head[i+5:], `"`)); n > 0 {
			return st, true
		}
	}
	if st, ok := rtcTime(head); ok {
		return st, true
	}
	if strings.HasPrefix(head, "Timestamp ") { // the head of nvidia-smi -q
		_, date, _ := strings.Cut(head, ": ")
		st, n := parseMonthStamp(date)
		return st, n > 0
	}
	// "[rank0]:[E1201 02:01:13.367000 …", "I0830 02:15:04.392088  3473 file.go:1]"
	for i := 0; i < len(head) && i < 48; i++ {
		if i > 0 && isAlnum(head[i-1]) {
			continue
		}
		if st, n := parseKlog(head[i:]); n > 0 {
			return st, true
		}
		if st, n := parseLevelled(head[i:]); n > 0 {
			return st, true
		}
		if !isDigit(head[i]) {
			continue
		}
		if st, n := parseISO(head[i:]); n > 0 {
			return st, true
		}
		if st, n := parseUSDate(head[i:]); n > 0 {
			return st, true
		}
	}
	return gpumedic.Stamp{}, false
}

// mayTell says whether a text may hold a time at all: a time of day, or the seconds of an
// audit record.
func mayTell(s string) bool { return hasClock(s) || strings.Contains(s, "audit(1") }

// hasClock reports whether there is a time of day: "2:15:04" at least.
func hasClock(s string) bool {
	for i := 0; ; {
		n := strings.IndexByte(s[i:], ':')
		if n < 0 {
			break
		}
		i += n + 1
		if i >= 2 && i+4 < len(s) && isDigit(s[i-2]) && isDigit(s[i]) && isDigit(s[i+1]) && s[i+2] == ':' && isDigit(s[i+3]) && isDigit(s[i+4]) {
			return true
		}
	}
	return false
}

// parseKlog reads "W1201 02:01:13.367000" of klog and glog: no year, local time.
func parseKlog(s string) (gpumedic.Stamp, int) {
	if len(s) < 14 || strings.IndexByte("IWEFDC", s[0]) < 0 || digits(s[1:], 4) != 4 || s[5] != ' ' {
		return gpumedic.Stamp{}, 0
	}
	d := date{0, atoi(s[1:3]), atoi(s[3:5])}
	t, n := parseDaytime(s[6:])
	if n == 0 || !d.valid() {
		return gpumedic.Stamp{}, 0
	}
	return makeStamp(d, t, 0, false), 6 + n
}

// parseLevelled reads "INFO 04-09 02:10:02 " of vLLM and others: no year.
func parseLevelled(s string) (gpumedic.Stamp, int) {
	n := 0
	for n < len(s) && n < 9 && s[n] >= 'A' && s[n] <= 'Z' {
		n++
	}
	if n < 4 || !levelWord(s[:n]) || len(s) < n+15 || s[n] != ' ' {
		return gpumedic.Stamp{}, 0
	}
	n++
	if digits(s[n:], 2) != 2 || s[n+2] != '-' || digits(s[n+3:], 2) != 2 || s[n+5] != ' ' {
		return gpumedic.Stamp{}, 0
	}
	d := date{0, atoi(s[n : n+2]), atoi(s[n+3 : n+5])}
	t, k := parseDaytime(s[n+6:])
	if k == 0 || !d.valid() {
		return gpumedic.Stamp{}, 0
	}
	return makeStamp(d, t, 0, false), n + 6 + k
}

// auditTime reads the time in "audit(1718871000.101:9)". The kernel prints it in
// audit records, so a log with nothing but seconds since boot tells its wall clock.
func auditTime(s string) (gpumedic.Stamp, bool) {
	i := strings.Index(s, "audit(1")
	if i < 0 || i > 48 {
		return gpumedic.Stamp{}, false
	}
	st, n := parseEpoch(s[i+len("audit("):])
	if n == 0 || st.Precision == time.Second || !strings.HasPrefix(s[i+len("audit(")+n:], ":") {
		return gpumedic.Stamp{}, false
	}
	return st, true
}

// rtcTime reads "rtc_cmos 00:01: setting system clock to 2026-01-07T03:17:10 UTC
// (1767755830)", which the kernel prints once at boot.
func rtcTime(s string) (gpumedic.Stamp, bool) {
	const mark = "setting system clock to "
	i := strings.Index(s, mark)
	if i < 0 {
		return gpumedic.Stamp{}, false
	}
	st, n := parseISO(s[i+len(mark):])
	return st, n > 0
}

// ClockLiterals are texts of lines that are no evidence of a fault and tell the
// time: framing them and giving their stamps to a [Clock] places a log that holds
// only seconds since boot on the wall clock.
func ClockLiterals() []string {
	return []string{"audit(1", "setting system clock to "}
}

// fillFrom gives s what it lacks from t, a stamp of the same moment that an outer
// logger or the message itself stated.
func fillFrom(s, t gpumedic.Stamp) gpumedic.Stamp {
	if !t.Known() {
		return s
	}
	if !s.Known() {
		s.Time, s.Assumed, s.Precision = t.Time, t.Assumed, t.Precision
		return s
	}
	if s.Assumed&gpumedic.AssumedYear != 0 && s.Time.Year() <= 1 && t.Time.Year() > 1 {
		s.Time = nearestYear(s.Time, t.Time)
	}
	if s.Assumed&gpumedic.AssumedZone != 0 && t.Assumed&gpumedic.AssumedZone == 0 && s.Time.Year() > 1 {
		if off, ok := zoneBetween(s.Time, t.Time); ok {
			s.Time = s.Time.Add(-off)
			s.Assumed &^= gpumedic.AssumedZone
		}
	}
	return s
}

// nearestYear gives a date without a year the one that puts it closest to ref.
func nearestYear(t, ref time.Time) time.Time {
	best := t
	for i, y := range [...]int{ref.Year(), ref.Year() - 1, ref.Year() + 1} {
		c := withYear(t, y)
		if i == 0 || c.Sub(ref).Abs() < best.Sub(ref).Abs() {
			best = c
		}
	}
	return best
}

// withYear moves a stamp without a year into one. Stamps are stored in year 0; a
// zone may have pushed them over its edge, so the shift is by whole years.
func withYear(t time.Time, year int) time.Time { return t.AddDate(year, 0, 0) }

// zoneBetween is the offset east of UTC by which local is ahead of utc, when the
// two differ by quarters of an hour and little more.
func zoneBetween(local, utc time.Time) (time.Duration, bool) {
	d := local.Sub(utc)
	off := d.Round(15 * time.Minute)
	if off.Abs() > 14*time.Hour || (d-off).Abs() > 90*time.Second {
		return 0, false
	}
	return off, true
}
