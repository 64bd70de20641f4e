package explain

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/gpumedic/gpumedic/catalog"
)

// entry is one thing that words can find.
type entry struct {
	key    string // what to ask for to get its page
	title  string
	names  []string // titles and aliases in both languages: a whole one that equals the query decides
	terms  map[string]float64
	weight float64 // faults before codes before raw tables, when words fit equally
}

const maxSuggestions = 8

// search ranks everything by the words of the query. It answers with the page itself
// when one entry fits and no other comes near.
func (b *book) search(q string) (Page, bool) {
	entries := b.entries()
	type hit struct {
		e     *entry
		score float64
		exact bool
	}
	var hits []hit
	query := strings.ToLower(q)
	terms := termsOf(query)
	idf := rarity(entries)
	for i := range entries {
		e := &entries[i]
		s, matched := 0.0, 0.0
		for _, t := range terms {
			best := b.match(e, t)
			s += best * idf(t)
			if best > 0 {
				matched++
			}
		}
		exact := false
		for _, n := range e.names {
			n = strings.ToLower(n)
			switch {
			case n == query:
				s += 20
				exact = true
			case strings.Contains(n, query) && len(query) >= 4:
				s += 6 * float64(len(query)) / float64(len(n))
			}
		}
		if s > 0 && len(terms) > 0 {
			coverage := matched / float64(len(terms))
			hits = append(hits, hit{e, s * e.weight * (0.2 + coverage*coverage), exact})
		}
	}
	if len(hits) == 0 {
		return Page{}, false
	}
	slices.SortStableFunc(hits, func(x, y hit) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.e.key, y.e.key))
	})
	top := hits[0]
	if top.score < 1.5 {
		return Page{}, false
	}
	var list []Suggestion
	for _, h := range hits {
		if h.score < top.score/6 || len(list) == maxSuggestions {
			break
		}
		list = append(list, Suggestion{h.e.key, h.e.title})
	}
	if top.exact || len(hits) == 1 || top.score > 2*hits[1].score {
		if p, ok := b.direct(top.e.key); ok {
			p.Suggestions = list[1:]
			return p, true
		}
	}
	return Page{Kind: KindSearch, Title: b.say("found"), Suggestions: list}, true
}

// match is how well an entry answers one term: its own weight when it is there, less
// for a near spelling.
func (b *book) match(e *entry, t string) float64 {
	if w := e.terms[t]; w > 0 {
		return w
	}
	if len(t) < 5 || !isASCII(t) {
		return 0
	}
	allow := 1
	if len(t) >= 8 {
		allow = 2
	}
	best := 0.0
	for term, w := range e.terms {
		switch {
		case !isASCII(term) || len(term) < 4:
		case strings.HasPrefix(term, t):
			best = max(best, w*0.7)
		case len(term) >= 4 && strings.HasPrefix(t, term) && len(t)-len(term) <= 3: // errors, erroring
			best = max(best, w*0.6)
		case near(t, term, allow):
			best = max(best, w*0.5)
		}
	}
	return best
}

func rarity(entries []entry) func(string) float64 {
	df := map[string]int{}
	for _, e := range entries {
		for t := range e.terms {
			df[t]++
		}
	}
	n := float64(len(entries))
	return func(t string) float64 { return math.Log1p(n / float64(1+df[t])) }
}

