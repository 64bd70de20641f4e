package watch

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// BenchmarkTick is what one second of eight GPUs costs when nothing happens: after all
// vital readings, and when only the power moved.
func BenchmarkTick(b *testing.B) {
	full, err := os.ReadFile("testdata/full.readings")
	if err != nil {
		b.Fatal(err)
	}
	vital, err := os.ReadFile("testdata/vital.readings")
	if err != nil {
		b.Fatal(err)
	}
	moved := [2]string{}
	for line := range strings.Lines(string(vital)) {
		for i := range moved {
			if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "[") {
				moved[i] += line
			} else if strings.HasPrefix(line, "power.draw.watts: ") {
				moved[i] += fmt.Sprintf("power.draw.watts: 7%d.5\n", i)
			}
		}
	}
	tick := func(how extent, docs ...string) func(*testing.B) {
		return func(b *testing.B) {
			c, err := newCore(embedded(b), "n1", "en", time.Hour)
			if err != nil {
				b.Fatal(err)
			}
			now := time.Now()
			c.readings.put(sourceGPUs, full, whole)
			c.readings.judge(now)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				c.readings.put(sourceGPUs, []byte(docs[n%len(docs)]), how)
				now = now.Add(time.Second)
				c.readings.judge(now)
			}
		}
	}
	b.Run("vital", tick(some, string(vital)))
	b.Run("change", tick(change, moved[:]...))
}
