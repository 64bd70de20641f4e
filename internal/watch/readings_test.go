package watch

import (
	"reflect"
	"testing"
	"time"
)

// TestChangesHold: what differs makes of the readings what the whole document would, and
// what is not said again holds on, also that something was wrong.
func TestChangesHold(t *testing.T) {
	const head = "# gpumedic readings 1\n[gpu 0000:0a:00.0]\npci: 0000:0a:00.0\n"
	const vital = head + "power.draw.watts: 71.2\npower.cable: missing\ntemperature.gpu.celsius: 40\n"
	made := func(docs ...string) *readings {
		r := newReadings(embedded(t).Readings, "n1")
		r.put(sourceGPUs, []byte(head+"name: NVIDIA H200\nserial: 1650000000001\n"), whole)
		r.put(sourceGPUs, []byte(vital), some)
		r.judge(time.Unix(0, 0))
		for _, d := range docs {
			r.put(sourceGPUs, []byte(d), change)
		}
		return r
	}
	want := newReadings(embedded(t).Readings, "n1")
	want.put(sourceGPUs, []byte(head+"name: NVIDIA H200\nserial: 1650000000001\n"), whole)
	want.put(sourceGPUs, []byte(head+"power.draw.watts: 99\npower.cable: missing\ntemperature.gpu.celsius: 40\n"), some)
	r := made("# gpumedic readings 1\n[gpu 0000:0a:00.0]\npower.draw.watts: 99\n")
	if got := r.of(sourceGPUs); !reflect.DeepEqual(got, want.of(sourceGPUs)) {
		t.Errorf("readings\n%+v\nwant\n%+v", got, want.of(sourceGPUs))
	}
	if r.changed || !r.moved {
		t.Errorf("a figure: changed %v, moved %v", r.changed, r.moved)
	}
	if r := made("# gpumedic readings 1\n"); r.changed || r.moved {
		t.Errorf("nothing: changed %v, moved %v", r.changed, r.moved)
	}
	if r := made("# gpumedic readings 1\n[gpu 0000:0a:00.0]\npower.draw.watts: gpu is lost\n"); !r.changed {
		t.Error("a word is no news")
	}
}
