package literal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLiteralsAtTheEnd: a literal of any length is found where a block ends with it, at
// every distance from the block's start.
func TestLiteralsAtTheEnd(t *testing.T) {
	const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
	for n := 1; n <= 24; n++ {
		for _, fold := range []bool{false, true} {
			lits := []Literal{{Text: alphabet[:n], Fold: fold}, {Text: "zzzz9999", Fold: fold}, {Text: "qq7"}, {Text: "wxyz0123456"}}
			for pad := range 80 {
				text := []byte(strings.Repeat(".", pad) + alphabet[:n])
				want := Naive(lits).Find(nil, text)
				for _, vectors := range []bool{false, vectors} {
					if d := cmp.Diff(want, build(lits, vectors).Find(nil, text)); d != "" {
						t.Fatalf("length %d behind %d bytes, vectors %v:\n%s", n, pad, vectors, d)
					}
				}
			}
		}
	}
}
