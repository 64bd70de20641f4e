//go:build linux

package host

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hang puts a FIFO where a file was: opening it blocks until somebody writes, as a read
// of a device that does not answer blocks in the kernel. It is let go at the test's end.
func hang(t *testing.T, root, name string) {
	t.Helper()
	at := filepath.Join(root, name)
	must(t, os.Remove(at))
	must(t, syscall.Mkfifo(at, 0o600))
	t.Cleanup(func() {
		if f, err := os.OpenFile(at, os.O_RDWR|syscall.O_NONBLOCK, 0); err == nil {
			time.Sleep(10 * time.Millisecond) // the blocked reader opens its end
			f.Close()
		}
	})
}

// TestHangingDevice: one device hangs, the others are read, and it is said which.
func TestHangingDevice(t *testing.T) {
	root := plant(t, "hgx-idle")
	const gpu = "sys/devices/pci0000:15/0000:15:01.0/0000:1b:00.0"
	hang(t, root, gpu+"/config")
	g := &Guard{}
	o := Options{Root: root, Guard: g, ReadTimeout: 300 * time.Millisecond}
	doc := document(t, o)
	got := sets(t, doc)
	if v := value(got["0000:1b:00.0"], "probe.timeout"); v != "/"+gpu {
		t.Errorf("probe.timeout %q\n%s", v, doc)
	}
	if v := value(got["0000:1b:00.0"], "pci.config"); v != "unknown error" {
		t.Errorf("pci.config %q", v)
	}
	if v := value(got["0000:2c:00.0"], "pci.config"); v != "ok" {
		t.Errorf("the other GPU: pci.config %q", v)
	}
	s := signals(t, doc)
	if !strings.Contains(strings.Join(s, "\n"), "probe.timeout 0000:1b:00.0") {
		t.Errorf("signals %q", s)
	}
	// Later probes add no further hanging read, and say it again.
	n := runtime.NumGoroutine()
	for range 20 {
		doc = document(t, o)
	}
	if m := runtime.NumGoroutine(); m > n+3 { // on a busy machine another read may be late too
		t.Errorf("%d goroutines, then %d", n, m)
	}
	if v := value(sets(t, doc)["0000:1b:00.0"], "probe.timeout"); v != "/"+gpu {
		t.Errorf("later: probe.timeout %q", v)
	}
}

// TestHangingProc: a hang that is about no device stands under the node.
func TestHangingProc(t *testing.T) {
	root := plant(t, "hgx-idle")
	hang(t, root, "proc/driver/nvidia/version")
	got := sets(t, document(t, Options{Root: root, ReadTimeout: 300 * time.Millisecond}))
	if v := value(got[""], "probe.timeout"); v != "/proc/driver/nvidia" {
		t.Errorf("probe.timeout %q", v)
	}
	if v := value(got[""], "kernel_module.version"); v != "580.95.05" { // from /sys/module
		t.Errorf("kernel_module.version %q", v)
	}
}

// TestManyHangs: a machine where all hangs costs no more than maxStuck waits.
func TestManyHangs(t *testing.T) {
	g := &Guard{}
	for i := range maxStuck {
		g.add("/x/"+string(rune('a'+i)), 1)
	}
	if blocked, here := g.blocked("/y"); !blocked || here {
		t.Errorf("blocked %v, here %v", blocked, here)
	}
	g.add("/x/a", -1)
	if blocked, _ := g.blocked("/y"); blocked {
		t.Error("still blocked after one read returned")
	}
}
