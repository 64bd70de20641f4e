package decode

import (
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// Decoder adds to a signal what its text says beyond the number. It is safe for
// concurrent use.
type Decoder struct {
	tables *catalog.TableSet
}

// New makes a decoder on the vendor's tables.
func New(t *catalog.TableSet) *Decoder { return &Decoder{tables: t} }

// decoders are what a matcher may name in `decode:`.
var decoders = map[string]func(*Decoder, *fields){
	"aer": (*Decoder).aer, "collective": (*Decoder).collective, "count": (*Decoder).count, "cuda": (*Decoder).cuda,
	"exit": (*Decoder).exit, "nccl": (*Decoder).nccl, "nvml": (*Decoder).nvml, "oom": (*Decoder).oom,
	"rminit": (*Decoder).rminit, "sxid": (*Decoder).sxid, "xid": (*Decoder).xid,
}

// Decode runs one decoder on a signal; an unknown name does nothing.
func (d *Decoder) Decode(name string, sig *gpumedic.Signal) {
	decode := decoders[name]
	if decode == nil {
		return
	}
	if sig.Fields == nil {
		sig.Fields = map[string]string{}
	}
	f := fields{sig: sig, text: sig.Fields["text"], given: map[string]bool{}}
	for k := range sig.Fields {
		f.given[k] = true
	}
	decode(d, &f)
}

// fields is the signal under decoding.
type fields struct {
	sig   *gpumedic.Signal
	text  string
	given map[string]bool // by the matcher: never changed
}

func (f *fields) get(name string) string { return f.sig.Fields[name] }

// set writes a field unless it is empty or the matcher gave it. A later decoder step
// may refine what an earlier one set.
func (f *fields) set(name, value string) {
	if value != "" && !f.given[name] {
		f.sig.Fields[name] = value
	}
}

// setLink writes the link number to the field and the subject.
func (f *fields) setLink(n string) {
	n = plain(n)
	f.set("link", n)
	if f.sig.Subject.Link == "" && n != "" && n[0] != '-' {
		f.sig.Subject.Link = n
	}
}

// find sets the named groups of the first match.
func (f *fields) find(re *lazyre.Regexp) bool {
	m := re.FindStringSubmatch(f.text)
	if m == nil {
		return false
	}
	for i, name := range re.SubexpNames() {
		if name != "" && m[i] != "" {
			f.set(name, m[i])
		}
	}
	return true
}

// plain drops leading zeros of a decimal number.
func plain(n string) string {
	neg := strings.HasPrefix(n, "-")
	t := strings.TrimLeft(strings.TrimPrefix(n, "-"), "0")
	if t == "" && n != "" {
		t = "0"
	}
	if neg {
		return "-" + t
	}
	return t
}

// token turns words into one lower-case token: "Out Of Range Address" is
// out_of_range_address.
func token(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(s) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			gap = false
			b.WriteRune(r)
			continue
		}
		gap = true
	}
	return b.String()
}

// word32 reads a hex word, with or without 0x.
func word32(s string) (uint32, bool) {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
	n, err := strconv.ParseUint(s, 16, 32)
	return uint32(n), err == nil
}

func atoi(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// major is the branch of a driver version ("570.124.04" is 570), 0 when unknown.
func major(version string) int {
	head, _, _ := strings.Cut(version, ".")
	n, _ := atoi(head)
	return n
}
