package host

import (
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// Owner is who a process belongs to, by the names of its control groups.
type Owner struct {
	Container string // id of a container
	Runtime   string // docker, containerd, cri-o, podman, lxc, nspawn
	Pod       string // uid of a Kubernetes pod
	Job, Step string // of Slurm
	Unit      string // systemd unit that the process runs in
	Path      string // the unified or the longest path
}

// The forms of cgroup paths. An id has 64 hexadecimal digits.
var cgroupForms = []struct {
	runtime string
	re      *lazyre.Regexp
}{
	{"docker", lazyre.New(`(?:/docker/|/docker-)([0-9a-f]{64})\b`)},
	{"containerd", lazyre.New(`cri-containerd[-:]([0-9a-f]{64})\b`)},
	{"cri-o", lazyre.New(`/crio-(?:conmon-)?([0-9a-f]{64})\b`)},
	{"podman", lazyre.New(`/libpod-(?:conmon-|payload-)?([0-9a-f]{64})\b`)},
	{"lxc", lazyre.New(`/lxc(?:\.payload[./]|/)([\w.-]+)`)},
	{"nspawn", lazyre.New(`/machine-([\w.@:\\-]+)\.scope`)},
	{"containerd", lazyre.New(`/kubepods[^:]*/([0-9a-f]{64})\b`)},
	{"containerd", lazyre.New(`/(?:default|k8s\.io|moby|buildkit)/([0-9a-f]{64})\b`)},
}

var (
	podForm   = lazyre.New(`pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})\b`)
	slurmForm = lazyre.New(`/(?:slurm[\w.-]*|[\w.-]*slurmstepd\.scope)(?:/[^/\n]+)?/job_(\d+)(?:/step_([\w+]+))?`)
	unitForm  = lazyre.New(`/((?:[\w:.@\\-]+)\.(?:service|scope))(?:/|$)`)
)

// parseCgroup reads /proc/PID/cgroup, of either version: "4:devices:/slurm/uid_0/job_7",
// "0::/system.slice/docker-….scope".
func parseCgroup(s string) Owner {
	var o Owner
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\n")
		f := strings.SplitN(line, ":", 3)
		if len(f) != 3 || !strings.HasPrefix(f[2], "/") {
			continue
		}
		o.add(f[2])
		if f[0] == "0" && f[2] != "/" || len(f[2]) > len(o.Path) && !strings.HasPrefix(o.Path, "/") {
			o.Path = f[2]
		}
	}
	return o
}

func (o *Owner) add(path string) {
	for _, form := range cgroupForms {
		if o.Container != "" {
			break
		}
		if m := form.re.FindStringSubmatch(path); m != nil {
			o.Container, o.Runtime = m[1], form.runtime
		}
	}
	if m := podForm.FindStringSubmatch(path); m != nil && o.Pod == "" {
		o.Pod = podUID(m[1])
	}
	if m := slurmForm.FindStringSubmatch(path); m != nil && o.Job == "" {
		o.Job, o.Step = m[1], m[2]
	}
	if m := unitForm.FindStringSubmatch(path); m != nil && o.Unit == "" {
		o.Unit = m[1]
	}
}

// podUID writes a pod's uid as Kubernetes does: the systemd driver replaces its dashes.
// Static pods have one without dashes.
func podUID(s string) string { return strings.ReplaceAll(s, "_", "-") }

// service reports whether the process runs in a unit of the system that is not a
// scope: its parent is process 1 by design.
func (o Owner) service() bool { return strings.HasSuffix(o.Unit, ".service") }
