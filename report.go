package gpumedic

import (
	"encoding/json"
	"io"
)

// Schema is the name of the JSON form of a Report. Fields are only ever added.
const Schema = "gpumedic.report/v1"

// Verdicts of a Report.
const (
	VerdictFault   = "fault"
	VerdictNoFault = "no_fault"
	VerdictUnknown = "unknown"
)

// Roles of a Finding. An incidental finding never makes the verdict "fault".
const (
	RoleRoot         = "root_cause"
	RoleContributing = "contributing"
	RoleIncidental   = "incidental"
)

// Severities, worst first.
const (
	SeverityCritical = "critical"
	SeverityError    = "error"
	SeverityWarning  = "warning"
	SeverityInfo     = "info"
)

// Exit statuses of every verb that judges.
const (
	ExitHealthy = 0
	ExitWarning = 1
	ExitFault   = 2
	ExitUnknown = 3
	ExitUsage   = 64
	ExitOutput  = 74
)

// Report is the answer of one run.
type Report struct {
	Schema      string        `json:"schema"`
	Tool        Tool          `json:"tool"`
	Verdict     string        `json:"verdict"`
	Inputs      []InputInfo   `json:"inputs"`
	Findings    []Finding     `json:"findings"` // best first: Findings[0] is the answer
	Unexplained []Unexplained `json:"unexplained"`
	Tests       []Test        `json:"tests,omitempty"` // what active tests did, GPU by GPU
	Notes       []string      `json:"notes,omitempty"` // e.g. "catalog overridden by DIR"
}

// Tool says who made a report.
type Tool struct {
	Version string `json:"version"`
	Catalog string `json:"catalog"`
}

// InputInfo says what was read of one input and what could not be.
type InputInfo struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	Lines    int      `json:"lines"`
	Bytes    int64    `json:"bytes"`
	First    string   `json:"first,omitempty"` // RFC 3339, earliest and latest stamp read
	Last     string   `json:"last,omitempty"`
	Problems []string `json:"problems"`
	// Incomplete: some of the input could not be read (permission, damage, a form
	// that is not understood), so that nothing found in it does not mean healthy.
	Incomplete bool `json:"incomplete,omitempty"`
	// Sections are the parts of an input that are sources of their own (a bug report).
	Sections []SectionInfo `json:"sections,omitempty"`
}

// SectionInfo is a part of an input with a kind of its own.
type SectionInfo struct {
	Name  string `json:"name"` // dmesg, nvidia-smi, /proc/iomem
	Kind  string `json:"kind"`
	Line  int    `json:"line"` // where it begins
	Lines int    `json:"lines"`
}

// Test is what an active test of one GPU did. What it means is in the findings.
type Test struct {
	Test    string         `json:"test"` // memtest, stress, bandwidth
	Subject Subject        `json:"subject"`
	Product string         `json:"product,omitempty"`
	Result  string         `json:"result"` // pass, fail, incomplete, not run
	Why     string         `json:"why,omitempty"`
	Facts   []string       `json:"facts"` // in the report's language
	Figures map[string]any `json:"figures"`
	Records any            `json:"records,omitempty"` // the first wrong words or digests
}

// Finding is a fault concluded from signals.
type Finding struct {
	Fault        string         `json:"fault"`
	Title        string         `json:"title"`
	Headline     string         `json:"headline,omitempty"`
	Summary      string         `json:"summary"`
	Role         string         `json:"role"`
	Layer        string         `json:"layer"`
	Class        string         `json:"class"`
	Component    string         `json:"component"`
	Severity     string         `json:"severity"`
	Scope        string         `json:"scope,omitempty"` // what the fault is about: gpu, node, process, port, nvswitch, nic, rank, job
	Case         string         `json:"case,omitempty"`  // tells cases of one fault on one subject apart, as the code of a catalogued Xid
	Confidence   float64        `json:"confidence"`
	Subject      Subject        `json:"subject"`
	Also         []Subject      `json:"also,omitempty"`         // further subjects hit by the same fault together
	OnlyNotices  bool           `json:"only_notices,omitempty"` // nothing abnormal carries it: worth a look, not yet a fault
	At           string         `json:"at,omitempty"`           // time of the decisive line as the input states it
	FirstSeen    string         `json:"first_seen"`
	LastSeen     string         `json:"last_seen"`
	Count        int            `json:"count"`
	Figures      map[string]any `json:"figures"`
	Evidence     []EvidenceOut  `json:"evidence"`
	Consequences []Consequence  `json:"consequences"`
	Causes       []Cause        `json:"causes"`
	Action       string         `json:"action"`
	ActionWhy    string         `json:"action_why,omitempty"`
	Remedies     []Remedy       `json:"remedies"`
	Verify       []Check        `json:"verify"`
	Alternatives []Alternative  `json:"alternatives"`
	NotThis      []string       `json:"not_this,omitempty"` // wrong conclusions that lie near, with the reason
	Myths        []string       `json:"myths"`
	Sources      []string       `json:"sources"`
	Reasons      []string       `json:"reasons,omitempty"` // how the score came about
}

