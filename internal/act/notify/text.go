package notify

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lang"
)

// A message is a batch in words: what a person reads. Channels only differ in markup and
// in how much room they have.
type message struct {
	Title string // one line
	Lines []line
	Link  string
	Lang  string
}

type line struct {
	Label string // may be empty
	Text  string
	Code  bool // a command: shown as it is, to be copied
}

// Bounds of the parts, in bytes, so that one absurd value cannot push out the rest.
const (
	maxTitle    = 200
	maxHeadline = 600
	maxValue    = 200
	maxCommand  = 500
	maxListed   = 20 // incidents named in one grouped message
)

const stampForm = "2006-01-02 15:04:05 MST"

// compose puts a batch into words.
func compose(b *batch, l string) *message {
	all := latest(b.Notices)
	m := &message{Lang: l}
	if len(all) == 1 {
		m.one(&all[0])
	} else {
		m.many(all)
	}
	if b.Late {
		at := b.Notices[0].At
		m.Lines = append([]line{{Text: fmt.Sprintf(say(l, wLate), at.Format(stampForm))}}, m.Lines...)
	}
	return m
}

// one tells of one incident.
func (m *message) one(n *Notice) {
	t := n.In(m.Lang)
	what := say(m.Lang, wIncident) + " #" + strconv.FormatInt(n.Incident, 10)
	if n.Alert != nil {
		what = n.Alert.Name
	}
	m.Title = cut(oneLine(strings.Join(present(
		"[gpumedic] "+saySeverity(m.Lang, n.Severity)+" · "+n.sayKind(m.Lang),
		what, n.Subject.Node, t.Title), " · ")), maxTitle)
	if t.Headline != t.Title {
		m.add(t.Headline, maxHeadline)
	}
	m.label(wNode, n.Subject.Node)
	m.label(wGPU, gpuName(n.Subject.GPU))
	m.label(wProcess, processName(n.Subject.Process))
	m.label(wPod, podName(n.Labels))
	if podName(n.Labels) == "" {
		m.label(wContainer, n.Subject.Container)
	}
	job := n.Labels["job"]
	if job == "" {
		job = n.Subject.Unit
	}
	m.label(wJob, job)
	m.label(wUser, n.Labels["user"])
	if n.Count > 1 {
		m.label(wSeen, strconv.Itoa(n.Count))
	}
	m.label(wReason, n.Reason)
	if n.Kind == Closed {
		end := n.Closed
		if end.IsZero() {
			end = n.At
		}
		m.label(wLasted, lasted(end.Sub(n.Opened)))
	} else {
		m.steps(n, t)
		m.label(wSince, n.Opened.Format(stampForm))
	}
	m.Link = n.URL
}

// steps says what to do first.
func (m *message) steps(n *Notice, t Text) {
	step := t.Remedy.Step
	if step == "" && n.Action != "" {
		step = lang.Action(m.Lang, n.Action)
	}
	switch t.Remedy.Risk {
	case "disruptive":
		step += lang.Pick(m.Lang, " ("+say(m.Lang, wDisruptive)+")", "（"+say(m.Lang, wDisruptive)+"）")
	case "destructive":
		step += lang.Pick(m.Lang, " ("+say(m.Lang, wDestructive)+")", "（"+say(m.Lang, wDestructive)+"）")
	}
	m.label(wDo, step)
	if c := t.Remedy.Command; c != "" {
		m.Lines = append(m.Lines, line{Label: say(m.Lang, wCommand), Text: cut(oneLine(c), maxCommand), Code: true})
	}
}

// many lists incidents, worst first as far as room goes.
func (m *message) many(ns []Notice) {
	worst, nodes := "", map[string]bool{}
	for i := range ns {
		if severityRank(ns[i].Severity) > severityRank(worst) {
			worst = ns[i].Severity
		}
		nodes[ns[i].Subject.Node] = true
	}
	node := ""
	if len(nodes) == 1 {
		node = ns[0].Subject.Node
	}
	m.Title = cut(oneLine(strings.Join(present("[gpumedic] "+saySeverity(m.Lang, worst),
		fmt.Sprintf(say(m.Lang, wGrouped), len(ns)), node), " · ")), maxTitle)
	listed := 0
	for rank := len(severities); rank > 0; rank-- {
		for i := range ns {
			if severityRank(ns[i].Severity) != rank || listed == maxListed {
				continue
			}
			listed++
			m.add(m.entry(&ns[i], node == ""), maxValue)
			if m.Link == "" {
				m.Link = ns[i].URL
			}
		}
	}
	if n := len(ns) - listed; n > 0 {
		m.add(fmt.Sprintf(say(m.Lang, wMore), n), maxValue)
	}
}

