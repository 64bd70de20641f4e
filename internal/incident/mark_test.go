package incident

import (
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic"
)

// TestMarkStaysInTheText: the decisive part is kept only where the kept text holds it.
func TestMarkStaysInTheText(t *testing.T) {
	long := strings.Repeat("x", 2*maxText)
	for _, c := range []struct {
		text       string
		mark, want [2]int
	}{
		{"NVRM: Xid 79", [2]int{6, 12}, [2]int{6, 12}}, {"short", [2]int{2, 9}, [2]int{}}, {"short", [2]int{-1, 3}, [2]int{}}, {"short", [2]int{3, 3}, [2]int{}},
		{long, [2]int{1, maxText}, [2]int{1, maxText}}, {long, [2]int{1, maxText + 1}, [2]int{}},
	} {
		if got := markIn(gpumedic.EvidenceOut{Text: c.text, Mark: c.mark}); got != c.want {
			t.Errorf("%.10s %v: %v, want %v", c.text, c.mark, got, c.want)
		}
	}
}
