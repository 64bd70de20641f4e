package topo

import (
	"fmt"
	"testing"

	"github.com/gpumedic/gpumedic"
)

// A log may state that every port is below every other: the search must end.
func TestCircleOfPorts(t *testing.T) {
	var signals []gpumedic.Signal
	for a := range 24 {
		for b := range 24 {
			if a != b {
				signals = append(signals, gpumedic.Signal{Kind: "pcie.aer", Subject: gpumedic.Subject{Node: "n", Port: fmt.Sprintf("0000:%02x:00.0", a+1)},
					Fields: map[string]string{"source": fmt.Sprintf("0000:%02x:00.0", b+1)}})
			}
		}
	}
	m := Learn(signals)
	if got := m.Above("n", "0000:01:00.0", "0000:f1:00.0"); got != Unknown {
		t.Errorf("above a GPU that nothing names: %v", got)
	}
	if got := m.Above("n", "0000:01:00.0", "0000:02:00.0"); got != Yes {
		t.Errorf("above a port below it: %v", got)
	}
}
