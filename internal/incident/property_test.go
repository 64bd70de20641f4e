package incident

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gpumedic/gpumedic"
)

// move is one thing that happens: an answer, a command of a person, time.
type move struct {
	at  time.Time
	obs *Observation
	cmd func(*Step) error
}

// story draws a run of moves: faults on GPUs under changing names, counts that grow,
// conditions that come and go, restarts of the engine and the node, commands.
func story(t *rapid.T) []move {
	now := t0
	run, boot := 1, 1
	counts := map[string]int{}
	var out []move
	for range rapid.IntRange(1, 40).Draw(t, "moves") {
		step := time.Duration(rapid.SampledFrom([]int{0, 1, 20, 70, 700, 4000, 90000}).Draw(t, "seconds")) * time.Second
		now = now.Add(step)
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		case 0:
			run++
			counts = map[string]int{}
			if rapid.Bool().Draw(t, "reboot") {
				boot++
			}
		case 1, 2:
			id := rapid.Int64Range(1, 6).Draw(t, "id")
			out = append(out, move{at: now, cmd: command(rapid.IntRange(0, 7).Draw(t, "cmd"), id, now)})
		default:
			o := answer(t, counts, now)
			o.Run, o.Boot = strconv.Itoa(run), strconv.Itoa(boot)
			o.Continues = true
			out = append(out, move{at: now, obs: &o})
		}
	}
	return out
}

func command(n int, id int64, now time.Time) func(*Step) error {
	return func(s *Step) error {
		switch n {
		case 0:
			return s.Ack(id, "li", "")
		case 1:
			return s.Act(id, "reset_gpu", "li", "")
		case 2:
			return s.Acted(id, true, "li", "")
		case 3:
			return s.Verify(id, passed("a"), "li")
		case 4:
			return s.Close(id, false, "li", "")
		case 5:
			return s.Close(id, true, "li", "because")
		case 6:
			_, err := s.Silence(Silence{Fault: "f*", Until: now.Add(time.Minute), Why: "x"})
			return err
		}
		return s.Reopen(id, "li", "")
	}
}

func answer(t *rapid.T, counts map[string]int, now time.Time) Observation {
	o := Observation{Node: "n1", Partial: rapid.Bool().Draw(t, "partial")}
	for n := range rapid.IntRange(0, 4).Draw(t, "findings") {
		fault := rapid.SampledFrom([]string{"f1", "f2", "f3"}).Draw(t, "fault")
		gpu := rapid.IntRange(0, 2).Draw(t, "gpu")
		key := fault + strconv.Itoa(gpu)
		counts[key] += rapid.SampledFrom([]int{0, 1, 1000}).Draw(t, "more")
		f := gpumedic.Finding{
			Fault: fault, Role: gpumedic.RoleRoot, Layer: "hardware", Scope: "gpu", Count: max(1, counts[key]),
			Severity: rapid.SampledFrom([]string{"critical", "error", "warning"}).Draw(t, "severity"),
			Action:   rapid.SampledFrom([]string{"monitor", "restart_app", "reset_gpu"}).Draw(t, "action"),
			Subject:  gpumedic.Subject{Node: "n1", GPU: gpumedic.GPU{PCI: fmt.Sprintf("0000:%02d:00.0", gpu)}},
			LastSeen: rapid.SampledFrom([]string{"", now.Format(time.RFC3339)}).Draw(t, "last"),
			Evidence: []gpumedic.EvidenceOut{{Input: "in", Line: gpu*10 + n, Signal: rapid.SampledFrom([]string{"xid.1", "smi.x"}).Draw(t, "signal")}},
		}
		if rapid.Bool().Draw(t, "uuid") {
			f.Subject.GPU.UUID = "GPU-" + strconv.Itoa(gpu)
		}
		if rapid.IntRange(0, 5).Draw(t, "explains") == 0 {
			f.Consequences = []gpumedic.Consequence{{Input: "in", Line: rapid.IntRange(0, 30).Draw(t, "line"), Signal: "xid.1"}}
		}
		o.Findings = append(o.Findings, f)
	}
	return o
}

// play runs a story. Every step goes through again: a second look at the same answer at
// the same moment must change nothing.
func play(t *rapid.T, moves []move, between func(*Book) *Book) (*Book, []Event) {
	b := NewBook(1)
	var events []Event
	for _, m := range moves {
		b = between(b)
		s := b.Begin(DefaultPolicy(), m.at)
		if m.obs != nil {
			s.Observe(*m.obs)
		} else if m.cmd(s) != nil {
			continue
		}
		before := b
		checkBook(t, before, s)
		events = append(events, s.Events...)
		b = s.Book()
		if m.obs != nil {
			twice := b.Begin(DefaultPolicy(), m.at)
			twice.Observe(*m.obs)
			if twice.Changed() {
				was, _ := json.Marshal(b.Incidents)
				is, _ := json.Marshal(twice.Book().Incidents)
				t.Fatalf("the same answer again: events %+v, touched %v\n%s\n%s", twice.Events, twice.Touched, was, is)
			}
		}
	}
	return b, events
}

