package watch

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

// How a document stands to what its source said before.
type extent int

const (
	change  extent = iota // what differs from the document before, which holds on
	some                  // a few readings of some subjects: the rest stays
	members               // all GPUs and processes of the source; readings that it lacks stay
	whole                 // everything
)

// readings are the latest of each source, and the signals that the catalog's rules make
// of all of them together.
type readings struct {
	rules   []catalog.ReadingRule
	node    string
	sources map[string]map[string]*section.Readings // by source, by subject
	// onset is since when each state has been there without a break: a state that lasts
	// is not news each time it is read.
	onset   map[string]time.Time
	signals map[string]*gpumedic.Signal
	// news counts changes of what there is, more those of figures.
	news, more uint64
	changed    bool // something in words
	moved      bool // figures
	judged     time.Time
}

func newReadings(rules []catalog.ReadingRule, node string) *readings {
	return &readings{rules: rules, node: node, sources: map[string]map[string]*section.Readings{}, onset: map[string]time.Time{}, signals: map[string]*gpumedic.Signal{}}
}

// docLines gives a document to the reader of sections.
type docLines []string

func (l docLines) Line(i int) (string, bool) {
	if i < 0 || i >= len(l) {
		return "", false
	}
	return l[i], true
}

func parseDoc(doc []byte) []section.Readings {
	lines := docLines(strings.Split(strings.TrimSuffix(string(doc), "\n"), "\n"))
	sets, _ := section.Parse(lines)
	return sets
}

// subjectOf names the subject of a set as the document's heads do: by what does not
// change while it is there.
func subjectOf(s *section.Readings) string {
	x := &s.Subject
	if x.Process.PID != 0 {
		return "process " + strconv.Itoa(x.Process.PID) + " " + s.Values["pci"].Value
	}
	if m := s.Values["mig.uuid"].Value; m != "" {
		return "mig " + m
	}
	return strings.Join([]string{x.GPU.PCI, x.Port, x.NVSwitch, x.Location, x.Unit}, "|")
}

// put takes a document of a source.
func (r *readings) put(source string, doc []byte, how extent) {
	old := r.sources[source]
	if how == whole {
		old = nil
	}
	now := map[string]*section.Readings{}
	for key, s := range old {
		gone := s.Subject.Process.PID != 0 || !s.Subject.GPU.IsZero() && s.Values["mig.uuid"].Value == ""
		if how <= some || how == members && !gone {
			now[key] = s
		}
	}
	sets := parseDoc(doc)
	r.moved = r.moved || len(sets) > 0 || how > some
	for _, s := range sets {
		key := subjectOf(&s)
		if s.Subject.Node == "" {
			s.Subject.Node = r.node
		}
		before := old[key]
		if how > some || before == nil || differs(&s, before, how) {
			r.changed = true
		}
		switch {
		case before == nil:
		case how == change:
			s = changed(before, &s)
		case s.Values["status"].Value == "" && how != whole:
			join(&s, before)
		}
		now[key] = &s
	}
	r.sources[source] = now
}

// differs reports whether a set says something in words that was not said before. That a
// figure moved is looked at less often.
func differs(s, before *section.Readings, how extent) bool {
	for k, v := range s.Values {
		old := before.Values[k].Value
		if v.Value == old {
			continue
		}
		_, err1 := strconv.ParseFloat(v.Value, 64)
		_, err2 := strconv.ParseFloat(old, 64)
		if err1 != nil || err2 != nil {
			return true
		}
	}
	for k := range before.Values {
		if _, ok := s.Values[k]; !ok && how != change && passing(k) {
			return true
		}
	}
	return false
}

// changed is the set before with the values that are other ones now; they stay on their
// lines, as the document before had them.
func changed(before, s *section.Readings) section.Readings {
	out := *before
	out.Values = maps.Clone(before.Values)
	for k, v := range s.Values {
		if old, ok := out.Values[k]; ok {
			v.Line = old.Line
		}
		out.Values[k] = v
	}
	return out
}

// passing are readings that say that something was wrong at that moment: they are gone
// when a later document does not repeat them.
func passing(key string) bool {
	return key == "status" || strings.HasPrefix(key, "probe.timeout") || key == "power.cable"
}

