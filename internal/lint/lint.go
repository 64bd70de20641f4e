package lint

import (
	"bytes"
	"slices"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
)

// Schema is the name of the JSON form of a Result. Fields are only ever added.
const Schema = "gpumedic.lint/v1"

// Levels of a Finding.
const (
	LevelError   = "error"   // the job cannot work with it
	LevelWarning = "warning" // costs time, hides something, or does nothing
	LevelNotice  = "notice"  // worth knowing
)

// Source is a text to look through.
type Source struct {
	Name string
	Data []byte
	Err  error // why it could not be read
}

// Result is what was found in all sources together.
type Result struct {
	Schema   string        `json:"schema"`
	Tool     gpumedic.Tool `json:"tool"`
	Verdict  string        `json:"verdict"` // fault, no_fault, unknown
	Inputs   []InputInfo   `json:"inputs"`
	Findings []Finding     `json:"findings"` // worst first
	Notes    []NoteOut     `json:"notes"`    // what could not be followed
}

// InputInfo says what was read of one source.
type InputInfo struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	Lines    int      `json:"lines"`
	Bytes    int64    `json:"bytes"`
	Settings int      `json:"settings"` // places at which a variable gets a value
	Problems []string `json:"problems"`
}

// NoteOut is a place whose settings stand elsewhere.
type NoteOut struct {
	Input string `json:"input"`
	Line  int    `json:"line"`
	Text  string `json:"text"`
}

// Place is a line of a source.
type Place struct {
	Input string `json:"input"`
	Line  int    `json:"line"`
	Value string `json:"value,omitempty"`
}

// Finding is one setting that should be another. Where a fault of the catalog fits,
// the finding bears its name, and its fields mean the same as in a report.
type Finding struct {
	Input     string   `json:"input"`
	Line      int      `json:"line"` // 0: the environment of a process
	Text      string   `json:"text,omitempty"`
	Name      string   `json:"name"`
	Value     string   `json:"value"`
	Via       string   `json:"via"`
	Level     string   `json:"level"`
	Problem   string   `json:"problem"` // unknown, renamed, removed, deprecated, debug, harmful, value, conflict, twice, unexported, syntax
	Message   string   `json:"message"`
	Do        string   `json:"do,omitempty"`
	Instead   string   `json:"instead,omitempty"` // NAME or NAME=VALUE to write
	Also      []Place  `json:"also,omitempty"`    // the other place of a conflict
	Fault     string   `json:"fault,omitempty"`   // id of the catalog
	Title     string   `json:"title,omitempty"`   // of the fault
	Layer     string   `json:"layer"`
	Class     string   `json:"class"`
	Component string   `json:"component"`
	Severity  string   `json:"severity"`
	Action    string   `json:"action"`
	Sources   []string `json:"sources"`
	order     int
}

// Lint looks through sources, each by itself.
func Lint(cat *catalog.Catalog, language string, sources []Source) *Result {
	r := newResult()
	j := newJudge(cat, language)
	for i, s := range sources {
		info := InputInfo{Name: s.Name, Bytes: int64(len(s.Data)), Problems: []string{}}
		if s.Err != nil {
			info.Problems = append(info.Problems, s.Err.Error())
			r.Inputs = append(r.Inputs, info)
			continue
		}
		rd, lines := readSource(s, &info)
		r.Inputs = append(r.Inputs, info)
		r.Findings = append(r.Findings, j.judge(s.Name, rd, lines, i)...)
		for _, n := range rd.notes {
			r.Notes = append(r.Notes, NoteOut{s.Name, n.Line, j.note(n)})
		}
	}
	return r.finish()
}

// Environ looks through the environment of a process, as os.Environ returns it.
func Environ(cat *catalog.Catalog, language string, environ []string) *Result {
	return EnvironAs(cat, language, "environment", environ)
}

// EnvironAs is [Environ] with a name for the process.
func EnvironAs(cat *catalog.Catalog, language, name string, environ []string) *Result {
	r := newResult()
	rd := newReader(kindEnviron)
	rd.environ(environ)
	r.Inputs = []InputInfo{{Name: name, Kind: kindEnviron, Lines: len(environ), Settings: len(rd.settings), Problems: []string{}}}
	r.Findings = newJudge(cat, language).judge(name, rd, nil, 0)
	return r.finish()
}

