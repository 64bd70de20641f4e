//go:build e2e

package repair

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gpumedic/gpumedic/e2e/peers"
	"github.com/gpumedic/gpumedic/internal/act/notify"
	"github.com/gpumedic/gpumedic/internal/driver/cuda/cudafake"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/web/webtest"
)

// A node is a machine with four GPUs that are files: what the driver says is in one, what
// the kernel says in another, and what their memory does in a variable.
type node struct {
	t      *testing.T
	dir    string
	addr   string
	seq    int
	memory string // faults of the fake CUDA
	daemon *exec.Cmd
	web    *webtest.Protection
	client *http.Client
}

// Who may look at the node.
const user, password = "ops", "open sesame"

// driver is what NVML says of the node when it is well. The addresses are those of the
// fake CUDA.
const driver = `gpus=4
gpu.*.util.gpu=0
gpu.0.pci=00000000:10:00.0
gpu.1.pci=00000000:11:00.0
gpu.2.pci=00000000:12:00.0
gpu.3.pci=00000000:13:00.0
gpu.0.serial=1650000000000
gpu.1.serial=1650000000001
gpu.2.serial=1650000000002
gpu.3.serial=1650000000003
`

// newNode builds the program and the drivers. The kernel's log is put over /dev/kmsg, in a
// mount namespace of each process, so that watch, verify and memtest read one log at its
// usual place.
func newNode(t *testing.T) *node {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed: the fake drivers cannot be built")
	}
	n := &node{t: t, dir: t.TempDir(), addr: peers.Free(t)}
	build := exec.Command("go", "build", "-o", n.path("gpumedic"), "../../cmd/gpumedic")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	for _, cmd := range []*exec.Cmd{build, exec.Command("gcc", "-shared", "-fPIC", "-o", n.path("libnvidia-ml.so.1"), "../../internal/probe/gpu/testdata/fake/nvml.c")} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build: %v\n%s", err, out)
		}
	}
	must(t, cudafake.Build(n.dir))
	var err error
	n.web, err = webtest.Protect(n.dir, user, password)
	must(t, err)
	n.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: n.web.Pool}}}
	must(t, os.WriteFile(n.path("kmsg"), nil, 0o644))
	n.gpus("")
	if out, err := n.command("true").CombinedOutput(); err != nil {
		t.Skipf("no mount namespace here, so that /dev/kmsg cannot be replaced: %v: %s", err, out)
	}
	return n
}

func (n *node) path(name string) string { return filepath.Join(n.dir, name) }

// command is a program on this node.
func (n *node) command(name string, args ...string) *exec.Cmd {
	unshare := []string{"--mount"}
	if os.Geteuid() != 0 {
		unshare = append(unshare, "--map-root-user")
	}
	script := `mount --bind "$1" /dev/kmsg && shift && exec "$@"`
	cmd := exec.Command("unshare", append(append(unshare, "sh", "-c", script, "sh", n.path("kmsg"), name), args...)...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+n.dir, "NVML_FAKE="+n.path("gpus"), cudafake.Env+"=devices=4 "+n.memory)
	return cmd
}

// gpus changes what the driver says.
func (n *node) gpus(differs string) {
	n.t.Helper()
	healthy, err := filepath.Abs("../../internal/probe/gpu/testdata/scenarios/healthy.txt")
	must(n.t, err)
	must(n.t, os.WriteFile(n.path("gpus.new"), []byte("include="+healthy+"\n"+driver+differs), 0o644))
	must(n.t, os.Rename(n.path("gpus.new"), n.path("gpus")))
}

// kernel writes records of now.
func (n *node) kernel(lines ...string) {
	n.t.Helper()
	var up float64
	b, err := os.ReadFile("/proc/uptime")
	must(n.t, err)
	fmt.Sscan(string(b), &up)
	f, err := os.OpenFile(n.path("kmsg"), os.O_APPEND|os.O_WRONLY, 0)
	must(n.t, err)
	defer f.Close()
	for _, l := range lines {
		n.seq++
		_, err := fmt.Fprintf(f, "4,%d,%d,-;%s\n", n.seq, int64(up*1e6), l)
		must(n.t, err)
	}
}

