package metrics

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/metrics/names"
)

// findings writes what the readings alone conclude.
func findings(w *writer, n *node, list []gpumedic.Finding) {
	seen := map[string]bool{}
	for i := range list {
		f := &list[i]
		for _, g := range gpusOf(f) {
			labels := with(n.labelsOf(g), names.Finding.Labels, f.Fault, f.Severity, f.Class)
			if first(seen, f.Fault, f.Severity, f.Class, n.id(g)) {
				w.add(names.Finding, labels, 1)
			}
		}
	}
}

// gpusOf are the GPUs that a finding is about; one without a name when it is not about
// a GPU.
func gpusOf(f *gpumedic.Finding) []gpumedic.GPU {
	out := []gpumedic.GPU{f.Subject.GPU}
	for _, s := range f.Also {
		out = append(out, s.GPU)
	}
	return out
}

// id is one text for all names of a GPU.
func (n *node) id(g gpumedic.GPU) string {
	if c := n.known(g); c != nil {
		g = c.gpu
	}
	return g.PCI + " " + g.UUID + " " + index(g)
}

// first reports whether these words come for the first time.
func first(seen map[string]bool, words ...string) bool {
	key := strings.Join(words, "\x00")
	old := seen[key]
	seen[key] = true
	return !old
}

// incidents writes those that are not closed, the newest of them with their names.
func (e *Exporter) incidents(w *writer, n *node, s *Snapshot) {
	type kind struct{ state, severity string }
	counts := map[kind]int{}
	for i := range s.Incidents {
		counts[kind{s.Incidents[i].State, s.Incidents[i].Finding.Severity}]++
	}
	for _, k := range slices.SortedFunc(maps.Keys(counts), func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.state, b.state), cmp.Compare(a.severity, b.severity))
	}) {
		w.add(names.Incidents, pairs(names.Incidents.Labels, k.state, k.severity), float64(counts[k]))
	}
	list := slices.Clone(s.Incidents)
	slices.SortStableFunc(list, func(a, b Incident) int { return b.Start.Compare(a.Start) })
	w.add(names.Hidden, pairs(names.Hidden.Labels, "incidents"), float64(max(len(list)-e.opts.MaxIncidents, 0)))
	seen := map[string]bool{}
	for i := range list[:min(len(list), e.opts.MaxIncidents)] {
		in := &list[i]
		if !first(seen, in.ID) {
			continue
		}
		f, silenced := &in.Finding, ""
		if in.Silenced {
			silenced = "yes"
		}
		for _, g := range gpusOf(f) {
			if first(seen, in.ID, n.id(g)) {
				w.add(names.Incident, with(n.labelsOf(g), names.Incident.Labels, in.ID, f.Fault, f.Severity, f.Class, f.Action, in.State,
					silenced, f.Subject.Process.Name, in.Pod, in.Job), 1)
			}
		}
		id := pairs(names.IncidentStart.Labels, in.ID)
		if !in.Start.IsZero() {
			w.add(names.IncidentStart, id, unix(in.Start))
		}
		w.add(names.IncidentOccurrences, id, float64(in.Occurrences))
	}
	for _, fault := range slices.Sorted(maps.Keys(s.Opened)) {
		w.add(names.IncidentsOpened, pairs(names.IncidentsOpened.Labels, fault), float64(s.Opened[fault]))
	}
}

func xids(w *writer, n *node, list []Xid) {
	seen := map[string]bool{}
	for _, x := range list {
		code := strconv.Itoa(x.Code)
		if !first(seen, code, n.id(x.GPU)) {
			continue // the daemon counts by GPU and code: a second one is an error of its
		}
		w.add(names.Xid, with(n.labelsOf(x.GPU), names.Xid.Labels, code), float64(x.Count))
		if !x.Last.IsZero() {
			w.add(names.XidLast, with(n.labelsOf(x.GPU), names.XidLast.Labels, code), unix(x.Last))
		}
	}
}

func sources(w *writer, list []Source) {
	seen := map[string]bool{}
	for _, s := range list {
		if !first(seen, s.Name) {
			continue
		}
		l := pairs(names.SourceHealthy.Labels, s.Name)
		w.add(names.SourceHealthy, l, number(s.Healthy))
		if !s.LastSuccess.IsZero() {
			w.add(names.SourceLast, l, unix(s.LastSuccess))
			w.add(names.SourceLastSeconds, l, s.LastDuration.Seconds())
		}
		w.add(names.SourceProbes, l, float64(s.Probes))
		w.add(names.SourceErrors, l, float64(s.Errors))
		w.add(names.SourceSeconds, l, s.Duration.Seconds())
		w.add(names.SourceEvents, l, float64(s.Events))
		w.add(names.SourceDropped, l, float64(s.Dropped))
	}
}

func maintenance(w *writer, list []Maintenance) {
	seen := map[string]bool{}
	for _, m := range list {
		if !first(seen, m.Task) {
			continue
		}
		l := pairs(names.MaintenanceDue.Labels, m.Task)
		if !m.Due.IsZero() {
			w.add(names.MaintenanceDue, l, unix(m.Due))
		}
		if !m.LastDone.IsZero() {
			w.add(names.MaintenanceDone, l, unix(m.LastDone))
		}
	}
}

func alerts(w *writer, list []Alert) {
	seen := map[string]bool{}
	for _, a := range list {
		if first(seen, a.Name, a.State, a.Severity) {
			w.add(names.Alerts, pairs(names.Alerts.Labels, a.Name, a.State, a.Severity), float64(a.Count))
		}
	}
}

func channels(w *writer, list []Channel) {
	seen := map[string]bool{}
	for _, c := range list {
		if !first(seen, c.Name) {
			continue
		}
		l := pairs(names.NoticesWaiting.Labels, c.Name)
		w.add(names.NoticesWaiting, l, float64(c.Waiting))
		w.add(names.NoticesDelivered, l, float64(c.Delivered))
		w.add(names.NoticesLost, l, float64(c.Lost))
		w.add(names.NoticesFailing, l, float64(c.Failing))
	}
}
