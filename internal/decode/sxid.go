package decode

import (
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

var (
	sxidWordRE  = lazyre.New(`(?i)^\s*(Fatal|Non-?fatal|Correctable)\b`)
	sxidLinkRE  = lazyre.New(`(?i)\bLink\s+(-?\d+)\s*(.*)$`)
	sxidTailRE  = lazyre.New(`(?i)\s*\(\s*First\s*\)`)
	sxidHeadRE  = lazyre.New(`(?i)^\s*(?:(?:Fatal|Non-?fatal|Correctable)\s*,\s*)?(?:Link\s+-?\d+\s*)?`)
	sxidRecords = lazyre.New(`(?i)\s*(?:Severity\s+\d+\s+Engine instance|Data\s*\{).*$`)
)

// sxid reads an NVSwitch error. The word that the switch driver printed wins over the
// table: the driver knows whether the error was contained.
func (d *Decoder) sxid(f *fields) {
	code, ok := atoi(f.get("code"))
	row, known := d.tables.SXid(code)
	f.set("catalogued", gpumedic.YesNo(ok && known))
	word := f.get("severity")
	if word == "" {
		if m := sxidWordRE.FindStringSubmatch(f.text); m != nil {
			word = m[1]
		}
	}
	sev := ""
	if word != "" {
		sev = severity(word)
		if strings.EqualFold(word, "correctable") {
			sev = "correctable"
		}
		// The word is the matcher's own group: bring it to one spelling.
		f.sig.Fields["severity"] = sev
	}
	f.sxidText()
	f.sig.Level = sxidLevel(sev)
	f.set("fatality", sev)
	if !known {
		f.set("action", sxidAction(sev, ""))
		return
	}
	f.set("name", row.Name)
	f.set("unit", row.Unit)
	f.set("recovery", row.Recovery)
	f.set("table_fatality", row.Fatality)
	if sev == "" {
		f.set("fatality", row.Fatality)
		f.sig.Level = row.Level
	}
	if row.Level == gpumedic.LevelFact { // harmless whatever the word
		f.sig.Level = gpumedic.LevelFact
		f.set("action", "none")
		return
	}
	f.set("action", sxidAction(sev, row.Action))
}

func (f *fields) sxidText() {
	if m := sxidLinkRE.FindStringSubmatch(f.text); m != nil {
		f.setLink(m[1])
	} else if l := f.get("link"); l != "" {
		f.sig.Fields["link"] = plain(l)
		if f.sig.Subject.Link == "" {
			f.sig.Subject.Link = plain(l)
		}
	}
	f.set("first", gpumedic.YesNo(sxidTailRE.MatchString(f.text)))
	reason := sxidRecords.ReplaceAllString(f.text, "")
	reason = sxidTailRE.ReplaceAllString(sxidHeadRE.ReplaceAllString(reason, ""), "")
	f.set("reason", token(reason))
}

func sxidLevel(sev string) gpumedic.Level {
	if sev == "correctable" {
		return gpumedic.LevelNotice
	}
	return gpumedic.LevelAbnormal
}

// sxidAction joins the printed severity with the table's recovery: a printed "Fatal"
// is never answered by watching, a printed "Non-fatal" is, unless the table names
// something to correct (cooling, partition set-up).
func sxidAction(sev, table string) string {
	switch sev {
	case "fatal":
		switch table {
		case "", "none", "monitor", "restart_app":
			return "drain_and_diagnose"
		}
	case "nonfatal", "correctable":
		switch table {
		case "check_power_cooling", "fix_config", "restart_app":
			return table
		}
		return "monitor"
	}
	if table == "" {
		return "drain_and_diagnose"
	}
	return table
}
