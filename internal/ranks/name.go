package ranks

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
)

// Name gives signals that tell no rank the one that other lines tell for the same
// process. A new rank is set in the copy that the caller holds; what a line says of
// itself is never changed. Known are:
//
//   - NCCL's own lines, which begin with host, process and CUDA device, where a line of
//     its start-up names the rank of that process in the largest communicator;
//   - processes that some line names with both number and rank (a launcher's summary, an
//     exit report), on the same node;
//   - tasks of srun, which are the ranks unless a launcher of its own ran in them;
//   - where nothing names ranks, several CUDA devices of one host, each with a process or
//     thread of its own, counted from 0: the local rank is the device by the convention of
//     all launchers.
func Name(signals []gpumedic.Signal) {
	comm := communicators(signals)
	byPID := processes(signals)
	tasks := tasksAreRanks(signals)
	byDevice := devicesAreRanks(signals, comm)
	for i := range signals {
		s := &signals[i]
		if s.Subject.Rank != nil || s.Level == gpumedic.LevelFact {
			continue
		}
		if r, ok := comm[ncclKey(s)]; ok && r >= 0 {
			s.Subject.Rank = &r
			continue
		}
		if n, err := strconv.Atoi(s.Field("cuda_device")); err == nil && byDevice && s.Field("nccl_host") != "" {
			s.Subject.Rank = &n
			continue
		}
		if n, err := strconv.Atoi(s.Field("task")); err == nil && tasks && s.Field("tasks") == "" {
			s.Subject.Rank = &n
			continue
		}
		if p := byPID[s.Subject.Process.PID]; s.Subject.Process.PID > 0 && p.rank != nil && sameOrUnknown(p.node, s.Subject.Node) {
			s.Subject.Rank = p.rank
		}
	}
}

// ncclKey names the process (or thread) of one of NCCL's lines, "" for other lines.
func ncclKey(s *gpumedic.Signal) string {
	host, pid, dev := s.Field("nccl_host"), s.Field("nccl_pid"), s.Field("cuda_device")
	if host == "" || pid == "" {
		return ""
	}
	return strings.Join([]string{host, pid, dev}, " ")
}

// communicators are the ranks in the largest communicator that each process joined: the
// smaller ones are those of tensor or pipeline groups. −1: it joined two of one size
// under different ranks.
func communicators(signals []gpumedic.Signal) map[string]int {
	size, out := map[string]int{}, map[string]int{}
	for i := range signals {
		s := &signals[i]
		rank, err1 := strconv.Atoi(s.Field("comm_rank"))
		n, err2 := strconv.Atoi(s.Field("nranks"))
		key := ncclKey(s)
		if err1 != nil || err2 != nil || key == "" || n < size[key] {
			continue
		}
		if old, ok := out[key]; ok && n == size[key] && old != rank {
			rank = -1
		}
		size[key], out[key] = n, rank
	}
	return out
}

type process struct {
	node string
	rank *int
	many bool
}

// processes are the ranks of processes by their number. A number that two ranks bear
// (on other nodes, or after a restart) names none.
func processes(signals []gpumedic.Signal) map[int]process {
	out := map[int]process{}
	for i := range signals {
		s := &signals[i].Subject
		if s.Rank == nil || s.Process.PID == 0 || signals[i].Field("reporter") == "victim" {
			continue
		}
		p, ok := out[s.Process.PID]
		switch {
		case !ok:
			p = process{node: s.Node, rank: s.Rank}
		case p.many || *p.rank != *s.Rank || !sameOrUnknown(p.node, s.Node):
			p = process{many: true}
		case p.node == "":
			p.node = s.Node
		}
		out[s.Process.PID] = p
	}
	return out
}

func sameOrUnknown(a, b string) bool { return a == b || a == "" || b == "" }

// ownLaunchers start the ranks themselves, one launcher in each task of srun.
var ownLaunchers = []string{"torch.elastic_failed", "torch.elastic_root", "torch.elastic_child_failed", "torch.elastic_closing", "deepspeed.killing"}

func tasksAreRanks(signals []gpumedic.Signal) bool {
	return !slices.ContainsFunc(signals, func(s gpumedic.Signal) bool { return slices.Contains(ownLaunchers, s.Kind) })
}

// devicesAreRanks reports whether NCCL's lines are of one host and several devices
// without a gap from 0, and no line names a rank in another way.
func devicesAreRanks(signals []gpumedic.Signal, comm map[string]int) bool {
	if len(comm) > 0 {
		return false
	}
	host, seen := "", map[int]string{}
	for i := range signals {
		s := &signals[i]
		h, dev := s.Field("nccl_host"), s.Field("cuda_device")
		if h == "" {
			if s.Subject.Rank != nil && s.Field("reporter") != "victim" {
				return false
			}
			continue
		}
		n, err := strconv.Atoi(dev)
		if err != nil || s.Subject.Rank != nil || host != "" && h != host {
			return false
		}
		host, seen[n] = h, dev
	}
	for n := range len(seen) {
		if seen[n] == "" {
			return false
		}
	}
	return len(seen) > 1
}
