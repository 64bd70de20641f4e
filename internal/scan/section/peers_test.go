package section

import (
	"slices"
	"strconv"
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

// TestFirmwareOfPeers: one card with another VBIOS than its equal peers is noticed; with
// one peer only nobody can say which is the odd one.
func TestFirmwareOfPeers(t *testing.T) {
	rs := rules(t)
	for _, c := range []struct {
		versions []string
		want     string
	}{
		{[]string{"A", "A", "B", "A"}, "host.vbios_differs GPU 2"},
		{[]string{"A", "A", "A"}, ""},
		{[]string{"A", "B"}, ""},
		{[]string{"A", "B", "C"}, ""},
	} {
		text := "index, name, vbios_version\n"
		for i, v := range c.versions {
			text += strconv.Itoa(i) + ", NVIDIA H100 80GB HBM3, 96.00.A5.00." + v + "\n"
		}
		got := ""
		for _, s := range Judge(rs, scan(text)) {
			if s.Kind == "host.vbios_differs" {
				got += s.Kind + " " + s.Subject.GPU.String()
			}
		}
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.versions, got, c.want)
		}
	}
}
