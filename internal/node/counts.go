package node

import (
	"strconv"

	"github.com/gpumedic/gpumedic"
)

// gpuCounts compares what a command counted with what another line of the same node says
// that it should be. The least that was expected counts: a job may ask for a part of the
// node, a later line may name a smaller one.
func gpuCounts(signals []gpumedic.Signal) []gpumedic.Signal {
	var out []gpumedic.Signal
	for i := range signals {
		s := &signals[i]
		found, err := strconv.Atoi(s.Field("found"))
		if s.Kind != "host.gpu_counted" || err != nil {
			continue
		}
		least := -1
		for j := range signals {
			o := &signals[j]
			n, err := strconv.Atoi(o.Field("expected"))
			if o.Kind == "host.gpu_expected" && err == nil && sameMachine(s, o) && (least < 0 || n < least) {
				least = n
			}
		}
		if found < least {
			out = append(out, derived(s, "host.gpu_count_low", gpumedic.LevelAbnormal,
				map[string]string{"found": s.Field("found"), "expected": strconv.Itoa(least), "relation": "low"}))
		}
	}
	return out
}
