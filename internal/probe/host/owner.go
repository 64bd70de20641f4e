package host

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A Running process, as far as /proc tells while it is there.
type Running struct {
	PID   int
	Name  string
	User  string
	Owner Owner
}

// Process says who a process is and belongs to. It reads the kernel's own memory only,
// so that it is quick enough for the moment between a fault and the end of its process.
func Process(root string, pid int) (Running, bool) {
	dir := filepath.Join(root, "/proc", strconv.Itoa(pid))
	r := Running{PID: pid}
	name, err := os.ReadFile(filepath.Join(dir, "comm"))
	if err != nil {
		return r, false
	}
	r.Name = strings.TrimSpace(string(name))
	if b, err := os.ReadFile(filepath.Join(dir, "status")); err == nil {
		if f := strings.Fields(statusField(string(b), "Uid")); len(f) > 0 {
			r.User = userName(root, f[0])
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "cgroup")); err == nil {
		r.Owner = parseCgroup(string(b))
	}
	return r, true
}

// userName looks a number up in /etc/passwd; names from a directory service stay numbers.
func userName(root, uid string) string {
	b, err := readFile(filepath.Join(root, "/etc/passwd"), maxFile)
	if err != nil {
		return uid
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Split(line, ":"); len(f) > 3 && f[2] == uid {
			return f[0]
		}
	}
	return uid
}
