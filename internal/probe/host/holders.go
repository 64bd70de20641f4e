package host

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A holder is a process with a device file of the driver open.
type holder struct {
	pid     int
	tid     int // the thread that was read: pid, unless the leader has ended
	devices []string
	stat    procStat
	threads int // living threads of a process whose leader is a zombie
}

type procStat struct {
	name  string
	state string // R, S, D, Z, T, …
	ppid  int
	cpu   uint64 // ticks of user and system time
}

// holders finds the processes that hold /dev/nvidia*.
func (h *prober) holders() {
	if h.NoHolders {
		return
	}
	list, hidden, left := h.findHolders()
	h.about("node", "")
	h.w.Value("holders", len(list))
	if left > 0 {
		h.w.Value("holders.not_looked_at", left)
	}
	if hidden > 0 {
		h.w.Noted("holders.hidden", hidden, "processes of others: their open files are for root only")
	}
	users := h.users()
	stuck := h.stuck(list)
	for _, p := range list {
		h.about("process", strconv.Itoa(p.pid))
		h.holder(p, users)
		if s, ok := stuck[p.tid]; ok {
			h.w.Value("process.stuck.ms", s.ms)
			if s.frame != "" {
				h.w.Value("process.stuck.in", s.frame)
			}
		}
	}
}

// findHolders looks through all processes. A machine with very many open files must
// not make a check late.
func (h *prober) findHolders() (list []holder, hidden, left int) {
	budget := 2 * time.Second
	if h.Quick {
		budget = 150 * time.Millisecond
	}
	start := time.Now()
	for _, name := range h.list("/proc") {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if h.ctx.Err() != nil || h.live() && time.Since(start) > budget {
			left++
			continue
		}
		dir := path.Join("/proc", name)
		devices, denied := h.openDevices(dir)
		p := holder{pid: pid, tid: pid, devices: devices}
		if len(devices) == 0 {
			if denied {
				hidden++
				continue
			}
			// A leader that has ended keeps no files, its other threads do.
			if p.stat, err = h.stat(dir); err != nil || p.stat.state != "Z" || !h.livingThread(&p, dir) {
				continue
			}
		} else if p.stat, err = h.stat(dir); err != nil {
			continue // it ended while we looked
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b holder) int { return a.pid - b.pid })
	return list, hidden, left
}

// openDevices gives the device files of the driver that a process has open.
func (h *prober) openDevices(dir string) (devices []string, denied bool) {
	// Links are read without the guard: they are the kernel's own memory.
	names, err := readNames(h.at(path.Join(dir, "fd")))
	if err != nil {
		return nil, errors.Is(err, fs.ErrPermission)
	}
	for _, fd := range names {
		target, err := readLink(h.at(path.Join(dir, "fd", fd)))
		if err == nil && strings.HasPrefix(target, "/dev/nvidia") && !slices.Contains(devices, target) {
			devices = append(devices, target)
		}
	}
	slices.Sort(devices)
	return devices, false
}

// livingThread looks whether a thread of a zombie lives on and holds devices.
func (h *prober) livingThread(p *holder, dir string) bool {
	for _, tid := range h.list(path.Join(dir, "task")) {
		n, err := strconv.Atoi(tid)
		if err != nil || n == p.pid {
			continue
		}
		task := path.Join(dir, "task", tid)
		st, err := h.stat(task)
		if err != nil || st.state == "Z" || st.state == "X" {
			continue
		}
		p.threads++
		if devices, _ := h.openDevices(task); len(p.devices) == 0 {
			p.devices, p.tid = devices, n
		}
	}
	return len(p.devices) > 0
}

// stat reads /proc/PID/stat. The name is in brackets and may hold anything.
func (h *prober) stat(dir string) (procStat, error) {
	s, err := h.read(path.Join(dir, "stat"))
	if err != nil {
		return procStat{}, err
	}
	return parseStat(s), nil
}

func parseStat(s string) procStat {
	open, end := strings.IndexByte(s, '('), strings.LastIndexByte(s, ')')
	if open < 0 || end < open {
		return procStat{}
	}
	out := procStat{name: s[open+1 : end]}
	f := strings.Fields(s[end+1:])
	if len(f) > 0 {
		out.state = f[0]
	}
	if len(f) > 1 {
		out.ppid, _ = strconv.Atoi(f[1])
	}
	if len(f) > 12 {
		u, _ := strconv.ParseUint(f[11], 10, 64)
		k, _ := strconv.ParseUint(f[12], 10, 64)
		out.cpu = u + k
	}
	return out
}

var stateNames = map[string]string{
	"R": "running", "S": "sleeping", "D": "disk sleep", "Z": "zombie", "T": "stopped", "t": "traced", "X": "dead", "I": "idle",
}

