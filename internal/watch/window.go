package watch

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/diagnose"
)

// Bounds of the window: a storm makes few signals, but a storm of ever new texts must
// not make many.
const (
	maxDistinct = 128  // signals of one kind on one GPU; more are one
	maxSignals  = 4096 // in all
	maxText     = 1 << 10
)

// A window keeps the events of the last hours, repeats collapsed: what each log line said
// counts until it is too old or makes room.
type window struct {
	span   time.Duration
	events map[string]*gpumedic.Signal // by signature, or by group for what is beyond maxDistinct
	groups map[string]int              // how many are kept apart
	slots  map[string]slot             // by PCI address
	// news counts changes of what there is, more those that only count further.
	news, more uint64
}

func newWindow(span time.Duration) *window {
	return &window{span: span, events: map[string]*gpumedic.Signal{}, groups: map[string]int{}, slots: map[string]slot{}}
}

func groupOf(s *gpumedic.Signal) string { return s.Kind + "\x00" + s.Subject.GPU.String() }

// add takes a signal of a chunk.
func (w *window) add(s gpumedic.Signal) {
	s.Count = max(s.Count, 1)
	if len(s.Evidence.Text) > maxText {
		s.Evidence.Text = strings.ToValidUTF8(s.Evidence.Text[:maxText], "")
		s.Evidence.Mark, s.Evidence.Msg = [2]int{}, 0
	}
	key := diagnose.Signature(&s)
	if old := w.events[key]; old != nil {
		diagnose.Merge(old, &s)
		w.more++
		return
	}
	g := groupOf(&s)
	rest := "rest\x00" + g
	if w.groups[g] >= maxDistinct {
		if old := w.events[rest]; old != nil {
			absorb(old, &s)
			w.more++
			return
		}
		key = rest
		s.Fields = maps.Clone(s.Fields)
		if s.Fields == nil {
			s.Fields = map[string]string{}
		}
		s.Fields["distinct"] = "1"
	} else {
		w.groups[g]++
	}
	if len(w.events) >= maxSignals {
		w.dropOldest()
	}
	w.events[key] = &s
	w.news++
}

// absorb takes one more into what stands for the rest of a group: what differs between
// its members is no longer said of it.
func absorb(rest, s *gpumedic.Signal) {
	n, _ := strconv.Atoi(rest.Fields["distinct"])
	for k, v := range rest.Fields {
		if s.Fields[k] != v {
			delete(rest.Fields, k)
		}
	}
	rest.Fields["distinct"] = strconv.Itoa(n + 1)
	a, b := &rest.Subject, &s.Subject
	if a.Process != b.Process {
		a.Process = gpumedic.Process{}
	}
	for _, p := range [][2]*string{{&a.Container, &b.Container}, {&a.Unit, &b.Unit}, {&a.Port, &b.Port}, {&a.Link, &b.Link}, {&a.NVSwitch, &b.NVSwitch}} {
		if *p[0] != *p[1] {
			*p[0] = ""
		}
	}
	if a.Rank != nil && (b.Rank == nil || *a.Rank != *b.Rank) {
		a.Rank = nil
	}
	fields, subject := rest.Fields, rest.Subject
	diagnose.Merge(rest, s)
	rest.Fields, rest.Subject = fields, subject
}

// dropOldest makes room: the signal that was seen last the longest ago, facts first.
func (w *window) dropOldest() {
	var worst string
	for key, s := range w.events {
		if o := w.events[worst]; o == nil || less(s, o) < 0 || less(s, o) == 0 && key < worst {
			worst = key
		}
	}
	w.drop(worst)
}

func less(a, b *gpumedic.Signal) int {
	return cmp.Or(cmp.Compare(min(a.Level, 1), min(b.Level, 1)), a.Last.Time.Compare(b.Last.Time))
}

func (w *window) drop(key string) {
	s := w.events[key]
	if g := groupOf(s); !strings.HasPrefix(key, "rest\x00") {
		if w.groups[g]--; w.groups[g] <= 0 {
			delete(w.groups, g)
		}
	}
	delete(w.events, key)
	w.news++
}

// expire drops what is older than the span, unless keep says that something still rests
// on it. Lines without a time are as old as the span allows.
func (w *window) expire(now time.Time, keep func(*gpumedic.Signal) bool) {
	for key, s := range w.events {
		if s.Last.Dated() && now.Sub(s.Last.Time) > w.span && !keep(s) {
			w.drop(key)
		}
	}
}

// signals are all events in a fixed order.
func (w *window) signals() []gpumedic.Signal {
	out := make([]gpumedic.Signal, 0, len(w.events))
	for _, key := range slices.Sorted(maps.Keys(w.events)) {
		out = append(out, *w.events[key])
	}
	return out
}

// kept is what outlives the process: the counts of a run go on where they were.
type kept struct {
	Version int                        `json:"version"`
	Run     string                     `json:"run"`
	Events  map[string]gpumedic.Signal `json:"events"`
	Onset   map[string]time.Time       `json:"onset"`
	Slots   map[string]slot            `json:"slots,omitempty"`
}

const keptVersion = 1

// save writes the window as text for the store.
func (w *window) save(run string, onset map[string]time.Time) string {
	k := kept{Version: keptVersion, Run: run, Events: make(map[string]gpumedic.Signal, len(w.events)), Onset: onset, Slots: w.slots}
	for key, s := range w.events {
		k.Events[key] = *s
	}
	b, err := json.Marshal(k)
	if err != nil { // strings, numbers and times always have a form
		return ""
	}
	return string(b)
}

// restore reads what save wrote; ok is false where there is nothing, or something else.
func (w *window) restore(text string) (run string, onset map[string]time.Time, ok bool) {
	var k kept
	if json.Unmarshal([]byte(text), &k) != nil || k.Version != keptVersion || k.Run == "" {
		return "", nil, false
	}
	for key, s := range k.Events {
		w.events[key] = &s
		if !strings.HasPrefix(key, "rest\x00") {
			w.groups[groupOf(&s)]++
		}
	}
	maps.Copy(w.slots, k.Slots)
	w.news++
	return k.Run, k.Onset, true
}
