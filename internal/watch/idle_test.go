package watch

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/internal/burn"
	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/driver/cuda/cudafake"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/store"
	"github.com/gpumedic/gpumedic/internal/maintenance"
)

// program is the real one, built once: the daemon starts its verbs.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gpumedic")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "gpumedic")
	out, err := exec.Command("go", "build", "-o", path, "../../cmd/gpumedic").CombinedOutput()
	if err != nil {
		return "", &exec.Error{Name: string(out), Err: err}
	}
	return path, nil
})

const twoFakes = "gpus=2\ngpu.0.pci=00000000:10:00.0\ngpu.1.pci=00000000:11:00.0\ngpu.*.util.gpu=0\ngpu.*.name=NVIDIA H200\n"

// beginIdle starts a daemon that may test two idle GPUs, with fake drivers in which
// faults are planted.
func beginIdle(t *testing.T, clock *steps, faults string, change func(*Config)) (*running, func(string)) {
	play := useFake(t, twoFakes)
	cuda := t.TempDir()
	if err := cudafake.Build(cuda); err != nil {
		t.Skip(err)
	}
	p, err := program()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("LD_LIBRARY_PATH", os.Getenv("LD_LIBRARY_PATH")+":"+cuda)
	t.Setenv(cudafake.Env, "devices=2 mem=6946816 l2=262144 name=NVIDIA_H200 "+faults)
	r := &running{t: t, dir: t.TempDir(), ended: make(chan error, 1), log: &syncBuffer{}, clock: clock.now, program: p}
	r.conf = testConfig(r.dir)
	quick(r.conf)
	r.conf.Kernel.Enabled = false
	r.conf.Upkeep.MemoryTest = MemoryTest{Enabled: true, From: "00:00", To: "23:59", Zone: "UTC", IdleFor: time.Minute, Deadline: time.Hour}
	if h, m, _ := clock.now().UTC().Clock(); h == 23 && m > 40 || h == 0 && m < 5 { // not near the window's edge
		r.conf.Upkeep.MemoryTest.From, r.conf.Upkeep.MemoryTest.To = "12:00", "11:00"
	}
	if change != nil {
		change(r.conf)
	}
	r.start()
	t.Cleanup(r.end)
	return r, play
}

// tests are the rows of memory tests in the history of a card.
func (r *running) tests(pci string) (out []incident.HistoryRow) {
	s, err := store.Open(r.t.Context(), r.conf.Store, store.Options{ReadOnly: true})
	if err != nil {
		return nil
	}
	defer s.Close()
	rows, err := s.History(r.t.Context(), pci)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, h := range rows {
		if h.Kind == incident.KindTest {
			out = append(out, h)
		}
	}
	return out
}

func (r *running) taskState(id string) string {
	s, err := store.Open(r.t.Context(), r.conf.Store, store.Options{ReadOnly: true})
	if err != nil {
		return err.Error()
	}
	defer s.Close()
	tasks, err := maintenance.Calendar()
	if err != nil {
		r.t.Fatal(err)
	}
	items, err := maintenance.Read(r.t.Context(), s, tasks, r.clock())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, i := range items {
		if i.ID == id {
			return i.State
		}
	}
	return ""
}

// known waits until the cards are in the inventory and passes the time that they must
// be idle.
func (r *running) known(clock *steps) {
	r.t.Helper()
	clock.pass(2 * time.Minute)
	r.until("the cards", func() bool {
		s, err := store.Open(r.t.Context(), r.conf.Store, store.Options{ReadOnly: true})
		if err != nil {
			return false
		}
		defer s.Close()
		cards, err := s.Cards(r.t.Context())
		return err == nil && len(cards) == 2
	})
	clock.pass(11 * time.Minute)
}

// meanwhile waits for something while time passes: each jump of the clock makes the
// readings old for a moment, and a GPU that cannot be read is not idle.
func (r *running) meanwhile(clock *steps, what string, f func() bool) {
	r.t.Helper()
	next := time.Now()
	r.until(what, func() bool {
		if f() {
			return true
		}
		if time.Now().After(next) {
			clock.pass(70 * time.Second)
			next = time.Now().Add(3 * time.Second)
		}
		return false
	})
}

