// Package catalog is the knowledge of the program, as data: which text means which
// signal (signals/*.yaml), which reading is out of order (readings/*.yaml), which
// fault explains which signals and what to do about it (faults/<id>/fault.yaml),
// and the vendor's tables (tables/*). Code elsewhere knows no Xid number.
//
// A fault is a folder whose name is its id: the same word is its page in the docs,
// its metric label and its suppression key. The folder holds fault.yaml and cases/.
// docs/adding-a-fault.md walks through one.
package catalog

import "time"

// Text is a text in every language that the catalog speaks.
type Text struct {
	EN string `yaml:"en"`
	ZH string `yaml:"zh"`
}

// In returns the text in a language, English where a translation is missing.
func (t Text) In(lang string) string {
	if lang == "zh" && t.ZH != "" {
		return t.ZH
	}
	return t.EN
}

// IsZero reports whether there is no text in any language.
func (t Text) IsZero() bool { return t.EN == "" && t.ZH == "" }

// SignalFile is one file of signals/: a family of matchers.
type SignalFile struct {
	Family   string    `yaml:"family"`
	Matchers []Matcher `yaml:"matchers"`
}

// Matcher turns one message into one signal.
//
// A message is what is left of a line when timestamp, host, identifier and other
// framing are stripped. Pattern is RE2 and its named groups become the signal's
// fields. Groups with a reserved name also name the subject: gpu (any spelling
// of a PCI address), uuid, serial, index, minor, port (PCI address of a bridge or
// root port), nvswitch, pci (a PCI address whose kind is not known: GPU, port,
// NIC; topology decides), pid, process, container, unit, rank, link, node.
type Matcher struct {
	ID   string `yaml:"id"`
	Kind string `yaml:"kind"` // "xid.{code}": a {field} is replaced by its value, lower case
	// Level is fact, notice or abnormal (default). LevelFrom names a table that
	// decides instead ("xid", "sxid").
	Level     string `yaml:"level"`
	LevelFrom string `yaml:"level_from"`
	// Origin restricts who may have written the line: kernel (kernel records, and
	// plain lines whose writer is unknown), or any (default).
	Origin string `yaml:"origin"`
	// Ident is a RE2 that the syslog identifier must match; a line without an
	// identifier passes.
	Ident string `yaml:"ident"`
	// Literals: at least one of these byte strings occurs in every line that can
	// match. They feed the block scan, so choose rare ones of 4 bytes or more. An
	// entry is one literal of plain text (spaces count).
	Literals []string `yaml:"literals"`
	Fold     bool     `yaml:"fold"` // literals ignore ASCII case (pattern needs its own (?i))
	Pattern  string   `yaml:"pattern"`
	// Join appends following records before matching: the driver writes one
	// message over several.
	Join *Join `yaml:"join"`
	// Split cuts the message before each further occurrence of this text, since
	// several events can share one line.
	Split string `yaml:"split"`
	// Set adds constant fields. Decode names decoders that add fields from others.
	Set    map[string]string `yaml:"set"`
	Decode []string          `yaml:"decode"`
	// Key lists the fields that tell two occurrences of one kind apart when equal
	// signals are collapsed (subject always does). Default: the whole message.
	Key []string `yaml:"key"`

	Meaning    Text      `yaml:"meaning"`
	Sources    []string  `yaml:"sources"`
	Confidence string    `yaml:"confidence"` // "low" where the source is weak: shown to the user
	Examples   []Example `yaml:"examples"`
	NearMisses []string  `yaml:"near_misses"`

	Pos Pos `yaml:"-"`
}

// Join says how many following records may belong to the message and what is
// stripped from them. Records join while they come from the same writer and start
// with Strip; Until ends early.
type Join struct {
	Lines int    `yaml:"lines"`
	Strip string `yaml:"strip"` // RE2 that a following record must start with; it is removed up to its first group, if it has one
	Until string `yaml:"until"` // RE2: the record that matches is the last one
}

