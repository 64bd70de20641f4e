package watch

import (
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStoreLimited: a limit that falls under the running daemon (a quota shows alike) lets
// no file grow, the store and the queue of notices among them; the daemon watches on, and
// when the limit is gone everything is stored and told once. Any user can run this.
func TestStoreLimited(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	dir, hook := t.TempDir(), newReceiver(t)
	r := &running{t: t, dir: dir, addr: address, conf: testConfig(dir), log: &syncBuffer{}}
	if r.kmsg, err = os.Create(r.conf.Kernel.Path); err != nil {
		t.Fatal(err)
	}
	defer r.kmsg.Close()
	p := daemonCommand(dir, hook.URL)
	p.Env = append(p.Env, "GPUMEDIC_TEST_LISTEN="+address)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	defer p.Process.Kill() // a test that gives up leaves no daemon behind
	r.until("the daemon's answer", func() bool {
		res, err := http.Get("http://" + address + "/healthz")
		if err != nil {
			return false
		}
		res.Body.Close()
		return true
	})
	r.kernel(illegal)
	r.until("an incident before", func() bool { return strings.Contains(hook.text(), "0000:5d:00.0 train opened:1") })

	var before unix.Rlimit
	if err := unix.Prlimit(p.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1, Max: unix.RLIM_INFINITY}, &before); err != nil {
		t.Skipf("limits of another process cannot be set here: %v", err)
	}
	r.kernel(fallen)
	r.until("that the store is said to fail", func() bool {
		s := r.source(sourceStore)
		return s.State == SourceFailed && strings.Contains(s.Error, "no space left")
	})
	r.until("the incident in memory", func() bool { return strings.Contains(r.get("/api/v1/incidents"), "gpu-fell-off-bus") })
	r.kernel(fallen)
	r.until("the next line too", func() bool { return r.source(sourceKernel).Events == 3 })

	if err := unix.Prlimit(p.Process.Pid, unix.RLIMIT_FSIZE, &before, nil); err != nil {
		t.Fatal(err)
	}
	r.until("the incident in the store", func() bool { i := r.find("gpu-fell-off-bus"); return i != nil && i.Count == 2 })
	r.until("the notice", func() bool { return strings.Contains(hook.text(), "0000:3b:00.0 python opened:1") })
	if s := r.source(sourceStore); s.State != SourceOK {
		t.Errorf("the store: %+v", s)
	}
	_ = p.Process.Signal(syscall.SIGTERM)
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
	if got := hook.text(); got != "map[0000:3b:00.0 python opened:1 0000:5d:00.0 train opened:1]" || len(r.incidents()) != 2 {
		t.Errorf("told %s, incidents:\n%s", got, incidentText(r.incidents()))
	}
}
