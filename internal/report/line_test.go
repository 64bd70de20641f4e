package report

import (
	"strings"
	"testing"
)

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

// TestRecordsOfJSONEndWithTheirString: what closes the record is none of the message.
func TestRecordsOfJSONEndWithTheirString(t *testing.T) {
	for _, c := range []struct{ text, from, mark, want string }{
		{`["17","NVRM: gone off the bus."]]}`, "NVRM", "gone", "NVRM: gone off the bus."},
		{`{"log":"said \"gone\" twice","stream":"stderr"}`, "said", "gone", `said \"gone\" twice`},
		{`[rank0]: it was "gone" by then`, "it", "gone", `it was "gone" by then`},
	} {
		at := strings.Index(c.text, c.mark)
		if body, _ := decisive(c.text, [2]int{at, at + len(c.mark)}, strings.Index(c.text, c.from)); body != c.want {
			t.Errorf("%q: %q, want %q", c.text, body, c.want)
		}
	}
}
