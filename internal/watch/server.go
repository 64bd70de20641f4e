package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/prometheus/exporter-toolkit/web"

	"github.com/gpumedic/gpumedic/internal/metrics"
	page "github.com/gpumedic/gpumedic/internal/web"
)

// server serves one address.
type server struct {
	listener net.Listener
	http     *http.Server
	d        *Daemon
}

// listen opens all addresses before anything starts: a port in use is an error of the
// start.
func (d *Daemon) listen() ([]*server, error) {
	c := d.o.Config.Web
	if err := web.Validate(c.File); err != nil {
		return nil, fmt.Errorf("read web configuration %s: %w", c.File, err)
	}
	h, err := d.handler(d.o.Config)
	if err != nil {
		return nil, err
	}
	d.served.Store(&h)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*d.served.Load()).ServeHTTP(w, r) })
	var out []*server
	for _, address := range c.Listen {
		l, err := net.Listen("tcp", address)
		if err != nil {
			for _, s := range out {
				s.listener.Close()
			}
			return nil, fmt.Errorf("serve: %w", err)
		}
		if host, _, _ := net.SplitHostPort(l.Addr().String()); c.File == "" && !net.ParseIP(host).IsLoopback() {
			d.o.Log.Warn("served to other machines without TLS or authentication: see web.file", "address", l.Addr())
		}
		h := page.NewHTTP(handler)
		// What clients do wrong is not the daemon's trouble, and anyone could fill the log with it.
		h.ErrorLog = slog.NewLogLogger(d.o.Log.Handler(), slog.LevelDebug)
		out = append(out, &server{listener: l, d: d, http: h})
	}
	return out, nil
}

func (s *server) serve() error {
	addresses, systemd := []string{s.listener.Addr().String()}, false
	flags := &web.FlagConfig{WebListenAddresses: &addresses, WebSystemdSocket: &systemd, WebConfigFile: &s.d.o.Config.Web.File}
	if err := web.Serve(s.listener, s.http, flags, s.d.o.Log); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", s.listener.Addr(), err)
	}
	return nil
}

func (s *server) close() {
	s.http.Close()
	s.listener.Close()
}

// handler is all that is served.
func (d *Daemon) handler(conf *Config) (http.Handler, error) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics.Handler(d.outlets.exporter))
	mux.HandleFunc("GET /healthz", d.healthz)
	c := page.Config{Backend: &backend{Store: d.store, d: d}, Hub: d.outlets.hub, Rings: d.outlets.rings, Catalog: d.o.Catalog,
		Lang: conf.Language, Hosts: conf.Web.Hosts, Now: d.o.Now, Log: d.o.Log}
	if conf.Web.AllowActions {
		c.Actor = actor{d}
	}
	s, err := page.New(c)
	if err != nil {
		return nil, err
	}
	mux.Handle("/", s)
	return mux, nil
}

// healthz says whether the daemon itself works; a fault of a GPU is none of the daemon.
func (d *Daemon) healthz(w http.ResponseWriter, _ *http.Request) {
	state := struct {
		OK      bool     `json:"ok"`
		Sources []Source `json:"sources"`
	}{OK: d.alive(), Sources: d.health.snapshot()}
	w.Header().Set("Content-Type", "application/json")
	if !state.OK {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(state) // a client that has gone
}
