// Package maintenance is the calendar of what a node with GPUs needs from time to time:
// which task, how often, when it was last done, when it is due. What can be noticed (a
// memory test that ran, a driver that changed) is noticed; the rest a person says.
package maintenance

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/gpumedic/gpumedic/internal/incident"
)

//go:embed calendar.yaml
var embedded []byte

// Text is in both languages.
type Text struct {
	EN string `yaml:"en" json:"en"`
	ZH string `yaml:"zh" json:"zh"`
}

// Task is an item of the calendar.
type Task struct {
	ID      string `yaml:"id"`
	Every   int    `yaml:"every"` // days
	Detect  string `yaml:"detect"`
	Title   Text   `yaml:"title"`
	Why     Text   `yaml:"why"`
	Command string `yaml:"command"`
}

// Calendar is the embedded one.
func Calendar() ([]Task, error) { return Parse(embedded) }

// Parse reads a calendar.
func Parse(text []byte) ([]Task, error) {
	var list []Task
	if err := yaml.Load(text, &list, yaml.WithKnownFields()); err != nil {
		return nil, fmt.Errorf("read calendar: %w", err)
	}
	seen := map[string]bool{}
	for _, t := range list {
		kind, name, _ := strings.Cut(t.Detect, " ")
		switch {
		case t.ID == "" || seen[t.ID]:
			return nil, fmt.Errorf("read calendar: task %q: the id is missing or there twice", t.ID)
		case t.Every < 1 || t.Every > 3660:
			return nil, fmt.Errorf("read calendar: task %s: every %d days", t.ID, t.Every)
		case t.Title.EN == "" || t.Title.ZH == "":
			return nil, fmt.Errorf("read calendar: task %s: a title is missing", t.ID)
		case kind == "test" && name == "" || kind != "" && kind != "test" && kind != "driver" && kind != "firmware":
			return nil, fmt.Errorf("read calendar: task %s: detect %q", t.ID, t.Detect)
		}
		seen[t.ID] = true
	}
	return list, nil
}

// Done is one time that a task was done.
type Done struct {
	Task string    `json:"task"`
	At   time.Time `json:"at"`
	Who  string    `json:"who"`
	Why  string    `json:"why,omitempty"`
}

// States of an item.
const (
	OK      = "ok"
	Soon    = "soon"
	Overdue = "overdue"
	Never   = "never" // not known to have been done
)

// Item is a task and how it stands.
type Item struct {
	ID       string    `json:"id"`
	State    string    `json:"state"`
	Title    Text      `json:"title"`
	Every    int       `json:"every_days"`
	Last     time.Time `json:"last_done,omitzero"`
	Due      time.Time `json:"due"`
	Who      string    `json:"who,omitempty"`
	Evidence Text      `json:"evidence,omitzero"`
	Command  string    `json:"command,omitempty"`
	Why      Text      `json:"why"`
}

const day = 24 * time.Hour

// Stand says how all tasks stand, the next one due first. histories are those of the
// cards that are there; begin is since when the node is known, from which a task that was
// never done is due after its time.
func Stand(tasks []Task, done []Done, histories [][]incident.HistoryRow, begin, now time.Time) []Item {
	var out []Item
	for _, t := range tasks {
		i := Item{ID: t.ID, Title: t.Title, Every: t.Every, Command: t.Command, Why: t.Why}
		for _, d := range done {
			if d.Task == t.ID && d.At.After(i.Last) {
				i.Last, i.Who, i.Evidence = d.At, d.Who, Text{d.Why, d.Why}
			}
		}
		if at, what := noticed(t.Detect, histories); at.After(i.Last) {
			i.Last, i.Who, i.Evidence = at, incident.Self, what
		}
		span := time.Duration(t.Every) * day
		from := i.Last
		if from.IsZero() {
			from = begin
		}
		i.Due = from.Add(span)
		switch left := i.Due.Sub(now); {
		case left < 0:
			i.State = Overdue
		case i.Last.IsZero():
			i.State = Never
		case left < min(span/10, 14*day):
			i.State = Soon
		default:
			i.State = OK
		}
		out = append(out, i)
	}
	slices.SortStableFunc(out, func(a, b Item) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.ID, b.ID)) })
	return out
}

// noticed is when the histories show that a task was done. A test counts when every card
// had it: the one that waits longest says when.
func noticed(detect string, histories [][]incident.HistoryRow) (time.Time, Text) {
	kind, name, _ := strings.Cut(detect, " ")
	var at time.Time
	var what Text
	for _, rows := range histories {
		var last time.Time
		for _, r := range rows {
			switch {
			case kind == "test" && r.Kind == incident.KindTest && r.Detail["test"] == name && r.At.After(last):
				last = r.At
			case kind == "driver" && r.Kind == incident.KindDriver && r.At.After(at):
				at, what = r.At, Text{"driver " + r.Text, "驱动 " + r.Text}
			case kind == "firmware" && r.Kind == incident.KindFirmware && r.At.After(at):
				at, what = r.At, Text{"VBIOS " + r.Text, "VBIOS " + r.Text}
			}
		}
		if kind != "test" {
			continue
		}
		if last.IsZero() {
			return time.Time{}, Text{}
		}
		if at.IsZero() || last.Before(at) {
			at = last
			what = Text{fmt.Sprintf("%s ran on all %d cards", name, len(histories)), fmt.Sprintf("%s 已在全部 %d 张卡上执行", name, len(histories))}
		}
	}
	return at, what
}
