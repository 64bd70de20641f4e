// Package lazyre has regular expressions that compile on first use. A program with
// hundreds of them at package level would else spend more time on compiling at every
// start, `gpumedic --help` too, than on anything a person asked for. Those that are asked
// often get a [Filter], which knows much faster that there is no match.
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
	get    func() *regexp.Regexp
	filter func() *Filter
	asked  atomic.Uint32 // how often, up to filterAfter
}

// filterAfter is how many calls an expression has before a filter is made for it: for
// fewer it would cost more than it saves.
const filterAfter = 24

// tested: tests compile at once, so that no wrong expression waits for its first user.
var tested = len(os.Args) > 0 && strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test")

// New is [regexp.MustCompile] when first used; in tests at once.
func New(expr string) *Regexp {
	r := &Regexp{
		get:    sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) }),
		filter: sync.OnceValue(func() *Filter { return NewFilter(expr) }),
	}
	if tested {
		r.get()
	}
	return r
}

// quick asks the filter, of an expression that is in use.
func (r *Regexp) quick(s string) (match, known bool) {
	if r.asked.Load() < filterAfter {
		r.asked.Add(1)
		return false, false
	}
	return r.filter().Match(s)
}

// never says that there surely is no match.
func (r *Regexp) never(s string) bool {
	match, known := r.quick(s)
	return known && !match
}

// Never returns a function that says that an expression surely does not match, for one
// who compiles it in another place.
func Never(expr string) func(string) bool {
	r := &Regexp{filter: sync.OnceValue(func() *Filter { return NewFilter(expr) })}
	return r.never
}

// The methods are those of [regexp.Regexp].

func (r *Regexp) Match(b []byte) bool { return r.get().Match(b) }

func (r *Regexp) MatchString(s string) bool {
	if match, known := r.quick(s); known {
		return match
	}
	return r.get().MatchString(s)
}

func (r *Regexp) FindString(s string) string {
	if r.never(s) {
		return ""
	}
	return r.get().FindString(s)
}

func (r *Regexp) FindStringIndex(s string) []int {
	if r.never(s) {
		return nil
	}
	return r.get().FindStringIndex(s)
}

func (r *Regexp) FindStringSubmatch(s string) []string {
	if r.never(s) {
		return nil
	}
	return r.get().FindStringSubmatch(s)
}

func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	if r.never(s) {
		return nil
	}
	return r.get().FindStringSubmatchIndex(s)
}

func (r *Regexp) FindAllString(s string, n int) []string { return r.get().FindAllString(s, n) }
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.get().FindAllStringSubmatch(s, n)
}
func (r *Regexp) ReplaceAllString(s, repl string) string { return r.get().ReplaceAllString(s, repl) }
func (r *Regexp) SubexpNames() []string                  { return r.get().SubexpNames() }
func (r *Regexp) Split(s string, n int) []string         { return r.get().Split(s, n) }
