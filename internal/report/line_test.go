package report

import "testing"

// TestReadingKeepsItsName: a value without the name of its reading says nothing.
func TestReadingKeepsItsName(t *testing.T) {
	for _, c := range []struct{ text, value, want string }{
		{"host.edac.ue: 1", "1", "host.edac.ue: 1"},
		{"    Pending                   : Yes", "Yes", "Pending: Yes"},
		{"mlx5_core: link down", "link down", "link down"},
	} {
		at := len(c.text) - len(c.value)
		if body, _ := decisive(c.text, [2]int{at, len(c.text)}, 0); body != c.want {
			t.Errorf("%q: %q, want %q", c.text, body, c.want)
		}
	}
}
