package alert

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/promql"
)

// States of an alert.
const (
	Pending  = "pending"
	Firing   = "firing"
	Resolved = "resolved"
)

// Text is what an alert says in one language.
type Text struct {
	Title string `json:"title"`
	More  string `json:"more,omitempty"`
}

// Alert is one rule on one set of labels, living in time.
type Alert struct {
	ID       int64           `json:"id,omitempty"` // of this time of firing; 0 while pending
	Name     string          `json:"name"`
	Severity string          `json:"severity"`
	Fault    string          `json:"fault,omitempty"` // of the catalog
	State    string          `json:"state"`
	Labels   promql.Labels   `json:"labels"`
	Value    float64         `json:"value"`
	Texts    map[string]Text `json:"texts"` // by language
	URL      string          `json:"url,omitempty"`

	Since    time.Time `json:"since"`             // the condition holds
	Fired    time.Time `json:"fired,omitzero"`    // for is over
	Passed   time.Time `json:"passed,omitzero"`   // the condition no longer holds, but it goes on firing
	Resolved time.Time `json:"resolved,omitzero"` // over
	Held     bool      `json:"held,omitempty"`    // what it rests on cannot be read now

	Told     bool  `json:"told"`               // somebody was told that it fires
	Incident int64 `json:"incident,omitempty"` // that tells of the same, 0: none
	Silence  int64 `json:"silence,omitempty"`  // that keeps it quiet
}

// GPU is the GPU that the labels name.
func (a *Alert) GPU() gpumedic.GPU {
	g := gpumedic.GPU{PCI: a.Labels.Get("pci"), UUID: a.Labels.Get("uuid")}
	if n, err := strconv.Atoi(a.Labels.Get("gpu")); err == nil {
		g.Index = &n
	}
	return g
}

// Situation is what is to be asked about alerts beside the rules.
type Situation struct {
	// Held reports whether what an alert rests on cannot be read now.
	Held func(*Rule, *Alert) bool
	// Incident is the number of an incident that tells of an alert, 0 for none.
	Incident func(*Rule, *Alert) int64
	// Silence is the number of a silence that covers an alert, 0 for none.
	Silence func(*Alert) int64
}

// Change is an alert of which somebody is to be told: it fires, or it is resolved.
type Change struct {
	Alert Alert
	At    time.Time
}

// Book holds the alerts of a node. The zero value is an empty one.
type Book struct {
	Next   int64     `json:"next"` // number of the last firing
	Looked time.Time `json:"looked"`
	Active []*Alert  `json:"active"`
	Past   []*Alert  `json:"past"` // resolved, the latest last
}

// Bounds and spans.
const (
	maxActive = 500
	maxPast   = 100
	keepPast  = 7 * 24 * time.Hour
	// tellAfter is how long an alert fires before it is told: an incident of the same
	// reading may come a moment later.
	tellAfter = 10 * time.Second
	// forget is after how long a break nothing is known of pending conditions.
	forget = time.Hour
)

// Clone is a copy that later steps leave alone.
func (b *Book) Clone() *Book {
	c := *b
	c.Active, c.Past = nil, slices.Clone(b.Past) // what is past does not change
	for _, a := range b.Active {
		x := *a
		c.Active = append(c.Active, &x)
	}
	return &c
}

