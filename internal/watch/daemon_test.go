package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/store"
)

// A running daemon of a test.
type running struct {
	t       *testing.T
	conf    *Config
	dir     string
	addr    string
	kmsg    *os.File
	seq     int
	stop    context.CancelFunc
	ended   chan error
	log     *syncBuffer
	clock   func() time.Time
	program string
	reload  chan struct{}
	read    func() (*Config, error)
}

type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// testConfig is a daemon that reads kernel records from a file and nothing else.
func testConfig(dir string) *Config {
	c := Defaults()
	c.Node, c.Store = "n1", filepath.Join(dir, "incidents.db")
	c.Kernel.Path = filepath.Join(dir, "kmsg")
	c.Journal.Enabled, c.GPUs.Enabled, c.Host.Enabled = false, false, false
	c.Web.Listen = []string{"127.0.0.1:0"}
	return c
}

// begin starts a daemon; change alters its configuration before.
func begin(t *testing.T, dir string, change func(*Config)) *running {
	t.Helper()
	r := &running{t: t, dir: dir, conf: testConfig(dir), ended: make(chan error, 1), log: &syncBuffer{}}
	if change != nil {
		change(r.conf)
	}
	var err error
	if r.kmsg, err = os.OpenFile(r.conf.Kernel.Path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600); err != nil {
		t.Fatal(err)
	}
	r.start()
	t.Cleanup(func() { r.end(); r.kmsg.Close() })
	return r
}

func (r *running) start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	ready := make(chan []net.Addr, 1)
	go func() {
		r.ended <- Run(ctx, Options{Config: r.conf, Catalog: embedded(r.t), Log: slog.New(slog.NewTextHandler(r.log, nil)), Now: r.clock, Program: r.program, Reload: r.reload, Read: r.read,
			Ready: func(a []net.Addr) { ready <- a }})
	}()
	select {
	case a := <-ready:
		if len(a) > 0 {
			r.addr = a[0].String()
		}
	case err := <-r.ended:
		r.t.Fatalf("the daemon ended at its start: %v", err)
	}
}

// end stops the daemon and waits for it.
func (r *running) end() {
	if r.stop == nil {
		return
	}
	r.stop()
	r.stop = nil
	if err := <-r.ended; err != nil {
		r.t.Errorf("the daemon ended: %v\n%s", err, r.log)
	}
}

// kernel writes records as the device gives them, of now.
func (r *running) kernel(lines ...string) {
	r.t.Helper()
	var b strings.Builder
	usec := int64(0)
	if b, err := os.ReadFile("/proc/uptime"); err == nil {
		var s float64
		fmt.Sscan(string(b), &s)
		usec = int64(s * 1e6)
	}
	for _, l := range lines {
		fmt.Fprintf(&b, "4,%d,%d,-;%s\n", r.seq, usec, l)
		r.seq++
	}
	if _, err := r.kmsg.WriteString(b.String()); err != nil {
		r.t.Fatal(err)
	}
}

// until waits for something that has to come; only the test's own deadline ends it.
func (r *running) until(what string, f func() bool) {
	r.t.Helper()
	for begun := time.Now(); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			r.t.Fatalf("%s does not come; the daemon said:\n%s\nincidents: %s", what, r.log, incidentText(r.incidents()))
		}
	}
}

// incidents are those of the store, hidden and closed ones too.
func (r *running) incidents() []*incident.Incident {
	s, err := store.Open(r.t.Context(), r.conf.Store, store.Options{ReadOnly: true})
	if err != nil {
		return nil
	}
	defer s.Close()
	list, err := s.List(r.t.Context(), store.Filter{Closed: true, Hidden: true})
	if err != nil {
		return nil
	}
	return list
}

func incidentText(list []*incident.Incident) string {
	var b strings.Builder
	for _, i := range list {
		fmt.Fprintf(&b, "%d %s %s %s %s count %d visible %v present %v\n", i.ID, i.Fault, i.Case, i.Subject.GPU.String(), i.State, i.Count, i.Visible, i.Present)
	}
	return b.String()
}

func (r *running) find(fault string) *incident.Incident {
	for _, i := range r.incidents() {
		if i.Fault == fault {
			return i
		}
	}
	return nil
}

