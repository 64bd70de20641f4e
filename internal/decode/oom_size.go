package decode

import (
	"math"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// sizeExpr is a quantity of memory as programs print it: "19.14 GiB", "0 bytes",
// "232.83GiB", "2.15G", "1,024.00 MiB".
const sizeExpr = `\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?\s?(?:[KMGTPE]i?B|bytes?|[KMGTB]\b)`

var sizeRE = lazyre.New(`(?i)^\s*(-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)\s*([kmgtpe])?(i?b|bytes?)?\s*$`)

// largest is above any memory of one machine; what a program prints beyond it is the
// underflow of an unsigned difference.
const largest = 1 << 50

// parseSize reads a quantity in bytes. unit stands in where the text has none. All
// frameworks that print "GB" divide by 2^30 (PyTorch's MPS text, vLLM, Ray, XLA's
// "2.15G"), so prefixes are binary whatever their spelling. ok is false for what is no
// quantity, and for one that cannot be.
func parseSize(s, unit string) (n int64, ok bool) {
	m := sizeRE.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false
	}
	prefix := strings.ToLower(m[2])
	if prefix == "" && m[3] == "" && unit != "" {
		prefix = strings.ToLower(unit[:1])
	}
	if i := strings.Index("kmgtpe", prefix); prefix != "" && i >= 0 {
		v = math.Ldexp(v, 10*(i+1))
	}
	if math.Abs(v) >= largest {
		return 0, false
	}
	return int64(math.Round(v)), true
}

// sizeText prints a quantity for a person: three significant digits, MiB below one
// GiB.
func sizeText(n int64) string {
	neg := ""
	if n < 0 {
		neg, n = "-", -n
	}
	v, unit := float64(n), "bytes"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if v < 1024 {
			break
		}
		v, unit = v/1024, u
	}
	if unit == "bytes" {
		return neg + strconv.FormatInt(n, 10) + " bytes"
	}
	digits := 2
	switch {
	case v >= 99.95:
		digits = 0
	case v >= 9.995:
		digits = 1
	}
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return neg + s + " " + unit
}

// amount is a quantity that a message may or may not state.
type amount struct {
	n  int64
	ok bool
}

func some(n int64) amount { return amount{n, true} }

// atLeastZero drops what an inconsistent message makes negative.
func atLeastZero(n int64) int64 { return max(n, 0) }

// share is n as a part of whole, 0 when the whole is unknown.
func share(n int64, whole amount) float64 {
	if !whole.ok || whole.n <= 0 {
		return 0
	}
	return float64(n) / float64(whole.n)
}
