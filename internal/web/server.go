package web

import (
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/lang"
)

// Server answers requests. It is an http.Handler.
type Server struct {
	Config
	hub     *Hub
	rings   *Rings
	pages   map[string]func() (*pageSet, error) // by language, made when one is asked for: 1 MB each
	texted  func() map[string]catalog.Text      // made when it is first needed
	handler http.Handler
}

// New makes the handler of the page and the API.
func New(c Config) (*Server, error) {
	if c.Backend == nil {
		return nil, errors.New("make page: a backend is needed")
	}
	if c.Hub == nil {
		c.Hub = NewHub()
	}
	if c.Rings == nil {
		c.Rings = NewRings(2)
	}
	if c.Zone == nil {
		c.Zone = time.Local
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if !lang.Known(c.Lang) {
		c.Lang = "en"
	}
	s := &Server{Config: c, hub: c.Hub, rings: c.Rings, pages: map[string]func() (*pageSet, error){},
		texted: sync.OnceValue(func() map[string]catalog.Text { return textsOf(c.Catalog) })}
	for _, l := range []string{"en", "zh"} {
		s.pages[l] = sync.OnceValues(func() (*pageSet, error) { return s.parsePages(l) })
	}
	mux := http.NewServeMux()
	for _, rt := range s.routes() {
		mux.HandleFunc(rt.method+" "+rt.path, rt.handle)
	}
	s.handler = s.Guard(mux)
	return s, nil
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

func (s *Server) now() time.Time { return s.Now() }

// NewHTTP is the server with the limits that this page wants. The one route that takes
// longer, the events, sets its own deadlines.
func NewHTTP(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
}

// route is one way in. Those below /api/v1/ are in openapi.yaml, by a test.
type route struct {
	method, path string
	handle       http.HandlerFunc
}

// api is where the API is.
const api = "/api/v1"

func (s *Server) routes() []route {
	list := []route{
		{"GET", api + "/node", s.apiNode},
		{"GET", api + "/gpus", s.apiGPUs},
		{"GET", api + "/incidents", s.apiIncidents},
		{"GET", api + "/incidents/{id}", s.apiIncident},
		{"GET", api + "/history", s.apiCards},
		{"GET", api + "/history/{name}", s.apiHistory},
		{"GET", api + "/silences", s.apiSilences},
		{"GET", api + "/alerts", s.apiAlerts},
		{"GET", api + "/sources", s.apiSources},
		{"GET", api + "/maintenance", s.apiMaintenance},
		{"GET", api + "/series", s.series},
		{"GET", api + "/events", s.events},
		{"GET", api + "/openapi.yaml", s.openAPI},
		{"POST", api + "/incidents/{id}/ack", s.apiAct},
		{"POST", api + "/incidents/{id}/close", s.apiAct},
		{"POST", api + "/incidents/{id}/reopen", s.apiAct},
		{"POST", api + "/incidents/{id}/verify", s.apiAct},
		{"POST", api + "/silences", s.apiSilence},
		{"DELETE", api + "/silences/{id}", s.apiEndSilence},
		{"GET", api + "/", s.apiUnknown},

		{"GET", "/{$}", s.pageNode},
		{"GET", "/gpus/{name}", s.pageGPU},
		{"GET", "/incidents", s.pageIncidents},
		{"GET", "/incidents/{id}", s.pageIncident},
		{"GET", "/history", s.pageCards},
		{"GET", "/history/{name}", s.pageHistory},
		{"GET", "/maintenance", s.pageMaintenance},
		{"GET", "/sources", s.pageSources},
		{"GET", "/static/{name}", s.static},
		{"GET", "/favicon.ico", s.favicon},
		{"POST", "/prefs", s.prefs},
		{"POST", "/incidents/{id}/{action}", s.formAct},
		{"POST", "/silences/{id}/end", s.formEndSilence},
		{"GET", "/", s.pageUnknown},
	}
	return list
}
