package web

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"unicode/utf8"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/show"
	"github.com/gpumedic/gpumedic/internal/lang"
)

type listData struct {
	*show.List
	Closed   bool
	GPU      string
	Fault    string
	Silences []incident.Silence
	Cut      bool // there may be more
}

func (s *Server) pageIncidents(w http.ResponseWriter, r *http.Request) {
	f, err := filter(r)
	if err != nil {
		s.errorPage(w, r, http.StatusBadRequest, err, "", "/incidents")
		return
	}
	f.Limit = min(f.Limit, 200)
	v := s.view(r, "incidents", "Incidents")
	list, err := s.Backend.List(r.Context(), f)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	d := listData{List: show.NewList(list, false), Closed: f.Closed, GPU: f.GPU, Fault: f.Fault, Cut: len(list) == f.Limit}
	d.Incidents = show.WorstFirst(d.Incidents)
	if d.Silences, err = s.Backend.Silences(r.Context(), false); err != nil {
		s.fail(w, r, err)
		return
	}
	v.Data = d
	s.render(w, http.StatusOK, v)
}

// line is a line of an input with its decisive part.
type line struct {
	Place              string
	At                 string
	Before, Mark, Rest string
	Count              int
	Span, Note, Signal string
}

// follow is a consequence: how long after the decisive line it came, and why it follows.
type follow struct {
	line
	After, Who string
	Timed      bool
}

// step is a state of the life of an incident.
type step struct {
	State   incident.State
	Current bool
	Passed  bool
}

type incidentData struct {
	*IncidentAnswer
	Names    []string
	Life     []step
	Lines    []line
	Follows  []follow
	Last     *incident.Verification
	Victims  [][]string
	Sources  []string
	Summary  string
	Causes   []gpumedic.Cause
	Silenced *incident.Silence
	TextLang string // of what the engine wrote
	CanClose bool
}

func (s *Server) pageIncident(w http.ResponseWriter, r *http.Request) {
	id, err := number(r)
	if err != nil {
		s.fail(w, r, notFound("find incident: "+strconv.Quote(r.PathValue("id"))+" is no number"))
		return
	}
	v := s.view(r, "incident", "Incident")
	a, err := s.one(r.Context(), v.Lang, id)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	i := a.Incident
	v.Title = fmt.Sprintf(lang.Pick(v.Lang, "Incident %d", "事件 %d"), id)
	d := incidentData{IncidentAnswer: a, Life: life(i), TextLang: i.Lang, CanClose: i.Live() && !i.Verified.IsZero() && !(i.Transient && i.Present)}
	for _, x := range i.Victims {
		d.Victims = append(d.Victims, s.texts(v.Lang).Victim(x))
	}
	if n := len(a.Verifications); n > 0 {
		d.Last = &a.Verifications[n-1]
	}
	if len(a.SilencedBy) > 0 {
		d.Silenced = &a.SilencedBy[0]
	}
	d.describe(s, v.Lang)
	v.Data = d
	s.render(w, http.StatusOK, v)
}

// describe takes the lines from the engine's present answer, which knows what is decisive
// in them and what follows; else from the sample that the incident keeps.
func (d *incidentData) describe(s *Server, l string) {
	i := d.Incident
	if f := d.Finding; f != nil {
		for _, e := range f.Evidence {
			x := lineOf(e.Input, e.Line, e.Text, e.Mark, e.Count)
			x.At, x.Span, x.Note, x.Signal = e.At, e.Span, e.Note, e.Signal
			d.Lines = append(d.Lines, x)
		}
		for _, c := range f.Consequences {
			d.Follows = append(d.Follows, followOf(&c))
		}
	} else {
		for _, e := range i.Evidence {
			x := lineOf(e.Input, e.Line, e.Text, [2]int{}, e.Count)
			x.At, x.Signal = e.First, e.Signal
			d.Lines = append(d.Lines, x)
		}
	}
	if s.Catalog == nil {
		return
	}
	if f := s.Catalog.Faults[i.Fault]; f != nil {
		d.Summary, d.Sources = f.Summary.In(l), f.Sources
		for _, c := range f.Causes {
			d.Causes = append(d.Causes, gpumedic.Cause{Cause: c.Cause.In(l), Likelihood: c.Likelihood, Confirm: c.Confirm.In(l)})
		}
	}
}

func followOf(c *gpumedic.Consequence) follow {
	f := follow{line: lineOf(c.Input, c.Line, c.Text, c.Mark, c.Count)}
	f.Signal, f.Note = c.Signal, c.Why
	if c.After != nil {
		f.After, f.Timed = distance(*c.After), true
	}
	if c.Rank != nil {
		f.Who = "rank " + strconv.Itoa(*c.Rank)
	}
	return f
}

// distance is how long after the decisive line something came.
func distance(sec float64) string {
	sign := "+"
	if sec < 0 {
		sign, sec = "−", -sec
	}
	switch {
	case sec < 0.05:
		return "+0 s"
	case sec < 120:
		return fmt.Sprintf("%s%.1f s", sign, sec)
	}
	return fmt.Sprintf("%s%.0f min", sign, sec/60)
}

func lineOf(input string, no int, text string, mark [2]int, count int) line {
	x := line{Place: filepath.Base(input), Before: text, Count: count}
	if no > 0 {
		x.Place += ":" + strconv.Itoa(no)
	}
	a, b := mark[0], mark[1]
	if a >= 0 && a < b && b <= len(text) && boundary(text, a) && boundary(text, b) {
		x.Before, x.Mark, x.Rest = text[:a], text[a:b], text[b:]
	}
	return x
}

func boundary(s string, at int) bool { return at == len(s) || utf8.RuneStart(s[at]) }

func life(i *incident.Incident) []step {
	all := []incident.State{incident.Open, incident.Acknowledged, incident.Acting, incident.Verifying, incident.Closed}
	var out []step
	passed := true
	for _, st := range all {
		now := st == i.State
		if now {
			passed = false
		}
		out = append(out, step{State: st, Current: now, Passed: passed})
	}
	return out
}
