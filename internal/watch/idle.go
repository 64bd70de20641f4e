package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/maintenance"
)

// idleTests run the memory test of the calendar by themselves, where the configuration
// allows it: in a window of time, on a GPU that nobody uses. They belong to the loop; the
// test itself is this program's verb memtest in a process of its own, and ends as soon as
// somebody else comes to the GPU.
type idleTests struct {
	d     *Daemon
	conf  MemoryTest
	every time.Duration // of the calendar

	free   map[string]time.Time // by PCI address: since when nobody is on the GPU
	due    []gpumedic.GPU
	looked time.Time // when due was made
	tried  map[string]time.Time

	now    *runningTest
	result time.Time // of a test that found something: until then its readings count
}

// runningTest is the test that goes on.
type runningTest struct {
	gpu  gpumedic.GPU
	stop context.CancelCauseFunc
	done chan testEnd
}

// testEnd is how a test ended.
type testEnd struct {
	gpu     gpumedic.GPU
	archive string
	found   *tested
	err     error // of the test itself, or why it was ended
}

const (
	sourceMemtest = "memtest" // of readings
	testsEvery    = time.Minute
	// againAfter is when a GPU is tried again whose test did not come to its end.
	againAfter = time.Hour
	// keptReadings is how long what a test found is among the readings: long enough that
	// the incident is open, not so long that it would be found again when it was repaired.
	keptReadings = 2 * time.Minute
	keptArchives = 24
)

// errJob is why a test was ended: the GPU is wanted.
var errJob = errors.New("somebody else came to the GPU")

func newIdleTests(d *Daemon) *idleTests {
	c := d.o.Config.Upkeep.MemoryTest
	t := &idleTests{d: d, free: map[string]time.Time{}, tried: map[string]time.Time{}}
	for _, task := range d.calendar {
		if task.Detect == "test memtest" {
			t.every = time.Duration(task.Every) * 24 * time.Hour
		}
	}
	t.use(c)
	return t
}

// use takes another configuration; a test that goes on ends as it was begun.
func (t *idleTests) use(c MemoryTest) { t.conf = c }

// tick goes on with the tests.
func (t *idleTests) tick(ctx context.Context, now time.Time) {
	if t == nil {
		return
	}
	if t.now != nil {
		select {
		case end := <-t.now.done:
			t.now = nil
			t.ended(ctx, &end, now)
		default:
		}
	}
	if !t.result.IsZero() && now.Sub(t.result).Abs() > keptReadings {
		t.result = time.Time{}
		t.d.loop.core.readings.put(sourceMemtest, []byte(""), whole)
	}
	if !t.conf.Enabled && t.now == nil {
		return
	}
	t.watch(now)
	if t.now != nil || !t.conf.Enabled {
		return
	}
	end, err := t.conf.open(now)
	if err != nil || end.IsZero() {
		return
	}
	if g, ok := t.next(ctx, now); ok {
		t.start(ctx, g, now, end)
	}
}

// watch notes which GPUs are free. What cannot be read is not free.
func (t *idleTests) watch(now time.Time) {
	seen := map[string]bool{}
	if t.d.health.stateOf(sourceGPUs) == SourceOK {
		for _, u := range usesOf(t.d.loop.core.readings.of(sourceGPUs)) {
			seen[u.gpu.PCI] = true
			mine := 0
			for _, pid := range u.pids {
				if t.d.descends(pid) {
					mine++
				}
			}
			tested := t.now != nil && t.now.gpu.PCI == u.gpu.PCI
			if u.count > mine || u.count < 0 || u.busy && !tested {
				t.free[u.gpu.PCI] = now
				if tested && u.count > mine {
					t.now.stop(errJob)
				}
			} else if _, ok := t.free[u.gpu.PCI]; !ok {
				t.free[u.gpu.PCI] = now
			}
		}
	}
	for pci := range t.free {
		if !seen[pci] {
			delete(t.free, pci)
		}
	}
}

// next is the GPU that is to be tested now.
func (t *idleTests) next(ctx context.Context, now time.Time) (gpumedic.GPU, bool) {
	if now.Sub(t.looked).Abs() >= testsEvery {
		t.looked = now
		due, err := maintenance.Untested(ctx, t.d.store, "memtest", now.Add(-t.every+t.every/10))
		if err != nil {
			t.d.o.Log.Warn("which GPUs are to be tested cannot be read", "error", err)
			return gpumedic.GPU{}, false
		}
		t.due = due
	}
	for _, g := range t.due {
		since, free := t.free[g.PCI]
		last, tried := t.tried[g.PCI]
		if free && now.Sub(since) >= t.conf.IdleFor && (!tried || now.Sub(last).Abs() >= againAfter) {
			return g, true
		}
	}
	return gpumedic.GPU{}, false
}

