package web_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic/internal/web"
	"github.com/gpumedic/gpumedic/internal/web/webtest"
)

var scenes = map[string]func(string) (*webtest.Scene, error){
	"healthy": webtest.Healthy, "lost": webtest.Lost, "storm": webtest.Storm, "empty": webtest.Empty, "broken": webtest.Broken,
}

// page is a page over a scene.
type page struct {
	*testing.T
	*webtest.Scene
	server *web.Server
}

func over(t *testing.T, make func(string) (*webtest.Scene, error), change func(*web.Config, *webtest.Scene)) *page {
	t.Helper()
	s, err := make(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Store.Close() })
	c := s.Config()
	c.Log = slog.New(slog.DiscardHandler)
	if change != nil {
		change(&c, s)
	}
	h, err := web.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &page{t, s, h}
}

func allowed(c *web.Config, s *webtest.Scene) { c.Actor = s }

// ask sends a request as a browser on the machine would. Headers are "Name: value".
func (p *page) ask(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	p.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "localhost:9400"
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	p.server.ServeHTTP(w, r)
	return w
}

func (p *page) get(path string, headers ...string) string {
	p.Helper()
	w := p.ask(http.MethodGet, path, "", headers...)
	if w.Code != http.StatusOK {
		p.Fatalf("GET %s: status %d: %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// number is that of the incident of a fault.
func (p *page) number(fault string) int64 {
	p.Helper()
	for id, f := range p.Findings {
		if f.Fault == fault {
			return id
		}
	}
	p.Fatalf("no incident of %s", fault)
	return 0
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

const (
	asJSON = "Content-Type: application/json"
	asForm = "Content-Type: application/x-www-form-urlencoded"
)
