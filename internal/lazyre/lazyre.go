// Package lazyre has regular expressions that compile on first use. A program with
// hundreds of them at package level would else spend more time on compiling at every
// start, `gpumedic --help` too, than on anything a person asked for. What they are asked
// is mostly answered by a program of its own kind (program.go), which neither takes the
// time that package regexp needs to compile nor the time that it needs to match; where
// that gives up, a [Filter] may know that there is no match, and package regexp decides.
package lazyre

import (
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
)

// Regexp is a regular expression that is not compiled yet. It is safe for use by
// several goroutines.
type Regexp struct {
	get func() *regexp.Regexp
	Fast
}

// tested: tests compile at once, so that no wrong expression waits for its first user.
var tested = len(os.Args) > 0 && strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test")

// New is [regexp.MustCompile] when first used; in tests at once.
func New(expr string) *Regexp {
	r := &Regexp{get: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
	r.expr = expr
	if tested {
		r.get()
	}
	return r
}

// Fast is the part of an expression that answers without package regexp.
type Fast struct {
	expr    string
	once    sync.Once
	program *program
	filter  func() *Filter
	asked   atomic.Uint32 // how often the filter was wanted, up to filterAfter
}

// filterAfter is how often a filter is wanted before one is made: for fewer texts it
// would cost more than it saves.
const filterAfter = 24

// NewFast prepares an expression for one who compiles it in another place. A wrong
// expression knows no answer.
func NewFast(expr string) *Fast { return &Fast{expr: expr} }

// Find looks for the first match and returns the places of it and of its groups, as
// [regexp.Regexp.FindStringSubmatchIndex] does; nil means that there is none. Where known
// is false, only package regexp can tell.
func (f *Fast) Find(text string) (loc []int, known bool) { return f.FindInto(text, nil) }

// FindInto is Find that appends the places to dst.
func (f *Fast) FindInto(text string, dst []int) (loc []int, known bool) {
	f.once.Do(f.prepare)
	searches := f.program.searches()
	if searches { // from each byte anew: that there is no match, the filter knows sooner
		if match, known := f.quick(text); known && !match {
			return nil, true
		}
	}
	if loc, known = f.program.find(text, dst); known {
		return loc, true
	}
	if searches {
		return nil, false
	}
	match, known := f.quick(text)
	return nil, known && !match
}

// Matches says whether there is a match, if that is known.
func (f *Fast) Matches(text string) (match, known bool) {
	f.once.Do(f.prepare)
	if f.program.searches() {
		if match, known = f.quick(text); known {
			return match, true
		}
	}
	loc, known := f.Find(text)
	return loc != nil, known
}

// quick asks the filter, of an expression that is in use.
func (f *Fast) quick(text string) (match, known bool) {
	if f.asked.Load() < filterAfter {
		f.asked.Add(1)
		return false, false
	}
	return f.filter().Match(text)
}

func (f *Fast) prepare() {
	f.program = buildProgram(f.expr)
	f.filter = sync.OnceValue(func() *Filter { return NewFilter(f.expr) })
}

// Names are the names of the groups, the whole match first; nil where only package
// regexp knows them.
func (f *Fast) Names() []string {
	f.once.Do(f.prepare)
	if f.program == nil {
		return nil
	}
	return f.program.names
}

// The methods are those of [regexp.Regexp].

func (r *Regexp) Match(b []byte) bool { return r.get().Match(b) }

func (r *Regexp) MatchString(s string) bool {
	if match, known := r.Matches(s); known {
		return match
	}
	return r.get().MatchString(s)
}

func (r *Regexp) FindString(s string) string {
	if loc := r.FindStringSubmatchIndex(s); loc != nil {
		return s[loc[0]:loc[1]]
	}
	return ""
}

func (r *Regexp) FindStringIndex(s string) []int {
	if loc := r.FindStringSubmatchIndex(s); loc != nil {
		return loc[:2]
	}
	return nil
}

func (r *Regexp) FindStringSubmatch(s string) []string {
	loc := r.FindStringSubmatchIndex(s)
	if loc == nil {
		return nil
	}
	out := make([]string, len(loc)/2)
	for i := range out {
		if loc[2*i] >= 0 {
			out[i] = s[loc[2*i]:loc[2*i+1]]
		}
	}
	return out
}

func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	if loc, known := r.Find(s); known {
		return loc
	}
	return r.get().FindStringSubmatchIndex(s)
}

func (r *Regexp) FindAllString(s string, n int) []string { return r.get().FindAllString(s, n) }
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.get().FindAllStringSubmatch(s, n)
}
func (r *Regexp) ReplaceAllString(s, repl string) string { return r.get().ReplaceAllString(s, repl) }
func (r *Regexp) String() string                         { return r.expr }
func (r *Regexp) SubexpNames() []string                  { return r.get().SubexpNames() }
func (r *Regexp) Split(s string, n int) []string         { return r.get().Split(s, n) }