// checkBook holds what is true after every step.
func checkBook(t *rapid.T, before *Book, s *Step) {
	after := s.Book()
	if after.NextID < before.NextID {
		t.Fatalf("numbers went back: %d, %d", before.NextID, after.NextID)
	}
	state := map[int64]State{}
	for id, i := range before.Incidents {
		state[id] = i.State
	}
	for _, e := range s.Events {
		if e.Incident == 0 {
			continue
		}
		was, known := state[e.Incident]
		if known && e.From != was {
			t.Fatalf("event %+v follows state %s", e, was)
		}
		if !known && (e.Kind != KindOpened || e.Incident < before.NextID) {
			t.Fatalf("first event of an incident: %+v, next number was %d", e, before.NextID)
		}
		state[e.Incident] = e.To
	}
	for id, i := range after.Incidents {
		old := before.Incidents[id]
		switch {
		case state[id] != i.State:
			t.Fatalf("incident %d is %s, its events end in %s", id, i.State, state[id])
		case i.Live() != i.Closed.IsZero():
			t.Fatalf("incident %d is %s and closed at %v", id, i.State, i.Closed)
		case !i.Live() && i.Visible && i.Verified.IsZero() && !i.Forced && i.MergedInto == 0:
			t.Fatalf("incident %d is closed without a reason", id)
		case len(i.Evidence) > maxEvidence || len(i.Victims) > maxVictims || i.Kept > len(i.Evidence):
			t.Fatalf("incident %d keeps too much", id)
		case old != nil && i.Count < old.Count:
			t.Fatalf("incident %d lost counts: %d, %d", id, old.Count, i.Count)
		case old != nil && !reflect.DeepEqual(old, i) && !s.Touched[id]:
			t.Fatalf("incident %d changed and is not to be stored", id)
		}
	}
	for _, c := range s.Changes {
		if c.Incident != nil && !c.Incident.Visible {
			t.Fatalf("told of an invisible incident: %+v", c)
		}
	}
}

func TestStories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		moves := story(t)
		plain, events := play(t, moves, func(b *Book) *Book { return b })
		// What is stored and read again between two steps goes on in the same way.
		stored, again := play(t, moves, func(b *Book) *Book {
			text, err := json.Marshal(b)
			if err != nil {
				t.Fatal(err)
			}
			c := &Book{}
			if err := json.Unmarshal(text, c); err != nil {
				t.Fatal(err)
			}
			return c
		})
		same(t, plain, stored, events, again)
		// The order of findings in an answer does not matter.
		for n := range moves {
			if o := moves[n].obs; o != nil {
				c := *o
				c.Findings = slices.Clone(o.Findings)
				r := rand.New(rand.NewPCG(1, uint64(n)))
				r.Shuffle(len(c.Findings), func(i, j int) { c.Findings[i], c.Findings[j] = c.Findings[j], c.Findings[i] })
				moves[n].obs = &c
			}
		}
		shuffled, again := play(t, moves, func(b *Book) *Book { return b })
		_ = shuffled
		if a, b := eventText(events), eventText(again); a != b {
			t.Fatalf("other order of findings:\n%s\n%s", a, b)
		}
	})
}

func same(t *rapid.T, a, b *Book, ea, eb []Event) {
	if x, y := eventText(ea), eventText(eb); x != y {
		t.Fatalf("events differ:\n%s\n%s", x, y)
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if string(x) != string(y) {
		t.Fatalf("books differ:\n%s\n%s", x, y)
	}
}

func eventText(list []Event) string {
	b, _ := json.MarshalIndent(list, "", "")
	return string(b)
}

// TestStormOfRuns: however a stream of occurrences is cut into runs and answers, none is
// lost or counted twice.
func TestStormOfRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := NewBook(1)
		total, now := 0, t0
		for run := range rapid.IntRange(1, 6).Draw(t, "runs") {
			count := 0
			for range rapid.IntRange(1, 5).Draw(t, "answers") {
				n := rapid.IntRange(1, 800000).Draw(t, "lines")
				count, total = count+n, total+n
				f := lost(now, count)
				f.FirstSeen = now.Format(time.RFC3339)
				s := b.Begin(DefaultPolicy(), now)
				s.Observe(Observation{Node: "n1", Run: strconv.Itoa(run), Continues: true, Findings: []gpumedic.Finding{f}})
				b = s.Book()
			}
		}
		if len(b.Incidents) != 1 || b.Incidents[1].Count != total {
			t.Fatalf("%d incidents, count %d, want %d", len(b.Incidents), b.Incidents[1].Count, total)
		}
	})
}

// TestWeek: a week of a reading that flaps, a program that crashes each minute and a
// cable that comes and goes leaves a bounded trace.
func TestWeek(t *testing.T) {
	b := NewBook(1)
	events, changes := 0, 0
	for n := range 7 * 24 * 60 {
		now := t0.Add(time.Duration(n) * time.Minute)
		o := Observation{Node: "n1", Run: "r", Boot: "b"}
		if n%2 == 0 {
			o.Findings = append(o.Findings, hot(now))
		}
		crash := lost(now, n+1)
		crash.Fault, crash.Layer, crash.Scope = "illegal-address", "software", "process"
		crash.Subject.Process.PID = n + 2
		o.Findings = append(o.Findings, crash)
		if n%60 < 20 {
			link := hot(now)
			link.Fault, link.Severity, link.Evidence[0].Line = "pcie-link-degraded", gpumedic.SeverityError, 2
			o.Findings = append(o.Findings, link)
		}
		s := b.Begin(DefaultPolicy(), now)
		s.Observe(o)
		b = s.Book()
		events, changes = events+len(s.Events), changes+len(s.Changes)
	}
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	// The cable alone changes state 48 times a day, and each return is an occurrence.
	if len(b.Incidents) != 3 || len(text) > 20000 || events > 7*24*4 || changes > events {
		t.Errorf("%d incidents in %d bytes, %d events, %d changes", len(b.Incidents), len(text), events, changes)
	}
}