// watch starts the daemon with the channels; the real machine's journal is not this node's.
func (n *node) watch(alertmanager, webhook string) {
	n.t.Helper()
	conf := fmt.Sprintf(`node: n1
store: %s
journal: {enabled: false}
gpus: {interval: 200ms, quick_every: 600ms}
web: {listen: [%q], file: %q}
notifications:
  channels:
    - {name: alertmanager, type: alertmanager, url: %q, resend: 5s}
    - {name: hook, type: webhook, url: %q}
`, n.path("incidents.db"), n.addr, n.web.File, alertmanager, webhook)
	must(n.t, os.WriteFile(n.path("watch.yaml"), []byte(conf), 0o600))
	n.daemon = n.command(n.path("gpumedic"), "watch", "--config", n.path("watch.yaml"))
	n.daemon.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	peers.Start(n.t, n.daemon)
	n.settled()
}

// settled waits until each source has answered some times since now.
func (n *node) settled() {
	n.t.Helper()
	begin := map[string]uint64{}
	peers.Until(n.t, "answers of the daemon's sources", func() bool {
		var h struct {
			Sources []struct {
				Name, State string
				Answers     uint64
			}
		}
		if n.get("/healthz", &h) != nil || len(h.Sources) == 0 {
			return false
		}
		for _, s := range h.Sources {
			first, known := begin[s.Name]
			if !known {
				begin[s.Name] = s.Answers
			}
			if s.State != "ok" || s.Name == "nvml" && (!known || s.Answers < first+8) {
				return false
			}
		}
		return true
	})
}

// stop ends the daemon as a service manager does, and waits.
func (n *node) stop() {
	n.t.Helper()
	must(n.t, n.daemon.Process.Signal(syscall.SIGTERM)) // unshare and sh have become the program
	if err := n.daemon.Wait(); err != nil {
		n.t.Errorf("the daemon ended: %v", err)
	}
}

// get reads JSON of the daemon.
func (n *node) get(path string, into any) error {
	q, err := http.NewRequest("GET", "https://"+n.addr+path, nil)
	if err != nil {
		return err
	}
	q.SetBasicAuth(user, password)
	r, err := n.client.Do(q)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s: %s", path, r.Status, b)
	}
	return json.Unmarshal(b, into)
}

// incidents are those of the API, the closed ones too.
func (n *node) incidents() []incident.Incident {
	n.t.Helper()
	var list struct{ Incidents []incident.Incident }
	must(n.t, n.get("/api/v1/incidents?closed=1&all=1", &list))
	return list.Incidents
}

// verify runs the verb on an incident and gives its exit status and what it wrote.
func (n *node) verify(id int64, args ...string) (status int, said string) {
	n.t.Helper()
	cmd := n.command(n.path("gpumedic"), append([]string{"verify", "--store", n.path("incidents.db"), "--quiet-for", "2s", fmt.Sprint(id)}, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode(), out.String()
	}
	must(n.t, err)
	return 0, out.String()
}

// A receiver keeps what is sent to it.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	alerts  []string       // "alertname status", of Alertmanager
	notices map[string]int // "fault kind", of the daemon's own webhook, each key once
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{notices: map[string]int{}}
	keys := map[string]bool{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		var m struct {
			Alerts  []peers.Alert
			Notices []notify.Notice
			Key     string
		}
		if err := json.NewDecoder(q.Body).Decode(&m); err != nil {
			t.Errorf("receiver: %v", err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, a := range m.Alerts {
			r.alerts = append(r.alerts, fmt.Sprint(a.Labels["alertname"], " ", a.Status))
		}
		if len(m.Notices) > 0 && !keys[m.Key] {
			keys[m.Key] = true
			for _, n := range m.Notices {
				r.notices[fmt.Sprint(n.Fault, " ", n.Kind)]++
			}
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) told(what string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.alerts {
		if a == what {
			return true
		}
	}
	return r.notices[what] > 0
}

// count is how often the daemon's webhook told something.
func (r *receiver) count(what string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.notices[what]
}

func (r *receiver) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("alerts: %s\nnotices: %v", strings.Join(r.alerts, ", "), r.notices)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
