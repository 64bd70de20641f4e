package incident

import (
	"slices"
	"time"

	"github.com/gpumedic/gpumedic"
)

// State is where an incident is in its life.
type State string

const (
	Open         State = "open"
	Acknowledged State = "acknowledged" // a person has seen it
	Acting       State = "acting"       // a repair is going on
	Verifying    State = "verifying"    // repaired, checks are under way
	Closed       State = "closed"
)

// Unexplained is the fault id of an incident of abnormal signals that no fault explains.
const Unexplained = "unexplained"

// Incident is a finding living in time.
type Incident struct {
	ID         int64              `json:"id"`
	Fault      string             `json:"fault"`
	Case       string             `json:"case,omitempty"`
	Scope      string             `json:"scope,omitempty"`
	Title      string             `json:"title"`
	Headline   string             `json:"headline,omitempty"`
	Lang       string             `json:"lang,omitempty"` // of Title and Headline
	Layer      string             `json:"layer"`
	Class      string             `json:"class"`
	Component  string             `json:"component"`
	Severity   string             `json:"severity"`
	Role       string             `json:"role"`
	Confidence float64            `json:"confidence"`
	Subject    gpumedic.Subject   `json:"subject"`
	Also       []gpumedic.Subject `json:"also,omitempty"`

	State   State     `json:"state"`
	Visible bool      `json:"visible"` // false while it may still pass by itself
	Opened  time.Time `json:"opened"`
	Shown   time.Time `json:"shown,omitzero"` // when it became visible
	Closed  time.Time `json:"closed,omitzero"`
	Updated time.Time `json:"updated"`

	// First and Last are times of the evidence, zero where it states none.
	First       time.Time `json:"first_seen,omitzero"`
	Last        time.Time `json:"last_seen,omitzero"`
	Count       int       `json:"count"`
	Occurrences int       `json:"occurrences"` // bursts with quiet between them
	Reopens     int       `json:"reopens"`

	// Present: the engine's last answer holds it. A condition of readings may come and go.
	Present      bool      `json:"present"`
	PresentSince time.Time `json:"present_since,omitzero"`
	AbsentSince  time.Time `json:"absent_since,omitzero"`
	Transient    bool      `json:"transient,omitempty"` // readings alone tell it
	Flaps        int       `json:"flaps,omitempty"`
	FlapsSince   time.Time `json:"flaps_since,omitzero"`
	Flapping     bool      `json:"flapping,omitempty"`
	Active       time.Time `json:"active"` // when news of it last came in

	Action     string `json:"action"`
	BaseAction string `json:"base_action"`          // before any step up the ladder
	ActionWhy  string `json:"action_why,omitempty"` // the engine's reason
	Level      int    `json:"level,omitempty"`      // steps up the ladder

	Acted       time.Time    `json:"acted,omitzero"`    // last repair
	Attempts    int          `json:"attempts"`          // verifications since then
	Verified    time.Time    `json:"verified,omitzero"` // a verification passed and nothing came after it
	Forced      bool         `json:"forced,omitempty"`  // closed without verification
	Boot        string       `json:"boot,omitempty"`    // boot of the last news
	Confounders []Confounder `json:"confounders,omitempty"`

	SilencedBy int64         `json:"silenced_by,omitempty"`
	Previous   int64         `json:"previous,omitempty"`    // earlier incident of the same fault and subject
	MergedInto int64         `json:"merged_into,omitempty"` // closed as part of that incident
	Evidence   []Evidence    `json:"evidence"`
	Kept       int           `json:"evidence_first"` // so many of Evidence are the first ones seen
	Victims    []Attribution `json:"victims"`
	Mark       Mark          `json:"mark"`
}

// Confounder is something else that changed while an incident was open, so that a good
// reading afterwards may not be the repair's merit.
type Confounder struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`
	// WhatZH is the same in Chinese.
	WhatZH string `json:"what_zh,omitempty"`
}

// Evidence is one signal of the sample that an incident keeps.
type Evidence struct {
	Input  string `json:"input"`
	Line   int    `json:"line"`
	Signal string `json:"signal"`
	Text   string `json:"text"`
	Mark   [2]int `json:"mark,omitzero"`  // the decisive part of Text, byte offsets
	Note   string `json:"note,omitempty"` // what the line means, in the language of the incident
	Count  int    `json:"count"`
	First  string `json:"first,omitempty"`
	Last   string `json:"last,omitempty"`
}

// Mark is what was already counted of a run of the engine.
type Mark struct {
	Run   string `json:"run"`
	Count int    `json:"count"`
}

// Bounds of what one incident keeps, whatever a storm brings.
const (
	maxEvidence    = 8
	firstEvidence  = 3 // of them, the first that were seen
	maxText        = 500
	maxVictims     = 16
	maxAlso        = 16
	maxConfounders = 16
)

// Live reports whether the incident is not closed.
func (i *Incident) Live() bool { return i.State != Closed }

// clone is deep enough that a change of the copy never shows in the original.
func (i *Incident) clone() *Incident {
	c := *i
	c.Also = slices.Clone(i.Also)
	c.Confounders = slices.Clone(i.Confounders)
	c.Evidence = slices.Clone(i.Evidence)
	c.Victims = slices.Clone(i.Victims)
	return &c
}

// ExitStatus is the status of a list of incidents: the worst live severity that is
// visible, as the contract has it.
func ExitStatus(list []*Incident) int {
	status := gpumedic.ExitHealthy
	for _, i := range list {
		if !i.Live() || !i.Visible {
			continue
		}
		switch i.Severity {
		case gpumedic.SeverityCritical, gpumedic.SeverityError:
			return gpumedic.ExitFault
		case gpumedic.SeverityInfo:
		default:
			status = gpumedic.ExitWarning
		}
	}
	return status
}

// span is how long ago a was, never negative: the clock may have been set back.
func span(a, now time.Time) time.Duration { return max(0, now.Sub(a)) }