// entries is everything that words can find, in a fixed order.
func (b *book) entries() []entry {
	var out []entry
	add := func(key, title string, weight float64, names []string, texts ...string) {
		e := entry{key: key, title: title, names: names, terms: map[string]float64{}, weight: weight}
		for _, n := range append([]string{key}, names...) {
			e.put(n, 3)
		}
		for _, t := range texts {
			e.put(t, 1)
		}
		out = append(out, e)
	}
	words := map[string][]string{}
	for _, w := range b.t.Words() {
		words[w.Key] = w.Words
	}
	for _, id := range b.c.FaultIDs() {
		f := b.c.Faults[id]
		names := append([]string{f.Title.EN, f.Title.ZH, strings.ReplaceAll(id, "-", " ")}, f.Aliases...)
		add(id, b.in(f.Title), 1.3, names, f.Summary.EN, f.Summary.ZH)
	}
	for _, x := range b.t.Xids() {
		weight := 1.0
		if x.Class() == "unused" {
			weight = 0.4
		}
		key := "xid " + strconv.Itoa(x.Code)
		names := append([]string{x.Meaning.EN, x.Meaning.ZH, strings.ToLower(strings.ReplaceAll(x.Mnemonic, "_", " "))}, words[x.Kind()]...)
		add(key, key+b.colon()+firstClause(b.in(x.Meaning)), weight, names, x.Causes.EN, x.Causes.ZH)
	}
	for _, c := range b.t.Codes() {
		if c.API == "runtime-legacy" {
			continue
		}
		names := append([]string{c.Symbol, c.Message}, words[codeWordsKey(c.API, c.Number, c.Symbol)]...)
		if c.API == "driver" {
			names = names[:2] // the runtime's row has them
		}
		add(c.Symbol, codeTitle(c), 0.8, names, c.Meaning.EN, c.Meaning.ZH)
	}
	for _, s := range b.t.Settings() {
		names := append([]string{strings.ToLower(strings.ReplaceAll(s.Name, "_", " "))}, s.Aliases...)
		add(s.Name, s.Name+b.colon()+b.in(s.Meaning), 0.7, names, s.Meaning.EN, s.Meaning.ZH, s.Advice.EN, s.Advice.ZH)
	}
	for _, x := range b.t.Exits() {
		key, names := "exit "+strconv.Itoa(x.Number), []string{x.Short.EN, x.Short.ZH}
		if x.Signal {
			key = x.Name
			names = append(names, "exit "+strconv.Itoa(128+x.Number))
		}
		add(key, key+b.colon()+b.in(x.Short), 0.7, names, x.Meaning.EN, x.Meaning.ZH)
	}
	for i := range b.c.Matchers {
		m := &b.c.Matchers[i]
		if !strings.Contains(m.Kind, "{") && !m.Meaning.IsZero() {
			add(m.Kind, m.Kind+b.colon()+b.in(m.Meaning), 0.8, []string{m.Meaning.EN, m.Meaning.ZH})
		}
	}
	for _, x := range b.t.SXids() {
		key := "sxid " + strconv.Itoa(x.Code)
		add(key, key+b.colon()+b.in(x.Meaning), 0.5, []string{strings.ToLower(strings.ReplaceAll(x.Name, "_", " "))}, x.Meaning.EN, x.Meaning.ZH)
	}
	return out
}

func codeWordsKey(api string, n int, symbol string) string {
	switch api {
	case "runtime", "driver":
		return "cuda." + strconv.Itoa(n)
	case "nvml":
		return "nvml." + strconv.Itoa(n)
	}
	return api + "." + symbol
}

// codeTitle is "CUDA 100: no CUDA-capable device is detected".
func codeTitle(c *catalog.Code) string {
	t := apiNames[c.API]
	if c.Number >= 0 {
		t += " " + strconv.Itoa(c.Number)
	}
	if c.Message != "" {
		t += ": " + c.Message
	}
	return t
}

func (e *entry) put(text string, weight float64) {
	for _, t := range termsOf(strings.ToLower(text)) {
		e.terms[t] = max(e.terms[t], weight)
	}
}

// stop are words that say nothing here.
var stop = map[string]bool{"the": true, "a": true, "an": true, "of": true, "is": true, "in": true, "on": true, "to": true, "my": true, "and": true, "what": true, "with": true, "for": true, "has": true, "gpu": true, "nvidia": true}

// termsOf splits text into Latin words and pairs of Chinese characters, which is how
// Chinese is searched without a dictionary.
func termsOf(s string) []string {
	var out []string
	var word []rune
	var last rune // the Chinese character before, 0 after anything else
	flush := func() {
		if w := string(word); len(word) > 0 && !stop[w] {
			out = append(out, w)
		}
		word = word[:0]
	}
	single := true
	for _, r := range s {
		if unicode.Is(unicode.Han, r) {
			flush()
			if last != 0 {
				out = append(out, string([]rune{last, r}))
				single = false
			} else {
				single = true
			}
			last = r
			continue
		}
		if last != 0 && single {
			out = append(out, string(last))
		}
		last = 0
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			word = append(word, r)
			continue
		}
		flush()
	}
	if last != 0 && single {
		out = append(out, string(last))
	}
	flush()
	return out
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// near reports whether the words differ by at most n edits.
func near(a, b string, n int) bool {
	if len(a)-len(b) > n || len(b)-len(a) > n {
		return false
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		prev, low := row[0], i
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := prev
			if a[i-1] != b[j-1] {
				cost = 1 + min(prev, row[j], row[j-1])
			}
			prev, row[j] = row[j], cost
			low = min(low, cost)
		}
		if low > n {
			return false
		}
	}
	return row[len(b)] <= n
}
