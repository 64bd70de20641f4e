package incident

import (
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
)

// Policy holds the spans and limits of the life cycle.
type Policy struct {
	ReopenWindow time.Duration // a recurrence within it reopens, later it is a new incident
	Quiet        time.Duration // so much quiet separates two occurrences
	// VisibleAfter is how long a condition that can come and go must last before anyone
	// is told, by severity. A severity that is not listed is visible at once.
	VisibleAfter map[string]time.Duration
	FlapWindow   time.Duration
	MaxFlaps     int // so many returns within FlapWindow are told as flapping
	MaxAttempts  int // verifications for one repair
	// QuietClose closes an incident of a program (layer software) that has not come back
	// for so long: the quiet is the verification, and recorded as one. 0 never does.
	QuietClose time.Duration
	// IsReading says which signals are readings of a state, which can pass; a log line
	// cannot be unwritten.
	IsReading func(signal string) bool
}

// DefaultPolicy is what the daemon starts with.
func DefaultPolicy() Policy {
	return Policy{
		ReopenWindow: 24 * time.Hour,
		Quiet:        10 * time.Minute, // as the engine separates recurrences within one log
		VisibleAfter: map[string]time.Duration{
			gpumedic.SeverityError:   15 * time.Second,
			gpumedic.SeverityWarning: time.Minute,
			gpumedic.SeverityInfo:    time.Minute,
		},
		FlapWindow:  time.Hour,
		MaxFlaps:    5,
		MaxAttempts: 3,
		QuietClose:  24 * time.Hour,
		IsReading:   IsReading,
	}
}

// IsReading knows the families of signals that rules make from readings.
func IsReading(signal string) bool {
	family, _, _ := strings.Cut(signal, ".")
	switch family {
	case "smi", "dcgm", "host", "probe", "nvml":
		return true
	}
	return false
}

// delay is how long a condition must last before it is visible.
func (p *Policy) delay(i *Incident) time.Duration {
	if !i.Transient {
		return 0
	}
	return p.VisibleAfter[i.Severity]
}
