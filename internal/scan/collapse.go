package scan

import (
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/frame"
)

const (
	// maxDistinct is how many different signals of one kind on one GPU are kept
	// apart; what comes after them is one signal with a field "distinct". An input
	// that floods with many kinds on many GPUs keeps fewer of each (distinctNow).
	maxDistinct = 256
	// maxCounted and maxCountedAll bound the memory that counting the rest exactly
	// may take, for one group and for all.
	maxCounted    = 1 << 12
	maxCountedAll = 1 << 16
	// floodAfter is how many signals beyond maxDistinct are still decoded, to see
	// which decoded fields they share.
	floodAfter = 64
)

// collapser turns equal signals into one with a count.
type collapser struct {
	entries []*entry // in the order of first occurrence
	byKey   map[string]*entry
	groups  map[string]*group
	floods  int // groups with more than enough
	counted int // in all of them
}

// entry is a signal while it is being counted. Its stamps are as read: the clock
// resolves them at the end.
type entry struct {
	sig gpumedic.Signal
	out *overflow // set in the entry that stands for the rest of its group
	// lastLine is where Last was read; First is where the evidence is, or near.
	lastLine int
	// seen is where it occurred last, with a time or not.
	seen int
}

// group is the signals of one kind on one GPU.
type group struct {
	distinct int
	rest     *entry
}

type overflow struct {
	seen   map[uint64]struct{}
	count  int
	common []field // what all its members say
}

type field struct{ name, value string }

// keySeed is of this run: hashes only tell texts apart.
var keySeed = maphash.MakeSeed()

// distinctNow is how many signals of one kind on one GPU are kept apart at present.
func (c *collapser) distinctNow() int {
	switch n := len(c.entries); {
	case n < 1024:
		return maxDistinct
	case n < 4096:
		return 8
	}
	return 1
}

// bump counts n more occurrences, the last of them at st.
func (e *entry) bump(line int, st gpumedic.Stamp, n int) {
	e.sig.Count += n
	e.seen = line
	if st.Known() || st.HasMono {
		e.sig.Last, e.lastLine = st, line
		if !e.sig.First.Known() && !e.sig.First.HasMono {
			e.sig.First = st
		}
	}
}

// resolve fills in what the stamps lack and puts them in order.
func (e *entry) resolve(clk *frame.Clock) {
	s := &e.sig
	s.First, s.Last = clk.ResolveAt(s.Evidence.Line, s.First), clk.ResolveAt(e.lastLine, s.Last)
	if d, ok := s.Last.Sub(s.First); ok && d < 0 {
		s.First, s.Last = s.Last, s.First
	}
}

// flooded returns the entry that counts the rest of a group when that has had more than
// enough and the signal with this key is not one of those kept apart.
func (c *collapser) flooded(group, key []byte) *entry {
	if c.floods == 0 {
		return nil
	}
	g := c.groups[string(group)]
	if g == nil || g.rest == nil || g.rest.out.count < floodAfter || c.byKey[string(key)] != nil {
		return nil
	}
	return g.rest
}

// add returns the entry that counts p, a new one when p is the first of its like.
func (c *collapser) add(p *proto) (e *entry, isNew bool) {
	if p.rest != nil {
		c.absorb(p.rest, p, p.hash)
		return p.rest, false
	}
	if c.byKey == nil {
		c.byKey, c.groups = map[string]*entry{}, map[string]*group{}
	}
	if e := c.byKey[p.key]; e != nil {
		return e, false
	}
	g := c.groups[p.group]
	if g == nil {
		g = &group{}
		c.groups[p.group] = g
	}
	if g.rest == nil && (g.distinct == 0 || g.distinct < c.distinctNow()) {
		g.distinct++
		e := &entry{sig: p.sig}
		e.sig.Fields = maps.Clone(p.sig.Fields)
		c.byKey[p.key] = e
		c.entries = append(c.entries, e)
		return e, true
	}
	if g.rest == nil {
		g.rest = &entry{sig: p.sig, out: &overflow{seen: map[uint64]struct{}{}}}
		g.rest.sig.Fields = maps.Clone(p.sig.Fields)
		if g.rest.sig.Fields == nil {
			g.rest.sig.Fields = map[string]string{}
		}
		c.entries = append(c.entries, g.rest)
		c.floods++
		isNew = true
	}
	c.absorb(g.rest, p, maphash.String(keySeed, p.key))
	return g.rest, isNew
}

