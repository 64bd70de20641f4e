package decode

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

var (
	nvlink4RE   = lazyre.New(`(?i)(?:\ba\s+)?(\bnon-?fatal|\bfatal)?\s*error detected on link\s+(\d+)`)
	registersRE = lazyre.New(`\(\s*(0x[0-9a-fA-F]+(?:\s*,\s*0x[0-9a-fA-F]+)*)\s*,?\s*\)?`)
	trainRE     = lazyre.New(`(?i)failed to train link\s+(\d+)(?:\s+to remote\s+(?:PCI:)?([0-9a-f:.]+))?`)
	listRE      = lazyre.New(`(?i)link\(?s?\)?\s*[:(]?\s*((?:\d+|0x[0-9a-f]+)(?:[\s,]+(?:\d+|0x[0-9a-f]+))*)`)
)

// nvlink4 reads Xid 74: seven registers of one link. The strongest verdict over all
// set bits counts; a bit that the table lacks is to be reported.
func (d *Decoder) nvlink4(f *fields) {
	if m := trainRE.FindStringSubmatch(f.text); m != nil {
		f.set("nvlink_detail", "train_failed")
		f.setLink(m[1])
		f.set("peer", gpumedic.NormalPCI(strings.TrimRight(m[2], ".:")))
		return
	}
	if m := nvlink4RE.FindStringSubmatch(f.text); m != nil {
		sev := strings.ReplaceAll(strings.ToLower(m[1]), "-", "")
		f.set("severity", sev)
		f.set("nvlink_detail", sev)
		f.setLink(m[2])
	} else {
		f.linkNumber()
		if strings.Contains(strings.ToLower(f.text), "minion") {
			f.set("nvlink_detail", "minion")
		}
	}
	m := registersRE.FindStringSubmatch(f.text)
	if m == nil {
		return
	}
	words := strings.FieldsFunc(strings.ToLower(m[1]), func(r rune) bool { return r == ',' || r == ' ' })
	f.set("registers", strings.Join(words, " "))
	verdict, bits := d.registerBits(words)
	f.set("nvlink_verdict", verdict)
	f.set("bits", strings.Join(bits, "|"))
	switch verdict {
	case "ignore", "ecc_threshold":
		f.set("action", "monitor")
	case "weak_signal", "hw_possible":
		f.set("action", "drain_and_diagnose")
	}
}

func (d *Decoder) registerBits(words []string) (verdict string, bits []string) {
	worst := -1
	for i, w := range words {
		n, ok := word32(w)
		if !ok {
			continue
		}
		for b := range 32 {
			if n&(1<<b) == 0 {
				continue
			}
			v := d.tables.NVLink4Bit(i, b)
			bits = append(bits, strconv.Itoa(i+1)+"."+strconv.Itoa(b)+":"+v)
			worst = max(worst, slices.Index(catalog.LinkVerdicts, v))
		}
	}
	if worst >= 0 {
		verdict = catalog.LinkVerdicts[worst]
	}
	return verdict, bits
}

// links reads Xid 136: a list of links that did not train.
func (f *fields) links() {
	m := listRE.FindStringSubmatch(f.text)
	if m == nil {
		return
	}
	list := strings.FieldsFunc(m[1], func(r rune) bool { return r == ',' || r == ' ' })
	for i := range list {
		list[i] = strings.ToLower(list[i])
		if !strings.HasPrefix(list[i], "0x") {
			list[i] = plain(list[i])
		}
	}
	f.set("links", strings.Join(list, "|"))
	if len(list) == 1 {
		f.setLink(list[0])
	}
}

var (
	nvlink5RE = lazyre.New(`(?i)(?:^|[\s,])([A-Z][A-Z0-9_]*(?:/[A-Z0-9_]+)?|MSE Degraded)\s+(Fatal|Non-?fatal|Link[ _-]?fatal)\b`)
	xcRE      = lazyre.New(`\bXC\s*(\d)`)
	injRE     = lazyre.New(`\bi(\d)\b`)
	regs5RE   = lazyre.New(`\(\s*(0x[0-9a-fA-F]+(?:[\s,]+0x[0-9a-fA-F]+)*)`)
)

