package decode

import (
	"math"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
)

// dtypeBytes are the sizes of TensorFlow's element types.
var dtypeBytes = map[string]int64{
	"float": 4, "double": 8, "half": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1,
	"int8": 1, "uint8": 1, "bool": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
	"complex64": 8, "complex128": 16, "qint8": 1, "quint8": 1, "qint32": 4,
}

// tensor works out the size of a tensor from its shape and type.
func (f *fields) tensor() {
	size, ok := dtypeBytes[strings.ToLower(f.get("dtype"))]
	if !ok {
		return
	}
	n := float64(size)
	for _, d := range strings.FieldsFunc(f.get("shape"), func(r rune) bool { return r == ',' || r == ' ' }) {
		v, err := strconv.ParseFloat(d, 64)
		if err != nil {
			return
		}
		n *= v
	}
	if n > 0 && n < largest {
		f.putSize("requested", int64(n))
		f.set("oom_kind", oomUnknown)
	}
}

// pool reads a request that the pool of TensorFlow or XLA could not serve. The pool
// says itself when its caller has another way: then nothing failed.
func (f *fields) pool() {
	if r := f.get("rounded_bytes"); r != "" && !f.given["requested_bytes"] {
		if n, ok := parseSize(r, ""); ok {
			f.sig.Fields["requested_bytes"] = r
			f.sig.Fields["requested_text"] = sizeText(n)
		}
	}
	if strings.Contains(f.text, "is not a failure") {
		f.sig.Level = gpumedic.LevelFact
		f.set("caught", "yes")
	}
	if req, total := f.number("requested_bytes"), f.number("total_bytes"); req.ok && total.ok && req.n > total.n {
		f.putSize("missing", req.n-total.n)
	}
}

// poolStats judges the pool at the failure. The largest free block is 0 in most
// releases, which do not work it out.
func (f *fields) poolStats() {
	limit, used := f.number("limit_bytes"), f.number("in_use_bytes")
	if !limit.ok || !used.ok || limit.n <= 0 || used.n > limit.n {
		return
	}
	part := share(used.n, limit)
	f.set("in_use_percent", tenth(100*part))
	f.putSize("pool_free", limit.n-used.n)
	switch {
	case part >= 0.85:
		f.set("pool_used", "full")
	case part <= 0.70:
		f.set("pool_used", "loose")
	default:
		f.set("pool_used", "partly")
	}
	if block := f.number("largest_free_bytes"); block.ok && block.n > 0 && limit.n > used.n {
		f.set("largest_free_percent", strconv.Itoa(int(math.Min(100, 100*float64(block.n)/float64(limit.n-used.n)))))
	}
}
