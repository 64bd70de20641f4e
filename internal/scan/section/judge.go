package section

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
)

// Judge applies the catalog's rules to all readings of one input. Evidence.Line is
// the Line of the decisive reading (absolute after Shift); Evidence.Input and Order
// are the caller's to fill.
//
// Every GPU that a set names in two ways or more also gives a smi.gpu fact, and
// every process a smi.process fact, so that topology can join the names.
func Judge(rules []catalog.ReadingRule, sets []Readings) []gpumedic.Signal {
	stated := sets
	sets = derive(sets)
	out := newCollector()
	for i := range sets {
		// Only names that stand together are evidence of a pair; those that derive
		// joined are not.
		namesFact(out, &stated[i])
		processFact(out, &sets[i])
		for j := range rules {
			judgeOne(out, &rules[j], &sets[i])
		}
	}
	return out.signals
}

// judgeOne adds the rule's signal when all its conditions hold.
func judgeOne(out *collector, rule *catalog.ReadingRule, set *Readings) {
	if len(rule.When) == 0 {
		return
	}
	decisive := ""
	for i := range rule.When {
		c := &rule.When[i]
		if !Holds(c, set.Values) {
			return
		}
		if r := set.Values[c.Key]; decisive == "" && !c.Absent && r.Text != "" {
			decisive = c.Key
		}
	}
	level, _ := gpumedic.ParseLevel(rule.Level)
	fields := map[string]string{}
	for i := range rule.When {
		if r, ok := set.Values[rule.When[i].Key]; ok && r.Value != na {
			fields[fieldName(r.Key)] = r.Value
		}
	}
	for k, v := range rule.Set {
		if v = expand(v, set.Values); v != "" {
			fields[k] = v
		}
	}
	r := set.Values[decisive]
	out.add(gpumedic.Signal{
		Kind: catalog.ExpandKind(rule.Kind, fields), Level: level, Subject: set.Subject, Fields: fields,
		Evidence: evidence(r), Count: 1, First: setTime(set), Last: setTime(set),
	})
}

// fieldName turns a reading's name into a field's: dots would read as kinds.
func fieldName(key string) string { return strings.ReplaceAll(key, ".", "_") }

// expand replaces {name} in a rule's constant by the reading of that name.
func expand(s string, values map[string]Reading) string {
	for {
		i := strings.IndexByte(s, '{')
		if i < 0 {
			return s
		}
		j := strings.IndexByte(s[i:], '}')
		if j < 0 {
			return s
		}
		v := values[s[i+1:i+j]].Value
		if v == na {
			v = ""
		}
		s = s[:i] + strings.ReplaceAll(v, "{", "(") + s[i+j+1:]
	}
}

func evidence(r Reading) gpumedic.Evidence {
	e := gpumedic.Evidence{Line: r.Line, Text: strings.TrimRight(r.Text, "\r\n")}
	if i := markAt(e.Text, r.Value); i >= 0 {
		e.Mark = [2]int{i, i + len(r.Value)}
	}
	return e
}

// markAt finds the value in its line, from the right: names stand left of values.
func markAt(text, value string) int {
	if value == "" || len(value) > len(text) {
		return -1
	}
	low, v := strings.ToLower(text), strings.ToLower(value)
	if len(low) != len(text) {
		return -1
	}
	return strings.LastIndex(low, v)
}

// Holds reports whether a condition holds for a set of readings. An absent reading,
// or one that is N/A, fails every condition but Absent.
func Holds(c *catalog.Condition, values map[string]Reading) bool {
	r, ok := values[c.Key]
	if !ok || r.Value == na {
		return c.Absent
	}
	if c.Absent {
		return false
	}
	if c.Is != "" && !whole(c.Is).MatchString(r.Value) {
		return false
	}
	if c.Not != "" && whole(c.Not).MatchString(r.Value) {
		return false
	}
	if c.NEKey != "" {
		o, ok := values[c.NEKey]
		if !ok || o.Value == na || strings.EqualFold(o.Value, r.Value) {
			return false
		}
	}
	return holdsNumber(c, r.Value, values)
}