// testing reports whether a worker of a memory test runs.
func (r *running) testing() bool {
	list, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(list, func(path string) bool {
		b, err := os.ReadFile(path)
		return err == nil && strings.HasPrefix(string(b), r.program+"\x00"+child.Arg+"\x00"+burn.TaskMemory)
	})
}

// TestIdleMemoryTest: both GPUs are tested one after the other, and the task is done.
func TestIdleMemoryTest(t *testing.T) {
	clock := &steps{}
	r, _ := beginIdle(t, clock, "", nil)
	if s := r.taskState("memory-test"); s != maintenance.Never {
		t.Errorf("before: %s", s)
	}
	r.known(clock)
	r.meanwhile(clock, "the first test", func() bool { return len(r.tests("0000:10:00.0"))+len(r.tests("0000:11:00.0")) == 1 })
	r.meanwhile(clock, "the second test", func() bool { return len(r.tests("0000:10:00.0")) == 1 && len(r.tests("0000:11:00.0")) == 1 })
	h := r.tests("0000:11:00.0")[0]
	if h.Detail["result"] != "pass" || h.Detail["mode"] != "quick" || !strings.Contains(h.Text, "by itself") {
		t.Errorf("%+v", h)
	}
	if _, err := os.Stat(h.Detail["archive"].(string)); err != nil {
		t.Error(err)
	}
	if s := r.taskState("memory-test"); s != maintenance.OK {
		t.Errorf("after: %s", s)
	}
	if list := r.incidents(); len(list) != 0 {
		t.Errorf("a good card has incidents:\n%s", incidentText(list))
	}
	if n := strings.Count(r.log.String(), "the memory test begins"); n != 2 {
		t.Errorf("%d tests were begun\n%s", n, r.log)
	}
}

// TestIdleMemoryTestFindsAFault: what a test finds is an incident.
func TestIdleMemoryTestFindsAFault(t *testing.T) {
	clock := &steps{}
	r, _ := beginIdle(t, clock, "fault=stuck,gpu=1,offset=4096,bit=5,value=1", nil)
	r.known(clock)
	r.meanwhile(clock, "the tests", func() bool { return len(r.tests("0000:10:00.0")) == 1 && len(r.tests("0000:11:00.0")) == 1 })
	if a, b := r.tests("0000:10:00.0")[0], r.tests("0000:11:00.0")[0]; a.Detail["result"] != "pass" || b.Detail["result"] != "fail" {
		t.Errorf("results %v and %v", a.Detail, b.Detail)
	}
	r.until("the incident", func() bool {
		i := r.find("memory-test-failure")
		return i != nil && i.Visible && i.Subject.GPU.PCI == "0000:11:00.0"
	})
	// What the test found is no reading for good: a card that was repaired must not be
	// found faulty again. The incident stays until that is verified.
	r.until("that the engine says so", func() bool { return strings.Contains(r.get("/api/v1/node"), `"memory-test-failure"`) })
	clock.pass(3 * time.Minute)
	r.until("that the engine no longer says so", func() bool { return !strings.Contains(r.get("/api/v1/node"), `"memory-test-failure"`) })
	if i := r.find("memory-test-failure"); !i.Live() {
		t.Errorf("%+v", i)
	}
}

// TestIdleMemoryTestMakesWay: a process that comes to the GPU ends the test, and a test
// that was ended is none.
func TestIdleMemoryTestMakesWay(t *testing.T) {
	clock := &steps{}
	r, play := beginIdle(t, clock, "", func(c *Config) {
		c.Upkeep.MemoryTest.Soak = 30 * time.Minute
	})
	r.known(clock)
	r.meanwhile(clock, "a test", r.testing)
	play(twoFakes + "gpu.*.proc.compute=999998:100\n")
	r.until("its end", func() bool { return strings.Contains(r.log.String(), errJob.Error()) && !r.testing() })
	if a, b := r.tests("0000:10:00.0"), r.tests("0000:11:00.0"); len(a)+len(b) != 0 {
		t.Errorf("%v %v", a, b)
	}
	if s := r.taskState("memory-test"); s != maintenance.Never {
		t.Errorf("the task is %s", s)
	}
}

