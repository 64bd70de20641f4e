package web

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/show"
	"github.com/gpumedic/gpumedic/internal/incident/store"
	"github.com/gpumedic/gpumedic/internal/report"
)

//go:embed openapi.yaml
var openapiYAML []byte

func (s *Server) openAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	w.Write(openapiYAML)
}

// json writes an answer. It is whole before the first byte goes out.
func (s *Server) json(w http.ResponseWriter, status int, v any) {
	s.document(w, status, "application/json", v)
}

func (s *Server) document(w http.ResponseWriter, status int, kind string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		s.Log.Error("write answer", "error", err)
		status, b = http.StatusInternalServerError, []byte(`{"title":"write answer: a defect of the page","status":500}`)
		kind = "application/problem+json"
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	w.Write(append(b, '\n'))
}

// Problem is an error of the API (RFC 9457).
type Problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

func (s *Server) problem(w http.ResponseWriter, _ *http.Request, status int, detail string) {
	s.document(w, status, "application/problem+json", Problem{Title: http.StatusText(status), Status: status, Detail: detail})
}

// failed answers an error of the backend or of an action.
func (s *Server) failed(w http.ResponseWriter, err error) {
	status, hint := statusOf(err)
	s.document(w, status, "application/problem+json", Problem{http.StatusText(status), status, err.Error(), hint})
}

// statusOf is the status of an error and what a person can do.
func statusOf(err error) (int, string) {
	for _, k := range []struct {
		is     error
		status int
		hint   string
	}{
		{incident.ErrNotFound, http.StatusNotFound, "the list of incidents shows all"},
		{incident.ErrNotVerified, http.StatusConflict, "run the verification first; the command line can close by force, with a reason"},
		{incident.ErrNoReason, http.StatusUnprocessableEntity, "a reason is needed; it is kept with the incident"},
		{incident.ErrState, http.StatusConflict, "the incident has gone on meanwhile: load it again"},
		{incident.ErrAttempts, http.StatusConflict, "repair first: a repair gives new attempts"},
		{store.ErrCorrupt, http.StatusServiceUnavailable, "the daemon moves a damaged store aside when it starts"},
		{store.ErrFull, http.StatusInsufficientStorage, "make room on the file system of the store"},
		{store.ErrReadOnly, http.StatusServiceUnavailable, "the daemon cannot write its store: look at the rights of the file and its folder"},
		{store.ErrBusy, http.StatusServiceUnavailable, "try again"},
		{context.DeadlineExceeded, http.StatusGatewayTimeout, "try again"},
	} {
		if errors.Is(err, k.is) {
			return k.status, k.hint
		}
	}
	return http.StatusServiceUnavailable, ""
}

func (s *Server) apiUnknown(w http.ResponseWriter, r *http.Request) {
	s.problem(w, r, http.StatusNotFound, "find "+r.URL.Path+": no such route; "+api+"/openapi.yaml lists them")
}

// NodeAnswer is the node with its verdict.
type NodeAnswer struct {
	Schema  string  `json:"schema"`
	Verdict Verdict `json:"verdict"`
	Node
}

func (s *Server) apiNode(w http.ResponseWriter, r *http.Request) {
	n := s.Backend.Node()
	s.json(w, http.StatusOK, NodeAnswer{"gpumedic.node/v1", s.verdict(r.Context(), s.langOf(r), n), n})
}

func gpusOf(n Node) *GPUs {
	g := &GPUs{Schema: "gpumedic.gpus/v1", At: n.Read, GPUs: []report.GPU{}}
	if n.Report != nil {
		g.GPUs = append(g.GPUs, n.Report.GPUs...)
	}
	return g
}

func (s *Server) apiGPUs(w http.ResponseWriter, _ *http.Request) {
	s.json(w, http.StatusOK, gpusOf(s.Backend.Node()))
}

const maxListed = 1000

