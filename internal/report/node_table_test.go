package report

import "testing"

func TestProductName(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := productName(in); got != want {
			t.Errorf("productName(%q) = %q, want %q", in, got, want)
		}
	}
	f("NVIDIA H200", "H200")
	f("Tesla T4", "Tesla T4")
	f("NVIDIA Corporation GH100 [H100 PCIe] (rev a1)", "H100 PCIe")
	f("NVIDIA Corporation Device 2901 (rev a1)", "Device 2901")
	f("NVIDIA Corporation GA102 [GeForce RTX 3090", "GeForce RTX 3090")
	f("", "")
}
