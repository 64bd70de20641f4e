package maintenance

import (
	"fmt"
	"strings"
	"time"
)

// ICal writes the items as a calendar (RFC 5545): one event of a day for each due date,
// repeated at its interval.
func ICal(items []Item, node, language string, now time.Time) string {
	var b strings.Builder
	line := func(format string, args ...any) { fold(&b, fmt.Sprintf(format, args...)) }
	line("BEGIN:VCALENDAR")
	line("VERSION:2.0")
	line("PRODID:-//gpumedic//maintenance//EN")
	for _, i := range items {
		title, why := i.Title.EN, i.Why.EN
		if language == "zh" {
			title, why = i.Title.ZH, i.Why.ZH
		}
		line("BEGIN:VEVENT")
		line("UID:%s.%s@gpumedic", escape(i.ID), escape(node))
		line("DTSTAMP:%s", now.UTC().Format("20060102T150405Z"))
		line("DTSTART;VALUE=DATE:%s", i.Due.Format("20060102"))
		line("RRULE:FREQ=DAILY;INTERVAL=%d", i.Every)
		line("SUMMARY:%s", escape(node+": "+title))
		line("DESCRIPTION:%s", escape(why+"\n"+i.Command))
		line("END:VEVENT")
	}
	line("END:VCALENDAR")
	return b.String()
}

func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r", "", "\n", `\n`).Replace(s)
}

// fold ends a line as the standard wants: at most 75 bytes, never within a character.
func fold(b *strings.Builder, s string) {
	for n := 75; len(s) > n; n = 74 {
		cut := n
		for cut > 0 && s[cut]&0xc0 == 0x80 {
			cut--
		}
		b.WriteString(s[:cut] + "\r\n ")
		s = s[cut:]
	}
	b.WriteString(s + "\r\n")
}
