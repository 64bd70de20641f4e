package web

import (
	"context"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/store"
	"github.com/gpumedic/gpumedic/internal/report"
)

// Records are the incidents and histories that are kept. An open store has them.
type Records interface {
	List(ctx context.Context, f store.Filter) ([]*incident.Incident, error)
	Incident(ctx context.Context, id int64) (*incident.Incident, error)
	Events(ctx context.Context, id int64) ([]incident.Event, error)
	Verifications(ctx context.Context, id int64) ([]incident.Verification, error)
	Silences(ctx context.Context, ended bool) ([]incident.Silence, error)
	Cards(ctx context.Context) ([]incident.Card, error)
	History(ctx context.Context, name string) ([]incident.HistoryRow, error)
	Changes(ctx context.Context, after int64, limit int) ([]incident.Change, error)
	LastChange(ctx context.Context) (int64, error)
}

var _ Records = (*store.Store)(nil)

// Backend is the daemon as the page sees it. Methods are called from many goroutines,
// answer from memory or the store, and give values that nobody changes afterwards.
type Backend interface {
	Records
	// Node is the last judgement of the node. It never waits for a reading.
	Node() Node
	// Finding is what the engine says now about an incident, nil when its last answer
	// does not hold it (any more).
	Finding(id int64) *gpumedic.Finding
	// Sources are what the daemon reads, in an order that stays.
	Sources() []Source
	// Alerts are those of the rules that the daemon evaluates, the worst first.
	Alerts() Alerts
	// Maintenance is the calendar, the next one due first.
	Maintenance(ctx context.Context) ([]Maintenance, error)
}

// Actor does what a person asks for on the page. Errors of package incident (ErrNotFound,
// ErrState, ErrNotVerified, …) are told apart. Verify starts the checks and returns.
// Closing without verification is left to the command line.
type Actor interface {
	Ack(ctx context.Context, id int64, who, why string) error
	Close(ctx context.Context, id int64, who, why string) error
	Reopen(ctx context.Context, id int64, who, why string) error
	Verify(ctx context.Context, id int64, who string) error
	Silence(ctx context.Context, s incident.Silence) (int64, error)
	EndSilence(ctx context.Context, id int64, who, why string) error
}

// Node is the node as the last readings and the engine's last answer have it.
type Node struct {
	Name      string    `json:"name"`
	Version   string    `json:"version"`              // of gpumedic
	Driver    string    `json:"driver,omitempty"`     // of the GPUs
	Boot      string    `json:"boot_id,omitempty"`    // of the running system
	Started   time.Time `json:"started"`              // of the daemon
	Read      time.Time `json:"read,omitzero"`        // when the readings of Report were taken; zero: never yet
	Every     float64   `json:"every_s,omitempty"`    // seconds between readings
	Problem   string    `json:"problem,omitempty"`    // why there is no report, or why it is old
	ProblemZH string    `json:"problem_zh,omitempty"` // the same in Chinese
	// Report holds the table of GPUs and the findings; nil before the first readings.
	Report *report.Node `json:"report,omitempty"`
}

// States of a source.
const (
	SourceOK       = "ok"
	SourceStarting = "starting"
	SourceStale    = "stale" // it answers too late, or not at present
	SourceDown     = "down"
	SourceOff      = "off" // not on this machine, or not wanted: no fault
)

// Source is one thing that the daemon reads, and how well that goes.
type Source struct {
	Name     string    `json:"name"`  // kmsg, journal, nvml, …
	State    string    `json:"state"` // ok, starting, stale, down, off
	What     string    `json:"what"`  // "/dev/kmsg", "NVML readings, every 1 s"
	WhatZH   string    `json:"what_zh,omitempty"`
	Since    time.Time `json:"since,omitzero"` // in this state
	Last     time.Time `json:"last,omitzero"`  // last time it gave something
	Error    string    `json:"error,omitempty"`
	Took     float64   `json:"took_s,omitempty"` // of the last reading
	Deadline float64   `json:"deadline_s,omitempty"`
	Count    int64     `json:"count"`   // lines, records or readings so far
	Errors   int64     `json:"errors"`  // how often it failed
	Dropped  int64     `json:"dropped"` // what was lost, as a gap in the kernel's ring
	// Blind says what cannot be seen while it is down.
	Blind   string `json:"blind,omitempty"`
	BlindZH string `json:"blind_zh,omitempty"`
}

// Alerts are those of the daemon's own rules at a moment.
type Alerts struct {
	Enabled bool      `json:"enabled"`
	At      time.Time `json:"at,omitzero"` // of the last evaluation
	Active  []Alert   `json:"active"`      // pending and firing
	Past    []Alert   `json:"past"`        // resolved within the last days, the latest first
}

// Alert is a rule on one set of labels.
type Alert struct {
	ID            int64             `json:"id,omitempty"` // of this time; 0 while pending
	Name          string            `json:"name"`
	State         string            `json:"state"` // pending, firing, resolved
	Severity      string            `json:"severity"`
	Fault         string            `json:"fault,omitempty"`
	Labels        map[string]string `json:"labels"`
	Value         float64           `json:"value"`
	Summary       string            `json:"summary"`
	SummaryZH     string            `json:"summary_zh,omitempty"`
	Description   string            `json:"description,omitempty"`
	DescriptionZH string            `json:"description_zh,omitempty"`
	URL           string            `json:"url,omitempty"`
	Since         time.Time         `json:"since"`          // the condition holds
	Fired         time.Time         `json:"fired,omitzero"` // it has lasted as long as the rule wants
	Resolved      time.Time         `json:"resolved,omitzero"`
	Held          bool              `json:"held,omitempty"`     // what it rests on cannot be read now: it fires on
	Told          bool              `json:"told"`               // through the notification channels
	Incident      int64             `json:"incident,omitempty"` // that tells of the same
	Silence       int64             `json:"silence,omitempty"`  // that keeps it quiet
}

// Maintenance is one item of the calendar.
type Maintenance struct {
	ID         string    `json:"id"`
	Title      string    `json:"title"`
	TitleZH    string    `json:"title_zh,omitempty"`
	State      string    `json:"state"` // one of package maintenance: ok, soon, overdue, never
	Every      int       `json:"every_days"`
	Done       time.Time `json:"done,omitzero"`
	Due        time.Time `json:"due,omitzero"`
	Who        string    `json:"who,omitempty"` // gpumedic when it noticed by itself
	Evidence   string    `json:"evidence,omitempty"`
	EvidenceZH string    `json:"evidence_zh,omitempty"`
	Command    string    `json:"command,omitempty"` // how it is done
	Why        string    `json:"why,omitempty"`     // what it is good for
	WhyZH      string    `json:"why_zh,omitempty"`
}