func newResult() *Result {
	return &Result{Schema: Schema, Verdict: gpumedic.VerdictNoFault, Inputs: []InputInfo{}, Findings: []Finding{}, Notes: []NoteOut{}}
}

const maxBytes = 16 << 20

func readSource(s Source, info *InputInfo) (*reader, []string) {
	data := bytes.TrimPrefix(s.Data, []byte("\xef\xbb\xbf"))
	if len(data) > maxBytes {
		data = data[:maxBytes]
		info.Problems = append(info.Problems, "only the first 16 MiB were read")
	}
	body := string(data)
	if strings.IndexByte(body, 0) >= 0 && !isEnviron(body) {
		info.Problems = append(info.Problems, "not a text")
		return newReader(""), nil
	}
	info.Kind = detect(s.Name, body)
	rd := newReader(info.Kind)
	rd.read(info.Kind, body, 1)
	info.Settings = len(rd.settings)
	if rd.problem != "" {
		info.Problems = append(info.Problems, rd.problem)
	}
	if info.Kind == kindEnviron {
		return rd, nil
	}
	lines := strings.Split(body, "\n")
	info.Lines = strings.Count(body, "\n")
	if body != "" && !strings.HasSuffix(body, "\n") {
		info.Lines++
	}
	return rd, lines
}

// isEnviron tells /proc/PID/environ from a binary: settings with NUL between.
func isEnviron(body string) bool {
	for kv := range strings.SplitSeq(body, "\x00") {
		if kv == "" {
			continue
		}
		if _, _, ok := strings.Cut(kv, "="); !ok {
			return false
		}
	}
	return true
}

func (r *Result) finish() *Result {
	rank := map[string]int{LevelError: 0, LevelWarning: 1, LevelNotice: 2}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		if a.Level != b.Level {
			return rank[a.Level] - rank[b.Level]
		}
		if a.order != b.order {
			return a.order - b.order
		}
		return a.Line - b.Line
	})
	switch {
	case r.worst() == LevelError || r.worst() == LevelWarning:
		r.Verdict = gpumedic.VerdictFault
	case r.unread():
		r.Verdict = gpumedic.VerdictUnknown
	}
	return r
}

func (r *Result) worst() string {
	if len(r.Findings) == 0 {
		return ""
	}
	return r.Findings[0].Level
}

func (r *Result) unread() bool {
	return slices.ContainsFunc(r.Inputs, func(i InputInfo) bool { return len(i.Problems) > 0 })
}

// ExitStatus is the status that lint ends with.
func (r *Result) ExitStatus() int {
	switch {
	case r.worst() == LevelError:
		return gpumedic.ExitFault
	case r.worst() == LevelWarning:
		return gpumedic.ExitWarning
	case r.unread():
		return gpumedic.ExitUnknown
	}
	return gpumedic.ExitHealthy
}

// Report gives the finding the form of the other verbs' findings, for a report that
// has more than settings in it. A finding without a fault of the catalog has none there.
func (f *Finding) Report() gpumedic.Finding {
	role := gpumedic.RoleContributing
	if f.Level == LevelError {
		role = gpumedic.RoleRoot
	} else if f.Level == LevelNotice {
		role = gpumedic.RoleIncidental
	}
	text := f.Text
	if text == "" {
		text = f.Name + "=" + f.Value
	}
	out := gpumedic.Finding{
		Fault: f.Fault, Title: f.Title, Headline: f.Name + ": " + f.Message, Summary: f.Message, Role: role, Layer: f.Layer, Class: f.Class,
		Component: f.Component, Severity: f.Severity, Confidence: 0.9, Count: 1, Action: f.Action, Sources: f.Sources,
		Figures:      map[string]any{},
		Evidence:     []gpumedic.EvidenceOut{{Input: f.Input, Line: f.Line, Signal: "env." + strings.ToLower(f.Name), Text: text, Count: 1, Fields: map[string]string{"value": f.Value}}},
		Consequences: []gpumedic.Consequence{}, Causes: []gpumedic.Cause{}, Verify: []gpumedic.Check{}, Alternatives: []gpumedic.Alternative{}, Myths: []string{},
		Remedies: []gpumedic.Remedy{},
	}
	if f.Do != "" {
		out.Remedies = append(out.Remedies, gpumedic.Remedy{Step: f.Do, Command: f.Instead, Risk: "safe"})
	}
	return out
}
