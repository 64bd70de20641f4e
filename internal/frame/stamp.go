package frame

import (
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
)

// date is a calendar date as stated; year 0 means that it was not stated.
type date struct{ year, month, day int }

func (d date) valid() bool {
	return d.month >= 1 && d.month <= 12 && d.day >= 1 && d.day <= 31
}

// daytime is a time of day with the size of its smallest stated unit.
type daytime struct {
	at   time.Duration
	unit time.Duration
}

// parseDaytime reads HH:MM:SS with an optional fraction, at the start of s.
func parseDaytime(s string) (daytime, int) {
	h := digits(s, 2)
	if h == 0 || len(s) < h+6 || s[h] != ':' || digits(s[h+1:h+3], 2) != 2 || s[h+3] != ':' || digits(s[h+4:h+6], 2) != 2 {
		return daytime{}, 0
	}
	hour, min, sec := atoi(s[:h]), atoi(s[h+1:h+3]), atoi(s[h+4:h+6])
	n := h + 6
	if hour > 23 || min > 59 || sec > 60 || n < len(s) && isDigit(s[n]) {
		return daytime{}, 0
	}
	t := daytime{time.Duration(hour)*time.Hour + time.Duration(min)*time.Minute + time.Duration(sec)*time.Second, time.Second}
	if n+1 < len(s) && (s[n] == '.' || s[n] == ',') && isDigit(s[n+1]) {
		frac, unit, k := parseFraction(s[n+1:])
		if k > 0 {
			t.at, t.unit, n = t.at+frac, unit, n+1+k
		}
	}
	if h12, k := clock12(s[n:]); k > 0 && hour <= 12 {
		t.at += h12
		if hour == 12 {
			t.at -= 12 * time.Hour
		}
		n += k
	}
	return t, n
}

// clock12 reads " PM" or " AM": what to add, and the length.
func clock12(s string) (time.Duration, int) {
	if len(s) < 3 || s[0] != ' ' || s[2] != 'M' || len(s) > 3 && s[3] != ' ' && s[3] != ']' {
		return 0, 0
	}
	switch s[1] {
	case 'A':
		return 0, 3
	case 'P':
		return 12 * time.Hour, 3
	}
	return 0, 0
}

// parseFraction reads the digits after the decimal point.
func parseFraction(s string) (frac, unit time.Duration, n int) {
	unit = time.Second
	for n < len(s) && isDigit(s[n]) {
		if n < 9 {
			unit /= 10
			frac += time.Duration(s[n]-'0') * unit
		}
		n++
	}
	return frac, unit, n
}

// parseOffset reads a numeric zone ("Z", "+00:00", "+0800", "-07") at the start.
func parseOffset(s string) (east time.Duration, n int) {
	if s == "" {
		return 0, 0
	}
	if s[0] == 'Z' || s[0] == 'z' {
		if len(s) > 1 && isAlnum(s[1]) {
			return 0, 0
		}
		return 0, 1
	}
	if s[0] != '+' && s[0] != '-' || len(s) < 3 || !isDigit(s[1]) || !isDigit(s[2]) {
		return 0, 0
	}
	h, m, n := atoi(s[1:3]), 0, 3
	rest := s[3:]
	if strings.HasPrefix(rest, ":") {
		rest = rest[1:]
		n++
	}
	if len(rest) >= 2 && isDigit(rest[0]) && isDigit(rest[1]) {
		m = atoi(rest[:2])
		n += 2
	} else if n == 4 {
		n = 3
	}
	if n < len(s) && isDigit(s[n]) || h > 15 || m > 59 {
		return 0, 0
	}
	east = time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	if s[0] == '-' {
		east = -east
	}
	return east, n
}

// zoneWord reads " UTC" or another zone name; clear is false for names that do not
// tell the offset.
func zoneWord(s string) (east time.Duration, n int, clear bool) {
	if len(s) < 4 || s[0] != ' ' {
		return 0, 0, false
	}
	end := 1
	for end < len(s) && end < 6 && s[end] >= 'A' && s[end] <= 'Z' {
		end++
	}
	if end < len(s) && isAlnum(s[end]) {
		return 0, 0, false
	}
	word := s[1:end]
	if m, ok := zoneMinutes[word]; ok {
		return time.Duration(m) * time.Minute, end, true
	}
	if zoneUnclear[word] {
		return 0, end, false
	}
	return 0, 0, false
}

// makeStamp puts a date and time together; zoned says that east was stated.
func makeStamp(d date, t daytime, east time.Duration, zoned bool) gpumedic.Stamp {
	s := gpumedic.Stamp{Precision: t.unit}
	s.Time = time.Date(d.year, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC).Add(t.at - east)
	if d.year == 0 {
		s.Assumed |= gpumedic.AssumedYear
	}
	if !zoned {
		s.Assumed |= gpumedic.AssumedZone
	}
	return s
}

