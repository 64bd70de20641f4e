package catalog

import "testing"

func TestEmbeddedLoads(t *testing.T) {
	c, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Faults) == 0 || len(c.Matchers) == 0 {
		t.Fatalf("catalog is empty: %d faults, %d matchers", len(c.Faults), len(c.Matchers))
	}
}