func holdsNumber(c *catalog.Condition, value string, values map[string]Reading) bool {
	if c.GE == nil && c.GT == nil && c.LE == nil && c.LT == nil && c.LTKey == "" && c.GEKey == "" {
		return true
	}
	v, ok := num(value)
	if !ok {
		return false
	}
	if c.GE != nil && v < *c.GE || c.GT != nil && v <= *c.GT || c.LE != nil && v > *c.LE || c.LT != nil && v >= *c.LT {
		return false
	}
	if c.LTKey != "" {
		if o, ok := num(values[c.LTKey].Value); !ok || v >= o {
			return false
		}
	}
	if c.GEKey != "" {
		if o, ok := num(values[c.GEKey].Value); !ok || v < o {
			return false
		}
	}
	return true
}

var patterns sync.Map // RE2 source of a condition → compiled, on the whole value

func whole(src string) *regexp.Regexp {
	if re, ok := patterns.Load(src); ok {
		return re.(*regexp.Regexp)
	}
	re, err := regexp.Compile(`(?i)^(?:` + src + `)$`)
	if err != nil {
		re = regexp.MustCompile(`$^`) // the catalog's loader reports it; here it matches nothing
	}
	patterns.Store(src, re)
	return re
}

// Override sets the figure of every rule whose threshold a user named. Rules are
// copied; the catalog stays as it is.
func Override(rules []catalog.ReadingRule, by map[string]float64) []catalog.ReadingRule {
	out := append([]catalog.ReadingRule(nil), rules...)
	for i := range out {
		v, ok := by[out[i].Threshold]
		if !ok || out[i].Threshold == "" {
			continue
		}
		when := append([]catalog.Condition(nil), out[i].When...)
		for j := range when { // the first figure is the threshold
			if p := figure(&when[j]); p != nil {
				*p = &v
				break
			}
		}
		out[i].When = when
	}
	return out
}

// Thresholds are the figures that [Override] can replace, by their names.
func Thresholds(rules []catalog.ReadingRule) map[string]float64 {
	out := map[string]float64{}
	for i := range rules {
		if rules[i].Threshold == "" {
			continue
		}
		for j := range rules[i].When {
			if p := figure(&rules[i].When[j]); p != nil {
				out[rules[i].Threshold] = **p
				break
			}
		}
	}
	return out
}

func figure(c *catalog.Condition) **float64 {
	for _, p := range []**float64{&c.GE, &c.GT, &c.LE, &c.LT} {
		if *p != nil {
			return p
		}
	}
	return nil
}

// A collector collapses equal signals.
type collector struct {
	signals []gpumedic.Signal
	index   map[string]int
}

func newCollector() *collector { return &collector{index: map[string]int{}} }

func (c *collector) add(s gpumedic.Signal) {
	key := s.Kind + "\x00" + s.Subject.Node + "\x00" + s.Subject.GPU.String() + "\x00" + s.Subject.Port + "\x00" + s.Subject.Unit + "\x00" +
		s.Subject.Location + "\x00" + strconv.Itoa(s.Subject.Process.PID) + "\x00" + collapseKey(&s)
	if i, ok := c.index[key]; ok {
		old := &c.signals[i]
		old.Count++
		if s.Last.Known() && (!old.Last.Known() || s.Last.Time.After(old.Last.Time)) {
			old.Last = s.Last
		}
		return
	}
	c.index[key] = len(c.signals)
	c.signals = append(c.signals, s)
}

// collapseKey tells facts and enumerations apart by their fields; measured figures
// differ from sample to sample and must not.
func collapseKey(s *gpumedic.Signal) string {
	if s.Kind == "smi.gpu" || strings.HasPrefix(s.Kind, "smi.") && s.Level != gpumedic.LevelFact {
		return s.Fields["what"]
	}
	var b strings.Builder
	for _, k := range sortedKeys(s.Fields) {
		if _, ok := num(s.Fields[k]); ok && k != "pid" {
			continue
		}
		b.WriteString(k + "=" + s.Fields[k] + "\x00")
	}
	return b.String()
}
