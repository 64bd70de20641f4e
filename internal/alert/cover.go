package alert

import (
	"path"
	"slices"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/incident"
)

// Covers reports whether an incident tells what an alert would tell: it is of the same
// GPU (or one of both is about the node), and of the alert's fault, of one from which
// that follows by the catalog, or of one that the rule asks for by name. A closed one
// covers an alert that began before it was closed.
func Covers(r *Rule, a *Alert, i *incident.Incident, faults map[string]*catalog.Fault) bool {
	if !i.Live() && i.Closed.Before(a.Since) {
		return false
	}
	g := a.GPU()
	other := func(s gpumedic.Subject) bool {
		return !g.IsZero() && !s.GPU.IsZero() && !incident.SameGPU(g, s.GPU)
	}
	if other(i.Subject) && !slices.ContainsFunc(i.Also, func(s gpumedic.Subject) bool { return !other(s) }) {
		return false
	}
	for _, m := range r.incidents {
		if m.Matches(i.Fault) {
			return true
		}
	}
	if a.Fault == "" {
		return false
	}
	if i.Fault == a.Fault {
		return true
	}
	f := faults[i.Fault]
	return f != nil && slices.ContainsFunc(f.Explains, func(e catalog.Explains) bool {
		return slices.ContainsFunc(strings.Split(e.Fault, "|"), func(name string) bool { return strings.TrimSpace(name) == a.Fault })
	})
}

// Silenced reports whether a silence of incidents covers an alert. Its fault may also
// name the rule.
func Silenced(a *Alert, x *incident.Silence, node string) bool {
	fits := func(pattern string, names ...string) bool {
		return pattern == "" || slices.ContainsFunc(names, func(s string) bool {
			ok, err := path.Match(pattern, s)
			return ok && err == nil && s != ""
		})
	}
	return fits(x.Fault, a.Fault, a.Name) && fits(x.Node, node) && (x.GPU == "" || incident.NamesGPU(x.GPU, a.GPU()))
}