// join fills in what a lesser document does not hold.
func join(s, before *section.Readings) {
	if otherCard(s, before) {
		return
	}
	all := maps.Clone(before.Values)
	for k := range all {
		if passing(k) {
			delete(all, k)
		}
	}
	maps.Copy(all, s.Values)
	s.Values = all
	g, b := &s.Subject.GPU, before.Subject.GPU
	if g.UUID == "" {
		g.UUID = b.UUID
	}
	if g.Serial == "" {
		g.Serial = b.Serial
	}
	if g.Index == nil {
		g.Index = b.Index
	}
	if g.Minor == nil {
		g.Minor = b.Minor
	}
}

// otherCard reports whether the GPU at an address is another one than before: what the one
// before said is not said of it.
func otherCard(s, before *section.Readings) bool {
	a, b := s.Values["uuid"].Value, before.Values["uuid"].Value
	return a != "" && b != "" && a != b && s.Subject.Process.PID == 0 && s.Values["mig.uuid"].Value == ""
}

// of are the readings of one source in a fixed order.
func (r *readings) of(source string) []section.Readings {
	var out []section.Readings
	for _, key := range slices.Sorted(maps.Keys(r.sources[source])) {
		out = append(out, *r.sources[source][key])
	}
	return out
}

// has reports whether a source has said anything.
func (r *readings) has(source string) bool { return len(r.sources[source]) > 0 }

// sets are all readings in a fixed order.
func (r *readings) sets() []section.Readings {
	n := 0
	for _, s := range r.sources {
		n += len(s)
	}
	out := make([]section.Readings, 0, n) // many times a minute, and each set is large
	for _, source := range slices.Sorted(maps.Keys(r.sources)) {
		for _, key := range slices.Sorted(maps.Keys(r.sources[source])) {
			out = append(out, *r.sources[source][key])
		}
	}
	return out
}

// figuresEvery is how often figures are judged that moved.
const figuresEvery = 5 * time.Second

// judge makes the signals anew when something was read.
func (r *readings) judge(now time.Time) {
	if !r.changed && (!r.moved || now.Sub(r.judged).Abs() < figuresEvery) {
		return
	}
	r.changed, r.moved, r.judged = false, false, now
	found := map[string]*gpumedic.Signal{}
	differs := false
	for i, s := range section.Judge(r.rules, r.sets()) {
		key := stateKey(&s)
		if found[key] != nil {
			continue
		}
		since, lasts := r.onset[key]
		if !lasts {
			since = now
			r.onset[key] = now
		}
		if s.Level != gpumedic.LevelFact && !s.First.Known() {
			st := gpumedic.Stamp{Time: since.UTC(), Precision: time.Millisecond}
			s.First, s.Last = st, st
		}
		if s.Subject.Node == "" {
			s.Subject.Node = r.node
		}
		s.Evidence.Input = readingsInput
		s.Order = gpumedic.Order{Input: readingsOrder, Line: s.Evidence.Line, Part: 1000 + i}
		s.Count = max(s.Count, 1)
		if s.Fields == nil {
			s.Fields = map[string]string{}
		}
		found[key] = &s
		differs = differs || r.signals[key] == nil
	}
	if differs || len(found) != len(r.signals) {
		r.news++
	}
	r.more++
	for key := range r.onset {
		if found[key] == nil {
			delete(r.onset, key)
		}
	}
	r.signals = found
}

// readingsInput is how evidence names live readings; readingsOrder puts them behind the
// logs.
const (
	readingsInput = "readings"
	readingsOrder = 1 << 20
)

// stateKey tells one state from another; figures that change from reading to reading are
// no part of it.
func stateKey(s *gpumedic.Signal) string {
	var b strings.Builder
	x := &s.Subject
	for _, p := range []string{s.Kind, s.Level.String(), x.Node, x.GPU.String(), x.Port, x.NVSwitch, x.Location, x.Unit, strconv.Itoa(x.Process.PID)} {
		b.WriteString(p)
		b.WriteByte(0)
	}
	for _, k := range slices.Sorted(maps.Keys(s.Fields)) {
		if _, err := strconv.ParseFloat(s.Fields[k], 64); err != nil {
			b.WriteString(k + "=" + s.Fields[k])
			b.WriteByte(0)
		}
	}
	return b.String()
}
