package decode

import (
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

var (
	unitRE = lazyre.New(`(?i)\(\s*GPC\s*(?P<gpc>\d+)(?:\s*,\s*TPC\s*(?P<tpc>\d+))?(?:\s*,\s*SM\s*(?P<sm>\d+))?\s*\)`)
	gpcRE  = lazyre.New(`(?i)\bon\s+GPC\s*(?P<gpc>\d+)`)
	warpRE = lazyre.New(`(?i)SM\s+(Warp|Global)\s+Exception`)
	kindRE = lazyre.New(`(?i)Exception\b[^:]*:\s*(.+?)\s*$`)
	esrRE  = lazyre.New(`(?i)\bESR\s+((?:0x[0-9a-f]+\s*=\s*0x[0-9a-f]+[\s,]*)+)`)
	chidRE = lazyre.New(`(?i)Class\s+(?P<class_id>0x[0-9a-f]+|[0-9a-f]+)(?:,\s*(?:Sub)?ch?annel\s+\S+)?(?:,\s*Offset\s+(?P<offset>0x[0-9a-f]+|[0-9a-f]+))?(?:,\s*Data\s+(?P<data>0x[0-9a-f]+|[0-9a-f]+))?`)
)

// exception reads Xid 13. The driver writes one line for each thing it knows: the
// unit with the kind, the ESR words, the channel with the method.
func (f *fields) exception() {
	if !f.find(unitRE) {
		f.find(gpcRE)
	}
	switch {
	case warpRE.MatchString(f.text):
		f.set("exception", strings.ToLower(warpRE.FindStringSubmatch(f.text)[1]))
	case esrRE.MatchString(f.text):
		f.set("exception", "esr")
	case strings.Contains(f.text, "Class "):
		f.set("exception", "class")
	case strings.Contains(strings.ToLower(f.text), "exception"):
		f.set("exception", "graphics")
	}
	if m := esrRE.FindStringSubmatch(f.text); m != nil {
		f.set("esr", strings.Join(strings.Fields(strings.TrimRight(m[1], ", ")), " "))
		f.set("exception_kind", esrKind(m[1]))
		return
	}
	if f.get("exception") == "class" {
		f.find(channelRE)
		f.find(chidRE)
		return
	}
	if m := kindRE.FindStringSubmatch(f.text); m != nil {
		text, _, _ := strings.Cut(m[1], ", caused by")
		f.set("exception_kind", exceptionKind(text))
	}
}

// exceptionKind brings the driver's spellings of one condition together.
func exceptionKind(text string) string {
	k := token(text)
	switch k {
	case "illegal_instruction_parameter":
		return "illegal_instruction_param"
	case "misaligned_gpr", "misaligned_reg":
		return "misaligned_register"
	case "out_of_range_reg":
		return "out_of_range_register"
	case "mmu_nack_errors", "mmu_nack_error":
		return "mmu_nack"
	case "invalid_opcode":
		return "illegal_instruction_encoding"
	}
	return k
}

// warpErrors are the codes in the low half of a warp ESR word, as the open nouveau
// driver names them; they agree with the texts that the NVIDIA driver prints beside.
var warpErrors = map[uint32]string{
	0x01: "stack_error", 0x05: "misaligned_pc", 0x08: "misaligned_register",
	0x09: "illegal_instruction_encoding", 0x0d: "out_of_range_register", 0x0e: "out_of_range_address",
	0x0f: "misaligned_address", 0x10: "invalid_address_space", 0x11: "illegal_instruction_param",
}

// esrKind reads the kind out of the warp ESR: the register whose address ends in
// 730 (Volta and newer). Other registers hold global state or the program counter.
func esrKind(words string) string {
	for w := range strings.FieldsSeq(words) {
		reg, val, ok := strings.Cut(strings.Trim(w, ","), "=")
		if !ok || !strings.HasSuffix(strings.ToLower(reg), "730") {
			continue
		}
		if n, ok := word32(val); ok {
			return warpErrors[n&0xffff]
		}
	}
	return ""
}

var (
	mmuRE = lazyre.New(`(?i)\bENGINE\s+(\S+)(?:\s+(\S+?))?\s+((?:\w*CLIENT_\S+))`)
	// A capture that was cut may end anywhere after the engine.
	engineRE = lazyre.New(`(?i)\bENGINE\s+([A-Z]\w*)`)
	faultRE  = lazyre.New(`(?i)faulted\s+@\s+(0x[0-9a-f_]+)`)
	typeRE   = lazyre.New(`(?i)Fault is of type\s+(?:FAULT_)?(\w+)(?:\s+(?:ACCESS_TYPE_)?(\w+))?`)
)

// mmuFault reads Xid 31: who touched which address, and what was wrong with it.
func (f *fields) mmuFault() {
	if m := mmuRE.FindStringSubmatch(f.text); m != nil {
		f.set("engine", token(m[1]))
		f.set("engine_unit", token(m[2]))
		f.set("client", token(m[3]))
	} else if m := engineRE.FindStringSubmatch(f.text); m != nil {
		f.set("engine", token(m[1]))
	}
	if m := faultRE.FindStringSubmatch(f.text); m != nil {
		f.set("address", "0x"+strings.ReplaceAll(strings.ToLower(m[1][2:]), "_", ""))
	}
	m := typeRE.FindStringSubmatch(f.text)
	if m == nil {
		return
	}
	f.set("fault_type", token(m[1]))
	access := token(m[2])
	for _, space := range []string{"virt", "phys"} {
		if rest, ok := strings.CutPrefix(access, space+"_"); ok {
			f.set("access_space", space)
			access = rest
		}
	}
	for _, a := range []string{"read", "write", "atomic", "prefetch"} {
		if access == a || strings.HasPrefix(access, a+"_") {
			f.set("access_type", a)
		}
	}
}

var privRE = lazyre.New(`(?i)^(?:NVLink:?\s*)?(\w+)?\s*interrupt hit on link\s+(-?\d+)(?:\s+on\s+GPU(\d+))?(?::\s*(.*?))?\s*$`)

// privError reads the short form of Xid 137.
func (f *fields) privError() {
	m := privRE.FindStringSubmatch(f.text)
	if m == nil {
		f.linkNumber()
		return
	}
	f.set("unit", token(m[1]))
	f.setLink(m[2])
	f.set("rm_gpu", plain(m[3]))
	f.set("detail", token(m[4]))
}

var linkRE = lazyre.New(`(?i)\blink\s*[:=#]?\s*(-?\d+)`)

func (f *fields) linkNumber() {
	if m := linkRE.FindStringSubmatch(f.text); m != nil {
		f.setLink(m[1])
	}
}

var vgpuRE = lazyre.New(`(?i)not\s+supported|unsupported`)

func (f *fields) vgpu() {
	switch low := strings.ToLower(f.text); {
	case strings.Contains(low, "incompatible"), strings.Contains(low, "version"):
		f.set("detail", "driver_incompatible")
	case vgpuRE.MatchString(low):
		f.set("detail", "type_unsupported")
	}
}
