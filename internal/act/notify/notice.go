package notify

import (
	"errors"
	"fmt"
	"time"

	"github.com/gpumedic/gpumedic"
)

// Kind is what happened to an incident.
type Kind string

const (
	Opened       Kind = "opened"
	Escalated    Kind = "escalated"
	Reopened     Kind = "reopened"
	Acknowledged Kind = "acknowledged"
	Closed       Kind = "closed"
)

var kinds = []Kind{Opened, Escalated, Reopened, Acknowledged, Closed}

// Text is what a notice says in one language.
type Text struct {
	Title    string          `json:"title"`
	Headline string          `json:"headline,omitempty"`
	Remedy   gpumedic.Remedy `json:"remedy"` // the first step
}

// Alert names a rule that raised an alert of its own, and this time of it.
type Alert struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// Notice is one thing to tell: of an incident, or of an alert that is none. ID is a number that the incident store gives out once and
// never again, also over restarts: it is what a delivery is deduplicated by.
type Notice struct {
	ID       int64            `json:"id"`
	Incident int64            `json:"incident,omitempty"`
	Alert    *Alert           `json:"alert,omitempty"` // then Opened is that it fires, Closed that it is resolved
	Kind     Kind             `json:"kind"`
	Severity string           `json:"severity"`
	Fault    string           `json:"fault"`
	Class    string           `json:"class,omitempty"`
	Subject  gpumedic.Subject `json:"subject"`
	Action   string           `json:"action,omitempty"`
	Texts    map[string]Text  `json:"texts"` // by language: en, zh
	URL      string           `json:"url,omitempty"`
	Count    int              `json:"count,omitempty"`  // occurrences so far
	Reason   string           `json:"reason,omitempty"` // why it was acknowledged or closed, in the words of who did
	At       time.Time        `json:"at"`               // of this change
	Opened   time.Time        `json:"opened"`           // of the incident
	Closed   time.Time        `json:"closed,omitzero"`
	// Labels are further names of what was hit: pod, namespace, job, user, …
	Labels map[string]string `json:"labels,omitempty"`
}

// Valid reports what makes a notice impossible to store or to deduplicate.
func (n *Notice) Valid() error {
	switch {
	case n.ID <= 0:
		return errors.New("notice without an id")
	case n.Alert == nil && n.Incident <= 0:
		return fmt.Errorf("notice %d: no incident", n.ID)
	case n.Alert != nil && (n.Incident != 0 || n.Alert.ID <= 0 || n.Alert.Name == ""):
		return fmt.Errorf("notice %d: an alert without a number or a name", n.ID)
	case !known(kinds, n.Kind):
		return fmt.Errorf("notice %d: unknown kind %q", n.ID, n.Kind)
	case n.Fault == "":
		return fmt.Errorf("notice %d: no fault", n.ID)
	case severityRank(n.Severity) == 0:
		return fmt.Errorf("notice %d: unknown severity %q", n.ID, n.Severity)
	case n.At.IsZero() || n.Opened.IsZero():
		return fmt.Errorf("notice %d: no time", n.ID)
	}
	return nil
}

// key is what notices of one incident or of one alert have in common: the number of the
// incident, or that of the alert below zero.
func (n *Notice) key() int64 {
	if n.Alert != nil {
		return -n.Alert.ID
	}
	return n.Incident
}

// In is the text in a language, or in the other one where it is missing.
func (n *Notice) In(lang string) Text {
	if t, ok := n.Texts[lang]; ok && t.Title != "" {
		return t
	}
	for _, l := range []string{"en", "zh"} {
		if t, ok := n.Texts[l]; ok && t.Title != "" {
			return t
		}
	}
	return Text{Title: n.Fault}
}

var severities = []string{gpumedic.SeverityInfo, gpumedic.SeverityWarning, gpumedic.SeverityError, gpumedic.SeverityCritical}

// severityRank orders severities, worst highest; 0 is none of them.
func severityRank(s string) int {
	for i, v := range severities {
		if v == s {
			return i + 1
		}
	}
	return 0
}

func known[T comparable](list []T, v T) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return false
}

// latest keeps the last notice of each incident, in the order in which the incidents
// first appear: what a state (Alertmanager) or a list of incidents needs.
func latest(ns []Notice) []Notice {
	var out []Notice
	at := map[int64]int{}
	for _, n := range ns {
		if i, ok := at[n.key()]; ok {
			out[i] = n
			continue
		}
		at[n.key()] = len(out)
		out = append(out, n)
	}
	return out
}