// absorb takes one more text into the rest of a group: what differs between its
// members is no longer said of it.
func (c *collapser) absorb(e *entry, p *proto, hash uint64) {
	if _, ok := e.out.seen[hash]; ok {
		return
	}
	if len(e.out.seen) < maxCounted && c.counted < maxCountedAll {
		e.out.seen[hash] = struct{}{}
		e.out.count++
		c.counted++
		e.sig.Fields["distinct"] = strconv.Itoa(e.out.count)
	}
	if e.out.common == nil {
		e.out.common = []field{}
		for k, v := range e.sig.Fields {
			if k != "distinct" {
				e.out.common = append(e.out.common, field{k, v})
			}
		}
	}
	common := e.out.common[:0]
	for _, f := range e.out.common {
		if have, ok := p.sig.Fields[f.name]; have != f.value && (ok || p.decoded) {
			delete(e.sig.Fields, f.name)
		} else {
			common = append(common, f)
		}
	}
	e.out.common = common
	s, o := &e.sig.Subject, &p.sig.Subject
	if s.Process != o.Process {
		s.Process = gpumedic.Process{}
	}
	clearDiffering(&s.Container, o.Container)
	clearDiffering(&s.Unit, o.Unit)
	clearDiffering(&s.Port, o.Port)
	clearDiffering(&s.Link, o.Link)
	clearDiffering(&s.NVSwitch, o.NVSwitch)
	if s.Rank != nil && (o.Rank == nil || *s.Rank != *o.Rank) {
		s.Rank = nil
	}
}

func clearDiffering(s *string, o string) {
	if *s != o {
		*s = ""
	}
}

// count counts one occurrence of p, met in msg.
func (x *input) count(p place, msg *frame.Message, pr *proto) {
	n := max(msg.Repeat, 1)
	if pr.entry == nil {
		e, isNew := x.out.add(pr)
		if isNew {
			e.sig.First, e.sig.Last, e.sig.Count = msg.Stamp, msg.Stamp, 0
			e.sig.Evidence = pr.sig.Evidence
			e.sig.Evidence.Line, e.sig.Evidence.Text = p.line, string(p.text)
			e.sig.Order = gpumedic.Order{Input: x.num, Line: p.line, Part: x.part}
		}
		pr.entry = e
	}
	x.part++
	pr.entry.bump(p.line, msg.Stamp, n)
	x.remember(p.row, pr.entry)
}

// appendDistinction appends the text by which two signals of one kind and subject differ.
func appendDistinction(b []byte, m *catalog.Pattern, fields map[string]string, text string) []byte {
	if len(m.Key) == 0 {
		return appendWithoutTimes(b, text)
	}
	for _, k := range m.Key {
		b = append(append(b, fields[k]...), 0)
	}
	return b
}

// appendWithoutTimes replaces times and dates inside a message: the same words at
// another time are the same signal.
func appendWithoutTimes(b []byte, text string) []byte {
	done := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c > '9' && c != '[' || c < '0' || i > 0 && isWord(text[i-1]) {
			i++
			continue
		}
		n := timeLen(text[i:])
		if n == 0 {
			i++
			continue
		}
		b = append(append(b, text[done:i]...), '~')
		i += n
		done = i
	}
	return append(b, text[done:]...)
}

// timeLen is the length of "10:11:12", "10:11:12.345", "2024-06-20", "2024/06/20"
// or "[ 123.456789]" at the start of s, 0 for none.
func timeLen(s string) int {
	shape := func(pattern string) int {
		if len(s) < len(pattern) {
			return 0
		}
		for i := range len(pattern) {
			if digit := s[i] >= '0' && s[i] <= '9'; (pattern[i] == '9') != digit || pattern[i] != '9' && pattern[i] != s[i] {
				return 0
			}
		}
		return len(pattern)
	}
	n := 0
	for _, p := range []string{"99:99:99", "9999-99-99", "9999/99/99"} {
		if n = shape(p); n > 0 {
			break
		}
	}
	if n == 0 && s[0] == '[' {
		end := strings.IndexByte(s[:min(len(s), 21)], ']')
		if end < 0 || !strings.Contains(s[:end], ".") || strings.Trim(s[1:end], " 0123456789.") != "" {
			return 0
		}
		return end + 1
	}
	if n > 0 && n+1 < len(s) && (s[n] == '.' || s[n] == ',') {
		for n++; n < len(s) && s[n] >= '0' && s[n] <= '9'; n++ {
		}
	}
	if n > 0 && n < len(s) && isWord(s[n]) && s[n] != 'T' && s[n] != 'Z' {
		return 0
	}
	return n
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

func appendGPUKey(b []byte, g *gpumedic.GPU) []byte {
	if g.IsZero() {
		return b
	}
	for _, s := range [...]string{g.PCI, g.UUID, g.Serial} {
		b = append(append(b, s...), '/')
	}
	return appendNum(append(appendNum(b, g.Index), '/'), g.Minor)
}

func appendSubjectKey(b []byte, s *gpumedic.Subject) []byte {
	for _, v := range [...]string{s.Port, s.NVSwitch, s.Link, s.Process.Name, s.Container, s.Unit, s.GPU.MIG} {
		b = append(append(b, v...), 0)
	}
	b = append(strconv.AppendInt(b, int64(s.Process.PID), 10), 0)
	return appendNum(b, s.Rank)
}

func appendNum(b []byte, p *int) []byte {
	if p == nil {
		return b
	}
	return strconv.AppendInt(b, int64(*p), 10)
}

// sorted puts the signals of an input in order.
func (c *collapser) sorted() []gpumedic.Signal {
	out := make([]gpumedic.Signal, 0, len(c.entries))
	for _, e := range c.entries {
		out = append(out, e.sig)
	}
	slices.SortStableFunc(out, byOrder)
	return out
}
