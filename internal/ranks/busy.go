package ranks

import "github.com/gpumedic/gpumedic"

// busyRank: a rank was at work of its own, and all ranks that report the timeout are
// others. Where the work names no rank, it is the silent one's; either way no step of
// the training came after it.
func busyRank(signals []gpumedic.Signal) []gpumedic.Signal {
	waits := map[int]bool{}
	for i := range signals {
		if r, ok := rankOf(&signals[i]); ok && signals[i].Kind == "nccl.watchdog_timeout" {
			waits[r] = true
		}
	}
	if len(waits) < 2 {
		return nil
	}
	for i := range signals {
		b := &signals[i]
		if b.Kind != "job.busy" || steppedAfter(signals, b) {
			continue
		}
		r, ok := rankOf(b)
		if !ok {
			if r, ok = absent(waits); !ok {
				continue
			}
		}
		if waits[r] || !waits[r-1] && !waits[r+1] {
			continue
		}
		d := derived(b, "job.busy_rank", gpumedic.LevelNotice, map[string]string{"activity": b.Field("activity")})
		d.Subject.Rank = &r
		return []gpumedic.Signal{d}
	}
	return nil
}

// steppedAfter reports whether steps were logged behind a line of the same input.
func steppedAfter(signals []gpumedic.Signal, b *gpumedic.Signal) bool {
	for i := range signals {
		s := &signals[i]
		if s.Kind == "series.progress" && s.Evidence.Input == b.Evidence.Input && s.Evidence.Line > b.Evidence.Line {
			return true
		}
	}
	return false
}

// absent is the one rank that is missing below the highest of a set.
func absent(said map[int]bool) (rank int, ok bool) {
	top := -1
	for r := range said {
		top = max(top, r)
	}
	if len(said) != top {
		return 0, false
	}
	for rank = 0; said[rank]; rank++ {
	}
	return rank, true
}
