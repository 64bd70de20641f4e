package watch

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/act/notify"
	"github.com/gpumedic/gpumedic/internal/alert"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/web"
)

// toldElsewhere are labels of an alert that a notice has in fields of its own, or that say
// nothing on one node.
var toldElsewhere = []string{"alertname", "severity", "fault", "gpu", "pci", "uuid", "name", "instance", "job"}

// alert is a change of an alert as a notice.
func (p *pump) alert(c *incident.Change) (notify.Notice, bool) {
	var a alert.Alert
	if err := json.Unmarshal(c.Alert, &a); err != nil {
		p.d.o.Log.Error("an alert cannot be read and is not told", "change", c.Seq, "error", err)
		return notify.Notice{}, false
	}
	n := notify.Notice{
		ID: p.base + c.Seq, Alert: &notify.Alert{ID: a.ID, Name: a.Name}, Kind: notify.Opened, Severity: a.Severity, Fault: cmp.Or(a.Fault, a.Name),
		Subject: gpumedic.Subject{Node: p.d.o.Config.Node, GPU: a.GPU()}, Texts: map[string]notify.Text{}, URL: a.URL,
		At: c.At, Opened: a.Fired, Labels: map[string]string{},
	}
	if f := p.d.o.Catalog.Faults[a.Fault]; f != nil {
		n.Class = f.Class
	}
	if c.Kind == incident.KindAlertOver {
		n.Kind, n.Closed = notify.Closed, a.Resolved
	}
	for lang, t := range a.Texts {
		n.Texts[lang] = notify.Text{Title: t.Title, Headline: t.More}
	}
	for _, l := range a.Labels {
		if !slices.Contains(toldElsewhere, l.Name) {
			n.Labels[l.Name] = l.Value
		}
	}
	return n, true
}

// list is what page and API show.
func (a *alerts) list() web.Alerts {
	if a == nil {
		return web.Alerts{}
	}
	b := a.shown.Load()
	out := web.Alerts{Enabled: true, At: b.Looked}
	for _, x := range b.Active {
		out.Active = append(out.Active, shownAlert(x))
	}
	rank := func(x web.Alert) int {
		n := slices.Index(alert.Severities, x.Severity)
		if x.State == alert.Pending {
			n += len(alert.Severities)
		}
		return n
	}
	slices.SortStableFunc(out.Active, func(x, y web.Alert) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(x.Name, y.Name), x.Since.Compare(y.Since))
	})
	for _, x := range slices.Backward(b.Past) {
		out.Past = append(out.Past, shownAlert(x))
	}
	return out
}

func shownAlert(x *alert.Alert) web.Alert {
	w := web.Alert{ID: x.ID, Name: x.Name, State: x.State, Severity: x.Severity, Fault: x.Fault, Value: x.Value, URL: x.URL,
		Summary: x.Texts["en"].Title, SummaryZH: x.Texts["zh"].Title, Description: x.Texts["en"].More, DescriptionZH: x.Texts["zh"].More,
		Since: x.Since, Fired: x.Fired, Resolved: x.Resolved, Held: x.Held, Told: x.Told, Incident: x.Incident, Silence: x.Silence,
		Labels: map[string]string{}}
	for _, l := range x.Labels {
		w.Labels[l.Name] = l.Value
	}
	maps.DeleteFunc(w.Labels, func(name, _ string) bool {
		return slices.Contains([]string{"alertname", "severity", "fault", "instance", "job"}, name)
	})
	return w
}
