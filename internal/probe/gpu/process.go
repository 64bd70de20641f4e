package gpu

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic/internal/driver/nvml"
)

// user is a process with all that it does on the GPU.
type user struct {
	nvml.Process
	types     []string
	instances []string
}

// processes writes who uses the GPU, each under its own subject: one process may use
// several GPUs, and its readings differ from GPU to GPU.
func (r *reader) processes() {
	if !r.full {
		return
	}
	var order []uint32
	users := map[uint32]*user{}
	for _, q := range []struct {
		key, letter string
		get         func(*nvml.NVML, nvml.Device) ([]nvml.Process, error)
	}{
		{"processes.mps", "M+C", (*nvml.NVML).MPSProcesses}, {"processes.compute", "C", (*nvml.NVML).ComputeProcesses},
		{"processes.graphics", "G", (*nvml.NVML).GraphicsProcesses},
	} {
		found, err := r.users(q.get)
		if r.put(q.key, len(found), err); r.gone {
			return
		}
		for _, p := range found {
			u := users[p.PID]
			if u == nil {
				u = &user{Process: p}
				users[p.PID] = u
				order = append(order, p.PID)
			} else if p.InInstance && len(u.types) > 0 && u.types[len(u.types)-1] == q.letter {
				u.Memory += p.Memory // the same process in another instance
			}
			u.add(q.letter, p)
		}
	}
	for _, pid := range order {
		r.process(users[pid])
	}
}

// users asks the GPU, and its MIG instances one by one where the caller may not see the
// whole: only root may.
func (r *reader) users(get func(*nvml.NVML, nvml.Device) ([]nvml.Process, error)) ([]nvml.Process, error) {
	found, err := get(r.n, r.d)
	if !nvml.IsAbsent(err) || len(r.mig) == 0 {
		return found, err
	}
	for _, d := range r.mig {
		in, instanceErr := get(r.n, d)
		if instanceErr != nil {
			return found, instanceErr
		}
		found = append(found, in...)
	}
	return found, nil
}

func (u *user) add(letter string, p nvml.Process) {
	if !strings.Contains("+"+strings.Join(u.types, "+")+"+", "+"+letter+"+") {
		u.types = append(u.types, letter)
	}
	if p.InInstance {
		u.instances = append(u.instances, fmt.Sprintf("%d/%d", p.GPUInstance, p.Compute))
	}
}

func (r *reader) process(u *user) {
	pid := strconv.Itoa(int(u.PID))
	r.w.Subject("process", pid+" "+r.pci)
	r.w.Value("process.pid", u.PID)
	r.w.Value("pci", r.pci)
	r.w.Value("process.type", strings.Join(u.types, "+"))
	if name := processName(r.proc, pid); name != "" {
		r.w.Value("process.name", name)
	} else {
		r.w.Absent("process.name", "no such process here: it has ended, or runs in another PID namespace")
	}
	if u.HasMemory {
		r.w.Value("process.used_memory.mib", mib(u.Memory))
	} else {
		r.w.Absent("process.used_memory.mib", "the driver does not know")
	}
	if len(u.instances) > 0 {
		r.w.Value("process.mig_instance", strings.Join(u.instances, ","))
	}
}

// processName is what the process was started as; kernel threads have only a short name.
func processName(proc, pid string) string {
	b, _ := os.ReadFile(filepath.Join(proc, pid, "cmdline"))
	if name, _, _ := bytes.Cut(b, []byte{0}); len(name) > 0 {
		return string(name)
	}
	b, _ = os.ReadFile(filepath.Join(proc, pid, "comm"))
	return string(bytes.TrimSpace(b))
}
