package decode

import (
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

var (
	causedByRE    = lazyre.New(`(?i)caused by previous Xid\s*(?:\(?\s*)(\d+)`)
	channelRE     = lazyre.New(`(?i)\b(?:ch(?:annel|id)?)\s*[:=]?\s*(?P<channel>0x[0-9a-f]+|[0-9a-f]{4,8}\b|\d+)`)
	intrRE        = lazyre.New(`(?i)\bintr\s+(?P<intr>0x[0-9a-f]+|[0-9a-f]{4,8}\b)`)
	placeholderRE = lazyre.New(`(?:^|[\s(=,])%(?:[-+ #0]*\d*(?:ll|l|h)?[sduxXp]|0\d*(?:ll|l)?x)(?:[\s),.!:]|$)`)
)

// xidCleanup: channels of a program that ended were removed.
const xidCleanup = 45

// xid adds what every code has, then what this code's text says.
func (d *Decoder) xid(f *fields) {
	f.oldBus()
	code, ok := atoi(f.get("code"))
	if !ok {
		f.set("catalogued", "no")
		f.set("placeholder", "yes")
		f.sig.Level = gpumedic.LevelNotice // a format string, not an event
		return
	}
	row, known := d.tables.Xid(code)
	f.set("catalogued", gpumedic.YesNo(known))
	f.sig.Level = gpumedic.LevelAbnormal
	if known {
		f.sig.Level = row.Level
		f.row(row)
	}
	if code == xidCleanup && f.get("source") == "dcgm-exporter" {
		// The gauge shows the clean-up after any program that was stopped, for as long
		// as the exporter runs: no news.
		f.sig.Level = gpumedic.LevelNotice
	}
	if m := causedByRE.FindStringSubmatch(f.text); m != nil {
		f.set("caused_by", plain(m[1]))
	}
	if placeholderRE.MatchString(f.text) {
		f.set("placeholder", "yes")
	}
	if strings.Count(f.text, "(") > strings.Count(f.text, ")") {
		f.set("truncated", "yes")
	}
	d.xidText(code, f)
}

// oldBus makes the subject of "0001:00", bus and device of drivers before 2010.
func (f *fields) oldBus() {
	bus := f.get("old_bus")
	if bus == "" {
		return
	}
	delete(f.sig.Fields, "old_bus")
	f.sig.Subject.GPU.PCI = gpumedic.NormalPCI(strings.TrimPrefix(bus, "00"))
}

func (f *fields) row(x *catalog.Xid) {
	f.set("mnemonic", x.Mnemonic)
	f.set("class", x.Class())
	f.set("classes", strings.Join(x.Classes, "|"))
	f.set("immediate", x.Immediate)
	f.set("investigatory", x.Investigatory)
	f.set("action", x.Action)
	if x.Low {
		f.set("table_confidence", "low")
	}
}

// xidText dispatches to the grammar of one code. The numbers below say which driver
// function wrote the text, nothing about its meaning: that is in the tables.
func (d *Decoder) xidText(code int, f *fields) {
	switch code {
	case 13:
		f.exception()
	case 31, 137:
		f.mmuFault()
		if code == 137 {
			f.privError()
		}
	case 48, 171, 172:
		f.doubleBit(code)
	case 63, 64, 160, 161, 177:
		f.repair(code)
	case 156, 157:
		f.retirement()
	case 74:
		d.nvlink4(f)
	case 78:
		f.vgpu()
	case 79:
		if fellOffRE.MatchString(f.text) {
			f.set("detail", "fell_off")
		}
	case 54:
		if powerCableRE.MatchString(f.text) {
			f.set("detail", "power_cable")
		}
	case 92:
		f.singleBitStorm()
	case 94, 95:
		f.contained()
	case 119, 175:
		f.rpcTimeout()
	case 120:
		f.gspError()
	case 121, 173:
		f.linkNumber()
	case 136:
		f.links()
	case 140:
		f.escape()
	case 143:
		f.fspBoot()
	case 62:
		f.words("status_words")
	case 144, 145, 146, 147, 148, 149, 150:
		d.nvlink5(code, f)
	case 154:
		d.recovery(f)
	}
	switch code {
	case 8, 32, 39, 40, 41, 43, 44, 45, 46, 68, 69, 70, 71, 72, 109:
		f.find(channelRE)
		f.find(intrRE)
		if m := infoRE.FindStringSubmatch(f.text); m != nil {
			f.set("error_text", token(m[1]))
			f.set("info", strings.ToLower(m[2]))
		}
	case 31:
		f.find(channelRE)
		f.find(intrRE)
	}
}

var (
	fellOffRE    = lazyre.New(`(?i)fallen off the bus`)
	powerCableRE = lazyre.New(`(?i)power (?:cable|connector)|auxiliary power`)
	infoRE       = lazyre.New(`(?i)errorString\s+(.+?)(?:,\s*Info\s+(0x[0-9a-f]+|[0-9a-f]+))?\s*$`)
)
