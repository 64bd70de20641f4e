package frame

import (
	"strings"

	"github.com/gpumedic/gpumedic"
)

// parseMonthStamp reads stamps with a month name: "Feb 03 05:03:37",
// "Sat Aug 15 13:42:19 2026", "2026 Jan  7 03:15:11", "07 Jan 2026 03:15:11",
// "1月 07 03:15:11", "2026年 01月 07日 水曜日 03:15:11 JST", also after a weekday in
// any language.
func parseMonthStamp(s string) (gpumedic.Stamp, int) {
	if st, n := parseMonthFirst(s); n > 0 {
		return st, n
	}
	if st, n := parseDayFirst(s); n > 0 {
		return st, n
	}
	w := weekdayLen(s)
	if w == 0 {
		return gpumedic.Stamp{}, 0
	}
	if st, n := parseMonthFirst(s[w:]); n > 0 {
		return st, w + n
	}
	if st, n := parseDayFirst(s[w:]); n > 0 {
		return st, w + n
	}
	// "Wed 2026-01-07 03:17:10 UTC" of journalctl -o short-full.
	if st, n := parseISO(s[w:]); n > 0 {
		return st, w + n
	}
	return gpumedic.Stamp{}, 0
}

// weekdayLen is the length of a first word that may be a weekday, with the spaces
// after it. Any short word without digits will do: the date after it decides.
func weekdayLen(s string) int {
	n := 0
	for n < len(s) && n < 24 && (isAlpha(s[n]) || s[n] >= 0x80) {
		n++
	}
	if n == 0 {
		return 0
	}
	for n < len(s) && (s[n] == '.' || s[n] == ',') {
		n++
	}
	k := spaces(s[n:])
	if k == 0 {
		return 0
	}
	return n + k
}

func spaces(s string) int {
	n := 0
	for n < len(s) && (s[n] == ' ' || s[n] == '\t') {
		n++
	}
	return n
}

func year4(s string) (year, n int) {
	if digits(s, 4) == 4 && (strings.HasPrefix(s, "19") || strings.HasPrefix(s, "20")) {
		return atoi(s[:4]), 4
	}
	return 0, 0
}

func parseMonthFirst(s string) (gpumedic.Stamp, int) {
	var d date
	n := 0
	if y, k := year4(s); k > 0 {
		d.year, n = y, k
		if strings.HasPrefix(s[n:], "年") {
			n += len("年")
		}
		n += spaces(s[n:])
	}
	m, k := monthName(s[n:])
	if k == 0 {
		return gpumedic.Stamp{}, 0
	}
	d.month = m
	n += k
	n += spaces(s[n:])
	k = digits(s[n:], 2)
	if k == 0 {
		return gpumedic.Stamp{}, 0
	}
	d.day = atoi(s[n : n+k])
	n += k
	for _, suffix := range [...]string{"日", "일", ",", "."} {
		if strings.HasPrefix(s[n:], suffix) {
			n += len(suffix)
			break
		}
	}
	if k = spaces(s[n:]); k == 0 || !d.valid() {
		return gpumedic.Stamp{}, 0
	}
	n += k
	if y, k := year4(s[n:]); k > 0 && spaces(s[n+k:]) > 0 {
		d.year = y
		n += k + spaces(s[n+k:])
	}
	if n < len(s) && s[n] >= 0x80 { // a weekday between date and time: 水曜日
		n += weekdayLen(s[n:])
	}
	return finishNamed(s, d, n)
}

func parseDayFirst(s string) (gpumedic.Stamp, int) {
	var d date
	n := digits(s, 2)
	if n == 0 || n >= len(s) {
		return gpumedic.Stamp{}, 0
	}
	d.day = atoi(s[:n])
	if s[n] == '.' {
		n++
	}
	sep := func() bool {
		if n < len(s) && (s[n] == '-' || s[n] == '/') {
			n++
			return true
		}
		k := spaces(s[n:])
		n += k
		return k > 0
	}
	if !sep() {
		return gpumedic.Stamp{}, 0
	}
	m, k := monthName(s[n:])
	if k == 0 {
		return gpumedic.Stamp{}, 0
	}
	d.month = m
	n += k
	if !sep() {
		return gpumedic.Stamp{}, 0
	}
	if y, k := year4(s[n:]); k > 0 {
		d.year = y
		n += k
		if n < len(s) && s[n] == ':' {
			n++
		} else if k := spaces(s[n:]); k > 0 {
			n += k
		} else {
			return gpumedic.Stamp{}, 0
		}
	}
	if !d.valid() {
		return gpumedic.Stamp{}, 0
	}
	return finishNamed(s, d, n)
}

// finishNamed reads the time of day at n, and a zone and year after it.
func finishNamed(s string, d date, n int) (gpumedic.Stamp, int) {
	t, k := parseDaytime(s[n:])
	if k == 0 {
		return gpumedic.Stamp{}, 0
	}
	n += k
	east, k, clear := parseZone(s[n:])
	n += k
	if d.year == 0 && n < len(s) && s[n] == ' ' {
		if y, k := year4(s[n+1:]); k > 0 && (n+1+k == len(s) || s[n+1+k] == ' ' || s[n+1+k] == ']') {
			d.year = y
			n += 1 + k
		}
	}
	return makeStamp(d, t, east, clear), n
}
