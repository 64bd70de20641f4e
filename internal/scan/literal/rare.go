package literal

// Ranks of bytes by how often they occur in logs, most frequent first; what is not
// listed is rare. Counted over kernel logs, syslogs and job output together; only
// the order matters, and a wrong one costs time, never a hit.
const frequent = " e0tanrios1dc2lu:3p.4m5[]67h98-gf_b/vk,y=()wx|jqzNIAERCPDTSFLMOGUBVHX'\"+#"

// plainCommonness tells capitals from small letters, commonness does not.
var plainCommonness = func() (w [256]int) {
	for i := range w {
		w[i] = 1
	}
	for i := range len(frequent) {
		c := frequent[i]
		w[c] = max(w[c], 1+(len(frequent)-i)*(len(frequent)-i)/16)
	}
	return w
}()

var commonness = func() (w [256]int) {
	w = plainCommonness
	for c := 'A'; c <= 'Z'; c++ { // windows ignore case
		w[c] = max(w[c], w[c+0x20])
	}
	return w
}()

// rarest chooses where the windows of a literal begin: the stretch whose windows
// promise the fewest false alarms. The commonness of a window is taken as the sum
// over its bytes, that of a stretch as its worst window.
func rarest(text []byte, c class) int {
	best, bestCost := 0, 1<<30
	for from := 0; from+c.k+c.step-1 <= len(text); from++ {
		cost := 0
		for o := from; o < from+c.step; o++ {
			sum := 0
			for _, ch := range text[o : o+c.k] {
				sum += commonness[ch]
			}
			cost = max(cost, sum)
		}
		if cost < bestCost {
			best, bestCost = from, cost
		}
	}
	return best
}
