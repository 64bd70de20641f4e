package watch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