// filter reads the query of a list, and how many it wants of it.
func filter(r *http.Request) (store.Filter, int, error) {
	q := r.URL.Query()
	f := store.Filter{Hidden: true, Fault: q.Get("fault"), GPU: q.Get("gpu"), Closed: q.Get("closed") == "1"}
	limit := maxListed
	if v := q.Get("limit"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > maxListed {
			return f, 0, errors.New("read limit: " + strconv.Quote(v) + " is not a number from 1 to " + strconv.Itoa(maxListed))
		}
		limit = n
	}
	return f, limit, nil
}

func (s *Server) apiIncidents(w http.ResponseWriter, r *http.Request) {
	f, limit, err := filter(r)
	if err != nil {
		s.problem(w, r, http.StatusBadRequest, err.Error())
		return
	}
	list, err := s.Backend.List(r.Context(), f)
	if err != nil {
		s.failed(w, err)
		return
	}
	s.json(w, http.StatusOK, show.NewList(list, r.URL.Query().Get("all") == "1", limit))
}

// IncidentAnswer is an incident with all that is known of it.
type IncidentAnswer struct {
	*show.One
	What       string             `json:"what"` // the condition in the language that was asked for
	Do         string             `json:"do"`
	Steps      []gpumedic.Remedy  `json:"steps"`
	FixedWhen  []gpumedic.Check   `json:"fixed_when"`
	Finding    *gpumedic.Finding  `json:"finding"` // what the engine says now, null when it does not (any more)
	SilencedBy []incident.Silence `json:"silences"`
}

// one collects what is known of an incident.
func (s *Server) one(ctx context.Context, l string, id int64) (*IncidentAnswer, error) {
	b, o := s.Backend, s.texts(l)
	i, err := b.Incident(ctx, id)
	if err != nil {
		return nil, err
	}
	a := &IncidentAnswer{One: &show.One{Schema: "gpumedic.incident/v1", Incident: i}, What: o.What(i), Do: o.Do(i),
		Steps: o.Steps(i), FixedWhen: o.Checks(i), Finding: b.Finding(id), SilencedBy: []incident.Silence{}}
	if a.Events, err = b.Events(ctx, id); err != nil {
		return nil, err
	}
	if a.Verifications, err = b.Verifications(ctx, id); err != nil {
		return nil, err
	}
	all, err := b.Silences(ctx, false)
	if err != nil {
		return nil, err
	}
	for _, x := range all {
		if x.ID == i.SilencedBy {
			a.SilencedBy = append(a.SilencedBy, x)
		}
	}
	if a.Steps == nil {
		a.Steps = []gpumedic.Remedy{}
	}
	if a.FixedWhen == nil {
		a.FixedWhen = []gpumedic.Check{}
	}
	return a, nil
}

func number(r *http.Request) (int64, error) {
	n, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || n < 1 {
		return 0, errors.New("read address: " + strconv.Quote(r.PathValue("id")) + " is no number")
	}
	return n, nil
}

func (s *Server) apiIncident(w http.ResponseWriter, r *http.Request) {
	id, err := number(r)
	if err != nil {
		s.problem(w, r, http.StatusBadRequest, err.Error())
		return
	}
	a, err := s.one(r.Context(), s.langOf(r), id)
	if err != nil {
		s.failed(w, err)
		return
	}
	s.json(w, http.StatusOK, a)
}

// CardsAnswer are the cards that have a history.
type CardsAnswer struct {
	Schema string          `json:"schema"`
	Cards  []incident.Card `json:"cards"`
}

func (s *Server) apiCards(w http.ResponseWriter, r *http.Request) {
	cards, err := s.Backend.Cards(r.Context())
	if err != nil {
		s.failed(w, err)
		return
	}
	s.json(w, http.StatusOK, CardsAnswer{"gpumedic.cards/v1", cards})
}

