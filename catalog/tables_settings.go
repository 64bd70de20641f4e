package catalog

import (
	"io/fs"
	"slices"
	"strings"
)

// Setting is something that people set around a job: an environment variable, an
// option, a function, a limit of the host.
type Setting struct {
	Name      string
	Aliases   []string // further names on the same page
	Component string   // who reads it: NCCL, PyTorch, CUDA …
	Kind      string   // env, option, alloc, api, build, host
	Status    string   // one of SettingStatus
	Since     string   // the first version that has it
	Until     string   // from which version the name is old
	Instead   []string // names of the successors
	Default   string
	Safe      string // values that do no harm
	Low       bool
	Sources   []string
	Meaning   Text
	Harm      Text
	Advice    Text
}

// SettingStatus says whether a name may be used: valid; debug for diagnosis only;
// alias for an older name that is still read; deprecated, renamed and removed for
// one to be replaced; missing for one that no release has.
var SettingStatus = []string{"valid", "debug", "alias", "deprecated", "renamed", "removed", "missing"}

func loadSettings(fsys fs.FS) ([]*Setting, error) {
	t := readTable(fsys, "settings.tsv", "name", "component", "status", "sources", "meaning_en", "meaning_zh")
	var out []*Setting
	err := t.rows(func(r tableRow) {
		s := &Setting{
			Name: r.need("name"), Aliases: r.list("aliases", ";"), Component: r.need("component"),
			Kind:   r.oneOf("kind", "env", "option", "alloc", "api", "build", "host"),
			Status: r.oneOf("status", SettingStatus...), Since: r.opt("since"), Until: r.opt("until"),
			Instead: r.list("instead", ";"), Default: r.opt("default"), Safe: r.opt("safe"),
			Low: r.oneOf("confidence", "", "low") == "low", Sources: r.sources(),
			Meaning: r.mustText("meaning"), Harm: r.text("harm"), Advice: r.text("advice"),
		}
		out = append(out, s)
	})
	return out, err
}

// Settings returns all settings in table order.
func (t *TableSet) Settings() []*Setting {
	s, _ := t.settings()
	return s
}

// Setting looks a setting up by one of its names. Upper and lower case, and an
// assigned value ("NCCL_IB_DISABLE=1", "expandable_segments:True"), make no difference.
func (t *TableSet) Setting(name string) (*Setting, bool) {
	for _, n := range []string{name, untilAny(name, "="), untilAny(name, "=:(")} {
		n = strings.TrimSpace(n)
		if n == "" {
			continue
		}
		for _, s := range t.Settings() {
			if strings.EqualFold(s.Name, n) || slices.ContainsFunc(s.Aliases, func(a string) bool { return strings.EqualFold(a, n) }) {
				return s, true
			}
		}
	}
	return nil, false
}

func untilAny(s, chars string) string {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return s[:i]
	}
	return s
}

// Exit is what an exit code or a signal means for a job.
type Exit struct {
	Signal  bool
	Number  int
	Name    string // SIGKILL; "" for a code
	Action  string
	Faults  []string // faults of the catalog to look at
	Sources []string
	Short   Text
	Meaning Text
	Causes  Text
	Check   Text
}

func loadExits(fsys fs.FS) ([]*Exit, error) {
	t := readTable(fsys, "exits.tsv", "kind", "number", "action", "sources", "short_en", "short_zh", "meaning_en", "meaning_zh")
	var out []*Exit
	err := t.rows(func(r tableRow) {
		e := &Exit{
			Signal: r.oneOf("kind", "exit", "signal") == "signal", Number: r.num("number"), Name: r.opt("name"), Action: r.action("action"),
			Faults: r.list("faults", ";"), Sources: r.sources(),
			Short: r.mustText("short"), Meaning: r.mustText("meaning"), Causes: r.text("causes"), Check: r.text("check"),
		}
		if e.Signal != (e.Name != "") {
			r.fail("name", "a signal has a name, a code has none")
		}
		out = append(out, e)
	})
	return out, err
}

// Exits returns all exit codes and signals in table order.
func (t *TableSet) Exits() []*Exit {
	e, _ := t.exits()
	return e
}

// ExitCode looks up a code that a program ends with by itself.
func (t *TableSet) ExitCode(n int) (*Exit, bool) { return t.exit(n, false) }

// ExitSignal looks up a signal by its number.
func (t *TableSet) ExitSignal(n int) (*Exit, bool) { return t.exit(n, true) }

func (t *TableSet) exit(n int, signal bool) (*Exit, bool) {
	for _, e := range t.Exits() {
		if e.Number == n && e.Signal == signal {
			return e, true
		}
	}
	return nil, false
}

// ExitName looks up a signal by its name, with or without SIG.
func (t *TableSet) ExitName(name string) (*Exit, bool) {
	name = strings.ToUpper(name)
	for _, e := range t.Exits() {
		if e.Signal && (e.Name == name || e.Name == "SIG"+name) {
			return e, true
		}
	}
	return nil, false
}
