package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gpumedic/gpumedic/internal/probe"
)

// errLate is the error of a read that did not return in time, or that was not tried
// since an earlier one of the same device did not.
var errLate = errors.New("no answer in time")

// maxFile bounds one file of /proc or /sys; the longest that is read, /proc/interrupts
// of a large machine, has a few hundred KiB.
const maxFile = 8 << 20

// Guard remembers where a read hangs in the kernel. A second one would hang there too,
// and each holds a thread.
type Guard struct {
	mu    sync.Mutex
	stuck map[string]int // key → reads that have not returned
	total int
}

// maxStuck is how many hanging reads end all further reading.
const maxStuck = 16

// blocked reports whether a read must not begin: one hangs here, or too many elsewhere.
func (g *Guard) blocked(key string) (blocked, here bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	here = g.stuck[key] > 0
	return here || g.total >= maxStuck, here
}

func (g *Guard) add(key string, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stuck == nil {
		g.stuck = map[string]int{}
	}
	g.stuck[key] += n
	g.total += n
	if g.stuck[key] <= 0 {
		delete(g.stuck, key)
	}
}

// late is a read that did not return.
type late struct {
	path  string        // below the root
	after time.Duration // 0: it hangs since an earlier probe
}

// subject is what the path is about: a GPU or port by its address, a mount, the node.
func (l late) subject(isGPU map[string]bool) (kind, name string) {
	if strings.HasPrefix(l.path, mountKey) {
		return "mount", strings.TrimPrefix(l.path, mountKey)
	}
	for part := range strings.SplitSeq(l.path, "/") {
		if isAddress(part) {
			name = part // the innermost device of the path
		}
	}
	switch {
	case name == "":
		return "node", ""
	case isGPU[strings.ToLower(name)]:
		return "gpu", name
	}
	return "port", name
}

// tree reads below a root, each read with a deadline.
type tree struct {
	ctx   context.Context
	root  string
	wait  time.Duration
	guard *Guard
	late  func(late)
	timer *time.Timer // of the read that is waited for: there is one at a time

	running bool
}

func newTree(ctx context.Context, o Options) tree {
	t := tree{ctx: ctx, root: o.Root, wait: o.ReadTimeout, guard: o.Guard, late: func(late) {}, timer: time.NewTimer(time.Hour)}
	t.timer.Stop()
	if t.root == "" {
		t.root = "/"
	}
	if t.wait <= 0 {
		t.wait = 500 * time.Millisecond
	}
	if t.guard == nil {
		t.guard = &Guard{}
	}
	t.running = t.root == "/" || isProc(t.at("/proc"))
	return t
}

// live reports whether the tree is of a running system, be it mounted elsewhere, and
// not a recorded one: only then do file systems, modes and time mean something.
func (t tree) live() bool { return t.running }

func (t tree) at(name string) string { return filepath.Join(t.root, name) }

// guarded runs f, which may hang, under a key: while one hangs no other with that key
// is begun.
func guarded[T any](t tree, key string, f func() (T, error)) (T, error) {
	var zero T
	if err := t.ctx.Err(); err != nil {
		return zero, err
	}
	if blocked, here := t.guard.blocked(key); blocked {
		if here {
			t.late(late{path: key})
		}
		return zero, errLate
	}
	type answer struct {
		v   T
		err error
	}
	done := make(chan answer, 1)
	t.guard.add(key, 1)
	go func() {
		v, err := f()
		t.guard.add(key, -1)
		done <- answer{v, err}
	}()
	t.timer.Reset(t.wait)
	defer t.timer.Stop()
	select {
	case a := <-done:
		return a.v, a.err
	case <-t.timer.C:
		t.late(late{path: key, after: t.wait})
		return zero, errLate
	case <-t.ctx.Done():
		return zero, t.ctx.Err()
	}
}

// read gives a file's text without the line feed at its end. Reads of one folder share
// the guard's key, since a device that hangs hangs for all its files.
func (t tree) read(name string) (string, error) {
	b, err := guarded(t, path.Dir(name), func() ([]byte, error) { return readFile(t.at(name), maxFile) })
	return strings.TrimRight(string(b), "\n"), err
}

// head reads the first n bytes of a file.
func (t tree) head(name string, n int64) ([]byte, error) {
	return guarded(t, path.Dir(name), func() ([]byte, error) { return readFile(t.at(name), n) })
}

// number reads a file that holds one integer, decimal or with 0x.
func (t tree) number(name string) (int64, error) {
	s, err := t.read(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(s), 0, 64)
	if err != nil {
		return 0, errors.New("not a number: " + strconv.Quote(short(s)))
	}
	return n, nil
}

// list gives the names in a folder, sorted; none when it is not there.
func (t tree) list(dir string) []string {
	names, _ := guarded(t, dir, func() ([]string, error) { return readNames(t.at(dir)) })
	slices.Sort(names)
	return names
}

func (t tree) link(name string) (string, error) {
	return guarded(t, path.Dir(name), func() (string, error) { return os.Readlink(t.at(name)) })
}

func (t tree) exists(name string) bool {
	ok, _ := guarded(t, path.Dir(name), func() (bool, error) {
		_, err := os.Lstat(t.at(name))
		return err == nil, nil
	})
	return ok
}

// why says in few words why a read failed, without the root's path.
func why(name string, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no " + name
	case errors.Is(err, fs.ErrPermission):
		return "no permission to read " + name
	}
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	return "read " + name + ": " + err.Error()
}

// missing reports whether err says that there is no such thing here, or that we may
// not see it: no fault of the machine.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR)
}

// failed writes a reading that could not be taken: absent or unknown.
func failed(w *probe.Writer, key, name string, err error) {
	if missing(err) {
		w.Absent(key, why(name, err))
		return
	}
	w.Unknown(key, "unknown error", why(name, err))
}

func short(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// run runs a program when that is allowed here.
func (h *prober) run(wait time.Duration, name string, args ...string) ([]byte, error) {
	if h.Exec == nil {
		return nil, errors.New("no programs are run here")
	}
	ctx, cancel := context.WithTimeout(h.ctx, wait)
	defer cancel()
	return h.Exec(ctx, name, args...)
}

// readLink and readNames also serve /proc/PID/fd, which the kernel answers from memory.
func readLink(name string) (string, error) { return os.Readlink(name) }