// history collects what happened to a card or in a slot.
func (s *Server) history(ctx context.Context, name string) (*show.History, error) {
	rows, err := s.Backend.History(ctx, name)
	if err != nil {
		return nil, err
	}
	cards, err := s.Backend.Cards(ctx)
	if err != nil {
		return nil, err
	}
	about := func(c incident.Card) bool {
		return incident.NamesGPU(name, c.GPU) || slices.ContainsFunc(rows, func(r incident.HistoryRow) bool { return incident.SameGPU(r.GPU, c.GPU) })
	}
	h := &show.History{Schema: "gpumedic.history/v1", Name: name, Cards: []incident.Card{}, Rows: rows}
	for _, c := range cards {
		if about(c) {
			h.Cards = append(h.Cards, c)
		}
	}
	if len(h.Rows) == 0 && len(h.Cards) == 0 {
		return nil, notFound("find history: no card and no slot is called " + strconv.Quote(name))
	}
	return h, nil
}

type notFound string

func (e notFound) Error() string        { return string(e) }
func (e notFound) Is(target error) bool { return target == incident.ErrNotFound }

func (s *Server) apiHistory(w http.ResponseWriter, r *http.Request) {
	h, err := s.history(r.Context(), r.PathValue("name"))
	if err != nil {
		s.failed(w, err)
		return
	}
	s.json(w, http.StatusOK, h)
}

// SilencesAnswer are the silences in force, or all.
type SilencesAnswer struct {
	Schema   string             `json:"schema"`
	Silences []incident.Silence `json:"silences"`
}

func (s *Server) apiSilences(w http.ResponseWriter, r *http.Request) {
	list, err := s.Backend.Silences(r.Context(), r.URL.Query().Get("ended") == "1")
	if err != nil {
		s.failed(w, err)
		return
	}
	s.json(w, http.StatusOK, SilencesAnswer{"gpumedic.silences/v1", list})
}

// SourcesAnswer are the sources and how they are.
type SourcesAnswer struct {
	Schema  string   `json:"schema"`
	Sources []Source `json:"sources"`
}

func (s *Server) apiSources(w http.ResponseWriter, _ *http.Request) {
	s.json(w, http.StatusOK, SourcesAnswer{"gpumedic.sources/v1", append([]Source{}, s.Backend.Sources()...)})
}

// AlertsAnswer are the alerts of the daemon's own rules.
type AlertsAnswer struct {
	Schema string `json:"schema"`
	Alerts
}

func (s *Server) apiAlerts(w http.ResponseWriter, _ *http.Request) {
	a := s.Backend.Alerts()
	a.Active, a.Past = append([]Alert{}, a.Active...), append([]Alert{}, a.Past...)
	s.json(w, http.StatusOK, AlertsAnswer{"gpumedic.alerts/v1", a})
}

// MaintenanceAnswer is the calendar.
type MaintenanceAnswer struct {
	Schema string        `json:"schema"`
	Items  []Maintenance `json:"items"`
}

func (s *Server) apiMaintenance(w http.ResponseWriter, r *http.Request) {
	list, err := s.Backend.Maintenance(r.Context())
	if err != nil {
		s.failed(w, err)
		return
	}
	s.json(w, http.StatusOK, MaintenanceAnswer{"gpumedic.maintenance/v1", append([]Maintenance{}, list...)})
}

// langOf is the language of a request: asked for, chosen before, or wished by the
// browser.
func (s *Server) langOf(r *http.Request) string {
	l := r.URL.Query().Get("lang")
	if c, err := r.Cookie("gpumedic_lang"); err == nil && l == "" {
		l = c.Value
	}
	if l == "en" || l == "zh" {
		return l
	}
	best, weight := s.Lang, 0.0
	for part := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, param, _ := strings.Cut(strings.TrimSpace(part), ";")
		q := 1.0
		if v, ok := strings.CutPrefix(strings.TrimSpace(param), "q="); ok {
			if f, err := strconv.ParseFloat(v, 64); err == nil {
				q = f
			}
		}
		tag, _, _ = strings.Cut(strings.ToLower(tag), "-")
		if (tag == "en" || tag == "zh") && q > weight {
			best, weight = tag, q
		}
	}
	return best
}

func (s *Server) texts(l string) show.Options {
	return show.Options{Lang: l, Catalog: s.Catalog, Zone: s.Zone}
}

// since is a moment as a page shows it.
func (s *Server) clock(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.In(s.Zone).Format("2006-01-02 15:04:05")
}
