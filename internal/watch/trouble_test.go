package watch

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/internal/incident/store"
)

// quick makes the sources of a test answer soon.
func quick(c *Config) {
	c.GPUs = GPUs{true, 100 * time.Millisecond, 300 * time.Millisecond, time.Second, 300 * time.Millisecond}
}

func TestLostGPU(t *testing.T) {
	play := useFake(t, "")
	r := begin(t, t.TempDir(), quick)
	r.until("the GPUs", func() bool { return strings.Contains(r.get("/metrics"), `gpumedic_gpu_temperature_celsius{gpu="7"`) })
	if list := r.incidents(); len(list) != 0 {
		t.Fatalf("a healthy node has incidents:\n%s", incidentText(list))
	}
	play("gpu.3.ret=15\n")
	r.until("the incident", func() bool {
		for _, i := range r.incidents() {
			if i.Visible && i.Subject.GPU.PCI == "0000:3a:00.0" && i.Severity == "critical" {
				return true
			}
		}
		return false
	})
	play("")
	r.until("that it is gone", func() bool { list := r.incidents(); return len(list) == 1 && !list[0].Present && list[0].Live() })
}

// TestHangingDriver: one GPU hangs; it is reported, and the others are read on.
func TestHangingDriver(t *testing.T) {
	play := useFake(t, "")
	r := begin(t, t.TempDir(), quick)
	r.until("the GPUs", func() bool { return strings.Contains(r.get("/metrics"), `gpumedic_gpu_temperature_celsius{gpu="7"`) })
	play("hang=nvmlDeviceGetMemoryInfo_v2 2\n")
	r.until("the report", func() bool { return r.find("nvml-hang") != nil })
	// Between two attempts the source reads the other GPUs: it is not stuck all the time.
	r.until("the source's state", func() bool { return r.source(sourceGPUs).State == SourceStuck })
	play("hang=nvmlDeviceGetMemoryInfo_v2 2\ngpu.*.temperature.0=77\n")
	r.until("the others", func() bool {
		m := r.get("/metrics")
		return strings.Contains(m, `gpu="7"`) && strings.Contains(m, "} 77\n")
	})
	r.kernel("NVRM: Xid (PCI:0000:6a:00): 13, pid=9, name=serve, Graphics SM Warp Exception on (GPC 0, TPC 0, SM 0): Out Of Range Address")
	r.until("the kernel's line", func() bool { return len(r.incidents()) == 2 })
	if i := r.find("nvml-hang"); i == nil || !i.Present {
		t.Errorf("the hang is told to be over:\n%s", incidentText(r.incidents()))
	}
}

// TestDamagedStore: a store that cannot be read is kept aside and a new one begun.
func TestDamagedStore(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "incidents.db"), []byte(strings.Repeat("this is no database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	r := begin(t, dir, nil)
	r.kernel(fallen)
	r.until("the incident", func() bool { return r.find("gpu-fell-off-bus") != nil })
	if !strings.Contains(r.log.String(), "damaged") {
		t.Errorf("nothing was said: %s", r.log)
	}
	if kept, _ := filepath.Glob(filepath.Join(dir, "*.damaged-*")); len(kept) == 0 {
		t.Error("the old store is gone")
	}
}

// TestFullAndReadOnlyStore: on a full disk incidents go on in memory, and are stored when
// there is room again.
func TestFullAndReadOnlyStore(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("a small file system can be mounted by root only")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "gpumedic-test", dir).CombinedOutput(); err != nil {
		t.Skipf("no small file system here: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	logs := t.TempDir()
	r := begin(t, dir, func(c *Config) { c.Kernel.Path = filepath.Join(logs, "kmsg") })
	listed := func() string { return r.get("/api/v1/incidents") }

	fill := filepath.Join(dir, "fill")
	f, err := os.Create(fill)
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			break
		}
	}
	f.Close()
	r.kernel(fallen)
	r.until("that the disk is full", func() bool { return r.source(sourceStore).State == SourceFailed })
	if !strings.Contains(listed(), "gpu-fell-off-bus") {
		t.Errorf("the incident is not in the answer: %s", listed())
	}
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	r.until("the incident in the store", func() bool { return r.find("gpu-fell-off-bus") != nil && r.source(sourceStore).State == SourceOK })

	if n := r.find("gpu-fell-off-bus").Count; n != 1 {
		t.Errorf("counted %d times", n)
	}

	// A daemon that could store nothing says so and does not start.
	r.end()
	if out, err := exec.Command("mount", "-o", "remount,ro", dir).CombinedOutput(); err != nil {
		t.Fatalf("remount: %v: %s", err, out)
	}
	err = Run(t.Context(), Options{Config: r.conf, Catalog: embedded(t), Log: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("with a read-only store: %v", err)
	}
}

// TestClockJump: the clock goes back and forth; nothing is lost or counted twice.
func TestClockJump(t *testing.T) {
	r := &running{t: t, dir: t.TempDir(), ended: make(chan error, 1), log: &syncBuffer{}}
	r.conf = testConfig(r.dir)
	offset := make(chan time.Duration, 1)
	offset <- 0
	r.clock = func() time.Time { d := <-offset; offset <- d; return time.Now().Add(d) }
	jump := func(d time.Duration) { <-offset; offset <- d }
	var err error
	if r.kmsg, err = os.Create(r.conf.Kernel.Path); err != nil {
		t.Fatal(err)
	}
	r.start()
	defer r.end()
	for n, d := range []time.Duration{0, -3 * time.Hour, 5 * time.Minute, -10 * 365 * 24 * time.Hour, 0} {
		jump(d)
		r.kernel(fallen)
		r.until("the next line", func() bool { i := r.find("gpu-fell-off-bus"); return i != nil && i.Count == n+1 })
	}
	if list := r.incidents(); len(list) != 1 {
		t.Errorf("incidents:\n%s", incidentText(list))
	}
}

// TestNothingIsLeft: a daemon that ended leaves no goroutine and no open file.
func TestNothingIsLeft(t *testing.T) {
	useFake(t, "")
	round := func() {
		r := begin(t, t.TempDir(), quick)
		r.kernel(fallen)
		r.until("the incident", func() bool { return r.find("gpu-fell-off-bus") != nil })
		r.end()
		r.kmsg.Close()
	}
	round()
	files, routines := openFiles(t), runtime.NumGoroutine()
	for range 3 {
		round()
	}
	settled := func() bool { return openFiles(t) <= files+1 && runtime.NumGoroutine() <= routines+2 }
	for begun := time.Now(); !settled() && time.Since(begun) < 10*time.Second; {
		time.Sleep(20 * time.Millisecond)
	}
	if !settled() {
		buf := make([]byte, 1<<16)
		t.Errorf("%d files, before %d; %d goroutines, before %d\n%s", openFiles(t), files, runtime.NumGoroutine(), routines, buf[:runtime.Stack(buf, true)])
	}
}

func openFiles(t *testing.T) int {
	e, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(e)
}