// TestNoTestUnlessAllowed: not without leave, not outside the window, not on a GPU that is
// in use.
func TestNoTestUnlessAllowed(t *testing.T) {
	c := Defaults()
	if c.Upkeep.MemoryTest.Enabled {
		t.Error("it is on without having been allowed")
	}
	m := c.Upkeep.MemoryTest
	m.Zone, m.Days = "Asia/Shanghai", []string{"sat"}
	for at, open := range map[string]bool{
		"2026-12-04T18:30:00Z": true,  // Saturday 02:30 in Shanghai
		"2026-12-04T21:30:00Z": false, // 05:30
		"2026-12-05T18:30:00Z": false, // Sunday
	} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if end, err := m.open(now); err != nil || !end.IsZero() != open {
			t.Errorf("%s: %v until %s", at, err, end)
		}
	}
	for text, want := range map[string]string{
		"maintenance: {memory_test: {enabled: true, from: '22:00', to: '04:00', days: [sat, sun]}}": "",
		"node: a\nmaintenance:\n  memory_test: {from: late}":                                        "line 3: maintenance.memory_test: from",
		"maintenance: {memory_test: {days: [someday]}}":                                             "days",
		"maintenance: {memory_test: {idle_for: 1s}}":                                                "idle_for",
		"maintenance: {memory_test: {deadline: 1s}}":                                                "deadline",
		"maintenance: {memory_test: {soak: 30m}}":                                                   "soak",
		"maintenance: {memory_test: {soak: 1m, full: true}}":                                        "full and soak",
		"maintenance: {memory_test: {zone: Nowhere}}":                                               "zone",
	} {
		_, err := ParseConfig([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
	sets := parseDoc([]byte("# gpumedic readings 1\n[gpu 0000:10:00.0]\npci: 0000:10:00.0\nprocesses.compute: 1\nprocesses.graphics: 0\nutilization.gpu.percent: 3\n" +
		"[gpu 0000:11:00.0]\npci: 0000:11:00.0\nprocesses.compute: ERROR: unknown error\n[gpu 0000:12:00.0]\npci: 0000:12:00.0\nprocesses.compute: 0\nutilization.gpu.percent: 0\n" +
		"[process 4242 0000:10:00.0]\nprocess.pid: 4242\npci: 0000:10:00.0\n"))
	u := usesOf(sets)
	if len(u) != 3 || u[0].count != 1 || !u[0].busy || !slices.Equal(u[0].pids, []int{4242}) || u[1].count != -1 || u[2].count != 0 || u[2].busy {
		t.Errorf("%+v", u)
	}
}

// TestWhoIsOnTheDevices reads open files: a program with CUDA is a job at once, one that
// looks at the driver only when it stays.
func TestWhoIsOnTheDevices(t *testing.T) {
	root := t.TempDir()
	process := func(pid int, open ...string) {
		dir := filepath.Join(root, "proc", strconv.Itoa(pid), "fd")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for n, to := range open {
			if err := os.Symlink(to, filepath.Join(dir, strconv.Itoa(n))); err != nil {
				t.Fatal(err)
			}
		}
	}
	process(10, "/dev/nvidia0", "/dev/nvidiactl") // a service
	process(11, "/dev/nvidiactl")
	process(12, "/dev/null", "pipe:[7]")
	d := &Daemon{o: Options{Root: root}}
	if got := d.onDevices(); len(got) != 1 || got[10] {
		t.Errorf("%v", got)
	}
	came := make(chan struct{})
	go d.awaitJob(t.Context(), d.onDevices(), func() { close(came) })
	process(13, "/dev/null")
	time.Sleep(2 * jobEvery)
	process(14, "/dev/nvidia-uvm", "/dev/nvidia1")
	<-came
	if got := d.onDevices(); len(got) != 2 || !got[14] {
		t.Errorf("%v", got)
	}
	stays := make(chan struct{})
	go d.awaitJob(t.Context(), d.onDevices(), func() { close(stays) })
	process(15, "/dev/nvidia1")
	<-stays
}

func TestArchivesArePruned(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"memtest-b-20260101T000000Z.tar.gz", "memtest-a-20260301T000000Z.tar.gz", "memtest-c-20260201T000000Z.tar.gz", "other.tar.gz"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	prune(dir, 2)
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(left) != 3 || strings.Contains(strings.Join(left, " "), "memtest-b") {
		t.Error(left)
	}
	if _, err := readTest(filepath.Join(dir, "other.tar.gz"), "0000:10:00.0"); err == nil {
		t.Error("an empty archive is read")
	}
}