// nvlink5 reads Xid 144 to 150.
func (d *Decoder) nvlink5(code int, f *fields) {
	if m := nvlink5RE.FindStringSubmatch(f.text); m != nil {
		f.set("unit", strings.ReplaceAll(strings.ToLower(m[1]), " ", "_"))
		f.set("severity", severity(m[2]))
	}
	if m := xcRE.FindStringSubmatch(f.text); m != nil {
		f.set("xc", m[1])
	}
	if m := injRE.FindStringSubmatch(f.text); m != nil {
		f.set("injected", gpumedic.YesNo(m[1] != "0"))
	}
	f.linkNumber()
	m := regs5RE.FindStringSubmatch(f.text)
	if m == nil {
		f.nvlink5Default()
		return
	}
	words := strings.FieldsFunc(strings.ToLower(m[1]), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	f.set("intrinfo", words[0])
	if len(words) > 1 {
		f.set("errstatus", words[1])
		f.set("debug", strings.Join(words[2:], " "))
	}
	d.nvlink5Table(code, words, f)
}

func severity(s string) string {
	switch s = strings.ToLower(s); {
	case strings.HasPrefix(s, "non"):
		return "nonfatal"
	case strings.HasPrefix(s, "link"):
		return "link_fatal"
	}
	return "fatal"
}

// nvlink5Table looks the words up. The layout of the first word changed with driver
// R575; when the version is unknown both are tried. Usually one fits alone; where both
// do, what they agree on is stated and the rest is joined by "|".
func (d *Decoder) nvlink5Table(code int, words []string, f *fields) {
	intr, ok := word32(words[0])
	var status uint32
	if len(words) > 1 {
		status, _ = word32(words[1])
	}
	var rows []catalog.NVLink5Match
	if ok {
		rows = d.tables.NVLink5(code, f.get("unit"), intr, status, major(f.get("driver_version")))
	}
	if len(words) == 1 { // cut off: only rows that ask no status can be told
		rows = slices.DeleteFunc(rows, func(r catalog.NVLink5Match) bool { return !r.AnyStatus })
	}
	if len(rows) == 0 {
		f.set("decoded", "no")
		f.nvlink5Default()
		return
	}
	f.set("decoded", "yes")
	if len(rows) > 1 && rows[0].NVLink5 != rows[1].NVLink5 {
		f.set("decoded", "ambiguous")
	}
	join := func(name string, get func(catalog.NVLink5Match) string) string {
		var vals []string
		for _, r := range rows {
			if v := get(r); v != "" && !slices.Contains(vals, v) {
				vals = append(vals, v)
			}
		}
		v := strings.Join(vals, "|")
		f.set(name, v)
		return v
	}
	f.set("layout", layout(rows))
	f.set("subcode", subcode(rows[0].Old, intr))
	join("subunit", func(r catalog.NVLink5Match) string { return r.Unit })
	join("local", func(r catalog.NVLink5Match) string { return r.Local })
	join("remote", func(r catalog.NVLink5Match) string { return r.Remote })
	join("origin", func(r catalog.NVLink5Match) string { return r.Origin })
	join("investigatory", func(r catalog.NVLink5Match) string { return r.Investigatory })
	imm := join("immediate", func(r catalog.NVLink5Match) string { return r.Immediate })
	if b, ok := d.tables.Bucket(imm); ok {
		f.set("action", b.Action)
		if b.ID == "ignore" {
			f.set("action", "monitor")
		}
	} else {
		f.nvlink5Default()
	}
	if r := rows[0].Reason; r >= 0 && len(rows) == 1 {
		f.set("link_down_reason", strconv.Itoa(r))
		if reason, ok := d.tables.LinkReason(r); ok {
			f.set("link_down_text", reason.Token)
		}
	}
}

// nvlink5Default goes by the severity that the line prints when no row fits.
func (f *fields) nvlink5Default() {
	if f.get("severity") == "nonfatal" {
		f.set("action", "monitor")
	}
}

func layout(rows []catalog.NVLink5Match) string {
	switch {
	case len(rows) > 1:
		return "both"
	case rows[0].Old:
		return "pre_r575"
	}
	return "r575"
}

// subcode is the sub-unit number in IntrInfo: bits 9:5 before R575, 6:0 since.
func subcode(old bool, intr uint32) string {
	if old {
		return strconv.Itoa(int(intr >> 5 & 0x1f))
	}
	return strconv.Itoa(int(intr & 0x7f))
}
