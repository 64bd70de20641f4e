package metrics

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/metrics/names"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

// process is a process on one GPU.
type process struct {
	pid         string
	gpu         gpumedic.GPU
	name, kind  string
	memory      float64 // MiB
	knowsMemory bool
	utilization string
}

// owner is what the host knows of a process.
type owner struct{ name, user, container, pod, job string }

// processes writes what each process has on each GPU: the largest by memory, and the rest
// of a GPU in one series, so that sums stay true.
func (e *Exporter) processes(read, known *writer, n *node, pods map[string]Pod) {
	list := slices.Clone(n.procs)
	slices.SortStableFunc(list, func(a, b *process) int {
		return cmp.Or(-cmp.Compare(a.memory, b.memory), cmp.Compare(a.pid, b.pid))
	})
	listed := list[:min(len(list), e.opts.MaxProcesses)]
	rest := list[len(listed):]
	memory, load := &names.ProcessMemory.From[0], &names.ProcessUtilization.From[0]
	for _, p := range listed {
		labels := processLabels(n, p, n.who[p.pid], pods)
		if p.knowsMemory {
			read.add(names.ProcessMemory, labels, memory.Value(p.memory))
		}
		if v, ok := finite(p.utilization); ok {
			read.add(names.ProcessUtilization, labels, load.Value(v))
		}
	}
	known.add(names.Hidden, pairs(names.Hidden.Labels, "processes"), float64(len(rest)))
	sums := map[gpuKey]float64{}
	var order []*process
	for _, p := range rest {
		k := keyOf(p.gpu)
		if _, old := sums[k]; !old {
			order = append(order, p)
		}
		sums[k] += p.memory
	}
	for _, p := range order {
		others := &process{gpu: p.gpu, name: "(others)"}
		read.add(names.ProcessMemory, processLabels(n, others, owner{}, nil), memory.Value(sums[keyOf(p.gpu)]))
	}
}

type gpuKey struct{ pci, uuid, index string }

func keyOf(g gpumedic.GPU) gpuKey { return gpuKey{g.PCI, g.UUID, index(g)} }

// gather joins what is said of one process on one GPU, and finds who each process is: the
// driver knows its memory, the host its owner.
func gather(sets []*section.Readings) (list []*process, who map[string]owner) {
	type key struct {
		gpu gpuKey
		pid string
	}
	who, byKey := map[string]owner{}, map[key]*process{}
	for _, s := range sets {
		word := func(key string) string { return plain(s.Values[key].Value) }
		pid := word("process.pid")
		if _, err := strconv.Atoi(pid); err != nil {
			continue
		}
		if g := s.Subject.GPU; g.PCI == "" && g.UUID == "" && g.Index == nil {
			if _, old := who[pid]; !old {
				who[pid] = owner{word("process.name"), word("user"), word("process.container"), word("process.pod"), word("process.slurm.job")}
			}
			continue
		}
		mib, ok := finite(word("process.used_memory.mib"))
		k := key{keyOf(s.Subject.GPU), pid}
		p := byKey[k]
		if p == nil {
			p = &process{pid: pid, gpu: s.Subject.GPU, name: word("process.name"), kind: strings.ToUpper(word("process.type")),
				utilization: word("process.utilization.gpu.percent")}
			byKey[k] = p
			list = append(list, p)
		}
		if ok { // more than once when it is in several MIG instances
			p.memory, p.knowsMemory = p.memory+mib, true
		}
	}
	return list, who
}

var processLabelNames = names.ProcessMemory.AllLabels()

func processLabels(n *node, p *process, who owner, pods map[string]Pod) []*dto.LabelPair {
	g := p.gpu
	if c := n.known(g); c != nil {
		g = c.gpu
	}
	name := cmp.Or(p.name, who.name)
	if name != "" {
		name = path.Base(name)
	}
	pod := pods[who.pod]
	return pairs(processLabelNames, index(g), g.PCI, g.UUID, p.pid, name, p.kind,
		who.user, who.container, cmp.Or(pod.Name, who.pod), pod.Namespace, who.job)
}
