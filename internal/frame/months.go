package frame

import "strings"

// monthNames maps month names and abbreviations (lower case, without a closing
// point) to 1..12, in the languages that strftime and journalctl print on the
// systems people run. A name that means two months in two languages is left out.
var monthNames = map[string]int{
	// German, Dutch, Scandinavian
	"jän": 1, "jän.": 1, "januar": 1, "jänner": 1, "februar": 2, "mär": 3, "märz": 3, "mrz": 3, "mrt": 3, "maa": 3, "mai": 5, "maj": 5, "mei": 5,
	"juni": 6, "juli": 7, "okt": 10, "oktober": 10, "dez": 12, "dezember": 12,
	// French
	"janv": 1, "janvier": 1, "fév": 2, "févr": 2, "février": 2, "fevr": 2, "mars": 3, "avr": 4, "avril": 4, "juin": 6, "juil": 7, "juillet": 7,
	"aoû": 8, "août": 8, "aout": 8, "septembre": 9, "octobre": 10, "novembre": 11, "déc": 12, "décembre": 12,
	// Spanish, Portuguese, Italian
	"ene": 1, "enero": 1, "janeiro": 1, "gen": 1, "gennaio": 1, "fev": 2, "fevereiro": 2, "febrero": 2, "febbraio": 2, "marzo": 3, "março": 3,
	"abr": 4, "abril": 4, "aprile": 4, "mag": 5, "maggio": 5, "mayo": 5, "maio": 5, "giu": 6, "giugno": 6, "junio": 6, "junho": 6,
	"lug": 7, "luglio": 7, "julio": 7, "julho": 7, "ago": 8, "agosto": 8, "set": 9, "setembro": 9, "settembre": 9, "septiembre": 9,
	"out": 10, "outubro": 10, "octubre": 10, "ott": 10, "ottobre": 10, "noviembre": 11, "novembro": 11, "dic": 12, "diciembre": 12, "dicembre": 12, "dezembro": 12,
	// Russian, Ukrainian
	"янв": 1, "января": 1, "фев": 2, "февр": 2, "февраля": 2, "мар": 3, "марта": 3, "апр": 4, "апреля": 4, "май": 5, "мая": 5,
	"июн": 6, "июня": 6, "июл": 7, "июля": 7, "авг": 8, "августа": 8, "сен": 9, "сент": 9, "сентября": 9, "окт": 10, "октября": 10,
	"ноя": 11, "нояб": 11, "ноября": 11, "дек": 12, "декабря": 12,
	// Polish, Czech, Turkish
	"sty": 1, "lut": 2, "kwi": 4, "cze": 6, "lip": 7, "sie": 8, "wrz": 9, "paź": 10, "lis": 11, "gru": 12,
	"led": 1, "úno": 2, "bře": 3, "dub": 4, "kvě": 5, "čen": 6, "čec": 7, "srp": 8, "zář": 9, "říj": 10, "pro": 12,
	"oca": 1, "şub": 2, "nis": 4, "haz": 6, "tem": 7, "ağu": 8, "eyl": 9, "eki": 10, "kas": 11, "ara": 12,
	// English in full
	"january": 1, "february": 2, "march": 3, "april": 4, "june": 6, "july": 7, "august": 8, "sept": 9, "september": 9, "october": 10, "november": 11, "december": 12,
	// Chinese numerals
	"一月": 1, "二月": 2, "三月": 3, "四月": 4, "五月": 5, "六月": 6, "七月": 7, "八月": 8, "九月": 9, "十月": 10, "十一月": 11, "十二月": 12,
}

// monthName reads a month name at the start of s: its number and length.
func monthName(s string) (month, n int) {
	// 1月, 10月, 1월
	if d := digits(s, 2); d > 0 {
		for _, suffix := range [...]string{"月", "월"} {
			if strings.HasPrefix(s[d:], suffix) {
				if m := atoi(s[:d]); m >= 1 && m <= 12 {
					return m, d + len(suffix)
				}
			}
		}
		return 0, 0
	}
	end := 0
	for end < len(s) && end < 24 && (isAlpha(s[end]) || s[end] >= 0x80) {
		end++
	}
	if end < 3 {
		return 0, 0
	}
	m := 0
	if end == 3 {
		m = englishMonth(s)
	}
	if m == 0 {
		word := s[:end]
		for i := 0; i < end; i++ {
			if c := word[i]; c >= 'A' && c <= 'Z' || c >= 0x80 {
				word = strings.ToLower(word)
				break
			}
		}
		if m = monthNames[word]; m == 0 {
			return 0, 0
		}
	}
	if end < len(s) && s[end] == '.' {
		end++
	}
	return m, end
}

func englishMonth(s string) int {
	switch [3]byte{s[0] | 0x20, s[1] | 0x20, s[2] | 0x20} {
	case [3]byte{'j', 'a', 'n'}:
		return 1
	case [3]byte{'f', 'e', 'b'}:
		return 2
	case [3]byte{'m', 'a', 'r'}:
		return 3
	case [3]byte{'a', 'p', 'r'}:
		return 4
	case [3]byte{'m', 'a', 'y'}:
		return 5
	case [3]byte{'j', 'u', 'n'}:
		return 6
	case [3]byte{'j', 'u', 'l'}:
		return 7
	case [3]byte{'a', 'u', 'g'}:
		return 8
	case [3]byte{'s', 'e', 'p'}:
		return 9
	case [3]byte{'o', 'c', 't'}:
		return 10
	case [3]byte{'n', 'o', 'v'}:
		return 11
	case [3]byte{'d', 'e', 'c'}:
		return 12
	}
	return 0
}

// zoneMinutes are the zone names that mean one offset, as minutes east of UTC.
// CST and IST are not here: they name zones on several continents.
var zoneMinutes = map[string]int{
	"UTC": 0, "GMT": 0, "WET": 0, "WEST": 60, "CET": 60, "CEST": 120, "EET": 120, "EEST": 180, "BST": 60, "MSK": 180,
	"EST": -300, "EDT": -240, "CDT": -300, "MST": -420, "MDT": -360, "PST": -480, "PDT": -420, "AKST": -540, "AKDT": -480, "HST": -600,
	"JST": 540, "KST": 540, "HKT": 480, "SGT": 480, "AEST": 600, "AEDT": 660, "ACST": 570, "AWST": 480, "NZST": 720, "NZDT": 780,
}

// zoneUnclear are names that stand where a zone stands and do not tell the offset.
var zoneUnclear = map[string]bool{"CST": true, "IST": true, "AST": true, "ADT": true, "WIB": true, "PHT": true}

func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isAlnum(c byte) bool { return isAlpha(c) || isDigit(c) }

// digits counts the decimal digits at the start of s, at most max; more digits
// than max give 0.
func digits(s string, max int) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		if n++; n > max {
			return 0
		}
	}
	return n
}

// atoi reads digits that were checked before; it never overflows for the lengths
// used here (at most 18).
func atoi(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		n = n*10 + int(s[i]-'0')
	}
	return n
}
