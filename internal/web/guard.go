package web

import (
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
)

// maxBody bounds what a form or a command may send.
const maxBody = 16 << 10

// policy allows what comes from here and nothing else: no inline script, no inline
// style, no frame around the page, no form to elsewhere.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types gpumedic"

// guard stands before every route.
func (s *Server) guard(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, http.StatusForbidden, "refuse request: it was made by another site")
	}))
	next = cross.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin") // with none at all a browser hides the Origin of our own forms
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Cache-Control", "no-store")
		defer s.recovered(w, r)
		if !s.knownHost(r) {
			s.refuse(w, r, http.StatusMisdirectedRequest, "refuse request: this page is not called by that name; ask for localhost, or name the host in the daemon's settings")
			return
		}
		if !s.sameOrigin(r) {
			s.refuse(w, r, http.StatusForbidden, "refuse request: it was made by another site")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

// recovered keeps the daemon alive if a page has a defect: it goes on with its work.
func (s *Server) recovered(w http.ResponseWriter, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler {
		panic(v)
	}
	s.Log.Error("answer request", "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
	s.refuse(w, r, http.StatusInternalServerError, "answer request: a defect of the page; the log of the daemon has more")
}

// knownHost refuses names that a foreign page could point at this address (DNS
// rebinding): on a loopback address the browser's protection is the name alone.
// Elsewhere authentication is what protects, and any name may be right.
func (s *Server) knownHost(r *http.Request) bool {
	host := hostOf(r.Host)
	if host == "localhost" || slices.ContainsFunc(s.Hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err == nil && ip.Unmap().IsLoopback() {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	return err == nil && !at.Addr().Unmap().IsLoopback()
}

func hostOf(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	return strings.ToLower(strings.Trim(strings.TrimSuffix(host, "."), "[]"))
}

// sameOrigin refuses a command whose Origin is another one, also from browsers that do
// not send Sec-Fetch-Site. A program sends neither and may ask.
func (s *Server) sameOrigin(r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	_, rest, ok := strings.Cut(origin, "://")
	return ok && strings.EqualFold(rest, r.Host)
}

// refuse answers in the form that the way in has.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		s.problem(w, r, status, why)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	w.Write([]byte(why + "\n"))
}
