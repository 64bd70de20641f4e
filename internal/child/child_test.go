package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain is the child too: the tests start their own binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Arg {
		os.Exit(Main(context.Background(), tasks, os.Args[2:]))
	}
	os.Exit(m.Run())
}

var tasks = map[string]Task{
	"answer": func(_ context.Context, c *Context) error {
		for _, a := range c.Args {
			c.Call("say " + a)
			fmt.Fprintln(c.Out, a)
		}
		return nil
	},
	"fail":  func(context.Context, *Context) error { return errors.New("open driver: no such library") },
	"crash": func(context.Context, *Context) error { panic("a bug in a binding") },
	"hang": func(_ context.Context, c *Context) error {
		fmt.Fprintln(c.Out, "before")
		c.Call("nvmlDeviceGetMemoryInfo 0000:0a:00.0")
		select {}
	},
	"slow": func(_ context.Context, c *Context) error {
		for i := range 6 { // each call is in time, all together are not a hang
			c.Call(fmt.Sprint("call ", i))
			time.Sleep(50 * time.Millisecond)
		}
		return nil
	},
	"talk": func(_ context.Context, c *Context) error { // answers, marks nothing, then hangs
		c.Call("first")
		for range 8 {
			time.Sleep(50 * time.Millisecond)
			fmt.Fprintln(c.Out, "reading")
		}
		select {}
	},
	"parent": func(_ context.Context, c *Context) error { // starts a child of its own, then is killed
		fmt.Fprintln(c.Out, os.Getpid())
		var r Runner
		_, err := r.Run(context.Background(), Options{Task: "hang", Out: c.Out})
		return err
	},
}

func TestRun(t *testing.T) {
	for _, c := range []struct{ task, out, err string }{
		{"answer", "a\nb\n", ""},
		{"fail", "", "fail: open driver: no such library"},
		{"crash", "", "a bug in a binding"},
		{"nothing", "", "no task"},
	} {
		var out bytes.Buffer
		var r Runner
		stuck, err := r.Run(t.Context(), Options{Task: c.task, Args: []string{"a", "b"}, Out: &out})
		if out.String() != c.out || stuck != nil {
			t.Errorf("%s: answer %q, stuck %v", c.task, out.String(), stuck)
		}
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: error %v, want %q", c.task, err, c.err)
		}
	}
}

func TestHangingCallIsNamedAndWhatCameBeforeKept(t *testing.T) {
	var out bytes.Buffer
	var r Runner
	stuck, err := r.Run(t.Context(), Options{Task: "hang", Out: &out, Call: 300 * time.Millisecond})
	if !errors.Is(err, ErrStuck) || stuck == nil {
		t.Fatalf("error %v, stuck %v", err, stuck)
	}
	if stuck.Call != "nvmlDeviceGetMemoryInfo 0000:0a:00.0" || stuck.PID == 0 || stuck.State == "" || stuck.Unkillable {
		t.Errorf("%+v", stuck)
	}
	if out.String() != "before\n" {
		t.Errorf("answer %q", out.String())
	}
	if proc, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", stuck.PID)); len(proc) != 0 {
		t.Errorf("process %d is still there: %q", stuck.PID, proc)
	}
}

func TestManyShortCallsAreNoHang(t *testing.T) {
	var r Runner
	if _, err := r.Run(t.Context(), Options{Task: "slow", Call: 30 * time.Second}); err != nil {
		t.Error(err)
	}
	stuck, err := r.Run(t.Context(), Options{Task: "hang", Total: 200 * time.Millisecond})
	if !errors.Is(err, ErrStuck) || stuck == nil {
		t.Errorf("total bound: %v", err)
	}
}

