package incident

import (
	"encoding/json"
	"time"

	"github.com/gpumedic/gpumedic"
)

// Kinds of events and changes.
const (
	KindOpened       = "opened"
	KindVisible      = "visible"
	KindAcknowledged = "acknowledged"
	KindActing       = "acting"
	KindActed        = "acted"
	KindActFailed    = "act_failed"
	KindVerified     = "verified"
	KindVerifyFailed = "verify_failed"
	KindClosed       = "closed"
	KindReopened     = "reopened"
	KindRecurred     = "recurred"
	KindEscalated    = "escalated"
	KindAction       = "action" // the engine asks for another action
	KindRevised      = "revised"
	KindWorse        = "worse"
	KindCleared      = "cleared"
	KindReturned     = "returned"
	KindFlapping     = "flapping"
	KindSilenced     = "silenced"
	KindUnsilenced   = "unsilenced"
	KindConfounder   = "confounder"
	KindClock        = "clock"
	KindInserted     = "inserted"
	KindMoved        = "moved"
	KindRemoved      = "removed"
	KindDriver       = "driver"
	KindFirmware     = "firmware"
	KindTest         = "test"
	KindAlert        = "alert_firing"   // an alert of a rule, of which no incident tells
	KindAlertOver    = "alert_resolved" // it is over
)

// Event is one row of the audit: what happened to an incident, when, by whom, why.
// Incident is 0 for what concerns the node.
type Event struct {
	Seq      int64          `json:"seq,omitempty"`
	Incident int64          `json:"incident"`
	At       time.Time      `json:"at"`
	Kind     string         `json:"kind"`
	From     State          `json:"from,omitempty"`
	To       State          `json:"to,omitempty"`
	Who      string         `json:"who"`
	Why      string         `json:"why,omitempty"`
	WhyZH    string         `json:"why_zh,omitempty"` // the program's own reasons in Chinese
	Detail   map[string]any `json:"detail,omitempty"`
}

// Change is what outlets tell, in order of its number, read by cursor. Incident is the
// incident as it is after the change, nil for what concerns the node.
type Change struct {
	Seq      int64     `json:"seq"`
	ID       int64     `json:"incident_id"`
	At       time.Time `json:"at"`
	Kind     string    `json:"kind"`
	Who      string    `json:"who"`
	Why      string    `json:"why,omitempty"`
	WhyZH    string    `json:"why_zh,omitempty"`
	Silenced bool      `json:"silenced"`
	Incident *Incident `json:"incident,omitempty"`
	// Alert is of the kinds of alerts, as package alert writes it.
	Alert json.RawMessage `json:"alert,omitempty"`
}

// HistoryRow is something that happened to a card.
type HistoryRow struct {
	Seq      int64          `json:"seq,omitempty"`
	At       time.Time      `json:"at"`
	Node     string         `json:"node"`
	GPU      gpumedic.GPU   `json:"gpu"` // PCI is the slot
	Kind     string         `json:"kind"`
	Incident int64          `json:"incident,omitempty"`
	Fault    string         `json:"fault,omitempty"`
	Text     string         `json:"text,omitempty"`
	TextZH   string         `json:"text_zh,omitempty"`
	Detail   map[string]any `json:"detail,omitempty"`
}

// Self is who the program is in events that no person made.
const Self = "gpumedic"

// inHistory are the kinds of events that a card's history keeps.
var inHistory = map[string]bool{
	KindOpened: true, KindReopened: true, KindRecurred: true, KindActing: true, KindActed: true, KindActFailed: true,
	KindVerified: true, KindVerifyFailed: true, KindClosed: true, KindRevised: true, KindEscalated: true,
}
