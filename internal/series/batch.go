package series

import (
	"math"
	"strconv"

	"github.com/gpumedic/gpumedic"
)

// headroom is left free when a batch is proposed: peaks vary from step to step.
const headroom = 0.95

// batchFit works out the batch that fits from memory at two sizes or more: a fixed
// part and one that grows with the samples.
func (r *run) batchFit(e events) (gpumedic.Signal, bool) {
	if !e.oom.ok || e.total <= 0 {
		return gpumedic.Signal{}, false
	}
	peak := map[float64]float64{} // the largest figure at each size
	var order []float64
	for _, b := range r.batches {
		if _, ok := peak[b.batch]; !ok {
			order = append(order, b.batch)
		}
		peak[b.batch] = math.Max(peak[b.batch], b.bytes)
	}
	if len(order) < 2 {
		return gpumedic.Signal{}, false
	}
	var x, y []float64
	largest := 0.0
	for _, b := range order {
		x, y = append(x, b), append(y, peak[b])
		largest = math.Max(largest, b)
	}
	slope, base := theilSen(x, y)
	if slope < 1<<10 || base < 0 || correlation(x, y) < leastR {
		return gpumedic.Signal{}, false
	}
	fits := math.Floor((headroom*e.total - base) / slope)
	if fits < 1 || fits > 1e6 {
		return gpumedic.Signal{}, false
	}
	f := map[string]string{
		"fits_batch": integer(math.Max(fits, largestThatRan(r, e))), "largest_batch": integer(largest), "sizes": strconv.Itoa(len(order)),
		"base_bytes": integer(base), "base_text": sizeText(base), "per_sample_bytes": integer(slope), "per_sample_text": sizeText(slope),
		"total_text": sizeText(e.total),
	}
	return signal("series.batch_fit", gpumedic.LevelFact, r.batches[len(r.batches)-1].at, f), true
}

// largestThatRan is the largest batch whose step is in the log with a figure below the
// card: what ran is proof against any estimate.
func largestThatRan(r *run, e events) float64 {
	n := 0.0
	for _, b := range r.batches {
		if b.bytes < e.total {
			n = math.Max(n, b.batch)
		}
	}
	return n
}

// sizeText prints bytes for a person.
func sizeText(v float64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; math.Abs(v) >= 1024 && i < len(units)-1; i++ {
		v /= 1024
	}
	digits := 2
	switch a := math.Abs(v); {
	case i == 0, a >= 99.95:
		digits = 0
	case a >= 9.995:
		digits = 1
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + " " + units[i]
}
