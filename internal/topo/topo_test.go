package topo

import (
	"testing"

	"github.com/gpumedic/gpumedic"
)

// A GPU keeps the spelling of its UUID that the input has: nvidia-smi writes capitals.
func TestSpellingOfUUIDs(t *testing.T) {
	const given, low = "GPU-5C2D91BE-4e10", "gpu-5c2d91be-4e10"
	named := gpumedic.Signal{Subject: gpumedic.Subject{GPU: gpumedic.GPU{PCI: "0000:3b:00.0", UUID: given}}}
	other := gpumedic.Signal{Subject: gpumedic.Subject{GPU: gpumedic.GPU{UUID: low}}}
	for _, signals := range [][]gpumedic.Signal{{named}, {named, other}, {other, named}} {
		if got := Learn(signals).Full("", gpumedic.GPU{PCI: "0000:3b:00.0"}).UUID; got != given {
			t.Errorf("%d signals: %q", len(signals), got)
		}
	}
}