func (r *running) get(path string) string {
	r.t.Helper()
	res, err := http.Get("http://" + r.addr + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

func (r *running) source(name string) Source {
	r.t.Helper()
	var h struct{ Sources []Source }
	if err := json.Unmarshal([]byte(r.get("/healthz")), &h); err != nil {
		r.t.Fatal(err)
	}
	for _, s := range h.Sources {
		if s.Name == name {
			return s
		}
	}
	return Source{}
}

const (
	fallen  = "NVRM: Xid (PCI:0000:3b:00): 79, pid=4242, name=python, GPU has fallen off the bus."
	illegal = "NVRM: Xid (PCI:0000:5d:00): 31, pid=77, name=train, MMU Fault: ENGINE GRAPHICS GPC0 faulted @ 0x7f_0000. Fault is of type FAULT_PDE ACCESS_TYPE_READ"
)

func TestFromTheKernelsLineToMetrics(t *testing.T) {
	r := begin(t, t.TempDir(), nil)
	r.kernel("NVRM: loading", fallen)
	r.until("the incident", func() bool { return r.find("gpu-fell-off-bus") != nil })
	i := r.find("gpu-fell-off-bus")
	if !i.Visible || i.Subject.GPU.PCI != "0000:3b:00.0" || i.Subject.Node != "n1" || len(i.Victims) == 0 || i.Victims[0].PID != 4242 {
		t.Errorf("%+v", i)
	}
	r.until("the metric", func() bool {
		m := r.get("/metrics")
		return strings.Contains(m, `fault="gpu-fell-off-bus"`) && strings.Contains(m, `gpumedic_xid_total`)
	})
}

// TestRestart: a daemon goes on where the one before stopped: what came meanwhile is
// read, what was read is not read again, and the counts go on.
func TestRestart(t *testing.T) {
	r := begin(t, t.TempDir(), nil)
	r.kernel(fallen)
	r.until("the incident", func() bool { return r.find("gpu-fell-off-bus") != nil })
	r.end()
	r.kernel(fallen, fallen)
	r.start()
	r.until("the lines of meanwhile", func() bool { return r.find("gpu-fell-off-bus").Count == 3 })
	r.end()
	r.start()
	r.kernel(illegal)
	r.until("the next incident", func() bool { return len(r.incidents()) == 2 })
	if i := r.find("gpu-fell-off-bus"); i.Count != 3 || i.Occurrences != 1 {
		t.Errorf("count %d, occurrences %d after a restart", i.Count, i.Occurrences)
	}
}

// TestStorm: 800,000 Xid lines are one incident, the memory stays small, and a line of
// another GPU that comes in between is heard.
func TestStorm(t *testing.T) {
	lines := 800000
	if testing.Short() {
		lines = 50000
	}
	r := begin(t, t.TempDir(), nil)
	batch := make([]string, 0, 1000)
	for n := range lines {
		batch = append(batch, fmt.Sprintf("NVRM: Xid (PCI:0000:3b:00): 13, pid=%d, name=train, Graphics SM Warp Exception on (GPC %d, TPC 0, SM 0): Out Of Range Address", 1000+n%4, n%2))
		if n == lines/2 {
			batch = append(batch, "NVRM: Xid (PCI:0000:5d:00): 79, pid=9, name=serve, GPU has fallen off the bus.")
		}
		if len(batch) >= 1000 || n == lines-1 {
			r.kernel(batch...)
			batch = batch[:0]
		}
	}
	r.until("the other GPU's incident", func() bool { return r.find("gpu-fell-off-bus") != nil })
	count := func() int {
		n := 0
		for _, i := range r.incidents() {
			if i.Subject.GPU.PCI == "0000:3b:00.0" {
				n += i.Count
			}
		}
		return n
	}
	r.until("the end of the storm", func() bool { return r.source(sourceKernel).Events == uint64(lines+1) })
	r.end()
	if n := count(); n != lines {
		t.Errorf("%d lines counted, want %d:\n%s", n, lines, incidentText(r.incidents()))
	}
	if list := r.incidents(); len(list) != 2 {
		t.Errorf("incidents:\n%s", incidentText(list))
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	t.Logf("heap after the storm: %d MiB", m.HeapAlloc>>20)
	if m.HeapAlloc > 64<<20 {
		t.Errorf("%d MiB of heap after the storm", m.HeapAlloc>>20)
	}
}
