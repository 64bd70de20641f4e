package host

import (
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// daemons are the services of the driver, by the name that the kernel keeps of a
// process (15 characters).
var daemons = []struct{ comm, key, unit string }{
	{"nv-fabricmanage", "fabricmanager", "nvidia-fabricmanager"},
	{"nvidia-persiste", "persistenced", "nvidia-persistenced"},
	{"nvidia-imex", "imex", "nvidia-imex"},
	{"nv-hostengine", "hostengine", "nvidia-dcgm"},
	{"nvidia-cuda-mps", "mps", ""},
}

// services writes which daemons run, and what systemd says of their units.
func (h *prober) services() {
	h.about("node", "")
	running := map[string]bool{}
	for _, name := range h.list("/proc") {
		if _, err := strconv.Atoi(name); err != nil {
			continue
		}
		if comm, err := h.read(path.Join("/proc", name, "comm")); err == nil {
			running[strings.TrimSpace(comm)] = true
		}
	}
	whole := h.exists("/proc/1/comm") // with hidepid others' processes are not to be seen
	for _, d := range daemons {
		if !whole && !running[d.comm] {
			h.w.Absent("service."+d.key+".running", "/proc shows only some of the processes")
			continue
		}
		h.w.Value("service."+d.key+".running", running[d.comm])
	}
	if h.Quick {
		return
	}
	h.fabricManagerVersion(running["nv-fabricmanage"])
	h.units()
}

var fmVersion = lazyre.New(`(?i)fabric ?manager version(?: is)?\s*:?\s*(\d{3}\.[\d.]+)`)

func (h *prober) fabricManagerVersion(runs bool) {
	if !runs {
		return
	}
	out, err := h.run(2*time.Second, "nv-fabricmanager", "--version")
	if m := fmVersion.FindStringSubmatch(string(out)); m != nil {
		h.w.Value("service.fabricmanager.version", strings.TrimRight(m[1], "."))
		return
	}
	reason := "nv-fabricmanager --version names none"
	if err != nil {
		reason = "run nv-fabricmanager: " + err.Error()
	}
	h.w.Absent("service.fabricmanager.version", reason)
}

// units asks systemd. A unit that is not installed is not written.
func (h *prober) units() {
	args := []string{"show", "--no-pager", "--property=Id,LoadState,ActiveState,SubState,Result,UnitFileState"}
	for _, d := range daemons {
		if d.unit != "" {
			args = append(args, d.unit+".service")
		}
	}
	args = append(args, "docker.service", "containerd.service", "kubelet.service", "slurmd.service", "openibd.service", "nvidia-mig-manager.service")
	out, err := h.run(2*time.Second, "systemctl", args...)
	if err != nil {
		return
	}
	for _, u := range parseUnits(string(out)) {
		if u["Id"] == "" || u["LoadState"] == "not-found" || u["ActiveState"] == "" {
			continue
		}
		h.about("unit", strings.TrimSuffix(u["Id"], ".service"))
		h.w.Value("unit", u["Id"])
		for _, f := range [][2]string{
			{"unit.loaded", "LoadState"}, {"unit.active", "ActiveState"}, {"unit.substate", "SubState"},
			{"unit.result", "Result"}, {"unit.enabled", "UnitFileState"},
		} {
			if v := u[f[1]]; v != "" {
				h.w.Value(f[0], v)
			}
		}
	}
}

// parseUnits reads the blocks of `systemctl show`, with an empty line between.
func parseUnits(s string) []map[string]string {
	var out []map[string]string
	cur := map[string]string{}
	end := func() {
		if len(cur) > 0 {
			out, cur = append(out, cur), map[string]string{}
		}
	}
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			end()
			continue
		}
		if k, v, ok := strings.Cut(line, "="); ok {
			cur[k] = v
		}
	}
	end()
	return out
}
