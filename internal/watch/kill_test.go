package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/act/notify"
)

// daemonProcess is a daemon in a process of its own, to be killed.
func daemonProcess(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cat, err := catalog.Embedded()
	if err == nil {
		c := testConfig(dir)
		c.Notify = webhookTo(os.Getenv("GPUMEDIC_TEST_HOOK"))
		if a := os.Getenv("GPUMEDIC_TEST_LISTEN"); a != "" {
			c.Web.Listen = []string{a}
		}
		err = Run(ctx, Options{Config: c, Catalog: cat, Log: slog.New(slog.DiscardHandler)})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func webhookTo(url string) notify.Config {
	return notify.Config{Channels: []notify.Channel{{Name: "hook", Type: "webhook", URL: url}}}
}

// receiver is a webhook that remembers what it was told.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	told  map[string]int // "GPU program kind" by delivery, each idempotency key once
	keys  map[string]bool
	again int // messages that came under a key that was known
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{told: map[string]int{}, keys: map[string]bool{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		defer func() { time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond) }() // for kills between message and answer
		var m struct {
			Notices []notify.Notice `json:"notices"`
		}
		if err := json.NewDecoder(q.Body).Decode(&m); err != nil {
			t.Errorf("webhook: %v", err)
		}
		key := q.Header.Get("Idempotency-Key")
		r.mu.Lock()
		defer r.mu.Unlock()
		if key == "" || len(m.Notices) == 0 {
			t.Errorf("a message without key or notices: %v", q.Header)
		}
		if r.keys[key] { // one whose answer a kill cut off comes again under its key
			r.again++
		} else {
			r.keys[key] = true
			for _, n := range m.Notices {
				r.told[fmt.Sprint(n.Subject.GPU.PCI, " ", n.Subject.Process.Name, " ", n.Kind)]++
			}
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprint(r.told)
}

// TestKill: killed at any moment of a storm, again and again, the daemon counts every
// line once, opens every incident once and tells each once: at the receiver by key, since
// a message whose answer a kill cut off is sent again. GPUMEDIC_TEST_KILLS sets how often
// (default 30). Between two kills two programs begin to fail.
func TestKill(t *testing.T) {
	kills := 30
	if n, err := strconv.Atoi(os.Getenv("GPUMEDIC_TEST_KILLS")); err == nil {
		kills = n
	}
	if testing.Short() {
		kills = 4
	}
	const gpus = 6
	lines, programs := 2000*kills, 2*kills
	dir := t.TempDir()
	hook := newReceiver(t)
	r := &running{t: t, dir: dir, conf: testConfig(dir)}
	var err error
	if r.kmsg, err = os.Create(r.conf.Kernel.Path); err != nil {
		t.Fatal(err)
	}
	defer r.kmsg.Close()
	written := 0
	storm := func(n int) { // the kernel goes on writing whatever happens to the daemon
		var batch []string
		for range n {
			n := written * programs / lines // one program after the other
			batch = append(batch, fmt.Sprintf("NVRM: Xid (PCI:0000:%02x:00): 13, pid=%d, name=train%d, Graphics SM Warp Exception on (GPC 0, TPC 0, SM 0): Out Of Range Address", 0x10+n%gpus, 100+n, n))
			written++
		}
		r.kernel(batch...)
	}
	killed := 0
	for n := range kills {
		storm(lines / kills / 2)
		p := daemonCommand(dir, hook.URL)
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(120)) * time.Millisecond)
		storm(lines/kills - lines/kills/2)
		time.Sleep(time.Duration(rand.IntN(250)) * time.Millisecond)
		_ = p.Process.Kill()
		if err := p.Wait(); err != nil && strings.Contains(err.Error(), "killed") {
			killed++
		} else {
			t.Errorf("daemon %d ended by itself: %v", n, err)
		}
	}
	storm(lines - written)
	p := daemonCommand(dir, hook.URL)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	defer p.Process.Kill() // a test that gives up leaves no daemon behind
	count := func() (n int) {
		for _, i := range r.incidents() {
			n += i.Count
		}
		return n
	}
	want := map[string]int{}
	for n := range programs {
		want[fmt.Sprintf("0000:%02x:00.0 train%d opened", 0x10+n%gpus, n)] = 1
	}
	r.log = &syncBuffer{}
	r.until("the whole storm", func() bool { return count() >= lines && hook.text() == fmt.Sprint(want) })
	time.Sleep(200 * time.Millisecond) // for what should not come
	_ = p.Process.Signal(syscall.SIGTERM)
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
	hook.mu.Lock()
	again := hook.again
	hook.mu.Unlock()
	t.Logf("killed %d of %d times; %d lines, %d programs, %d messages sent again", killed, kills, lines, programs, again)
	if n := count(); n != lines {
		t.Errorf("%d lines counted, want %d", n, lines)
	}
	if list := r.incidents(); len(list) != programs {
		t.Errorf("incidents:\n%s", incidentText(list))
	}
	if got := hook.text(); got != fmt.Sprint(want) {
		t.Errorf("told %s, want %v", got, want)
	}
}

func daemonCommand(dir, hook string) *exec.Cmd {
	p := exec.Command(os.Args[0])
	p.Env = append(os.Environ(), "GPUMEDIC_TEST_DAEMON="+dir, "GPUMEDIC_TEST_HOOK="+hook)
	p.Stderr = os.Stderr
	p.Dir, _ = filepath.Abs(".")
	return p
}
