package web_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic/internal/web"
	"github.com/gpumedic/gpumedic/internal/web/webtest"
)

func TestReadOnly(t *testing.T) {
	p := over(t, webtest.Lost, nil)
	for _, c := range [][3]string{
		{"POST", "/api/v1/incidents/1/ack", asJSON}, {"POST", "/api/v1/incidents/1/close", asJSON}, {"POST", "/api/v1/incidents/1/reopen", asJSON},
		{"POST", "/api/v1/incidents/1/verify", asJSON}, {"POST", "/api/v1/silences", asJSON}, {"DELETE", "/api/v1/silences/1", asJSON},
		{"POST", "/incidents/1/ack", asForm}, {"POST", "/incidents/1/silence", asForm}, {"POST", "/silences/1/end", asForm},
	} {
		if w := p.ask(c[0], c[1], "{}", c[2]); w.Code != http.StatusForbidden {
			t.Errorf("%s %s: status %d, want 403", c[0], c[1], w.Code)
		}
	}
	if body := p.get("/incidents/1"); strings.Contains(body, `formaction`) || strings.Contains(body, `id="actions"`) {
		t.Error("a page that is read only shows actions")
	}
}

func TestOtherSitesAreRefused(t *testing.T) {
	p := over(t, webtest.Lost, allowed)
	for _, c := range []struct {
		headers []string
		want    int
	}{
		{[]string{"Sec-Fetch-Site: cross-site", "Origin: https://evil.example"}, http.StatusForbidden},
		{[]string{"Sec-Fetch-Site: same-site"}, http.StatusForbidden},
		{[]string{"Origin: https://evil.example"}, http.StatusForbidden},
		{[]string{"Origin: null"}, http.StatusForbidden},
		{[]string{"Origin: http://localhost:9401"}, http.StatusForbidden},
		{[]string{"Sec-Fetch-Site: same-origin", "Origin: https://evil.example"}, http.StatusForbidden},
		{[]string{"Sec-Fetch-Site: same-origin", "Origin: http://localhost:9400"}, http.StatusSeeOther},
		{nil, http.StatusSeeOther}, // a program
	} {
		w := p.ask("POST", "/prefs", "lang=zh&back=/", append(c.headers, asForm)...)
		if w.Code != c.want {
			t.Errorf("%q: status %d, want %d", c.headers, w.Code, c.want)
		}
	}
}

func TestHosts(t *testing.T) {
	p := over(t, webtest.Empty, func(c *web.Config, _ *webtest.Scene) { c.Hosts = []string{"gpu7.example.org"} })
	for host, want := range map[string]int{
		"localhost": 200, "localhost:9400": 200, "LOCALHOST.:1": 200, "127.0.0.1:9400": 200, "127.9.9.9": 200, "[::1]:9400": 200, "gpu7.example.org": 200,
		"evil.example": 421, "evil.example:9400": 421, "localhost.evil.example": 421, "10.0.0.7:9400": 421, "": 421,
	} {
		if w := p.ask("GET", "/api/v1/gpus", "", "Host: "+host); w.Code != want {
			t.Errorf("Host %q: status %d, want %d", host, w.Code, want)
		}
	}
}

// TestHostsOfARealListener: the name is checked on a loopback address only.
func TestHostsOfARealListener(t *testing.T) {
	p := over(t, webtest.Empty, nil)
	srv := httptest.NewServer(p.server)
	defer srv.Close()
	r, _ := http.NewRequest("GET", srv.URL+"/api/v1/gpus", nil)
	r.Host = "evil.example"
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	if res.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("status %d, want 421", res.StatusCode)
	}
	w := httptest.NewRecorder()
	q := httptest.NewRequest("GET", "/api/v1/gpus", nil)
	q.Host = "gpu7"
	q = q.WithContext(contextWithAddr(q, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 9400}))
	if p.server.ServeHTTP(w, q); w.Code != http.StatusOK {
		t.Errorf("on another address: status %d, want 200", w.Code)
	}
}

func TestHeaders(t *testing.T) {
	p := over(t, webtest.Lost, nil)
	for _, path := range []string{"/", "/incidents", "/api/v1/node", "/nothing", "/static/none.js"} {
		h := p.ask("GET", path, "").Header()
		csp := h.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: policy lacks %s: %s", path, want, csp)
			}
		}
		if strings.Contains(csp, "unsafe") {
			t.Errorf("%s: %s", path, csp)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin", "Cache-Control": "no-store"} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s %q, want %q", path, name, got, want)
			}
		}
	}
}

func TestRedirectsStayHere(t *testing.T) {
	for in, want := range map[string]string{"/incidents?closed=1": "/incidents?closed=1", "//evil.example": "/", "https://evil.example/": "/", "": "/", "/\\evil.example": "/", "javascript:alert(1)": "/", "/\t/evil": "/"} {
		if got := web.Local(in); got != want {
			t.Errorf("local(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestPanic: a defect of a page is an answer, and the daemon goes on.
func TestPanic(t *testing.T) {
	p := over(t, webtest.Empty, func(c *web.Config, s *webtest.Scene) { c.Backend = panics{s} })
	if w := p.ask("GET", "/api/v1/sources", ""); w.Code != http.StatusInternalServerError {
		t.Errorf("status %d, want 500", w.Code)
	}
}

type panics struct{ *webtest.Scene }

func (panics) Sources() []web.Source { panic("no") }
