package diagnose

import (
	"math"
)

// Calibration of scores: confidence = logistic(slope*score + offset), kept within
// [floor, ceiling], since neither is a catalog ever complete nor a log. Fitted on
// the cases under testdata (see docs/confidence.md for method and figures).
const (
	calibSlope  = 0.85
	calibOffset = 0.1
	confFloor   = 0.05
	confCeiling = 0.97
)

// confidence turns a score into a probability. Rivals are scores of hypotheses that
// would explain the same triggers: each takes its share of the odds.
func confidence(score float64, rivals []float64) float64 {
	p := 1 / (1 + math.Exp(-(calibSlope*score + calibOffset)))
	shared := math.Exp(score)
	all := shared
	for _, r := range rivals {
		if r > score {
			r = score
		}
		all += 0.25 * math.Exp(r)
	}
	if all > 0 {
		p *= shared / all
	}
	return math.Round(100*math.Min(confCeiling, math.Max(confFloor, p))) / 100
}
