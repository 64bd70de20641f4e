package metrics

import (
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

// Snapshot is what the daemon knows at a moment. It must not be changed after Update.
type Snapshot struct {
	// Taken is when the readings were taken; with its monotonic part, so that a step of
	// the clock does not make them look old.
	Taken    time.Time
	Readings []section.Readings

	Findings    []gpumedic.Finding // what the readings alone conclude now
	Incidents   []Incident         // those that are not closed, and visible: a flap is none
	Opened      map[string]uint64  // by fault: incidents opened or opened again since the start
	Xids        []Xid              // nil when nobody watches for Xids, empty when there was none
	Sources     []Source
	Maintenance []Maintenance
	Alerts      []Alert
	Channels    []Channel
	Pods        map[string]Pod // by the uid that readings name
}

// Incident is a fault that the daemon follows.
type Incident struct {
	ID          string
	State       string // open, acknowledged, acting, verifying
	Start       time.Time
	Occurrences int
	Finding     gpumedic.Finding
	Pod, Job    string // whom it hit, when that is known
	Silenced    bool   // somebody wants no alert of it
}

// Xid counts one code on one GPU since the start.
type Xid struct {
	GPU   gpumedic.GPU
	Code  int
	Count uint64
	Last  time.Time
}

// Source is the health of one of the daemon's sources and what it costs.
type Source struct {
	Name         string
	Healthy      bool
	LastSuccess  time.Time     // zero: never
	LastDuration time.Duration // of the last answer
	Duration     time.Duration // of all probes together
	Probes       uint64
	Errors       uint64
	Events       uint64
	Dropped      uint64
}

// Maintenance is a task of the calendar.
type Maintenance struct {
	Task     string
	Due      time.Time
	LastDone time.Time // zero: never
}

// Alert counts the alerts of a rule in a state.
type Alert struct {
	Name, State, Severity string
	Count                 int
}

// Channel is how a channel of notifications does.
type Channel struct {
	Name            string
	Waiting         int64
	Delivered, Lost int64
	Failing         int // failures in a row
}

// Pod names a pod of Kubernetes.
type Pod struct{ Namespace, Name string }

// Options of an Exporter.
type Options struct {
	Version, Catalog string
	// MaxAge is how old readings may be. 0 is a minute.
	MaxAge time.Duration
	// MaxProcesses and MaxIncidents bound the series. 0 is 256 and 100.
	MaxProcesses, MaxIncidents int
	// DCGM adds the metrics of dcgm-exporter, with Hostname in their labels.
	DCGM     bool
	Hostname string
	// Weight is the exit status that a finding alone would give (check.Weight); without
	// it there is no state of a GPU.
	Weight func(*gpumedic.Finding) int
	// Now is the clock, for tests.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	if o.MaxAge == 0 {
		o.MaxAge = time.Minute
	}
	if o.MaxProcesses == 0 {
		o.MaxProcesses = 256
	}
	if o.MaxIncidents == 0 {
		o.MaxIncidents = 100
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