func (m *message) entry(n *Notice, withNode bool) string {
	t := n.In(m.Lang)
	head := t.Headline
	if head == "" || n.Alert != nil {
		head = t.Title
	}
	node := ""
	if withNode {
		node = n.Subject.Node
	}
	name := "#" + strconv.FormatInt(n.Incident, 10)
	if n.Alert != nil {
		name = n.Alert.Name
	}
	return name + " " + strings.Join(present(
		n.sayKind(m.Lang), saySeverity(m.Lang, n.Severity), node, head), " · ")
}

func (m *message) label(w word, value string) {
	if value != "" {
		m.Lines = append(m.Lines, line{Label: say(m.Lang, w), Text: cut(oneLine(value), maxValue)})
	}
}

func (m *message) add(value string, room int) {
	if value != "" {
		m.Lines = append(m.Lines, line{Text: cut(oneLine(value), room)})
	}
}

// plain is the message without markup in at most max bytes: title, lines, link. The
// title and the link survive; lines are left out from the end.
func (m *message) plain(max int, withTitle bool) string {
	end := ""
	if m.Link != "" {
		end = say(m.Lang, wDetails) + colon(m.Lang) + m.Link
	}
	var parts []string
	if withTitle {
		parts = append(parts, m.Title)
	}
	for _, l := range m.Lines {
		if l.Label == "" {
			parts = append(parts, l.Text)
		} else {
			parts = append(parts, l.Label+colon(m.Lang)+l.Text)
		}
	}
	return fit(parts, end, max)
}

// fit joins lines as far as they have room beside the last one, which always stays
// unless it alone is too long (a cut link is worse than none).
func fit(parts []string, end string, max int) string {
	if len(end) > max/2 {
		end = ""
	}
	room := max
	if end != "" {
		room -= len(end) + 1
	}
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			if b.Len()+1 > room {
				break
			}
			b.WriteByte('\n')
		}
		if b.Len()+len(p) > room {
			b.WriteString(cut(p, room-b.Len()))
			break
		}
		b.WriteString(p)
	}
	if end != "" {
		b.WriteByte('\n')
		b.WriteString(end)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// cut shortens s to max bytes between characters, and shows that it did.
func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	const dots = "…"
	if max < len(dots) {
		return ""
	}
	end := max - len(dots)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + dots
}

// oneLine makes a value safe inside any message: valid UTF-8, no line breaks, no control
// or direction characters (a process can choose its own name).
func oneLine(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			return -1
		}
		return r
	}, s))
}

func present(parts ...string) []string {
	out := parts[:0:0]
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}

// gpuName says both what a command takes and what a program calls the GPU.
func gpuName(g gpumedic.GPU) string {
	s := g.String()
	if g.Index != nil && g.PCI != "" {
		s = strconv.Itoa(*g.Index) + " (" + s + ")"
	}
	if g.MIG != "" {
		s += " MIG " + g.MIG
	}
	return s
}

func processName(p gpumedic.Process) string {
	switch {
	case p.PID == 0:
		return p.Name
	case p.Name == "":
		return "pid " + strconv.Itoa(p.PID)
	}
	return p.Name + " (pid " + strconv.Itoa(p.PID) + ")"
}

func podName(labels map[string]string) string {
	if ns := labels["namespace"]; ns != "" && labels["pod"] != "" {
		return ns + "/" + labels["pod"]
	}
	return labels["pod"]
}

func lasted(d time.Duration) string {
	d = max(d, 0)
	if d < time.Minute {
		return d.Round(time.Second).String()
	}
	s := d.Round(time.Minute).String()
	return strings.TrimSuffix(s, "0s")
}
