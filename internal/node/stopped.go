package node

import "github.com/gpumedic/gpumedic"

// stoppedFirst finds an input in which the order to stop stands before anything that is
// out of order: what follows it is the end of a job that was told to end. Lines of a
// traceback bear no time, so their place in the input tells.
func stoppedFirst(signals []gpumedic.Signal) []gpumedic.Signal {
	var told *gpumedic.Signal
	for i := range signals {
		s := &signals[i]
		if s.Kind == "proc.sigterm" && (told == nil || s.Evidence.Input == told.Evidence.Input && s.Evidence.Line < told.Evidence.Line) {
			told = s
		}
	}
	if told == nil {
		return nil
	}
	for i := range signals {
		o := &signals[i]
		if o.Level != gpumedic.LevelAbnormal || o == told {
			continue
		}
		if o.Evidence.Input == told.Evidence.Input {
			if o.Evidence.Line < told.Evidence.Line {
				return nil
			}
			continue
		}
		if d, ok := o.First.Sub(told.First); !ok || d < 0 {
			return nil // of another input, and not known to be later
		}
	}
	return []gpumedic.Signal{derived(told, "proc.stopped_first", gpumedic.LevelFact, map[string]string{"pid": told.Field("pid")})}
}
