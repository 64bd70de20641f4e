package frame

import "strings"

// framingWords are the plain words that loggers put before a kernel message.
var framingWords = map[string]bool{"kernel": true, "kern": true, "kmsg": true, "dmesg": true, "utc": true, "gmt": true, "local0": true,
	"mon": true, "tue": true, "wed": true, "thu": true, "fri": true, "sat": true, "sun": true}

// IsFraming reports whether what stands before a kernel message in a text may be
// framing of a form that is not known. Words of people, commands and programs that
// quote the message are not.
func IsFraming(before string) bool {
	if strings.ContainsAny(before, "'\"`=;$&?!{}%~#\\*") {
		return false
	}
	words := 0
	for w := range strings.FieldsSeq(before) {
		core := strings.ToLower(strings.Trim(w, ":()[]|<>-+,."))
		if words++; words > 12 {
			return false
		}
		if core == "" {
			continue
		}
		if m, n := monthName(core); m > 0 && n == len(core) || framingWords[core] || levelWord(core) || levelNames[core] {
			continue
		}
		if quotes(core) || strings.HasSuffix(w, "]:") && w[0] != '[' || !strings.ContainsAny(core, "0123456789") {
			return false
		}
		for i := range len(core) {
			if core[i] >= 0x80 {
				return false
			}
		}
	}
	return true
}