// parseZone reads what may follow a time of day: an offset or a zone name.
func parseZone(s string) (east time.Duration, n int, clear bool) {
	if e, k := parseOffset(s); k > 0 {
		return e, k, true
	}
	if len(s) > 3 && s[0] == ' ' && (s[1] == '+' || s[1] == '-') {
		if e, k := parseOffset(s[1:]); k >= 5 {
			return e, k + 1, true
		}
	}
	return zoneWord(s)
}

// parseISO reads "2026-01-07T03:17:10.123456+00:00" and its relatives: a space or
// underscore for the T, slashes, a comma before the fraction, zone or none.
func parseISO(s string) (gpumedic.Stamp, int) {
	if len(s) < 18 || digits(s, 4) != 4 || !isDigit(s[5]) {
		return gpumedic.Stamp{}, 0
	}
	sep := s[4]
	if sep != '-' && sep != '/' {
		return gpumedic.Stamp{}, 0
	}
	m := digits(s[5:], 2)
	if m == 0 || s[5+m] != sep {
		return gpumedic.Stamp{}, 0
	}
	day := digits(s[6+m:], 2)
	if day == 0 {
		return gpumedic.Stamp{}, 0
	}
	n := 6 + m + day
	d := date{atoi(s[:4]), atoi(s[5 : 5+m]), atoi(s[6+m : n])}
	if !d.valid() || d.year < 1970 || d.year > 2200 || n >= len(s) {
		return gpumedic.Stamp{}, 0
	}
	switch {
	case strings.HasPrefix(s[n:], " - "): // the Go web framework gin
		n += 3
	case s[n] == 'T' || s[n] == 't' || s[n] == ' ' || s[n] == '_' || s[n] == '-' || s[n] == ':':
		n++
	default:
		return gpumedic.Stamp{}, 0
	}
	return finishStamp(s, d, n)
}

// finishStamp reads the time of day at n, and a zone after it.
func finishStamp(s string, d date, n int) (gpumedic.Stamp, int) {
	t, k := parseDaytime(s[n:])
	if k == 0 {
		return gpumedic.Stamp{}, 0
	}
	n += k
	east, k, clear := parseZone(s[n:])
	return makeStamp(d, t, east, clear), n + k
}

// parseUSDate reads "01/07/2026-03:15:11" and "01/07/2026 03:15:11" (TensorRT, IPMI).
func parseUSDate(s string) (gpumedic.Stamp, int) {
	if len(s) < 19 || digits(s, 2) != 2 || s[2] != '/' || digits(s[3:], 2) != 2 || s[5] != '/' || digits(s[6:], 4) != 4 {
		return gpumedic.Stamp{}, 0
	}
	d := date{atoi(s[6:10]), atoi(s[:2]), atoi(s[3:5])}
	if !d.valid() || d.year < 1970 {
		return gpumedic.Stamp{}, 0
	}
	n := 11
	if strings.HasPrefix(s[10:], " | ") {
		n = 13
	} else if s[10] != '-' && s[10] != ' ' {
		return gpumedic.Stamp{}, 0
	}
	return finishStamp(s, d, n)
}

// parseEpoch reads seconds since 1970 of this century, with an optional fraction;
// also in milliseconds, microseconds and nanoseconds without one.
func parseEpoch(s string) (gpumedic.Stamp, int) {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	var unit time.Duration
	switch n {
	case 10:
		unit = time.Second
	case 13:
		unit = time.Millisecond
	case 16:
		unit = time.Microsecond
	case 19:
		unit = time.Nanosecond
	default:
		return gpumedic.Stamp{}, 0
	}
	per := int(time.Second / unit)
	if n == 19 && s[:n] > "4102444800000000000" {
		return gpumedic.Stamp{}, 0
	}
	v := atoi(s[:n])
	sec, rest := v/per, v%per
	if sec < 946684800 || sec > 4102444800 { // years 2000 to 2100
		return gpumedic.Stamp{}, 0
	}
	st := gpumedic.Stamp{Time: time.Unix(int64(sec), int64(rest)*int64(unit)).UTC(), Precision: unit}
	if n == 10 && len(s) > 11 && s[10] == '.' && isDigit(s[11]) {
		frac, unit, k := parseFraction(s[11:])
		st.Time, st.Precision = st.Time.Add(frac), unit
		n = 11 + k
	}
	return st, n
}

// parseMono reads "1234.567890" as time since boot.
func parseMono(s string) (gpumedic.Stamp, int) {
	n := digits(s, 10)
	if n == 0 || n+1 >= len(s) || s[n] != '.' || !isDigit(s[n+1]) {
		return gpumedic.Stamp{}, 0
	}
	if n == 10 && s[0] > '8' { // more would not fit a Duration
		return gpumedic.Stamp{}, 0
	}
	frac, unit, k := parseFraction(s[n+1:])
	if k > 9 {
		return gpumedic.Stamp{}, 0
	}
	mono := time.Duration(atoi(s[:n]))*time.Second + frac
	return gpumedic.Stamp{Mono: mono, HasMono: true, Precision: unit}, n + 1 + k
}
