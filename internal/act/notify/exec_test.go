//go:build unix

package notify

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func script(t *testing.T, text string) string {
	path := write(t, "hook", "#!/bin/sh\n"+text+"\n")
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExec(t *testing.T) {
	t.Setenv("NOTIFY_PASSED", "yes")
	t.Setenv("NOTIFY_SECRET", "hunter22")
	dir := t.TempDir()
	hook := script(t, `cat >"$1/in"; env >"$1/env"; printf '%s' "$2" >"$1/arg"`)
	err := sendOne(t, Channel{Name: "c", Type: "exec", Command: []string{hook, dir, "$(id); `id`"}, Environment: []string{"NOTIFY_PASSED"}})
	if err != nil {
		t.Fatal(err)
	}
	var d Delivery
	if err := json.Unmarshal(read(t, dir, "in"), &d); err != nil || d.Notices[0].Incident != 12 {
		t.Errorf("stdin: %v %+v", err, d)
	}
	env := string(read(t, dir, "env"))
	for _, want := range []string{"GPUMEDIC_INCIDENT=12\n", "GPUMEDIC_KIND=opened\n", "GPUMEDIC_KEY=k-1\n", "NOTIFY_PASSED=yes\n"} {
		if !strings.Contains(env, want) {
			t.Errorf("environment lacks %q", want)
		}
	}
	if strings.Contains(env, "hunter22") {
		t.Error("the hook sees the daemon's environment")
	}
	if got := string(read(t, dir, "arg")); got != "$(id); `id`" {
		t.Errorf("argument went through a shell: %q", got)
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestExecOutcomes(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"cat >/dev/null", "delivered"},
		{"exit 0", "delivered"}, // without reading its input
		{"echo broken >&2; exit 3", "refused"},
		{"exit 75", "no answer"},
		{"kill -9 $$", "refused"},
	} {
		err := sendOne(t, Channel{Name: "c", Type: "exec", Command: []string{script(t, c.script)}})
		if got := outcomeOf(err); got != c.want {
			t.Errorf("%s: %s (%v), want %s", c.script, got, err, c.want)
		}
	}
	if err := sendOne(t, Channel{Name: "c", Type: "exec", Command: []string{"/nonexistent/hook"}}); outcomeOf(err) != "misconfigured" {
		t.Errorf("missing program: %v", err)
	}
}

// TestExecTimeout: what the hook has started ends with it.
func TestExecTimeout(t *testing.T) {
	dir := t.TempDir()
	hook := script(t, `sleep 600 & echo $! >`+dir+`/pid; wait`)
	err := sendOne(t, Channel{Name: "c", Type: "exec", Command: []string{hook}, Timeout: 300 * time.Millisecond})
	if outcomeOf(err) != "no answer" || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("got %v", err)
	}
	pid := strings.TrimSpace(string(read(t, dir, "pid")))
	for range 500 {
		b, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(b), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %s survived its hook", pid)
}
