package watch

import (
	"os"
	"testing"
	"time"
)

// BenchmarkTick is what one second of eight GPUs costs when nothing happens.
func BenchmarkTick(b *testing.B) {
	full, err := os.ReadFile("testdata/full.readings")
	if err != nil {
		b.Fatal(err)
	}
	vital, err := os.ReadFile("testdata/vital.readings")
	if err != nil {
		b.Fatal(err)
	}
	c, err := newCore(embedded(b), "n1", "en", time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	c.readings.put(sourceGPUs, full, whole)
	c.readings.judge(now)
	b.ReportAllocs()
	for b.Loop() {
		c.readings.put(sourceGPUs, vital, some)
		now = now.Add(time.Second)
		c.readings.judge(now)
	}
}
