package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic/internal/incident"
)

var errReadOnly = errors.New("change incident: this page is read only; the daemon's --allow-actions opens it")

// Command is what a person sends with an action.
type Command struct {
	Who string `json:"who,omitempty"`
	Why string `json:"why,omitempty"`
}

// SilenceCommand asks for a silence.
type SilenceCommand struct {
	Command
	Fault   string `json:"fault,omitempty"`
	GPU     string `json:"gpu,omitempty"`
	Node    string `json:"node,omitempty"`
	Minutes int    `json:"minutes"`
}

// Done is the answer to an action.
type Done struct {
	Schema   string             `json:"schema"`
	Done     string             `json:"done"`
	Silence  int64              `json:"silence,omitempty"`
	Incident *incident.Incident `json:"incident,omitempty"`
}

const (
	maxWho    = 80
	maxWhy    = 500
	maxSilent = 30 * 24 * 60 // minutes
)

// who is the name that the audit keeps: that of the login where there is one, since
// anyone could write another into the form.
func who(r *http.Request, said string) string {
	if name, _, ok := r.BasicAuth(); ok && name != "" {
		said = name
	}
	if said = clip(said, maxWho); said != "" {
		return said
	}
	return "web"
}

// clip makes one line of what was written, and bounds it.
func clip(s string, most int) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
	if rs := []rune(strings.TrimSpace(s)); len(rs) > most {
		return string(rs[:most])
	}
	return strings.TrimSpace(s)
}

// do carries an action out.
func (s *Server) do(ctx context.Context, action string, id int64, who, why string) error {
	if s.Actor == nil {
		return errReadOnly
	}
	why = clip(why, maxWhy)
	var err error
	switch action {
	case "ack":
		err = s.Actor.Ack(ctx, id, who, why)
	case "close":
		err = s.Actor.Close(ctx, id, who, why)
	case "reopen":
		err = s.Actor.Reopen(ctx, id, who, why)
	case "verify":
		err = s.Actor.Verify(ctx, id, who)
	default:
		return notFound("change incident: no action is called " + strconv.Quote(action))
	}
	s.Log.Info("action on the page", "action", action, "incident", id, "who", who, "error", err)
	return err
}

func (s *Server) silence(ctx context.Context, who string, c SilenceCommand) (int64, error) {
	switch {
	case s.Actor == nil:
		return 0, errReadOnly
	case c.Minutes < 1 || c.Minutes > maxSilent:
		return 0, badRequest(fmt.Sprintf("add silence: minutes must be 1 to %d", maxSilent))
	}
	id, err := s.Actor.Silence(ctx, incident.Silence{Fault: clip(c.Fault, maxWhy), GPU: clip(c.GPU, maxWhy), Node: clip(c.Node, maxWhy),
		Until: s.now().Add(time.Duration(c.Minutes) * time.Minute), Who: who, Why: clip(c.Why, maxWhy)})
	s.Log.Info("action on the page", "action", "silence", "silence", id, "who", who, "error", err)
	return id, err
}

func (s *Server) endSilence(ctx context.Context, id int64, who, why string) error {
	if s.Actor == nil {
		return errReadOnly
	}
	err := s.Actor.EndSilence(ctx, id, who, clip(why, maxWhy))
	s.Log.Info("action on the page", "action", "end silence", "silence", id, "who", who, "error", err)
	return err
}

type badRequest string

func (e badRequest) Error() string { return string(e) }

// readJSON reads the body of a command. A form of a foreign page cannot have this type.
func readJSON(r *http.Request, v any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return errNotJSON
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	var tooLong *http.MaxBytesError
	switch err := d.Decode(v); {
	case errors.As(err, &tooLong):
		return err
	case err != nil:
		return badRequest("read command: " + err.Error())
	}
	return nil
}

var errNotJSON = errors.New("read command: Content-Type must be application/json")