// holder writes one process.
func (h *prober) holder(p holder, users map[string]string) {
	dir := path.Join("/proc", strconv.Itoa(p.pid))
	h.w.Value("process.pid", p.pid)
	h.w.Value("process.name", p.stat.name)
	h.w.Value("source", strings.Join(p.devices, ","))
	if minor, one := onlyGPU(p.devices); one {
		h.w.Value("minor", minor)
	}
	if s, err := h.read(path.Join(dir, "status")); err == nil {
		if f := strings.Fields(statusField(s, "Uid")); len(f) > 0 {
			h.w.Value("user", nameOf(f[0], users))
		}
	}
	state := stateNames[p.stat.state]
	if state == "" {
		state = p.stat.state
	}
	h.w.Value("process.state", state)
	h.w.Value("process.parent", p.stat.ppid)
	if p.threads > 0 {
		h.w.Value("process.threads.alive", p.threads)
	}
	s, err := h.read(path.Join(dir, "cgroup"))
	if err != nil {
		return
	}
	o := parseCgroup(s)
	for _, f := range [][2]string{
		{"process.container", o.Container}, {"process.container.runtime", o.Runtime}, {"process.pod", o.Pod},
		{"process.slurm.job", o.Job}, {"process.slurm.step", o.Step}, {"process.unit", o.Unit},
	} {
		if f[1] != "" {
			h.w.Value(f[0], f[1])
		}
	}
	// What started it is gone. Daemons and containers are so by design.
	h.w.Value("process.orphan", p.stat.ppid == 1 && p.pid != 1 && !o.service() && o.Container == "" && h.outside)
	if n, err := h.oomKills(o.Path); err == nil && n > 0 {
		h.w.Value("process.cgroup.oom_kills", n)
	}
}

// onlyGPU gives the minor number when exactly one GPU is among the devices.
func onlyGPU(devices []string) (minor int, one bool) {
	for _, d := range devices {
		n, err := strconv.Atoi(strings.TrimPrefix(d, "/dev/nvidia"))
		if err != nil {
			continue
		}
		if one {
			return 0, false
		}
		minor, one = n, true
	}
	return minor, one
}

// statusField gives a line of /proc/PID/status.
func statusField(s, name string) string {
	for line := range strings.Lines(s) {
		if k, v, ok := strings.Cut(line, ":"); ok && k == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// users reads /etc/passwd; names from a directory service stay numbers.
func (h *prober) users() map[string]string {
	out := map[string]string{}
	s, err := h.read("/etc/passwd")
	if err != nil {
		return out
	}
	for line := range strings.Lines(s) {
		if f := strings.Split(line, ":"); len(f) > 3 && out[f[2]] == "" {
			out[f[2]] = f[0]
		}
	}
	return out
}

func nameOf(uid string, users map[string]string) string {
	if n := users[uid]; n != "" {
		return n
	}
	return uid
}

// stuckFor is how long a holder in uninterruptible sleep was seen not to run at all.
type stuckFor struct {
	ms    int64
	frame string // the driver's function at the top of its kernel stack, for root only
}

// stuck watches holders that sleep uninterruptibly: a moment of it is everyday, no
// context switch for seconds is not.
func (h *prober) stuck(list []holder) map[int]stuckFor {
	watch, total := 100*time.Millisecond, 2*time.Second
	if h.Quick {
		total = 100 * time.Millisecond
	}
	if !h.live() {
		total = 0 // a recorded tree doesn't move
	}
	first := map[int]string{}
	for _, p := range list {
		if p.stat.state == "D" || p.threads > 0 {
			if s := h.switches(p); s != "" {
				first[p.tid] = s
			}
		}
	}
	start := time.Now()
	for len(first) > 0 && time.Since(start) < total && h.ctx.Err() == nil {
		time.Sleep(watch)
		for _, p := range list {
			if s, ok := first[p.tid]; ok && h.switches(p) != s {
				delete(first, p.tid)
			}
		}
	}
	out := map[int]stuckFor{}
	for _, p := range list {
		if _, ok := first[p.tid]; ok {
			out[p.tid] = stuckFor{time.Since(start).Milliseconds(), h.kernelFrame(p)}
		}
	}
	return out
}

// switches is equal as long as the thread sleeps uninterruptibly and is never run; ""
// when it does not sleep so.
func (h *prober) switches(p holder) string {
	s, err := h.read(path.Join("/proc", strconv.Itoa(p.pid), "task", strconv.Itoa(p.tid), "status"))
	if err != nil || !strings.HasPrefix(statusField(s, "State"), "D") {
		return ""
	}
	return statusField(s, "voluntary_ctxt_switches") + " " + statusField(s, "nonvoluntary_ctxt_switches")
}

// kernelFrame names the first function of an NVIDIA module on the kernel stack.
func (h *prober) kernelFrame(p holder) string {
	s, err := h.read(path.Join("/proc", strconv.Itoa(p.pid), "task", strconv.Itoa(p.tid), "stack"))
	if err != nil {
		return ""
	}
	return driverFrame(s)
}

// driverFrame reads "[<0>] os_acquire_mutex+0x32/0x60 [nvidia]" lines.
func driverFrame(stack string) string {
	for line := range strings.Lines(stack) {
		f := strings.Fields(line)
		if len(f) != 3 || !strings.HasPrefix(f[2], "[nvidia") {
			continue
		}
		name, _, _ := strings.Cut(f[1], "+")
		return name + " " + f[2]
	}
	return ""
}
