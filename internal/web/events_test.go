package web_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic/internal/web"
	"github.com/gpumedic/gpumedic/internal/web/webtest"
)

// stream is an open stream of events.
type stream struct {
	t *testing.T
	r *bufio.Reader
}

func (p *page) follow(headers ...string) *stream {
	p.Helper()
	srv := httptest.NewServer(p.server)
	ctx, cancel := context.WithCancel(p.Context())
	p.Cleanup(func() { cancel(); srv.Close() })
	r, err := http.NewRequestWithContext(ctx, "GET", srv.URL+"/api/v1/events", nil)
	if err != nil {
		p.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		p.Fatalf("status %d, %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	s := &stream{p.T, bufio.NewReader(res.Body)}
	if first := s.next(); first != "retry: 3000\n" {
		p.Fatalf("begins with %q", first)
	}
	return s
}

// next reads one event.
func (s *stream) next() string {
	s.t.Helper()
	var b strings.Builder
	for {
		line, err := s.r.ReadString('\n')
		if err != nil {
			s.t.Fatalf("read event: %v after %q", err, b.String())
		}
		if line == "\n" {
			return b.String()
		}
		b.WriteString(line)
	}
}

func TestEvents(t *testing.T) {
	p := over(t, webtest.Lost, allowed)
	s := p.follow("Accept-Language: zh")
	p.Hub.Readings(p.Now, p.Next(1))
	if e := s.next(); !strings.HasPrefix(e, "event: gpus\ndata: {") || !strings.Contains(e, `"temperature_c"`) {
		t.Errorf("readings: %q", e)
	}
	p.Hub.Publish(web.Update{Sources: p.Feeds})
	if e := s.next(); !strings.HasPrefix(e, "event: sources\ndata: {") || !strings.Contains(e, `"stale"`) {
		t.Errorf("sources: %q", e)
	}
	if err := p.Ack(t.Context(), p.number("illegal-address"), "li", ""); err != nil {
		t.Fatal(err)
	}
	e := s.next()
	for _, want := range []string{"id: ", "event: change\n", `"says":"确认"`, `"kind":"acknowledged"`, `"what":"GPU 0000:3b:00.0 上的程序访问了非法显存地址"`} {
		if !strings.Contains(e, want) {
			t.Errorf("change %q lacks %s", e, want)
		}
	}
}

// TestMissedEvents: who comes back is told what it missed, once, in order.
func TestMissedEvents(t *testing.T) {
	p := over(t, webtest.Lost, allowed)
	last, err := p.LastChange(t.Context())
	if err != nil || last < 3 {
		t.Fatal(last, err)
	}
	s := p.follow("Last-Event-ID: 1")
	for n := int64(2); n <= last; n++ {
		if e := s.next(); !strings.HasPrefix(e, "id: "+itoa(n)+"\nevent: change\n") {
			t.Fatalf("change %d: %q", n, e)
		}
	}
	old, err := p.Changes(t.Context(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	p.Hub.Publish(web.Update{Change: &old[0]}) // it was told already
	p.Hub.Publish(web.Update{Sources: p.Feeds})
	if e := s.next(); !strings.HasPrefix(e, "event: sources\n") {
		t.Errorf("an old change is told again: %q", e)
	}
}

// TestSlowReader: one that does not read costs nobody anything and is cut off.
func TestSlowReader(t *testing.T) {
	p := over(t, webtest.Healthy, nil)
	s := p.follow()
	for range 20000 {
		p.Hub.Readings(p.Now, p.Info.Report.GPUs)
	}
	if n := p.Hub.Watching(); n != 0 {
		t.Fatalf("%d still watch", n)
	}
	_ = s
}

func TestTooManyReaders(t *testing.T) {
	p := over(t, webtest.Healthy, nil)
	d := p.document()
	for range web.MaxWatchers {
		if !p.Hub.Fill() {
			t.Fatal("refused too early")
		}
	}
	w := p.ask("GET", "/api/v1/events", "")
	d.valid(t, "GET", "/api/v1/events", w)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("status %d, %v", w.Code, w.Header())
	}
}
