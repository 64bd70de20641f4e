package watch

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// smallDisk mounts a new ext4 file system; again mounts it once more after it was taken away.
func smallDisk(t *testing.T) (dir string, again func()) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("a file system can be mounted by root only")
	}
	image, dir := filepath.Join(t.TempDir(), "image"), t.TempDir()
	try := func(name string, args ...string) error {
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", name, err, out)
		}
		return nil
	}
	f, err := os.Create(image)
	if err != nil {
		t.Fatal(err)
	}
	err = f.Truncate(32 << 20)
	f.Close()
	if err == nil {
		err = try("mkfs.ext4", "-q", image)
	}
	mount := func() error { return try("mount", "-o", "loop", image, dir) }
	if err == nil {
		err = mount()
	}
	if err != nil {
		t.Skipf("no file system of its own here: %v", err)
	}
	t.Cleanup(func() { _ = try("umount", "-l", dir) }) // it may have been taken away
	return dir, func() {
		t.Helper()
		if err := try("umount", dir); err != nil {
			t.Fatal(err)
		}
		_ = try("fsck.ext4", "-p", image) // its status says that it mended something
		if err := mount(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStoreTurnsReadOnly: the kernel makes a file system read-only under the running
// daemon, as ext4 does after an error of the disk. The daemon watches on in memory and
// says so; after the repair and a restart everything is stored and told once.
func TestStoreTurnsReadOnly(t *testing.T) {
	dir, again := smallDisk(t)
	logs, hook := t.TempDir(), newReceiver(t)
	r := begin(t, dir, func(c *Config) {
		c.Kernel.Path = filepath.Join(logs, "kmsg")
		c.Notify = webhookTo(hook.URL)
	})
	const opened = "0000:3b:00.0 python opened:1"
	r.kernel(illegal)
	r.until("an incident before", func() bool { return strings.Contains(hook.text(), "0000:5d:00.0 train opened:1") })

	if out, err := exec.Command("mount", "-o", "remount,abort", dir).CombinedOutput(); err != nil {
		t.Skipf("the file system cannot be made to fail: %v: %s", err, out)
	}
	r.kernel(fallen)
	r.until("that the store is said to fail", func() bool { return r.source(sourceStore).State == SourceFailed })
	r.until("the incident in memory", func() bool { return strings.Contains(r.get("/api/v1/incidents"), "gpu-fell-off-bus") })
	r.until("the metrics", func() bool {
		m := r.get("/metrics")
		return strings.Contains(m, `gpumedic_source_healthy{source="store"} 0`) && strings.Contains(m, `fault="gpu-fell-off-bus"`) && strings.Contains(m, "gpumedic_up 1")
	})
	r.kernel(fallen)
	r.until("the next line too", func() bool { return r.source(sourceKernel).Events == 3 })
	if page := r.get("/"); !strings.Contains(page, "read-only") && !strings.Contains(page, "cannot be written") {
		t.Errorf("the page does not say that nothing is stored: %+v\n%s", r.source(sourceStore), page)
	}
	r.end()

	again()
	r.start()
	r.until("the incident in the store", func() bool { i := r.find("gpu-fell-off-bus"); return i != nil && i.Count == 2 })
	r.until("the notice", func() bool { return strings.Contains(hook.text(), opened) })
	time.Sleep(200 * time.Millisecond) // for what should not come
	if list := r.incidents(); len(list) != 2 || r.source(sourceStore).State != SourceOK {
		t.Errorf("after the repair: store %s, incidents:\n%s", r.source(sourceStore).State, incidentText(list))
	}
	if got := hook.text(); got != "map[0000:3b:00.0 python opened:1 0000:5d:00.0 train opened:1]" {
		t.Errorf("told %s", got)
	}
	r.end() // before the disk is taken away
}

// TestStoreHangs: a file system that answers no more (a frozen one here, a lost network
// disk elsewhere) stops the loop in the middle of a write. Health says so, metrics are
// served on, and when the disk answers again all is stored once.
func TestStoreHangs(t *testing.T) {
	dir, _ := smallDisk(t)
	if _, err := exec.LookPath("fsfreeze"); err != nil {
		t.Skip(err)
	}
	logs := t.TempDir()
	var offset atomic.Int64
	r := &running{t: t, dir: dir, conf: testConfig(dir), ended: make(chan error, 1), log: &syncBuffer{},
		clock: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }}
	r.conf.Kernel.Path = filepath.Join(logs, "kmsg")
	var err error
	if r.kmsg, err = os.Create(r.conf.Kernel.Path); err != nil {
		t.Fatal(err)
	}
	defer r.kmsg.Close()
	r.start()
	defer r.end()
	r.kernel(illegal)
	r.until("an incident before", func() bool { return r.find("illegal-address") != nil })

	thaw := func() { _ = exec.Command("fsfreeze", "--unfreeze", dir).Run() } // it may be done already
	late := exec.Command("sh", "-c", `sleep 50; fsfreeze --unfreeze "$1"`, "sh", dir)
	if err := late.Start(); err != nil { // whatever becomes of this test, nothing stays frozen
		t.Fatal(err)
	}
	defer func() { thaw(); _ = late.Process.Kill(); _ = late.Wait() }()
	if out, err := exec.Command("fsfreeze", "--freeze", dir).CombinedOutput(); err != nil {
		t.Skipf("the file system cannot be frozen: %v: %s", err, out)
	}
	r.kernel(fallen)
	status := func() int {
		res, err := http.Get("http://" + r.addr + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	// A loop that goes round, once a second at least, notes the later time and is well.
	r.until("that health says so", func() bool {
		offset.Add(int64(2 * time.Minute))
		time.Sleep(3 * time.Second)
		return status() == http.StatusServiceUnavailable
	})
	if m := r.get("/metrics"); !strings.Contains(m, `fault="illegal-address"`) {
		t.Errorf("metrics while the loop hangs: %s", m)
	}
	if p := r.get("/api/v1/incidents"); !strings.Contains(p, "illegal-address") {
		t.Errorf("incidents while the loop hangs: %s", p)
	}
	offset.Store(0)
	thaw()
	r.until("the incident in the store", func() bool { i := r.find("gpu-fell-off-bus"); return i != nil && i.Count == 1 })
	r.until("health", func() bool { return status() == http.StatusOK })
}

// TestStoreRemoved: a store that is removed under the daemon is said to be missing, not
// written into the void; a restart begins a new one, with what the logs still hold.
func TestStoreRemoved(t *testing.T) {
	hook := newReceiver(t)
	r := begin(t, t.TempDir(), func(c *Config) { c.Notify = webhookTo(hook.URL) })
	r.kernel(illegal)
	r.until("an incident before", func() bool { return strings.Contains(hook.text(), "train opened:1") })
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(r.conf.Store + end); err != nil {
			t.Fatal(err)
		}
	}
	r.kernel(fallen)
	r.until("that the store is said to be missing", func() bool {
		s := r.source(sourceStore)
		return s.State == SourceFailed && strings.Contains(s.Error, "removed")
	})
	if got := r.get("/api/v1/incidents"); !strings.Contains(got, "gpu-fell-off-bus") || !strings.Contains(got, "illegal-address") {
		t.Errorf("incidents in memory: %s", got)
	}
	r.end()
	r.start()
	r.until("both in a new store", func() bool { return r.find("gpu-fell-off-bus") != nil && r.find("illegal-address") != nil })
	r.until("the notice", func() bool { return strings.Contains(hook.text(), "python opened:1") })
}