// Example is a line (or several, for Join) that must give a signal.
type Example struct {
	Line string            `yaml:"line"`
	Want map[string]string `yaml:"want"` // "kind" and any field or subject part: gpu, pid, process, port, ...
}

// ReadingFile is one file of readings/.
type ReadingFile struct {
	Family string        `yaml:"family"`
	Rules  []ReadingRule `yaml:"rules"`
}

// ReadingRule turns readings of one subject (from nvidia-smi -q, its tables and
// CSV, lspci, NVML, sysfs) into a signal when all conditions hold.
type ReadingRule struct {
	ID        string            `yaml:"id"`
	Kind      string            `yaml:"kind"`
	Level     string            `yaml:"level"`
	When      []Condition       `yaml:"when"`
	Set       map[string]string `yaml:"set"`
	Meaning   Text              `yaml:"meaning"`
	Sources   []string          `yaml:"sources"`
	Examples  []ReadingExample  `yaml:"examples"`
	NearMiss  []ReadingExample  `yaml:"near_misses"`
	Threshold string            `yaml:"threshold"` // name by which a user may override it

	Pos Pos `yaml:"-"`
}

// Condition compares one reading with a constant or with another reading. All
// parts that are given must hold. A reading that is absent or "N/A" fails every
// condition except Absent.
type Condition struct {
	Key    string   `yaml:"key"` // normal reading name, see docs/readings.md: pcie.link.width.current
	Is     string   `yaml:"is"`  // RE2 on the whole value, case ignored
	Not    string   `yaml:"not"`
	GE     *float64 `yaml:"ge"`
	GT     *float64 `yaml:"gt"`
	LE     *float64 `yaml:"le"`
	LT     *float64 `yaml:"lt"`
	LTKey  string   `yaml:"lt_key"` // numerically below another reading
	GEKey  string   `yaml:"ge_key"`
	NEKey  string   `yaml:"ne_key"` // text differs from another reading
	Absent bool     `yaml:"absent"`
}

// ReadingExample is a set of readings of one subject.
type ReadingExample struct {
	Readings map[string]string `yaml:"readings"`
	Want     string            `yaml:"want"` // kind
}

// Fault is a condition in the world that explains signals.
type Fault struct {
	ID        string `yaml:"id"` // equals the folder's name
	Layer     string `yaml:"layer"`
	Class     string `yaml:"class"`
	Component string `yaml:"component"`
	Severity  string `yaml:"severity"`
	Action    string `yaml:"action"`
	// Scope is the kind of subject a hypothesis is about: gpu, node, process,
	// port, nvswitch, nic, rank, job. Signals of one scope form one hypothesis.
	Scope string `yaml:"scope"`
	// Key names a field of the trigger that tells cases of the fault on one subject
	// apart, as the code of a catalogued Xid does.
	Key string `yaml:"key"`

	// Persistent marks a state that lasts until its own action is taken (a pending
	// repair): a finding that explains it away must not merely watch.
	Persistent bool `yaml:"persistent"`

	Title    Text `yaml:"title"`    // the condition as a noun phrase, no variables
	Headline Text `yaml:"headline"` // the verdict line; {gpu} {node} {pid} {process} {port} {count} and {field} of the first trigger
	Summary  Text `yaml:"summary"`

	// Prior is how often this fault is the cause, relative to a common one = 1
	// (rare 0.1, very common 5). Default 1. It decides between explanations that
	// the evidence supports equally.
	Prior float64 `yaml:"prior"`

	Triggers []Clue `yaml:"triggers"` // any one makes a hypothesis
	Needs    []Clue `yaml:"needs"`    // each must be there too
	Supports []Clue `yaml:"supports"`
	Against  []Clue `yaml:"against"`
	// Explains lists what follows from the fault: signals, and whole other faults
	// that are only consequences (or weaker readings of the same evidence).
	Explains []Explains `yaml:"explains"`

	Causes   []CauseText  `yaml:"causes"` // most likely first
	Actions  []ActionRule `yaml:"actions"`
	Remedies []RemedyText `yaml:"remedies"` // in order; the first fits Action
	Verify   []CheckText  `yaml:"verify"`
	NotThis  []NotThis    `yaml:"not_this"`
	Myths    []Text       `yaml:"myths"`
	Sources  []string     `yaml:"sources"`
	Aliases  []string     `yaml:"aliases"` // words by which `explain` finds it

	Cases []Case `yaml:"-"`
	Dir   string `yaml:"-"`
	Pos   Pos    `yaml:"-"`
}

