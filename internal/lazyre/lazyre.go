// Package lazyre has regular expressions that compile on first use. A program with
// hundreds of them at package level would else spend more time on compiling at every
// start, `gpumedic --help` too, than on anything a person asked for.
package lazyre

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// Regexp is a regular expression that is not compiled yet. It is safe for use by
// several goroutines.
type Regexp struct{ get func() *regexp.Regexp }

// tested: tests compile at once, so that no wrong expression waits for its first user.
var tested = len(os.Args) > 0 && strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test")

// New is [regexp.MustCompile] when first used; in tests at once.
func New(expr string) *Regexp {
	r := &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
	if tested {
		r.get()
	}
	return r
}

// The methods are those of [regexp.Regexp].

func (r *Regexp) Match(b []byte) bool                    { return r.get().Match(b) }
func (r *Regexp) MatchString(s string) bool              { return r.get().MatchString(s) }
func (r *Regexp) FindString(s string) string             { return r.get().FindString(s) }
func (r *Regexp) FindStringIndex(s string) []int         { return r.get().FindStringIndex(s) }
func (r *Regexp) FindStringSubmatch(s string) []string   { return r.get().FindStringSubmatch(s) }
func (r *Regexp) FindStringSubmatchIndex(s string) []int { return r.get().FindStringSubmatchIndex(s) }
func (r *Regexp) FindAllString(s string, n int) []string { return r.get().FindAllString(s, n) }
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.get().FindAllStringSubmatch(s, n)
}
func (r *Regexp) ReplaceAllString(s, repl string) string { return r.get().ReplaceAllString(s, repl) }
func (r *Regexp) SubexpNames() []string                  { return r.get().SubexpNames() }
func (r *Regexp) Split(s string, n int) []string         { return r.get().Split(s, n) }
