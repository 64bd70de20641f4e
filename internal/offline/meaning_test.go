package offline

import (
	"testing"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
)

func TestMeaningsOfUnexplained(t *testing.T) {
	cat, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(cat)
	if err != nil {
		t.Fatal(err)
	}
	list := []gpumedic.Unexplained{{Signal: "xid.45"}, {Signal: "smi.no_devices"}, {Signal: "xid.9999"}, {Signal: "xid.none"}, {Signal: "no.such_kind"}}
	d.tellMeanings(list, "zh")
	x, ok := cat.Tables().Xid(45)
	if !ok || list[0].Meaning != x.Meaning.ZH || list[0].Check != x.CheckFor.ZH {
		t.Errorf("xid.45: %+v", list[0])
	}
	if list[1].Meaning == "" || list[1].Check != "" {
		t.Errorf("smi.no_devices: %+v", list[1])
	}
	for _, u := range list[2:] {
		if u.Meaning != "" || u.Check != "" {
			t.Errorf("%s has a meaning that nobody wrote: %+v", u.Signal, u)
		}
	}
}