// acted answers the outcome of an action of the API.
func (s *Server) acted(w http.ResponseWriter, r *http.Request, err error, d Done) {
	var tooLong *http.MaxBytesError
	var bad badRequest
	switch {
	case err == nil:
		d.Schema = "gpumedic.done/v1"
		s.json(w, http.StatusOK, d)
	case errors.Is(err, errReadOnly):
		s.problem(w, r, http.StatusForbidden, err.Error())
	case errors.Is(err, errNotJSON):
		s.problem(w, r, http.StatusUnsupportedMediaType, err.Error())
	case errors.As(err, &tooLong):
		s.problem(w, r, http.StatusRequestEntityTooLarge, err.Error())
	case errors.As(err, &bad):
		s.problem(w, r, http.StatusBadRequest, err.Error())
	default:
		s.failed(w, err)
	}
}

func (s *Server) apiAct(w http.ResponseWriter, r *http.Request) {
	action := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	var c Command
	id, err := number(r)
	if err != nil {
		err = badRequest(err.Error())
	} else if s.Actor == nil {
		err = errReadOnly
	} else if err = readJSON(r, &c); err == nil {
		err = s.do(r.Context(), action, id, who(r, c.Who), c.Why)
	}
	d := Done{Done: action}
	if err == nil {
		d.Incident, err = s.Backend.Incident(r.Context(), id)
	}
	s.acted(w, r, err, d)
}

func (s *Server) apiSilence(w http.ResponseWriter, r *http.Request) {
	var c SilenceCommand
	var id int64
	err := errReadOnly
	if s.Actor != nil {
		if err = readJSON(r, &c); err == nil {
			id, err = s.silence(r.Context(), who(r, c.Who), c)
		}
	}
	s.acted(w, r, err, Done{Done: "silence", Silence: id})
}

func (s *Server) apiEndSilence(w http.ResponseWriter, r *http.Request) {
	id, err := number(r)
	if err != nil {
		err = badRequest(err.Error())
	} else {
		err = s.endSilence(r.Context(), id, who(r, ""), r.URL.Query().Get("why"))
	}
	s.acted(w, r, err, Done{Done: "end_silence", Silence: id})
}

// formAct is an action of the page's own forms: it works without a script. It answers
// with a redirect, so that loading again does not send it twice.
func (s *Server) formAct(w http.ResponseWriter, r *http.Request) {
	id, err := number(r)
	if err != nil {
		s.pageUnknown(w, r)
		return
	}
	action := r.PathValue("action")
	back := "/incidents/" + strconv.FormatInt(id, 10)
	if action == "silence" {
		minutes, _ := strconv.Atoi(r.PostFormValue("minutes")) // not a number: refused as too few
		_, err = s.silence(r.Context(), who(r, r.PostFormValue("who")), SilenceCommand{
			Command: Command{Why: r.PostFormValue("why")},
			Fault:   r.PostFormValue("fault"), GPU: r.PostFormValue("gpu"), Node: r.PostFormValue("node"), Minutes: minutes})
	} else {
		err = s.do(r.Context(), action, id, who(r, r.PostFormValue("who")), r.PostFormValue("why"))
	}
	s.backTo(w, r, back, action, err)
}

func (s *Server) formEndSilence(w http.ResponseWriter, r *http.Request) {
	id, err := number(r)
	if err == nil {
		err = s.endSilence(r.Context(), id, who(r, r.PostFormValue("who")), r.PostFormValue("why"))
	}
	s.backTo(w, r, local(r.PostFormValue("back")), "end-silence", err)
}

// backTo shows where the action was asked for what became of it.
func (s *Server) backTo(w http.ResponseWriter, r *http.Request, path, action string, err error) {
	if err == nil {
		http.Redirect(w, r, path+"?done="+url.QueryEscape(action), http.StatusSeeOther)
		return
	}
	status, hint := statusOf(err)
	if errors.Is(err, errReadOnly) {
		status = http.StatusForbidden
	}
	if bad := badRequest(""); errors.As(err, &bad) {
		status = http.StatusBadRequest
	}
	s.errorPage(w, r, status, err, hint, path)
}

// local keeps a redirect on this page.
func local(path string) string {
	if u, err := url.Parse(path); err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(path, "/") ||
		strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	return path
}
