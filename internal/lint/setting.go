package lint

import (
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// scope says for what a setting holds.
type scope int

const (
	session  scope = iota // the rest of the script, the whole environment
	command               // one command
	image                 // every container of an image
	pod                   // a container of a manifest
	build                 // the build of an image only
	variable              // a variable of the shell, not exported
)

// form is a fault of how a setting is written, whatever its name is.
type form int

const (
	wellFormed  form = iota
	notString        // os.environ takes strings only
	k8sType          // value: of a manifest must be a string
	composeBool      // compose refuses true and false
	cutAtComma       // --export=X=a,b: the value ends at the comma
)

// Setting is one place at which an environment variable gets a value.
type Setting struct {
	Name  string
	Value string
	Known bool // the value stands there; not made by a command or a template
	Line  int
	Via   string // how: export, ENV, env, #SBATCH --export …
	scope scope
	form  form
	group int  // settings of one environment
	cond  bool // inside a branch, loop or function
	step  int  // commands that ran before it, to tell a sweep from a slip
}

// Note is something that could not be followed.
type Note struct {
	Line int
	Kind string // envfrom, envfile, unreadable
	What string
}

// facts are what a file says about the job besides its settings.
type facts struct {
	nodes int // 0: not said
	slurm bool
	pod   bool // a Kubernetes manifest
}

// reader collects what the parsers of one input find.
type reader struct {
	kind     string
	settings []Setting
	notes    []Note
	facts    facts
	problem  string // why some of the input could not be read
	group    int
	groups   int
	depth    int // of nesting, against bombs
	step     int
	used     map[string]bool // shell variables that are read somewhere
	exported map[string]bool
}

func newReader(kind string) *reader {
	return &reader{kind: kind, used: map[string]bool{}, exported: map[string]bool{}}
}

const maxSettings, maxDepth = 5000, 12

func (r *reader) add(s Setting) {
	if !isName(s.Name) {
		return
	}
	if len(r.settings) >= maxSettings {
		r.problem = "only the first " + strconv.Itoa(maxSettings) + " settings were read"
		return
	}
	if s.Known && placeholder(s.Value) {
		s.Known = false
	}
	s.group, s.step = r.group, r.step
	r.settings = append(r.settings, s)
}

func (r *reader) note(line int, kind, what string) {
	if len(r.notes) < 200 {
		r.notes = append(r.notes, Note{line, kind, what})
	}
}

// newGroup begins an environment of its own; the result goes back to the old one.
func (r *reader) newGroup() (back func()) {
	old := r.group
	r.groups++
	r.group = r.groups
	return func() { r.group = old }
}

func (r *reader) nodes(n int) {
	if n > r.facts.nodes && n < 1<<20 {
		r.facts.nodes = n
	}
}

// isName reports whether s can name an environment variable.
func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != "" && len(s) <= 200
}

// cutAssign parts NAME=VALUE.
func cutAssign(s string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(s, "=")
	return name, value, ok && isName(name)
}

var templateMark = lazyre.New(`\{\{|\}\}|^<.*>$|<[a-zA-Z][a-zA-Z0-9 _-]*>|\$\{|\$\(|\$[A-Za-z_]|%\([a-z]|__[A-Z0-9_]+__|^\.\.\.$|…|(?i)your[_-]|x{3,}|^TODO`)

// placeholder reports whether a value is left to be filled in.
func placeholder(v string) bool { return strings.Contains(v, tplMark) || templateMark.MatchString(v) }
