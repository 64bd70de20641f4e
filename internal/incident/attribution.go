package incident

import (
	"slices"

	"github.com/gpumedic/gpumedic"
)

// Attribution says who was hit: the process and what it belongs to.
type Attribution struct {
	Node      string       `json:"node,omitempty"`
	PID       int          `json:"pid,omitempty"`
	Process   string       `json:"process,omitempty"`
	Container string       `json:"container,omitempty"`
	Pod       string       `json:"pod,omitempty"` // namespace/name
	Job       string       `json:"job,omitempty"` // Slurm job
	User      string       `json:"user,omitempty"`
	Unit      string       `json:"unit,omitempty"`
	Rank      *int         `json:"rank,omitempty"`
	GPU       gpumedic.GPU `json:"gpu"`
}

// victimsOf are the programs that a finding names.
func victimsOf(f *gpumedic.Finding) []Attribution {
	var out []Attribution
	for _, s := range append([]gpumedic.Subject{f.Subject}, f.Also...) {
		if s.Process == (gpumedic.Process{}) && s.Container == "" && s.Unit == "" {
			continue
		}
		out = append(out, Attribution{
			Node: s.Node, PID: s.Process.PID, Process: s.Process.Name,
			Container: s.Container, Unit: s.Unit, Rank: s.Rank, GPU: s.GPU,
		})
	}
	return out
}

// same reports whether two records are of one process.
func (a *Attribution) same(b *Attribution) bool {
	if a.PID != 0 || b.PID != 0 {
		return a.PID == b.PID && a.Node == b.Node
	}
	return a.Node == b.Node && a.Process == b.Process && a.Container == b.Container && a.Unit == b.Unit
}

// addVictim adds a record or completes one of the same process. The first victims are
// kept: they are nearest to the cause. It reports whether anything changed.
func (i *Incident) addVictim(v Attribution) bool {
	n := slices.IndexFunc(i.Victims, func(a Attribution) bool { return a.same(&v) })
	if n < 0 {
		if len(i.Victims) >= maxVictims {
			return false
		}
		i.Victims = append(i.Victims, v)
		return true
	}
	a := &i.Victims[n]
	before := *a
	for _, p := range []struct {
		to   *string
		from string
	}{{&a.Process, v.Process}, {&a.Container, v.Container}, {&a.Pod, v.Pod}, {&a.Job, v.Job}, {&a.User, v.User}, {&a.Unit, v.Unit}} {
		if *p.to == "" {
			*p.to = p.from
		}
	}
	if a.Rank == nil {
		a.Rank = v.Rank
	}
	if a.GPU.IsZero() {
		a.GPU = v.GPU
	}
	return before != *a
}

// attribute completes the victims of an incident from records that the node gave: by
// pid, and, when a fault of a GPU has just struck, whoever is known to be on it.
func (i *Incident) attribute(records []Attribution, struck bool) bool {
	changed := false
	for _, r := range records {
		byPID := slices.ContainsFunc(i.Victims, func(v Attribution) bool { return v.PID != 0 && v.PID == r.PID && v.Node == r.Node })
		onGPU := struck && i.Scope == "gpu" && !r.GPU.IsZero() &&
			i.Subject.Node == r.Node && SameGPU(i.Subject.GPU, r.GPU)
		if byPID || onGPU {
			changed = i.addVictim(r) || changed
		}
	}
	return changed
}
