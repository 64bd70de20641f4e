package node

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gpumedic/gpumedic"
)

// Clock is how far the clock of a host is ahead of that of the reference host.
type Clock struct {
	Host   string // node, or the name of an input that names none
	Ref    string
	Ahead  time.Duration // negative: behind
	Events int           // shared events that say so
}

const (
	// leastAhead is the difference from which on clocks are told and corrected: shared
	// events reach the hosts within seconds, and so much the windows of rules forgive.
	leastAhead = 30 * time.Second
	// agree is how far the differences of several events may lie apart.
	agree = 5 * time.Second
)

// HostOf is whose clock stamped a signal.
func HostOf(s *gpumedic.Signal) string { return cmp.Or(s.Subject.Node, s.Evidence.Input) }

// Clocks estimates how the clocks of hosts differ from events that all hosts of a job
// note at the same moment: the end of a rendezvous, a communicator that came up (a
// handshake of all), the signal by which one rank tells all to dump their state. A
// collective that times out is none of them: a rank may have come to it late. Hosts
// without such an event, or whose events disagree, are left alone.
func Clocks(signals []gpumedic.Signal) []Clock {
	seen := map[string]map[string]time.Time{} // host, event: first time
	for i := range signals {
		s := &signals[i]
		event := sharedEvent(s)
		if event == "" || !s.First.Known() || s.First.Assumed&gpumedic.AssumedBoot != 0 {
			continue
		}
		if !s.First.Dated() {
			event += "/undated"
		}
		host := HostOf(s)
		if seen[host] == nil {
			seen[host] = map[string]time.Time{}
		}
		if t, ok := seen[host][event]; !ok || s.First.Time.Before(t) {
			seen[host][event] = s.First.Time
		}
	}
	hosts := slices.Sorted(maps.Keys(seen))
	if len(hosts) < 2 {
		return nil
	}
	ref := slices.MaxFunc(hosts, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(seen[a]), len(seen[b])), cmp.Compare(b, a))
	})
	var out []Clock
	for _, h := range hosts {
		if h == ref {
			continue
		}
		if ahead, n := difference(seen[h], seen[ref]); n > 0 && ahead.Abs() >= leastAhead {
			out = append(out, Clock{h, ref, ahead, n})
		}
	}
	return out
}

// sharedEvent names an event that all hosts note at once, "" for other signals.
func sharedEvent(s *gpumedic.Signal) string {
	switch s.Kind {
	case "torch.rdzv_complete":
		return "rendezvous " + s.Field("master") + " " + s.Field("restart")
	case "nccl.init_done":
		if id := s.Field("comm_id"); id != "" {
			return "communicator " + id
		}
	case "nccl.pg_status":
		if r := s.Field("from_rank"); r != "" {
			return "dump " + r
		}
		if r, ok := s.Subject.Part("rank"); ok && r != "" && s.Field("from_local") != "" {
			return "dump " + r
		}
	}
	return ""
}

// difference is the median difference of the events that two hosts share, and how many
// agree with it; 0 when half of them or more do not.
func difference(a, b map[string]time.Time) (time.Duration, int) {
	var diffs []time.Duration
	for event, t := range a {
		if u, ok := b[event]; ok {
			diffs = append(diffs, t.Sub(u))
		}
	}
	if len(diffs) == 0 {
		return 0, 0
	}
	slices.Sort(diffs)
	median := diffs[len(diffs)/2]
	n := 0
	for _, d := range diffs {
		if (d - median).Abs() <= agree {
			n++
		}
	}
	if 2*n <= len(diffs) {
		return 0, 0
	}
	return median, n
}
