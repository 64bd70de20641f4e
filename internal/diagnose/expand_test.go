package diagnose

import "testing"

func TestExpand(t *testing.T) {
	vars := map[string]string{"gpu": "{node}", "node": "n1", "pid": "7"}
	for in, want := range map[string]string{
		"{gpu} on {node}":          "{node} on n1", // a value is never read again
		"awk '{print $1}' {pid}":   "awk '{print $1}' 7",
		"{x {pid}} {unknown} {":    "{x 7} {unknown} {",
		"no variable, an end: }{}": "no variable, an end: }{}",
	} {
		if got := expand(in, vars); got != want {
			t.Errorf("expand %q: %q, want %q", in, got, want)
		}
	}
}