// Clue is a signal that speaks for or against a fault.
type Clue struct {
	Signal   string            `yaml:"signal"` // kind, or "a.b.*"; several separated by " | "
	Where    map[string]string `yaml:"where"`  // field: RE2 on the whole value, case ignored
	Relation string            `yaml:"relation"`
	// Before and After bound the signal's time relative to the hypothesis (first
	// trigger). Unknown times pass. Defaults: 1h before, 1h after.
	Before   Duration `yaml:"before"`
	After    Duration `yaml:"after"`
	MinCount int      `yaml:"min_count"` // summed over matching signals
	Strength string   `yaml:"strength"`  // certain, strong, moderate, weak
	Why      Text     `yaml:"why"`
}

// Explains names a consequence: a signal, a whole other fault, or a group of
// groups.yaml (a list that many faults share).
type Explains struct {
	Signal   string            `yaml:"signal"`
	Fault    string            `yaml:"fault"`
	Group    string            `yaml:"group"`
	Where    map[string]string `yaml:"where"`
	Relation string            `yaml:"relation"`
	Before   Duration          `yaml:"before"` // default 5s: logs are written late
	After    Duration          `yaml:"after"`  // default 1h
	Why      Text              `yaml:"why"`
}

// GroupFile is groups.yaml: named lists of consequences.
type GroupFile struct {
	Groups map[string][]Explains `yaml:"groups"`
}

// CauseText is a possible cause and what would confirm it.
type CauseText struct {
	Cause      Text   `yaml:"cause"`
	Likelihood string `yaml:"likelihood"` // high, medium, low
	Confirm    Text   `yaml:"confirm"`
	When       []Clue `yaml:"when"` // when seen, the cause moves up and is marked so
}

// ActionRule replaces the default action when all of When is seen; the first rule
// that fits wins. The driver's own verdict (Xid 154, NVML recovery action)
// outranks them all.
type ActionRule struct {
	When        []Clue `yaml:"when"`
	MinSubjects int    `yaml:"min_subjects"` // so many GPUs hit together
	Action      string `yaml:"action"`
	Why         Text   `yaml:"why"`
}

// RemedyText is one step.
type RemedyText struct {
	Step    Text   `yaml:"step"`
	Command string `yaml:"command"` // may use {gpu} {pid} {node}
	Risk    string `yaml:"risk"`    // safe, disruptive, destructive
	For     string `yaml:"for"`     // only when the finding's action is this one (or of these, "a | b")
}

// CheckText must pass before the incident closes.
type CheckText struct {
	Check   Text   `yaml:"check"`
	Command string `yaml:"command"`
}

// NotThis is a wrong conclusion that lies near. Said always, or only When a clue is seen.
type NotThis struct {
	Claim   Text   `yaml:"claim"`
	Because Text   `yaml:"because"`
	When    []Clue `yaml:"when"`
}

// Case is one file of a fault's cases/: a header of "# want: …" lines, then the
// input. A near miss wants another fault or none.
type Case struct {
	Name string
	// Want holds the expectations: fault, action, verdict, gpu, not (a fault that
	// must not be the answer). A near miss has "not: <this fault>".
	Want  map[string]string
	Input string
	Pos   Pos
}

// Duration is a time.Duration that YAML spells "90s", "10m", "1h30m".
type Duration struct {
	time.Duration
	Set bool
}

// Pos is a place in a catalog file, for messages.
type Pos struct {
	File string
	Line int
	Col  int
}