// start begins the test of one GPU; the others stay free for work.
func (t *idleTests) start(ctx context.Context, g gpumedic.GPU, now, end time.Time) {
	t.tried[g.PCI] = now
	left := min(end.Sub(now), t.conf.Deadline)
	ctx, cancel := context.WithTimeoutCause(ctx, left, fmt.Errorf("it did not end within %s", left.Round(time.Second)))
	ctx, stop := context.WithCancelCause(ctx)
	r := &runningTest{gpu: g, stop: stop, done: make(chan testEnd, 1)}
	t.now = r
	dir := filepath.Join(filepath.Dir(t.d.o.Config.Store), "tests")
	archive := filepath.Join(dir, "memtest-"+strings.NewReplacer(":", "", ".", "").Replace(g.PCI)+"-"+now.UTC().Format("20060102T150405Z")+".tar.gz")
	args := t.conf.args(g.PCI, archive)
	log := t.d.o.Log
	log.Info("the memory test begins: the GPU is idle", "gpu", g.PCI, "at most", left.Round(time.Second))
	t.d.wg.Go(func() {
		defer cancel()
		defer stop(nil)
		x := testEnd{gpu: g, archive: archive}
		if x.err = os.MkdirAll(dir, 0o750); x.err == nil {
			before := t.d.onDevices()
			t.d.wg.Go(func() { t.d.awaitJob(ctx, before, func() { stop(errJob) }) })
			x.err = t.d.runTest(ctx, args)
		}
		switch cause := context.Cause(ctx); {
		case x.err == nil:
			x.found, x.err = readTest(archive, g.PCI)
		case cause != nil:
			x.err = cause
		}
		prune(dir, keptArchives)
		r.done <- x
	})
}

// runTest runs the verb until it ends or the context does. Its exit status says what it
// found; whether it found anything, the archive says.
func (d *Daemon) runTest(ctx context.Context, args []string) error {
	program := d.o.Program
	if program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			return fmt.Errorf("run memory test: %w", err)
		}
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // its workers end at once with it
	cmd.WaitDelay = 5 * time.Second
	var tail lastBytes
	cmd.Stderr = &tail
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() <= gpumedic.ExitUnknown:
		return nil
	case err != nil:
		return fmt.Errorf("run memory test: %w: %s", err, strings.TrimSpace(string(tail)))
	}
	return nil
}

// lastBytes keeps the end of what a program says.
type lastBytes []byte

func (b *lastBytes) Write(p []byte) (int, error) {
	const most = 2000
	*b = append(*b, p...)
	*b = (*b)[max(0, len(*b)-most):]
	return len(p), nil
}

// ended stores what a test came to. One that did not come to its end is no test.
func (t *idleTests) ended(ctx context.Context, x *testEnd, now time.Time) {
	log, d := t.d.o.Log, t.d
	t.free[x.gpu.PCI] = now
	if x.err == nil && x.found.Result != testPassed && x.found.Result != testFailed {
		x.err = fmt.Errorf("%s: %s", x.found.Result, x.found.Why)
	}
	if x.err != nil {
		if ctx.Err() == nil {
			log.Warn("the memory test did not come to its end; it is tried again", "gpu", x.gpu.PCI, "why", x.err)
		}
		return
	}
	t.looked = time.Time{} // it is tested: who is next
	note := fmt.Sprintf("memtest: %s, by itself in an idle window", x.found.Result)
	r, err := d.store.Do(ctx, now, nil, func(s *incident.Step) error {
		s.Test(d.o.Config.Node, x.gpu, "memtest", x.found.Result, note, map[string]any{"archive": x.archive, "mode": t.conf.mode()})
		return nil
	})
	d.loop.took(r, err)
	d.outlets.planned = time.Time{} // the calendar shows it at once
	log.Info("the memory test ended", "gpu", x.gpu.PCI, "result", x.found.Result, "archive", x.archive)
	if x.found.Result == testFailed {
		d.loop.core.readings.put(sourceMemtest, x.found.doc, whole)
		d.loop.core.readings.judge(now)
		t.result = now
		d.loop.answer(ctx)
	}
}

// close ends a test when the daemon ends.
func (t *idleTests) close() {
	if t != nil && t.now != nil {
		t.now.stop(errors.New("the daemon ends"))
	}
}

// tested is what a test's archive says of a GPU.
type tested struct {
	Result, Why string
	doc         []byte // readings of the test alone
}

// Results of a test, as the report has them.
const (
	testPassed = "pass"
	testFailed = "fail"
)

// readTest takes the result from a test's archive.
func readTest(path, pci string) (*tested, error) {
	files, err := readArchive(path)
	if err != nil {
		return nil, fmt.Errorf("read test %s: %w", path, err)
	}
	var rep gpumedic.Report
	if err := json.Unmarshal(files["report.json"], &rep); err != nil {
		return nil, fmt.Errorf("read test %s: %w", path, err)
	}
	n := slices.IndexFunc(rep.Tests, func(t gpumedic.Test) bool { return t.Test == "memtest" && t.Subject.GPU.PCI == pci })
	if n < 0 {
		return nil, fmt.Errorf("read test %s: it does not tell of GPU %s", path, pci)
	}
	return &tested{rep.Tests[n].Result, rep.Tests[n].Why, ofTest(files["memtest.txt"])}, nil
}

// ofTest keeps of a document what the test found: what the driver says of the GPU is read
// anew by the daemon.
func ofTest(doc []byte) []byte {
	var out []byte
	gpu := false
	for line := range strings.Lines(string(doc)) {
		head := strings.HasPrefix(line, "[")
		if head {
			gpu = strings.HasPrefix(line, "[gpu ")
		}
		key, _, _ := strings.Cut(line, ":")
		own := strings.HasPrefix(key, "memtest.") || strings.HasPrefix(key, "test.") || key == "cuda.error" || key == "uuid"
		if strings.HasPrefix(line, "#") || gpu && (head || own) {
			out = append(out, line...)
		}
	}
	return out
}
