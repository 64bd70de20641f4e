package literal

import (
	_ "embed"
	"sync"
)

// What is common in logs, to choose windows that are not. Both are counts over kernel
// logs, syslogs and job output together; a wrong one costs time, never a hit.

// frequent ranks bytes, most frequent first; what is not listed is rare.
const frequent = " e0tanrios1dc2lu:3p.4m5[]67h98-gf_b/vk,y=()wx|jqzNIAERCPDTSFLMOGUBVHX'\"+#"

// gramList is the commonest runs of four bytes: a hexadecimal digit of doublings, then
// the run with the case bits set, in which _ is a space and ^ is the byte 0x7f that _
// becomes. `go run ./bench/grams` wrote it.
//
//go:embed grams.txt
var gramList string

// commonBytes are weights of single bytes by their rank; capitals count apart from small
// letters.
var commonBytes = func() (w [256]int) {
	for i := range w {
		w[i] = 1
	}
	for i := range len(frequent) {
		c := frequent[i]
		w[c] = max(w[c], 1+(len(frequent)-i)*(len(frequent)-i)/16)
	}
	return w
}()

// grams is gramList for looking up, and for runs of three as well.
type grams struct {
	four, three map[uint32]int
	folded      [256]int // commonBytes without case
}

var commonGrams = sync.OnceValue(func() *grams {
	g := &grams{four: make(map[uint32]int, len(gramList)/6), three: make(map[uint32]int, len(gramList)/12)}
	for i := 0; i+6 <= len(gramList); i += 6 {
		n := int(gramList[i] - '0')
		if n > 9 {
			n = int(gramList[i]-'a') + 10
		}
		var w uint32
		for j := range 4 {
			c := gramList[i+1+j]
			switch c {
			case '_':
				c = ' '
			case '^':
				c = 0x7f
			}
			if w |= uint32(c) << (8 * j); j == 2 {
				g.three[w] += 1 << n
			}
		}
		g.four[w] = 1 << n
	}
	g.folded = commonBytes
	for c := 'A'; c <= 'Z'; c++ {
		g.folded[c] = max(g.folded[c], g.folded[c+0x20])
	}
	return g
})

// of is how often a window is thought to occur.
func (g *grams) of(window []byte) int {
	var w uint32
	bytes := 0
	for j, c := range window {
		w |= uint32(c|0x20) << (8 * j)
		bytes += g.folded[c]
	}
	// A window of common bytes that is not in the list is rarer than any that is, and
	// among those the bytes decide. The scale keeps the two apart.
	const scale = 2000
	switch len(window) {
	case 6: // both must stand there: the rarer decides
		return min(g.of(window[:4]), g.of(window[2:]))
	case 4:
		return g.four[w]*scale + bytes
	case 3:
		return g.three[w]*scale + bytes
	}
	return bytes
}

// rarestOf chooses for each of some literals.
func rarestOf(lits []entry, ids []int32, c class) []int {
	froms := make([]int, len(ids))
	for i, id := range ids {
		froms[i] = rarest(lits[id].text, c)
	}
	return froms
}

// rarest chooses where the windows of a literal begin: the stretch whose windows
// promise the fewest false alarms.
func rarest(text []byte, c class) int {
	g := commonGrams()
	var costs [128]int
	n := min(len(text)-c.k+1, len(costs))
	for o := range n {
		costs[o] = g.of(text[o : o+c.k])
	}
	best, bestCost := 0, 1<<62
	for from := 0; from+c.step <= n; from++ {
		cost := 0
		for _, one := range costs[from : from+c.step] {
			cost += one
		}
		if cost < bestCost {
			best, bestCost = from, cost
		}
	}
	return best
}
