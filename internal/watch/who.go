package watch

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/lazyre"
	"github.com/gpumedic/gpumedic/internal/probe/host"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

// holders remembers who was on the GPUs a moment ago: when a fault is told, its process
// is often gone already.
type holders struct {
	node string
	root string
	keep time.Duration
	on   time.Duration // how long after it was last seen there a process counts as being on a GPU

	mu   sync.Mutex
	last map[int]holderRecord
}

type holderRecord struct {
	incident.Attribution
	seen time.Time
}

// maxHolders bounds the memory; the oldest go first.
const maxHolders = 512

// newHolders makes one; every is how often the driver is asked who is on the GPUs.
func newHolders(node, root string, every time.Duration) *holders {
	return &holders{node: node, root: root, keep: 10 * time.Minute, on: max(30*time.Second, every+every/2), last: map[int]holderRecord{}}
}

// pidIn finds the process that a kernel line names.
var pidIn = lazyre.New(`\bpid[=:]?\s*'?(\d{1,10})\b`)

// line captures the process that a line of the kernel names, at once.
func (h *holders) line(text string) {
	if !strings.Contains(text, "pid") || !strings.Contains(text, "NVRM") {
		return
	}
	m := pidIn.FindStringSubmatch(text)
	if m == nil {
		return
	}
	pid, err := strconv.Atoi(m[1])
	if err != nil || pid <= 0 || h.knows(pid) {
		return
	}
	if r, ok := host.Process(h.root, pid); ok {
		h.add(h.record(r), time.Now())
	}
}

// knows reports whether a process was looked at a moment ago: a storm of lines about one
// process must not read /proc each time.
func (h *holders) knows(pid int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, ok := h.last[pid]
	return ok && time.Since(r.seen) < time.Second
}

func (h *holders) record(r host.Running) incident.Attribution {
	return incident.Attribution{Node: h.node, PID: r.PID, Process: r.Name, User: r.User,
		Container: r.Owner.Container, Pod: r.Owner.Pod, Job: r.Owner.Job, Unit: r.Owner.Unit}
}

func (h *holders) add(a incident.Attribution, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.last[a.PID]
	if a.GPU.IsZero() && old.Process == a.Process {
		a.GPU = old.GPU
	}
	h.last[a.PID] = holderRecord{a, now}
	if len(h.last) > maxHolders {
		oldest := 0
		for pid, r := range h.last {
			if o, ok := h.last[oldest]; !ok || r.seen.Before(o.seen) {
				oldest = pid
			}
		}
		delete(h.last, oldest)
	}
}

// read takes the processes that readings name: those with an open device file from the
// host, those on a GPU from the driver.
func (h *holders) read(sets []section.Readings, now time.Time) {
	for i := range sets {
		s := &sets[i]
		pid := s.Subject.Process.PID
		if pid == 0 {
			continue
		}
		v := func(key string) string {
			if x := s.Values[key].Value; x != "N/A" {
				return x
			}
			return ""
		}
		h.mu.Lock()
		a := h.last[pid].Attribution
		h.mu.Unlock()
		a.Node, a.PID = h.node, pid
		for _, p := range []struct {
			to   *string
			from string
		}{{&a.User, v("user")}, {&a.Container, v("process.container")}, {&a.Pod, v("process.pod")},
			{&a.Job, v("process.slurm.job")}, {&a.Unit, v("process.unit")}} {
			if p.from != "" {
				*p.to = p.from
			}
		}
		if a.Process == "" {
			a.Process = v("process.name")
		}
		if !s.Subject.GPU.IsZero() {
			a.GPU = s.Subject.GPU
		}
		if a.User == "" && a.Unit == "" { // only the driver told of it yet
			if r, ok := host.Process(h.root, pid); ok {
				g := a.GPU
				a = h.record(r)
				a.GPU = g
			}
		}
		h.add(a, now)
	}
}

// list is who was there within the last minutes, in a fixed order.
func (h *holders) list(now time.Time) []incident.Attribution {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []incident.Attribution
	for pid, r := range h.last {
		if age := now.Sub(r.seen); age > h.keep || age < -h.keep {
			delete(h.last, pid)
			continue
		}
		a := r.Attribution
		if now.Sub(r.seen) > h.on { // by its pid only: it may have left the GPU
			a.GPU = gpumedic.GPU{}
		}
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b incident.Attribution) int { return a.PID - b.PID })
	return out
}
