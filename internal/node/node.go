// Package node says what no line of a machine says alone: that it has fewer GPUs than
// another line expects, that it started without having been stopped, that it has the
// driver with which alone machines fail. Like the engine
// that calls it, it is pure.
package node

import (
	"time"

	"github.com/gpumedic/gpumedic"
)

// Compare returns the signals that follow from lines of one machine taken together; it
// changes none.
//
//	host.gpu_count_low     a command counted fewer GPUs than another line says the node has
//	kernel.unclean_reboot  the machine started again without having been stopped in order
//	proc.stopped_first     the order to stop stands before all that is out of order
//	driver.version_fails_alone  of several nodes just those with this driver version fail
//
// The evidence of an added signal is the later of the lines.
func Compare(signals []gpumedic.Signal) []gpumedic.Signal {
	out := append(gpuCounts(signals), uncleanReboots(signals)...)
	out = append(out, stoppedFirst(signals)...)
	return append(out, driverSplit(signals)...)
}

// derived is a signal on the line of s.
func derived(s *gpumedic.Signal, kind string, level gpumedic.Level, fields map[string]string) gpumedic.Signal {
	d := *s
	d.Kind, d.Level, d.Fields, d.Count = kind, level, fields, 1
	d.Order.Part += 2000 // after what the line itself says
	return d
}

// sameMachine: one named node, or one input where a node is not named.
func sameMachine(a, b *gpumedic.Signal) bool {
	if a.Subject.Node != "" && b.Subject.Node != "" {
		return a.Subject.Node == b.Subject.Node
	}
	return a.Evidence.Input == b.Evidence.Input
}

const (
	// firstLines may hold the start of a kernel that is the log's own beginning.
	firstLines = 3
	// Around a start, what else is out of order is the better answer.
	beforeStart = time.Hour
	afterStart  = 10 * time.Minute
)

// uncleanReboots finds a start without a stop: where the journal or the log of logins
// says so, or where a log that is no extract of the kernel's lines holds the start of a
// kernel behind other lines, and no stop at all. It demands an explanation only where
// nothing else is out of order at that time: a machine that failed is often reset by hand.
func uncleanReboots(signals []gpumedic.Signal) []gpumedic.Signal {
	var out []gpumedic.Signal
	for i := range signals {
		s := &signals[i]
		if !startsUnclean(signals, s) || len(out) > 0 && sameMachine(&out[len(out)-1], s) {
			continue
		}
		level := gpumedic.LevelAbnormal
		for j := range signals {
			if o := &signals[j]; o.Level == gpumedic.LevelAbnormal && sameMachine(s, o) && nearStart(s, o) {
				level = gpumedic.LevelNotice
			}
		}
		out = append(out, derived(s, "kernel.unclean_reboot", level, map[string]string{"seen_by": s.Kind}))
	}
	return out
}

func startsUnclean(signals []gpumedic.Signal, s *gpumedic.Signal) bool {
	switch {
	case s.Kind == "kernel.unclean_boot" && s.Level >= gpumedic.LevelNotice:
		return true
	case s.Kind != "kernel.reboot" || s.Evidence.Line <= firstLines:
		return false
	}
	whole := false
	for i := range signals {
		o := &signals[i]
		if o.Kind == "kernel.shutdown" && sameMachine(s, o) {
			return false
		}
		whole = whole || o.Kind == "kernel.log_service_started" && o.Evidence.Input == s.Evidence.Input
	}
	return whole
}

func nearStart(start, o *gpumedic.Signal) bool {
	first, ok1 := o.First.Sub(start.First)
	last, ok2 := o.Last.Sub(start.First)
	return !ok1 || !ok2 || last >= -beforeStart && first <= afterStart
}
