package decode

import (
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

var (
	inUnitRE     = lazyre.New(`(?i)(?:\bin (?:the )?|\bDetected in )((?:\w+ )?[\w/-]+?)(?:\s+at\b|\s+(?:sub)?partition\b|[.,;(]|\s*$)`)
	physAddrRE   = lazyre.New(`(?i)(?:physAddr|phys(?:ical)? address|\bat address|\baddress)\s*[:=]?\s*(0x[0-9a-f]+)`)
	partitionRE  = lazyre.New(`(?i)(?:^|[^b-])partition\s*[:=]?\s*(\d+)`)
	subpartRE    = lazyre.New(`(?i)sub-?partition\s*[:=]?\s*(\d+)`)
	dramWordRE   = lazyre.New(`(?i)\b(?:framebuffer|frame buffer|fb|dram|hbm\w*|vidmem|video memory|fbpa)\b`)
	sramWordRE   = lazyre.New(`(?i)\b(?:sram|l1|l2|ltc|lts|sm|register file|texture|shared memory|shm|cbu|gcc|gpccs|fecs|mmu|pmu|pcie|hshub|ce|ctxsw|gsp|icache|dcache|lrf|rf)\b`)
	parenAddrRE  = lazyre.New(`\(\s*(0x[0-9a-fA-F]+)\s*[,)]`)
	addrAtRE     = lazyre.New(`(?i)\bat (?:address )?(0x[0-9a-f]+)`)
	containedRE  = lazyre.New(`(?i)\b(Contained|Uncontained)\s*:\s*([^(.]+?)\s*(?:\(([^)]*)\)?)?\s*(?:\.|$)`)
	containWord  = lazyre.New(`(?i)\b(contained|uncontained)\b`)
	rstRE        = lazyre.New(`(?i)(?:^|[^-\w])RST\s*:\s*(Yes|No)`)
	drstRE       = lazyre.New(`(?i)\bD-RST\s*:\s*(Yes|No)`)
	stormPartRE  = lazyre.New(`(?i)logical partition\s+(\d+)`)
	repairRE     = lazyre.New(`(?i)Marking (LTS|Channel)\s+(\d+) in (\w+)\s+(\d+)(.*?pair)? for repair\.?\s*(?:Perform (.+?) to activate)?`)
	noSpareRE    = lazyre.New(`(?i)Repairing (LTS|Channel) failed`)
	dramRetireRE = lazyre.New(`(?i)DRAM Retirement failed due to (.+?)(?:\s+at\b|[.,]|\s*$)`)
	tpcRE        = lazyre.New(`(?i)\b(?:Retiring|retire) TPC\s+(\d+) from GPC\s+(\d+)`)
	countRE      = lazyre.New(`(?i)\b(DRAM|LTC|MMU|PCIE)\s*:\s*(-?\d+)`)
)

// where says in which kind of memory an error was, from the words of the text.
func (f *fields) where(text string) string {
	switch {
	case dramWordRE.MatchString(text):
		return "dram"
	case sramWordRE.MatchString(text):
		return "sram"
	}
	return ""
}

func (f *fields) address() {
	for _, re := range []*lazyre.Regexp{physAddrRE, parenAddrRE, addrAtRE} {
		if m := re.FindStringSubmatch(f.text); m != nil {
			f.set("address", strings.ToLower(m[1]))
			return
		}
	}
}

func (f *fields) partitions() {
	if m := subpartRE.FindStringSubmatch(f.text); m != nil {
		f.set("subpartition", plain(m[1]))
	}
	if m := partitionRE.FindStringSubmatch(subpartRE.ReplaceAllString(f.text, "")); m != nil {
		f.set("partition", plain(m[1]))
	}
}

// doubleBit reads Xid 48 and its companions 171 (DRAM) and 172 (SRAM).
func (f *fields) doubleBit(code int) {
	f.address()
	f.partitions()
	if m := inUnitRE.FindStringSubmatch(f.text); m != nil {
		if u := token(m[1]); u != "gpu" {
			f.set("unit", u)
		}
	}
	switch code {
	case 171:
		f.set("location", "dram")
	case 172:
		f.set("location", "sram")
	default:
		f.set("location", f.where(f.text))
	}
}

// repairTexts tells the outcomes of memory repair apart; the first that fits wins, so
// the special ones come first. The classes follow what each asks for.
var repairTexts = []struct {
	has, detail, class string
}{
	{"already pending remapping", "already_pending", "pending"},
	{"pending row remap", "already_pending", "pending"},
	{"pending bank remap", "already_pending", "pending"},
	{"pending lts swap", "already_pending", "pending"},
	{"table is full", "table_full", "exhausted"},
	{"all reserved rows", "bank_exhausted", "exhausted"},
	{"no more spare", "no_spare", "exhausted"},
	{"no spare", "no_spare", "exhausted"},
	{"hw limit", "hw_limit", "exhausted"},
	{"remap a reserved row", "reserved_row", "exhausted"},
	{"full inforom", "inforom_full", "recording"},
	{"inforom", "inforom_write", "recording"},
	{"disabled retirement", "disabled", "recording"},
	{"address retrieval", "address_error", "recording"},
	{"internal", "internal", "recording"},
	{"unable to retire page", "page_retire_failed", "recording"},
	{"already retired", "page_already_retired", "pending"},
	{"fatal error", "internal", "recording"},
	{"failure", "row_remap_failed", "unknown"},
	{"failed", "row_remap_failed", "unknown"},
}

// repair reads row remapping, page retirement, bank, channel and slice repair.
func (f *fields) repair(code int) {
	f.address()
	low := strings.ToLower(f.text)
	f.set("what", repairedThing(low))
	if f.channelRepair() {
		return
	}
	switch code {
	case 63, 177:
		f.set("detail", repairNews(low))
		return
	case 160:
		return
	}
	for _, t := range repairTexts {
		if strings.Contains(low, t.has) {
			f.set("detail", t.detail)
			f.set("detail_class", t.class)
			break
		}
	}
	if f.get("detail") == "" {
		f.set("detail", "unknown")
		f.set("detail_class", "unknown")
	}
	// NVIDIA's bucket is a reset; spares that are used up want the vendor's test
	// before anything else.
	if code == 64 && f.get("detail_class") == "exhausted" {
		f.set("action", "drain_and_diagnose")
	}
}

func repairedThing(low string) string {
	switch {
	case strings.Contains(low, "bank remapper"), strings.Contains(low, "new bank"):
		return "bank"
	case strings.Contains(low, "row"):
		return "row"
	case strings.Contains(low, "page"):
		return "page"
	}
	return ""
}

func repairNews(low string) string {
	switch {
	case strings.Contains(low, "new bank"):
		return "bank_remap_new"
	case strings.Contains(low, "new row"), strings.Contains(low, "marked for remapping"):
		return "row_remap_new"
	case strings.Contains(low, "pending"):
		return "row_remap_pending"
	case strings.Contains(low, "already retired"):
		return "page_already_retired"
	case strings.Contains(low, "retired page"), strings.Contains(low, "page retirement"), strings.Contains(low, "retiring page"):
		return "page_retired"
	}
	return ""
}

// channelRepair reads Xid 160 and 161.
func (f *fields) channelRepair() bool {
	if m := repairRE.FindStringSubmatch(f.text); m != nil {
		f.set("what", strings.ToLower(m[1]))
		f.set("index", plain(m[2]))
		f.set("place", token(m[3])+plain(m[4]))
		f.set("pair", gpumedic.YesNo(m[5] != ""))
		f.set("activate", token(m[6]))
		f.set("detail", token(m[1])+"_repair_new")
		return true
	}
	if m := noSpareRE.FindStringSubmatch(f.text); m != nil {
		f.set("what", strings.ToLower(m[1]))
		f.set("detail", "no_spare")
		f.set("detail_class", "exhausted")
		return true
	}
	if m := dramRetireRE.FindStringSubmatch(f.text); m != nil {
		f.set("reason", token(m[1]))
	}
	return false
}

// retirement reads Xid 156 and 157 (TPC replaced by a spare).
func (f *fields) retirement() {
	if m := tpcRE.FindStringSubmatch(f.text); m != nil {
		f.set("tpc", plain(m[1]))
		f.set("gpc", plain(m[2]))
	}
	switch low := strings.ToLower(f.text); {
	case strings.Contains(low, "unable to retire"):
		f.set("spare", "none")
	case strings.Contains(low, "same gpc"):
		f.set("spare", "same_gpc")
	case strings.Contains(low, "different gpc"):
		f.set("spare", "other_gpc")
	}
}

// contained reads Xid 94 and 95.
func (f *fields) contained() {
	if m := containedRE.FindStringSubmatch(f.text); m != nil {
		f.set("containment", strings.ToLower(m[1]))
		f.set("unit", token(m[2]))
		f.set("location_numbers", strings.ToLower(strings.ReplaceAll(m[3], " ", "")))
		f.set("location", f.where(m[2]))
	} else if m := containWord.FindStringSubmatch(f.text); m != nil {
		f.set("containment", strings.ToLower(m[1]))
	} else if f.get("code") == "95" {
		f.set("containment", "uncontained")
	} else {
		f.set("containment", "contained")
	}
	if m := physAddrRE.FindStringSubmatch(f.text); m != nil {
		f.set("address", strings.ToLower(m[1]))
	}
	if m := drstRE.FindStringSubmatch(f.text); m != nil {
		f.set("drst", strings.ToLower(m[1]))
	}
	if m := rstRE.FindStringSubmatch(drstRE.ReplaceAllString(f.text, "")); m != nil {
		f.set("rst", strings.ToLower(m[1]))
	}
	// The line's own verdict outranks the bucket of the number.
	switch {
	case f.get("rst") == "yes", f.get("drst") == "yes":
		f.set("action", "reset_gpu")
	case f.get("rst") == "no" && f.get("drst") == "no":
		f.set("action", "restart_app")
	}
}

// singleBitStorm reads Xid 92.
func (f *fields) singleBitStorm() {
	switch low := strings.ToLower(f.text); {
	case strings.Contains(low, "interrupt storm"):
		f.set("detail", "sm_storm")
	case strings.Contains(low, "disabling"):
		f.set("detail", "interrupts_disabled")
	case strings.Contains(low, "high single-bit"), strings.Contains(low, "high rate"):
		f.set("detail", "high_rate")
	}
	if m := stormPartRE.FindStringSubmatch(f.text); m != nil {
		f.set("partition", plain(m[1]))
	}
}

// escape reads the counts of Xid 140. The driver prints -1 where it could not count.
func (f *fields) escape() {
	var units []string
	for _, m := range countRE.FindAllStringSubmatch(f.text, -1) {
		name := strings.ToLower(m[1])
		f.set(name, plain(m[2]))
		if n, ok := atoi(m[2]); ok && n > 0 {
			units = append(units, name)
		}
	}
	f.set("units", strings.Join(units, "|"))
}
