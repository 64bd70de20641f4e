package topo

import (
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
)

func report(kind, source string, g gpumedic.GPU, after time.Duration) gpumedic.Signal {
	at := time.Date(2026, 2, 3, 5, 0, 0, 0, time.UTC).Add(after)
	s := gpumedic.Signal{Kind: kind, Subject: gpumedic.Subject{Node: "n1", GPU: g}, First: gpumedic.Stamp{Time: at}, Fields: map[string]string{}}
	if source != "" {
		s.Fields["source"] = source
	}
	return s
}

func TestReportsNameTheGPUOfTheKernel(t *testing.T) {
	one, two := gpumedic.GPU{PCI: "0000:3b:00.0"}, gpumedic.GPU{PCI: "0000:5d:00.0"}
	uuid, other := gpumedic.GPU{UUID: "GPU-aaaa1111"}, gpumedic.GPU{UUID: "GPU-bbbb2222"}
	for name, c := range map[string]struct {
		signals []gpumedic.Signal
		want    string // address of uuid
	}{
		"one of each": {[]gpumedic.Signal{report("xid.79", "", one, 0), report("xid.79", "k8s-device-plugin", uuid, time.Second)}, one.PCI},
		"agent first": {[]gpumedic.Signal{report("xid.79", "k8s-device-plugin", uuid, 0), report("xid.79", "", one, time.Second)}, one.PCI},
		"another Xid": {[]gpumedic.Signal{report("xid.79", "", one, 0), report("xid.48", "k8s-device-plugin", uuid, time.Second)}, ""},
		"two GPUs":    {[]gpumedic.Signal{report("xid.79", "", one, 0), report("xid.79", "", two, 0), report("xid.79", "dcgm", uuid, time.Second)}, ""},
		"two reports": {[]gpumedic.Signal{report("xid.79", "", one, 0), report("xid.79", "dcgm", uuid, 0), report("xid.79", "dcgm", other, 0)}, ""},
		"a day later": {[]gpumedic.Signal{report("xid.79", "", one, 0), report("xid.79", "dcgm", uuid, 24*time.Hour)}, ""},
		"known as another": {[]gpumedic.Signal{
			report("xid.79", "", one, 0), report("smi.gpu", "", gpumedic.GPU{PCI: one.PCI, UUID: other.UUID}, 0), report("xid.79", "dcgm", uuid, 0)}, ""},
		"no report": {[]gpumedic.Signal{report("xid.79", "", one, 0), report("nvrm.note", "", uuid, 0)}, ""},
	} {
		if got := Learn(c.signals).Full("n1", uuid).PCI; got != c.want {
			t.Errorf("%s: address %q, want %q", name, got, c.want)
		}
	}
}
