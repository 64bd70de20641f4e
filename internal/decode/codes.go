package decode

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// rminit reads "RmInitAdapter failed! (stage:status:line)".
func (d *Decoder) rminit(f *fields) {
	stage, ok1 := word32(f.get("stage"))
	status, ok2 := word32(f.get("status"))
	s, st := d.tables.RmInit(uint64(stage), uint64(status))
	if !ok1 {
		s = nil
	}
	if !ok2 {
		st = nil
	}
	f.set("catalogued", gpumedic.YesNo(s != nil && st != nil))
	var classes []string
	if s != nil {
		f.set("stage_name", strings.ToLower(s.Name))
		f.set("stage_phase", s.Hint)
		f.set("action", s.Action)
		classes = s.Classes
	}
	if st == nil {
		f.classes(classes)
		return
	}
	f.set("status_name", strings.ToLower(strings.TrimPrefix(st.Name, "NV_ERR_")))
	f.set("hint", st.Hint)
	// A status that says something of its own (lost, no power, reset first) is
	// nearer to the cause than the stage that it stopped.
	if st.Action != "" && st.Action != "none" {
		f.set("action", st.Action)
		if len(st.Classes) > 0 {
			classes = st.Classes
		}
	}
	f.classes(classes)
}

func (f *fields) classes(c []string) {
	if len(c) > 0 {
		f.set("class", c[0])
		f.set("classes", strings.Join(c, "|"))
	}
}

var (
	aerWordRE   = lazyre.New(`(?i)(?:error status/mask=|aer_status:\s*|status=)(?:0x)?([0-9a-f]{1,8})(?:(?:/|,\s*aer_mask:\s*|\s+mask=)(?:0x)?([0-9a-f]{1,8}))?`)
	aerSevRE    = lazyre.New(`(?i)severity=(Correct(?:ed|able)|Uncorrect(?:ed|able)(?: \((?:Non-)?Fatal\))?|Fatal)`)
	aerLayerRE  = lazyre.New(`(?i)type=(Physical|Data Link|Transaction) Layer`)
	aerAgentRE  = lazyre.New(`(?i)\((Receiver|Transmitter|Requester|Completer) ID\)`)
	aerBitRE    = lazyre.New(`(?:^|\s)\[\s*(\d{1,2})\]\s+(\w+)(\s+\(First\))?`)
	uncorrected = []string{"nonfatal", "fatal", "uncorrected"}
)

// aer reads PCIe Advanced Error Reporting: the status word, the mask, names of bits.
func (d *Decoder) aer(f *fields) {
	sev := aerSeverity(f.get("severity"))
	if sev == "" {
		if m := aerSevRE.FindStringSubmatch(f.text); m != nil {
			sev = aerSeverity(m[1])
		}
	}
	if sev != "" {
		f.sig.Fields["severity"] = sev // one spelling
	}
	if m := aerLayerRE.FindStringSubmatch(f.text); m != nil {
		f.set("layer", token(m[1]))
	}
	if m := aerAgentRE.FindStringSubmatch(f.text); m != nil {
		f.set("agent", strings.ToLower(m[1]))
	}
	status, mask := f.get("status"), f.get("mask")
	if m := aerWordRE.FindStringSubmatch(f.text); m != nil && status == "" {
		status, mask = m[1], m[2]
	}
	d.aerBits(f, sev, status, mask)
}

func (d *Decoder) aerBits(f *fields, sev, status, mask string) {
	var set, masked []*catalog.AERBit
	add := func(b *catalog.AERBit, hidden bool) {
		list := &set
		if hidden {
			list = &masked
		}
		if !slices.Contains(*list, b) {
			*list = append(*list, b)
		}
	}
	corrected := !slices.Contains(uncorrected, sev)
	if w, ok := word32(status); ok && status != "" && sev != "" {
		m, _ := word32(mask)
		for _, b := range d.tables.AERBits(corrected) {
			if w&(1<<b.Bit) != 0 {
				add(b, m&(1<<b.Bit) != 0)
			}
		}
	}
	var first *catalog.AERBit
	for _, m := range aerBitRE.FindAllStringSubmatch(f.text+"\n"+f.get("bit_names"), -1) {
		for _, c := range []bool{true, false} {
			for _, b := range d.tables.AERBits(c) {
				if strings.EqualFold(b.Name, m[2]) && m[1] == strconv.Itoa(b.Bit) {
					add(b, false)
					if m[3] != "" {
						first = b
					}
				}
			}
		}
	}
	byBit := func(a, b *catalog.AERBit) int { return a.Bit - b.Bit }
	slices.SortStableFunc(set, byBit)
	slices.SortStableFunc(masked, byBit)
	f.set("bits", tokensOf(set))
	f.set("masked", tokensOf(masked))
	hint := strongestHint(set)
	if first != nil { // the device itself tells which error came first
		f.set("first", first.Token)
		hint = first.Hint
	}
	f.set("aer_hint", hint)
	if f.get("layer") == "" && len(set) > 0 {
		f.set("layer", set[0].Layer)
	}
}

func aerSeverity(s string) string {
	low := strings.ToLower(s)
	switch {
	case low == "":
		return ""
	case strings.Contains(low, "non"):
		return "nonfatal"
	case strings.Contains(low, "fatal"):
		return "fatal"
	case strings.HasPrefix(low, "correct"):
		return "corrected"
	case strings.HasPrefix(low, "uncorrect"):
		return "uncorrected"
	}
	return ""
}

