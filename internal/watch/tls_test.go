package watch

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/internal/web/webtest"
)

// TestTLSAndPassword: with a web configuration all that is served is behind TLS and the
// password, streams too, over both versions of HTTP; a password that is changed in the
// file counts without a restart.
func TestTLSAndPassword(t *testing.T) {
	p, err := webtest.Protect(t.TempDir(), "ops", "right")
	if err != nil {
		t.Fatal(err)
	}
	r := begin(t, t.TempDir(), func(c *Config) { c.Web.File, c.Web.AllowActions = p.File, true })
	paths := []string{"/", "/incidents", "/api/v1/node", "/api/v1/incidents", "/api/v1/events", "/api/v1/openapi.yaml", "/metrics", "/healthz", "/no/such"}
	for _, h2 := range []bool{false, true} {
		protocols := &http.Protocols{}
		protocols.SetHTTP1(!h2)
		protocols.SetHTTP2(h2)
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: p.Pool}, Protocols: protocols}}
		ask := func(method, path, user, password, body string) *http.Response {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			t.Cleanup(cancel)
			q, err := http.NewRequestWithContext(ctx, method, "https://"+r.addr+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if user != "" {
				q.SetBasicAuth(user, password)
			}
			if body != "" {
				q.Header.Set("Content-Type", "application/json")
				q.Header.Set("Origin", "https://"+r.addr)
			}
			res, err := client.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { res.Body.Close() })
			if want := map[bool]int{false: 1, true: 2}[h2]; res.ProtoMajor != want {
				t.Errorf("HTTP %d, want %d", res.ProtoMajor, want)
			}
			return res
		}
		for _, path := range paths {
			for _, who := range [][2]string{{"", ""}, {"ops", "wrong"}, {"other", "right"}, {"ops", ""}} {
				res := ask("GET", path, who[0], who[1], "")
				b, err := io.ReadAll(res.Body)
				if err != nil {
					t.Fatal(err)
				}
				if res.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(res.Header.Get("WWW-Authenticate"), "Basic") || strings.Contains(string(b), "gpumedic") {
					t.Errorf("GET %s as %q: %s %q", path, who, res.Status, b)
				}
			}
			want := http.StatusOK
			if path == "/no/such" {
				want = http.StatusNotFound
			}
			res := ask("GET", path, "ops", "right", "")
			if res.StatusCode != want {
				t.Errorf("GET %s with the password: %s", path, res.Status)
			}
		}
		if res := ask("POST", "/api/v1/incidents/1/ack", "ops", "wrong", `{"who":"li"}`); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("an action with a wrong password: %s", res.Status)
		}

		// A stream is open, and what happens comes while it is.
		events := ask("GET", "/api/v1/events", "ops", "right", "")
		if events.StatusCode != http.StatusOK || events.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("events: %s %v", events.Status, events.Header)
		}
		line, bus := fallen, "3b"
		if h2 {
			line, bus = illegal, "5d"
		}
		r.kernel(line)
		lines := bufio.NewScanner(events.Body)
		lines.Buffer(nil, 1<<20)
		told := false
		for !told && lines.Scan() {
			told = strings.HasPrefix(lines.Text(), "data:") && strings.Contains(lines.Text(), "0000:"+bus+":00.0")
		}
		if !told {
			t.Errorf("the stream ended without the incident: %v", lines.Err())
		}
		id := map[bool]int{false: 1, true: 2}[h2]
		if res := ask("POST", fmt.Sprintf("/api/v1/incidents/%d/ack", id), "ops", "right", `{"who":"li","why":"mine"}`); res.StatusCode != http.StatusOK {
			b, _ := io.ReadAll(res.Body)
			t.Errorf("an action with the password: %s %s", res.Status, b)
		}
	}

	for _, path := range paths {
		res, err := http.Get("http://" + r.addr + path)
		if err != nil {
			continue // refused without an answer
		}
		b, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusBadRequest || strings.Contains(string(b), "gpumedic") {
			t.Errorf("plain GET %s: %s %s", path, res.Status, b)
		}
	}

	if err := p.Password("ops", "new"); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: p.Pool}}}
	for password, want := range map[string]int{"right": http.StatusUnauthorized, "new": http.StatusOK} {
		q, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+r.addr+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		q.SetBasicAuth("ops", password)
		res, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("after the change, with %q: %s", password, res.Status)
		}
	}
}

// TestWebConfigInError: a web configuration that cannot be used ends the start; nothing is
// served without what it asks for.
func TestWebConfigInError(t *testing.T) {
	for name, text := range map[string]string{
		"no such field": "tls_server_configuration: {}\n", "no certificate": "tls_server_config: {cert_file: none.pem, key_file: none.pem}\n",
		"no hash": "basic_auth_users: {ops: right}\n",
	} {
		dir := t.TempDir()
		c := testConfig(dir)
		c.Web.File = filepath.Join(dir, "web.yaml")
		if err := os.WriteFile(c.Web.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		err := Run(ctx, Options{Config: c, Catalog: embedded(t), Log: slog.New(slog.DiscardHandler), Ready: func([]net.Addr) { cancel() }})
		cancel()
		if err == nil || !strings.Contains(err.Error(), c.Web.File) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