// TestAnswersAreSignsOfLife where the caller says so; one that then falls silent hangs.
func TestAnswersAreSignsOfLife(t *testing.T) {
	for _, alive := range []bool{true, false} {
		var out bytes.Buffer
		var r Runner
		stuck, err := r.Run(t.Context(), Options{Task: "talk", Out: &out, Call: 300 * time.Millisecond, Alive: alive})
		if !errors.Is(err, ErrStuck) || stuck == nil {
			t.Fatalf("error %v, stuck %v", err, stuck)
		}
		if all := strings.Count(out.String(), "reading") == 8; all != alive || alive == (stuck.Call == "first") {
			t.Errorf("alive %v: answer %q, stuck in %q", alive, out.String(), stuck.Call)
		}
	}
}

func TestCancelStopsTheChild(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var r Runner
	if stuck, err := r.Run(ctx, Options{Task: "hang"}); !errors.Is(err, context.DeadlineExceeded) || stuck != nil {
		t.Errorf("error %v, stuck %v", err, stuck)
	}
}

// TestNoSecondChildOnAStuckOne plants a child that is still there.
func TestNoSecondChildOnAStuckOne(t *testing.T) {
	gone := make(chan struct{})
	r := Runner{stuck: map[string]*stuckChild{"answer\x00a": {Stuck{Call: "nvmlInit_v2", PID: 77, Unkillable: true}, gone}}}
	var out bytes.Buffer
	stuck, err := r.Run(t.Context(), Options{Task: "answer", Args: []string{"a"}, Out: &out})
	if !errors.Is(err, ErrStuck) || stuck == nil || stuck.PID != 77 || out.Len() != 0 {
		t.Errorf("a second child was started: %v, %v, %q", stuck, err, out.String())
	}
	close(gone)
	if stuck, err := r.Run(t.Context(), Options{Task: "answer", Args: []string{"a"}, Out: &out}); err != nil || stuck != nil || out.String() != "a\n" {
		t.Errorf("after it has gone: %v, %v, %q", stuck, err, out.String())
	}
}

func TestChildDiesWithItsParent(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, Arg, "parent")
	in, err := cmd.StdinPipe() // not the test's own
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 200)
	for got := ""; !strings.Contains(got, "before"); { // the grandchild hangs now
		n, err := out.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		got += string(buf[:n])
	}
	kids, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid))
	if err != nil {
		t.Skipf("children of a process are not listed here: %v", err)
	}
	all, _ := exec.Command("sh", "-c", fmt.Sprintf("cat /proc/%d/task/*/children", cmd.Process.Pid)).Output()
	kids = append(kids, all...)
	if len(bytes.Fields(kids)) == 0 {
		t.Fatal("the parent has no child")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	kid := string(bytes.Fields(kids)[0])
	for i := 0; ; i++ {
		b, _ := os.ReadFile("/proc/" + kid + "/cmdline")
		if len(b) == 0 {
			return
		}
		if i > 3000 {
			t.Fatalf("process %s outlives its parent", kid)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestNothingGrows(t *testing.T) {
	var r Runner
	run := func() {
		if _, err := r.Run(t.Context(), Options{Task: "answer", Args: []string{"a"}}); err != nil {
			t.Fatal(err)
		}
	}
	run()
	before := runtime.NumGoroutine()
	files := openFiles(t)
	for range 20 {
		run()
	}
	if n := runtime.NumGoroutine(); n > before+2 {
		t.Errorf("%d goroutines, before %d", n, before)
	}
	if n := openFiles(t); n > files {
		t.Errorf("%d open files, before %d", n, files)
	}
}

func openFiles(t *testing.T) int {
	e, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(e)
}

// slowWriter takes its time, and notes when it was done.
type slowWriter struct{ done time.Time }

func (w *slowWriter) Write(b []byte) (int, error) {
	time.Sleep(20 * time.Millisecond)
	w.done = time.Now()
	return len(b), nil
}

// TestSlowTaker: a caller that waits for something else (a disk, say) while it takes an
// answer does not use up the child's time.
func TestSlowTaker(t *testing.T) {
	w := &slowWriter{}
	p := &process{out: w, alive: true}
	p.readOut(strings.NewReader("an answer\n"))
	if w.done.IsZero() || p.since.Before(w.done) {
		t.Errorf("the child's time runs since %s, the answer was taken at %s", p.since, w.done)
	}
}