func tokensOf(bits []*catalog.AERBit) string {
	var t []string
	for _, b := range bits {
		t = append(t, b.Token)
	}
	return strings.Join(t, "|")
}

// aerHints orders hints by what they say about the cause.
var aerHints = []string{"surprise_down", "completion_timeout", "link_quality", "poison", "completion_abort", "internal", "config", "noise"}

func strongestHint(bits []*catalog.AERBit) string {
	for _, h := range aerHints {
		for _, b := range bits {
			if b.Hint == h {
				return h
			}
		}
	}
	return ""
}

var (
	cudaSymbolRE = lazyre.New(`\b(CUDA_(?:ERROR_[A-Z0-9_]+|SUCCESS)|cuda(?:Error[A-Z]\w+|Success))\b`)
	// The number of a CUDA error is only believed where the text says that it is one.
	cudaNumberRE = lazyre.New(`(?i)(?:cuda(?:\s+(?:runtime|driver))?\s+error\s*[:(]?\s*\(?|CUresult\s*[=:]?\s*|cudaError_t\s*[=:]?\s*|\berror(?: code\s*[=:]?\s*|\s*[=:]\s*))(\d{1,5})\b`)
	oldRuntimeRE = lazyre.New(`(?i)cuda runtime error \((\d+)\)`)
)

// cuda reads a CUDA error in any of its forms: symbol, number, or the library's text.
func (d *Decoder) cuda(f *fields) {
	c, ok := d.cudaCode(f)
	if !ok {
		return
	}
	f.set("number", strconv.Itoa(c.Number))
	f.set("symbol", c.Symbol)
	f.set("class", c.Class)
	f.set("action", c.Action)
	switch c.Sticky {
	case "yes", "no":
		f.set("sticky", c.Sticky)
	case "unknown":
		f.set("sticky", "maybe")
	}
	for _, api := range []string{"driver", "runtime"} {
		if x, ok := d.tables.CodeNumber(api, c.Number); ok {
			f.set("symbol_"+api, x.Symbol)
		}
	}
	if f.get("era") == "" {
		f.set("era", "current")
	}
}

func (d *Decoder) cudaCode(f *fields) (*catalog.Code, bool) {
	symbol := f.get("symbol")
	if symbol == "" {
		symbol = cudaSymbolRE.FindString(f.text)
	}
	if c, ok := d.tables.CodeSymbol(symbol); ok {
		return d.today(c), true
	}
	// Old frameworks print runtime numbers of before CUDA 10.1 in this exact form.
	if m := oldRuntimeRE.FindStringSubmatch(f.text); m != nil {
		if c, ok := d.oldRuntime(f, m[1]); ok {
			return c, true
		}
	}
	// A text beside a number outranks it: numbers changed, texts did not.
	if msg := cudaMessage(f); msg != "" {
		if c, ok := d.tables.CodeText("cuda", msg); ok {
			return d.today(c), true
		}
	}
	number := f.get("number")
	if number == "" {
		if m := cudaNumberRE.FindStringSubmatch(f.text); m != nil {
			number = m[1]
		}
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		return nil, false
	}
	if api := f.get("api"); api == "driver" || api == "runtime" || api == "runtime-legacy" {
		if c, ok := d.tables.CodeNumber(api, n); ok {
			return d.today(c), true
		}
	}
	return d.tables.CUDA(n)
}

func cudaMessage(f *fields) string {
	if m := f.get("message"); m != "" {
		return m
	}
	if i := strings.LastIndex(f.text, ":"); i >= 0 && !strings.Contains(f.text, "\n") {
		return strings.TrimSpace(f.text[i+1:])
	}
	return f.text
}

// today maps a row of the old numbering to the code that the same symbol has now.
func (d *Decoder) today(c *catalog.Code) *catalog.Code {
	if c.API != "runtime-legacy" {
		return c
	}
	if x, ok := d.tables.CodeSymbol(c.Symbol); ok {
		return x
	}
	return c
}

func (d *Decoder) oldRuntime(f *fields, number string) (*catalog.Code, bool) {
	n, _ := atoi(number)
	c, ok := d.tables.CodeNumber("runtime-legacy", n)
	if !ok {
		return nil, false
	}
	// PyTorch kept the words "cuda runtime error (N)" beyond CUDA 10.1: the text
	// after it decides which numbering it was.
	if x, ok := d.tables.CodeText("cuda", cudaMessage(f)); ok && x.Symbol != c.Symbol {
		return d.today(x), true
	}
	f.set("era", "legacy")
	return d.today(c), true
}

var nvmlSymbolRE = lazyre.New(`\bNVML_(?:ERROR_[A-Z0-9_]+|SUCCESS)\b`)

// nvml reads an NVML return code.
func (d *Decoder) nvml(f *fields) {
	c, ok := d.tables.CodeSymbol(f.get("symbol"))
	if !ok {
		c, ok = d.tables.CodeSymbol(nvmlSymbolRE.FindString(f.text))
	}
	if !ok {
		c, ok = d.tables.CodeText("nvml", cudaMessage(f))
	}
	if n, err := strconv.Atoi(f.get("number")); !ok && err == nil {
		c, ok = d.tables.NVML(n)
	}
	if !ok || c.API != "nvml" {
		return
	}
	f.set("number", strconv.Itoa(c.Number))
	f.set("symbol", c.Symbol)
	f.set("class", c.Class)
	f.set("action", c.Action)
}
