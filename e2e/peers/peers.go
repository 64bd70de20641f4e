//go:build e2e

// Package peers starts the real programs that the end-to-end tests talk to. Where one is
// not installed the test skips and says which Debian package has it.
package peers

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Free is an address of this machine that nobody listens on.
func Free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Until waits for what must come; only an upper bound ends it otherwise.
func Until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("waited in vain: %s", what)
}

// Start runs a program until the test ends; what it wrote is shown when the test failed.
func Start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), filepath.Base(cmd.Path)+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		log.Close()
		if t.Failed() {
			b, _ := os.ReadFile(log.Name())
			t.Logf("%s: %s", filepath.Base(cmd.Path), b)
		}
	})
}

// need finds a program or skips.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not installed (Debian: %[1]s)", program)
	}
	return path
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A Prometheus is one that runs.
type Prometheus struct {
	t   *testing.T
	URL string
}

// StartPrometheus runs one with a configuration file.
func StartPrometheus(t *testing.T, config string) *Prometheus {
	t.Helper()
	program, dir, address := need(t, "prometheus"), t.TempDir(), Free(t)
	Start(t, exec.Command(program, "--config.file="+write(t, dir, "prometheus.yml", config),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address))
	return &Prometheus{t, "http://" + address}
}

// Get reads data of the API.
func (p *Prometheus) Get(path string, values url.Values, data any) error {
	r, err := http.Get(p.URL + path + "?" + values.Encode())
	if err != nil {
		return err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		return fmt.Errorf("%s: %s", r.Status, b)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s", answer.Error)
	}
	return json.Unmarshal(answer.Data, data)
}

// A Sample is one series of an answer.
type Sample struct {
	Metric map[string]string
	Value  [2]any
}

// Query evaluates an expression now.
func (p *Prometheus) Query(q string) ([]Sample, error) {
	var data struct{ Result []Sample }
	err := p.Get("/api/v1/query", url.Values{"query": {q}}, &data)
	return data.Result, err
}

// An Alert is what Prometheus or Alertmanager say of one.
type Alert struct {
	State       string            `json:"state"`
	Status      any               `json:"status"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	EndsAt      time.Time         `json:"endsAt"`
}

// Alerts are those that Prometheus holds, pending ones too.
func (p *Prometheus) Alerts() ([]Alert, error) {
	var data struct{ Alerts []Alert }
	err := p.Get("/api/v1/alerts", nil, &data)
	return data.Alerts, err
}

// An Alertmanager is one that runs.
type Alertmanager struct {
	t   *testing.T
	URL string
}

// StartAlertmanager runs one with a configuration file, and waits until it answers.
func StartAlertmanager(t *testing.T, config string) *Alertmanager {
	t.Helper()
	program, dir, address := need(t, "prometheus-alertmanager"), t.TempDir(), Free(t)
	Start(t, exec.Command(program, "--config.file="+write(t, dir, "am.yml", config), "--storage.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--cluster.listen-address="))
	a := &Alertmanager{t, "http://" + address}
	Until(t, "Alertmanager's readiness", func() bool {
		r, err := http.Get(a.URL + "/-/ready")
		if err != nil {
			return false
		}
		r.Body.Close()
		return r.StatusCode == 200
	})
	return a
}

// Alerts are the active ones of the API.
func (a *Alertmanager) Alerts() []Alert {
	a.t.Helper()
	r, err := http.Get(a.URL + "/api/v2/alerts")
	if err != nil {
		a.t.Fatal(err)
	}
	defer r.Body.Close()
	var out []Alert
	if err := json.NewDecoder(r.Body).Decode(&out); err != nil {
		a.t.Fatal(err)
	}
	return out
}
