package lazyre

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// TestProgramOfRandomExpressions puts runs, lazy ones too, before texts, classes, groups and
// tests of places in all orders, on texts that nearly match.
func TestProgramOfRandomExpressions(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 11))
	asked, known := 0, 0
	for range 6000 {
		expr := randomExpr(rng, 2)
		re, err := regexp.Compile(expr)
		if err != nil {
			continue // a bound too large by repetition
		}
		p := buildProgram(expr)
		for range 12 {
			text := make([]byte, rng.IntN(24))
			for i := range text {
				text[i] = "aaabbbx \nA"[rng.IntN(10)]
			}
			asked++
			if sameMatch(t, p, re, string(text)) {
				known++
			}
		}
	}
	if known*3 < asked {
		t.Errorf("the programs know %d of %d answers", known, asked)
	}
}

func randomExpr(rng *rand.Rand, depth int) string {
	parts := []string{"a", "b", "(ab)", "ab", "ba", "aa", "aab", "x", ".", "[ab]", "[^a]", `\w`, `\W`, `\n`, "(?s:.)", "(?i:ab)"}
	tests := []string{`\b`, `\B`, "^", "$", "(?m:^)", "(?m:$)", `\z`}
	counts := []string{"", "", "", "*", "*?", "+", "+?", "?", "??", "{2}", "{0,2}", "{1,3}?", "{2,}", "{2,}?", "{0,3}?", "{3,5}"}
	var out strings.Builder
	for range 1 + rng.IntN(5) {
		part := parts[rng.IntN(len(parts))]
		switch n := rng.IntN(10); {
		case n < 2:
			out.WriteString(tests[rng.IntN(len(tests))])
			continue
		case depth > 0 && n == 2:
			part = "(" + randomExpr(rng, depth-1) + ")"
		case depth > 0 && n == 3:
			part = "(?:" + randomExpr(rng, depth-1) + "|" + randomExpr(rng, depth-1) + ")"
		}
		out.WriteString(part + counts[rng.IntN(len(counts))])
	}
	return out.String()
}
