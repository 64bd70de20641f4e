package lint

import (
	"slices"
	"strings"
)

// distance is the number of slips between two words: a letter too many, too few, wrong,
// or two letters changed round. More than limit is limit+1.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
			least = min(least, cur[j])
		}
		if least > limit {
			return limit + 1
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}

// nearest is the word that is fewest slips away, "" when none is within limit or a
// short word would match nearly anything. Equal ones: the first.
func nearest(s string, words []string, limit int) string {
	best, least := "", min(limit, len(s)/3)+1
	for _, w := range words {
		if d := distance(s, w, least-1); d < least {
			best, least = w, d
		}
	}
	return best
}

// sameWords: the parts of a name in another order, or with other underlines.
func sameWords(a, b string) bool {
	if strings.ReplaceAll(a, "_", "") == strings.ReplaceAll(b, "_", "") {
		return true
	}
	x, y := strings.Split(a, "_"), strings.Split(b, "_")
	if len(x) != len(y) {
		return false
	}
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}
