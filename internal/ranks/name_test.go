package ranks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic"
)

// named runs Name over "kind field=value …" lines; pid= and at= (a rank) go to the subject.
func named(lines ...string) string {
	var sigs []gpumedic.Signal
	for n, text := range lines {
		s := rankSig(n, text)
		if r, ok := s.Fields["at"]; ok {
			var v int
			_, _ = fmt.Sscan(r, &v)
			s.Subject.Rank = &v
		}
		_, _ = fmt.Sscan(s.Fields["pid"], &s.Subject.Process.PID)
		s.Subject.Node = s.Fields["node"]
		if strings.HasPrefix(s.Kind, "nccl.init") {
			s.Level = gpumedic.LevelFact
		}
		sigs = append(sigs, s)
	}
	Name(sigs)
	last := sigs[len(sigs)-1].Subject.Rank
	if last == nil {
		return "none"
	}
	return fmt.Sprint(*last)
}

func TestName(t *testing.T) {
	const warn = "nccl.warn nccl_host=n1 nccl_pid=70 cuda_device=0"
	for _, c := range []struct {
		name string
		in   []string
		want string
	}{
		{"the largest communicator", []string{"nccl.init_done nccl_host=n1 nccl_pid=70 cuda_device=0 comm_rank=12 nranks=16",
			"nccl.init_done nccl_host=n1 nccl_pid=70 cuda_device=0 comm_rank=1 nranks=2", warn}, "12"},
		{"two jobs in one log", []string{"nccl.init_done nccl_host=n1 nccl_pid=70 cuda_device=0 comm_rank=12 nranks=16",
			"nccl.init_done nccl_host=n1 nccl_pid=70 cuda_device=0 comm_rank=3 nranks=16", warn}, "none"},
		{"another host", []string{"nccl.init_done nccl_host=n2 nccl_pid=70 cuda_device=0 comm_rank=12 nranks=16", warn}, "none"},
		{"devices of one host", []string{"nccl.warn nccl_host=n1 nccl_pid=71 cuda_device=1", warn}, "0"},
		{"a single device tells nothing", []string{warn, warn}, "none"},
		{"devices with a gap", []string{"nccl.warn nccl_host=n1 nccl_pid=71 cuda_device=3", warn}, "none"},
		{"devices of two hosts", []string{"nccl.warn nccl_host=n2 nccl_pid=71 cuda_device=1", warn}, "none"},
		{"devices beside named ranks", []string{"nccl.warn nccl_host=n1 nccl_pid=71 cuda_device=1", "py.exception at=8", warn}, "none"},
		{"process named by the launcher", []string{"torch.elastic_root pid=41 at=3", "kernel.segfault pid=41"}, "3"},
		{"process of another node", []string{"torch.elastic_root pid=41 at=3 node=a", "kernel.segfault pid=41 node=b"}, "none"},
		{"one number, two ranks", []string{"x pid=41 at=3", "x pid=41 at=4", "kernel.segfault pid=41"}, "none"},
		{"task of srun", []string{"job.exit task=3 code=1"}, "3"},
		{"several tasks", []string{"job.exit task=0 tasks=-3 code=1"}, "none"},
		{"tasks that run torchrun", []string{"torch.elastic_child_failed", "job.exit task=1 code=1"}, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := named(c.in...); got != c.want {
				t.Errorf("rank %s, want %s", got, c.want)
			}
		})
	}
}
