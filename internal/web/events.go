package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gpumedic/gpumedic/internal/incident"
)

const (
	heartbeat  = 15 * time.Second // below the patience of usual proxies
	eventWrite = 10 * time.Second // a reader that takes longer is gone
	maxReplay  = 500
)

// ChangeEvent is the data of an event "change": the change with what a person reads.
type ChangeEvent struct {
	incident.Change
	What string `json:"what,omitempty"` // in the reader's language
	Says string `json:"says"`           // the kind of change, in the reader's language
}

// events answers GET /api/v1/events: server-sent events change, gpus and sources. Changes
// carry their number as id; a reader that comes back with it is told what it missed.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	c, ok := s.hub.subscribe() // before the replay: nothing falls between
	if !ok {
		w.Header().Set("Retry-After", "30")
		s.problem(w, r, http.StatusServiceUnavailable, "follow events: too many readers already")
		return
	}
	defer s.hub.unsubscribe(c)
	st := &stream{w: w, rc: http.NewResponseController(w), s: s, lang: s.langOf(r)}
	missed, err := s.missed(r)
	if err != nil {
		s.failed(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	st.send("retry: 3000\n\n")
	for _, ch := range missed {
		st.change(ch)
	}
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for st.err == nil {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
			st.send(": still here\n\n")
		case u, open := <-c:
			if !open {
				return // too slow: it comes back with the number of what it has
			}
			st.update(u)
		}
	}
}

// missed are the changes after the one that a reader had last. One that has none wants
// what comes from now on.
func (s *Server) missed(r *http.Request) ([]incident.Change, error) {
	v := r.Header.Get("Last-Event-ID")
	if v == "" {
		v = r.URL.Query().Get("after")
	}
	after, err := strconv.ParseInt(v, 10, 64)
	if err != nil || after < 0 {
		return nil, nil
	}
	return s.Backend.Changes(r.Context(), after, maxReplay)
}

// stream writes events to one reader.
type stream struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	s    *Server
	lang string
	last int64 // number of the last change that was sent
	err  error
}

func (st *stream) update(u Update) {
	switch {
	case u.Change != nil:
		st.change(*u.Change)
	case u.GPUs != nil:
		st.event("gpus", 0, u.GPUs)
	case u.Sources != nil:
		st.event("sources", 0, SourcesAnswer{"gpumedic.sources/v1", u.Sources})
	}
}

func (st *stream) change(c incident.Change) {
	if c.Seq != 0 && c.Seq <= st.last {
		return // it was in the replay already
	}
	o := st.s.texts(st.lang)
	e := ChangeEvent{Change: c, Says: o.Kind(c.Kind)}
	if c.Incident != nil {
		e.What = o.What(c.Incident)
	}
	st.event("change", c.Seq, e)
	st.last = max(st.last, c.Seq)
}

func (st *stream) event(name string, id int64, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		st.s.Log.Error("write event", "error", err)
		return
	}
	var out bytes.Buffer
	if id > 0 {
		fmt.Fprintf(&out, "id: %d\n", id)
	}
	fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", name, b) // JSON has no line breaks of its own
	st.send(out.String())
}

func (st *stream) send(text string) {
	if st.err != nil {
		return
	}
	// A recorder of a test has no deadline to set; a connection has.
	_ = st.rc.SetWriteDeadline(time.Now().Add(eventWrite))
	if _, st.err = st.w.Write([]byte(text)); st.err == nil {
		st.err = st.rc.Flush()
	}
}