// Step evaluates the rules at a moment and says what is to be told. moved reports that an
// alert began to fire or ended, which must not be forgotten. An error names rules that
// could not be evaluated; their alerts stay as they are.
func (b *Book) Step(rules []Rule, m *promql.Memory, now time.Time, in Situation) (tell []Change, moved bool, err error) {
	b.settle(now)
	seen := map[string]*Alert{}
	for _, a := range b.Active {
		seen[a.Labels.Key()] = a
	}
	var active []*Alert
	for i := range rules {
		r := &rules[i]
		answer, wrong := promql.Eval(m, r.Expr, now)
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("rule %s: %w", r.Name, wrong))
		}
		holds := map[string]bool{}
		for _, s := range answer {
			l := r.labels(s.Labels)
			key := l.Key()
			if holds[key] {
				continue // Prometheus calls it an error; one alert is enough
			}
			holds[key] = true
			a := seen[key]
			if a == nil {
				if len(active) >= maxActive {
					continue
				}
				a = &Alert{Name: r.Name, Severity: r.Labels["severity"], Fault: r.Labels["fault"], State: Pending, Labels: l, Since: now}
			}
			a.Passed, a.Held = time.Time{}, false
			a.say(r, s)
			active = append(active, a)
		}
		for _, a := range b.Active {
			if a.Name != r.Name || holds[a.Labels.Key()] {
				continue
			}
			if wrong != nil || a.State == Firing && b.goesOn(a, r, now, in) {
				active = append(active, a)
			}
		}
	}
	byName := map[string]*Rule{}
	for i := range rules {
		byName[rules[i].Name] = &rules[i]
	}
	kept := map[*Alert]bool{}
	for _, a := range active {
		kept[a] = true
		if c, ok := b.advance(a, byName[a.Name], now, in, &moved); ok {
			tell = append(tell, c)
		}
	}
	for _, a := range b.Active {
		if kept[a] || a.State == Pending {
			continue
		}
		moved = true
		if c, ok := b.end(a, now); ok {
			tell = append(tell, c)
		}
	}
	b.Active = active
	b.Looked = now
	slices.SortStableFunc(tell, func(x, y Change) int { return cmp.Compare(x.Alert.ID, y.Alert.ID) })
	return tell, moved, err
}

// goesOn reports whether an alert whose condition is gone fires on.
func (b *Book) goesOn(a *Alert, r *Rule, now time.Time, in Situation) bool {
	if a.Held = in.Held(r, a); a.Held {
		a.Passed = time.Time{}
		return true
	}
	if a.Passed.IsZero() {
		a.Passed = now
	}
	return now.Sub(a.Passed) < r.Keep
}

// advance moves an alert on in its life.
func (b *Book) advance(a *Alert, r *Rule, now time.Time, in Situation, moved *bool) (Change, bool) {
	if a.State == Pending && now.Sub(a.Since) >= r.For {
		b.Next++
		a.State, a.Fired, a.ID = Firing, now, b.Next
		*moved = true
	}
	incident, silence := in.Incident(r, a), in.Silence(a)
	if a.State == Firing && (incident != a.Incident || silence != a.Silence) {
		*moved = true
	}
	a.Incident, a.Silence = incident, silence
	if a.State != Firing || a.Told || a.Held || !a.Passed.IsZero() || incident != 0 || silence != 0 || now.Sub(a.Fired) < tellAfter {
		return Change{}, false
	}
	a.Told, *moved = true, true
	return Change{*a, now}, true
}

// end resolves an alert.
func (b *Book) end(a *Alert, now time.Time) (Change, bool) {
	x := *a
	x.State, x.Resolved, x.Held = Resolved, now, false
	b.Past = append(b.Past, &x)
	b.Past = b.Past[max(0, len(b.Past)-maxPast):]
	return Change{x, now}, x.Told
}

// settle brings times into order after a break or a clock that was set back, and forgets
// what is long past.
func (b *Book) settle(now time.Time) {
	long := !b.Looked.IsZero() && now.Sub(b.Looked) > forget
	b.Active = slices.DeleteFunc(b.Active, func(a *Alert) bool { return long && a.State == Pending })
	if now.Before(b.Looked) {
		by := b.Looked.Sub(now)
		for _, a := range b.Active {
			for _, t := range []*time.Time{&a.Since, &a.Fired, &a.Passed} {
				if !t.IsZero() {
					*t = t.Add(-by)
				}
			}
		}
	}
	b.Past = slices.DeleteFunc(b.Past, func(a *Alert) bool { return now.Sub(a.Resolved) > keepPast })
}

// say puts an alert into words.
func (a *Alert) say(r *Rule, s promql.Sample) {
	if a.Value = s.Value; math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
		a.Value = 0 // JSON has no other numbers
	}
	a.Texts = map[string]Text{}
	for lang, suffix := range map[string]string{"en": "", "zh": "_zh"} {
		if t := r.texts["summary"+suffix]; t != nil {
			a.Texts[lang] = Text{t.fill(s.Labels, s.Value), r.texts["description"+suffix].fill(s.Labels, s.Value)}
		}
	}
	a.URL = r.texts["runbook_url"].fill(s.Labels, s.Value)
}

// Annotations are an alert's texts under the names that the rule gives them.
func (r *Rule) Annotations(s promql.Sample) map[string]string {
	out := map[string]string{}
	for name, t := range r.texts {
		out[name] = t.fill(s.Labels, s.Value)
	}
	return out
}