// EvidenceOut is one signal as evidence of a finding.
type EvidenceOut struct {
	Input   string            `json:"input"`
	Line    int               `json:"line"`
	Section string            `json:"section,omitempty"` // part of the input (dmesg in a bug report)
	Signal  string            `json:"signal"`
	Text    string            `json:"text"`
	Count   int               `json:"count"`
	First   string            `json:"first,omitempty"`
	Last    string            `json:"last,omitempty"`
	At      string            `json:"at,omitempty"`   // time of the first occurrence as the input states it
	Span    string            `json:"span,omitempty"` // from first to last, when it came more than once
	Mark    [2]int            `json:"mark,omitempty"` // the decisive part of Text, byte offsets
	Msg     int               `json:"msg,omitempty"`  // where the message begins in Text
	Note    string            `json:"note,omitempty"` // what the line means, decoded
	Rank    *int              `json:"rank,omitempty"`
	Node    string            `json:"node,omitempty"`
	Fields  map[string]string `json:"fields,omitempty"`
}

// Consequence is a signal that a finding explains.
type Consequence struct {
	Signal  string `json:"signal"`
	Input   string `json:"input"`
	Line    int    `json:"line"`
	Section string `json:"section,omitempty"`
	Text    string `json:"text,omitempty"`
	Mark    [2]int `json:"mark,omitempty"` // the decisive part of Text, byte offsets
	Msg     int    `json:"msg,omitempty"`  // where the message begins in Text
	Rank    *int   `json:"rank,omitempty"`
	Node    string `json:"node,omitempty"`
	// After is how many seconds later than the decisive evidence it came; absent when
	// the times cannot be compared.
	After *float64 `json:"after_s,omitempty"`
	Count int      `json:"count"`
	Why   string   `json:"why"`
}

// Cause is a possible cause of the fault and what would confirm it.
type Cause struct {
	Cause      string `json:"cause"`
	Likelihood string `json:"likelihood"`
	Confirm    string `json:"confirm"`
}

// Remedy is one step to take. Risk is safe, disruptive or destructive.
type Remedy struct {
	Step    string `json:"step"`
	Command string `json:"command,omitempty"`
	Risk    string `json:"risk"`
}

// Check must pass before an incident may close.
type Check struct {
	Check   string `json:"check"`
	Command string `json:"command,omitempty"`
}

// Alternative is a fault that was weighed and lost.
type Alternative struct {
	Fault      string  `json:"fault"`
	Confidence float64 `json:"confidence"`
	WhyNot     string  `json:"why_not"`
}

// Unexplained is an abnormal signal that no finding explains.
type Unexplained struct {
	Signal  string `json:"signal"`
	Input   string `json:"input"`
	Line    int    `json:"line"`
	Section string `json:"section,omitempty"`
	Text    string `json:"text"`
	Count   int    `json:"count"`
	// Meaning is what the message says, Check what to look at next: no fault explains the
	// line, but the line itself is understood.
	Meaning string `json:"meaning,omitempty"`
	Check   string `json:"check,omitempty"`
}

// ExitStatus is the status a judging verb ends with.
func (r *Report) ExitStatus() int {
	switch r.Verdict {
	case VerdictUnknown:
		return ExitUnknown
	case VerdictNoFault:
		return ExitHealthy
	}
	for _, f := range r.Findings {
		if f.Role != RoleIncidental && (f.Severity == SeverityCritical || f.Severity == SeverityError) {
			return ExitFault
		}
	}
	return ExitWarning
}

// WriteJSON writes any answer in the form that all have: one object, indented by a space,
// with < and > as they are.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
