package catalog

import "testing"

func TestMemoryBandwidth(t *testing.T) {
	all, err := productRates()
	if err != nil || len(all) == 0 {
		t.Fatal(len(all), err)
	}
	for _, p := range all {
		if p.GBs < 100 || p.GBs > 30000 || len(p.Sources) == 0 {
			t.Errorf("%+v", p)
		}
	}
	for product, want := range map[string]int{
		"NVIDIA H200": 4800, "NVIDIA H200 NVL": 4800, "NVIDIA H100 80GB HBM3": 3350, "NVIDIA A100-SXM4-80GB": 2039, "NVIDIA A100-PCIE-40GB": 1555,
		"NVIDIA L4": 300, "NVIDIA L40S": 864, "Tesla V100-SXM2-32GB": 900, "NVIDIA H2000": 0, "NVIDIA A100-SXM4-80GB MIG 1g.10gb": 0, "": 0,
	} {
		got := 0
		if p := MemoryBandwidth(product); p != nil {
			got = p.GBs
		}
		if got != want {
			t.Errorf("%s: %d, want %d", product, got, want)
		}
	}
}
