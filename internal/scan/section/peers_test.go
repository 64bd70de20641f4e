package section

import (
	"slices"
	"testing"
)

// Each one is compared with the others, never with itself.
func TestWithout(t *testing.T) {
	figures := []float64{1, 2, 2, 5, 7}
	for own := range figures {
		rest := slices.Delete(slices.Clone(figures), own, own+1)
		for n := range rest {
			if got := without(figures, figures[own], n); got != rest[n] {
				t.Errorf("without %v: figure %d is %v, want %v", figures[own], n, got, rest[n])
			}
		}
	}
}
