package series

import "testing"

func BenchmarkLine(b *testing.B) {
	var c Collector
	const line = "2026-04-21 02:04:46 | INFO | root | step 10 | epoch 0 | loss 1.9003 | grad_norm 1.3700 | lr 1.00e-05 | mem 65.88 GiB | tps 15818.60(1980.74/gpu)"
	for b.Loop() {
		c.Line(line, 0, 1)
	}
}
