package child

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// describe reads from /proc what a process is doing: the first of its threads that
// sleeps without being interruptible, or its main thread.
func describe(pid int) Stuck {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	threads, _ := filepath.Glob(filepath.Join(dir, "task", "*"))
	at := dir
	for _, t := range threads {
		if strings.HasPrefix(state(t), "D") {
			at = t
			break
		}
	}
	s := Stuck{PID: pid, State: state(at)}
	if b, err := os.ReadFile(filepath.Join(at, "wchan")); err == nil && string(b) != "0" {
		s.Wait = string(bytes.TrimSpace(b))
	}
	if b, err := os.ReadFile(filepath.Join(at, "stack")); err == nil {
		s.Stack = string(bytes.TrimSpace(b))
	}
	return s
}

// state is the State line of a process or thread: "D (disk sleep)".
func state(dir string) string {
	b, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "State:"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// orphan finds a child for the same task that an earlier, finished run of this program
// left hanging in the kernel: starting another would only add to the pile.
func orphan(o Options) int {
	want := append([]string{Arg, o.Task}, o.Args...)
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		b, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !bytes.Contains(b, []byte(Arg)) {
			continue
		}
		argv := strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
		if len(argv) < 1+len(want) || strings.Join(argv[1:], "\x00") != strings.Join(want, "\x00") {
			continue
		}
		if st := describe(atoi(filepath.Base(dir))); strings.HasPrefix(st.State, "D") && parentGone(dir) {
			return st.PID
		}
	}
	return 0
}

// parentGone reports whether the process was left to init (or to a subreaper that is
// not this program).
func parentGone(dir string) bool {
	b, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		v, ok := strings.CutPrefix(line, "PPid:")
		if !ok {
			continue
		}
		ppid := strings.TrimSpace(v)
		if ppid == "1" || ppid == "0" {
			return true
		}
		exe, err := os.Readlink(filepath.Join(dir, "exe"))
		parent, err2 := os.Readlink(filepath.Join("/proc", ppid, "exe"))
		return err == nil && err2 == nil && exe != parent
	}
	return false
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
