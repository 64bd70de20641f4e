package scan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/frame"
	"github.com/gpumedic/gpumedic/internal/lazyre"
	"github.com/gpumedic/gpumedic/internal/scan/literal"
	"github.com/gpumedic/gpumedic/internal/scan/section"
	"github.com/gpumedic/gpumedic/internal/scan/traceback"
	"github.com/gpumedic/gpumedic/internal/series"
)

// Decoder adds what a vendor's message says beyond its words: fields, a level, a
// link. Name is a decoder of the catalog (`decode:`) or a table (`level_from:`); an
// unknown name does nothing. It must be safe for use by several goroutines.
type Decoder interface {
	Decode(name string, sig *gpumedic.Signal)
}

// Scanner finds the signals of one catalog in any number of inputs. It is safe for
// use by several goroutines.
type Scanner struct {
	cat      *catalog.Catalog
	dec      Decoder
	matchers []*catalog.Pattern
	search   literal.Searcher
	refusals []refusal                  // by matcher
	decide   []atomic.Pointer[deciding] // by matcher
	targets  []target                   // by literal
	unread   *catalog.Pattern
	uses     uses
	frameAll bool // tests want no row to be taken for dull
}

// target is what a literal leads to.
type target struct {
	matchers []int32 // in the order of the catalog
	section  bool
	repeat   bool
	trace    bool // a traceback begins
	curve    bool // figures of a training step
	driver   bool // a driver's report, which must not be lost (unread.go)
}

// New prepares a catalog for scanning. dec may be nil. A matcher without literals
// could never match and is an error.
func New(c *catalog.Catalog, dec Decoder) (*Scanner, error) {
	s := &Scanner{cat: c, dec: dec}
	ids := map[literal.Literal]int{}
	var lits []literal.Literal
	add := func(l literal.Literal) *target {
		id, ok := ids[l]
		if !ok {
			id = len(lits)
			ids[l] = id
			lits = append(lits, l)
			s.targets = append(s.targets, target{})
		}
		return &s.targets[id]
	}
	all := slices.Clone(c.Matchers)
	all = append(all, builtins(c)...)
	for i := range all {
		m := &all[i]
		if len(m.Literals) == 0 {
			return nil, fmt.Errorf("prepare matcher %s: it has no literals: give one text that every matching line holds", m.ID)
		}
		for _, text := range m.Literals {
			for _, form := range spellings(text) {
				t := add(literal.Literal{Text: form, Fold: m.Fold})
				if n := len(t.matchers); n == 0 || t.matchers[n-1] != int32(i) {
					t.matchers = append(t.matchers, int32(i))
				}
			}
		}
	}
	for _, text := range section.Starts() {
		add(literal.Literal{Text: text}).section = true
	}
	add(literal.Literal{Text: repeatLiteral}).repeat = true
	for _, text := range traceback.Literals() {
		add(literal.Literal{Text: text}).trace = true
	}
	for _, text := range series.Literals() {
		add(literal.Literal{Text: text, Fold: true}).curve = true
	}
	for _, text := range frame.ClockLiterals() {
		add(literal.Literal{Text: text}) // framing the row tells the clock; no matcher is needed
	}
	for i := range lits {
		s.targets[i].driver = strings.Contains(lits[i].Text, "Xid")
	}
	var search sync.WaitGroup
	search.Go(func() { s.search = literal.New(lits) }) // half of the start: beside the rest
	s.uses, s.unread = usesOf(c), unreadMatcher()
	s.decide = make([]atomic.Pointer[deciding], len(all))
	for i := range all {
		s.matchers = append(s.matchers, catalog.Compile(&all[i], fast))
		s.refusals = append(s.refusals, refusalOf(&all[i]))
	}
	search.Wait()
	return s, nil
}

func fast(expr string) catalog.Finder { return lazyre.NewFast(expr) }

// spellings are the forms in which a literal can stand in a row: as it is, and as
// JSON escapes it, with and without Go's care for HTML.
func spellings(text string) []string {
	forms := []string{text}
	if plain(text) {
		return forms // nearly all, and the rest is slow: this runs at every start
	}
	short := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`).Replace(text)
	if html, err := json.Marshal(text); err == nil {
		for _, f := range []string{short, string(html[1 : len(html)-1])} {
			if !slices.Contains(forms, f) {
				forms = append(forms, f)
			}
		}
	}
	return forms
}

// plain says whether JSON writes a text as it is.
func plain(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c > '~', c == '\\', c == '"', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}

// builtins are matchers of the logging system itself, which every catalog needs.
// A catalog that brings its own for the same kind replaces them.
func builtins(c *catalog.Catalog) []catalog.Matcher {
	const kind = "kernel.suppressed"
	for i := range c.Matchers {
		if c.Matchers[i].Kind == kind {
			return nil
		}
	}
	return []catalog.Matcher{{
		ID: "log-suppressed", Kind: kind, Level: "fact",
		Literals: []string{"callbacks suppressed", "messages suppressed", "kernel messages", "due to rate-limiting", "Suppressed "},
		Pattern: `^(?:(?P<function>[\w.]+): )?(?P<count>\d+) (?:callbacks|messages) suppressed` +
			`|^Missed (?P<count>\d+) kernel messages` +
			`|^Suppressed (?P<count>\d+) messages from (?P<unit>\S+)` +
			`|(?P<count>\d+) messages (?:lost|from pid \d+ lost|from \S+ suppressed|lost from pid \d+)?.{0,40}due to rate-limiting`,
		Key: []string{"function"},
		Meaning: catalog.Text{
			EN: "The logging system left out messages because there were too many",
			ZH: "日志系统因消息过多而丢弃了部分消息",
		},
	}}
}
