package gpumedic

import (
	"cmp"
	"strings"
	"time"
)

// Level says how much a signal demands: an abnormal signal that no fault explains
// must be shown to the user, a fact must not.
type Level uint8

const (
	// LevelFact is context (topology, versions, pairs of names): it joins and
	// supports, and never demands an explanation.
	LevelFact Level = iota
	// LevelNotice is worth showing on request (one corrected error); alone it
	// never makes a verdict.
	LevelNotice
	// LevelAbnormal demands an explanation; left unexplained it makes the
	// verdict "unknown".
	LevelAbnormal
)

// ParseLevel reads the catalog's spelling of a level.
func ParseLevel(s string) (Level, bool) {
	switch s {
	case "fact":
		return LevelFact, true
	case "notice":
		return LevelNotice, true
	case "abnormal", "":
		return LevelAbnormal, true
	}
	return 0, false
}

func (l Level) String() string {
	switch l {
	case LevelFact:
		return "fact"
	case LevelNotice:
		return "notice"
	}
	return "abnormal"
}

// Evidence is where a signal was read: byte-exact text of one line (or reading)
// of one input. Line is 1-based; 0 means that the source has no lines.
type Evidence struct {
	Input string
	Line  int
	Text  string // the line as it stands in the input, without its newline
	// Mark is the decisive part of Text, as byte offsets [Mark[0], Mark[1]).
	Mark [2]int
	// Msg is the byte offset at which the message begins, behind time, host and the
	// like; 0 where that is not known.
	Msg int
	// Section is the part of the input that the line is in, where it has parts of their
	// own kinds (dmesg in a bug report).
	Section string
}

// Signal is one thing observed, possibly many times.
//
// Kind is dotted lower case, most specific last (`xid.79`, `pcie.aer.corrected`).
// Fields hold what the line said, by the names of the matcher's groups and
// decoders. Equal signals are collapsed: Count says how often, First and Last
// span the occurrences, Evidence is the first of them.
type Signal struct {
	Kind    string
	Level   Level
	Subject Subject
	First   Stamp
	Last    Stamp
	// Near is for a signal without a time of its own in an input that states times: the
	// last one stated before its line and the first one after it. It tells the day, not
	// the moment, and bounds windows only; reports do not show it.
	Near     [2]Stamp
	Fields   map[string]string
	Evidence Evidence
	Count    int
	// Order is the position of the first occurrence in the order of inputs as
	// given: it orders signals whose time is unknown. Input counts from 0.
	Order Order
}

// Order places a line among the inputs of one run.
type Order struct {
	Input int
	Line  int
	Part  int // several events on one line
}

// Compare is negative when a comes before b in the order of inputs, positive after it.
func (a Order) Compare(b Order) int {
	return cmp.Or(cmp.Compare(a.Input, b.Input), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Part, b.Part))
}

// Before reports whether a comes before b in the order of inputs.
func (a Order) Before(b Order) bool { return a.Compare(b) < 0 }

// Field returns a field, "" when absent.
func (s *Signal) Field(name string) string { return s.Fields[name] }

// Part is the level, a part of the subject, or else a field, by its name in examples.
func (s *Signal) Part(name string) string {
	if name == "level" {
		return s.Level.String()
	}
	v, known := s.Subject.Part(name)
	if !known || v == "" && name == "unit" { // a unit of NVLink is a field
		return s.Fields[name]
	}
	return v
}

// YesNo spells a truth as fields do.
func YesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// KindMatches reports whether kind fits pattern: equal, or a pattern that ends in
// ".*" and a kind below it, or the pattern "*".
func KindMatches(pattern, kind string) bool {
	if pattern == kind || pattern == "*" {
		return true
	}
	if p, ok := strings.CutSuffix(pattern, ".*"); ok {
		return len(kind) > len(p)+1 && kind[len(p)] == '.' && strings.HasPrefix(kind, p)
	}
	return false
}

// Stamp is a time as an input stated it. The zero Stamp is "unknown".
type Stamp struct {
	// Time is the instant in UTC when the input allows it. Where the zone or the
	// year was missing it is the best reading and Assumed says so.
	Time time.Time
	// Precision is the size of the smallest stated unit (a second, a microsecond).
	Precision time.Duration
	// Mono is time since boot, when the input stated it; HasMono tells 0 from absent.
	Mono    time.Duration
	HasMono bool
	Assumed Assumed
}

// Assumed is what a wall-clock stamp lacked and had to be filled in.
type Assumed uint8

const (
	AssumedYear Assumed = 1 << iota
	AssumedZone
	AssumedBoot // computed from monotonic time and a boot offset
)

// Known reports whether the stamp has a wall-clock time, perhaps without its year.
func (s Stamp) Known() bool { return !s.Time.IsZero() }

// Dated reports whether the year is known too. Stamps of inputs that never state a
// year stand in the years around 0 and compare only with each other.
func (s Stamp) Dated() bool { return s.Known() && s.Time.Year() >= 1970 }

// DayApart returns the least time from t to s, and whether it is certain that more than
// a day lies between them: by their own times, or by those of the lines around.
func DayApart(s, t *Signal) (time.Duration, bool) {
	sLo, sHi := s.bounds()
	tLo, tHi := t.bounds()
	if d, ok := sLo.Sub(tHi); ok && d > 24*time.Hour {
		return d, true
	}
	if d, ok := tLo.Sub(sHi); ok && d > 24*time.Hour {
		return -d, true
	}
	return 0, false
}

// bounds are the times between which a signal lies; unknown where nothing bounds it.
func (s *Signal) bounds() (lo, hi Stamp) {
	if s.First.Known() || s.First.HasMono {
		return s.First, s.Last
	}
	return s.Near[0], s.Near[1]
}

// Sub returns s−t and whether both can be compared (both on the wall clock, or
// both since boot).
func (s Stamp) Sub(t Stamp) (time.Duration, bool) {
	if s.Known() && t.Known() && s.Dated() == t.Dated() {
		return s.Time.Sub(t.Time), true
	}
	if s.HasMono && t.HasMono {
		return s.Mono - t.Mono, true
	}
	return 0, false
}
