package metrics

import (
	"cmp"
	"path"
	"slices"
	"strconv"

	dto "github.com/prometheus/client_model/go"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/metrics/names"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

// process is a process on one GPU.
type process struct {
	pid    string
	gpu    gpumedic.GPU
	values values
	memory float64
}

// processes writes what each process has on each GPU: the largest by memory, and the rest
// of a GPU in one series, so that sums stay true.
func (e *Exporter) processes(read, known *writer, n *node, pods map[string]Pod) {
	list := slices.Clone(n.procs)
	slices.SortStableFunc(list, func(a, b *process) int {
		return cmp.Or(-cmp.Compare(a.memory, b.memory), cmp.Compare(a.pid, b.pid))
	})
	listed := list[:min(len(list), e.opts.MaxProcesses)]
	rest := list[len(listed):]
	for _, f := range names.Families {
		if f.Scope != names.Process {
			continue
		}
		for _, p := range listed {
			read.readings(f, p.values, processLabels(n, p, n.who[p.pid], pods))
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
	f := names.ProcessMemory
	for _, p := range order {
		others := &process{gpu: p.gpu, values: values{"process.name": "(others)"}}
		read.add(f, processLabels(n, others, nil, nil), f.From[0].Value(sums[keyOf(p.gpu)]))
	}
}

var processLabelNames = names.ProcessMemory.AllLabels()

type gpuKey struct{ pci, uuid, index string }

func keyOf(g gpumedic.GPU) gpuKey { return gpuKey{g.PCI, g.UUID, index(g)} }

// gather joins what is said of one process on one GPU, and finds who each process is: the
// driver knows its memory, the host its owner.
func gather(sets []*section.Readings) (list []*process, who map[string]values) {
	who = map[string]values{}
	type key struct {
		gpu gpuKey
		pid string
	}
	byKey := map[key]*process{}
	for _, s := range sets {
		pid := s.Values["process.pid"].Value
		if _, err := strconv.Atoi(pid); err != nil {
			continue
		}
		v := add(values{}, s)
		if s.Subject.GPU.PCI == "" && s.Subject.GPU.UUID == "" && s.Subject.GPU.Index == nil {
			if who[pid] == nil {
				who[pid] = v
			}
			continue
		}
		mib, ok := v.number(&names.From{Keys: []string{"process.used_memory.mib"}})
		k := key{keyOf(s.Subject.GPU), pid}
		p := byKey[k]
		if p == nil {
			p = &process{pid: pid, gpu: s.Subject.GPU, values: v, memory: mib}
			byKey[k] = p
			list = append(list, p)
		} else if ok { // once more, in another MIG instance
			p.memory += mib
			p.values["process.used_memory.mib"] = strconv.FormatFloat(p.memory, 'f', -1, 64)
		}
	}
	return list, who
}

func processLabels(n *node, p *process, who values, pods map[string]Pod) []*dto.LabelPair {
	gpu := n.known(p.gpu)
	id, pci, uuid := index(p.gpu), p.gpu.PCI, p.gpu.UUID
	if gpu != nil {
		id, pci, uuid = index(gpu.gpu), gpu.gpu.PCI, gpu.gpu.UUID
	}
	pod := who.word("process.pod")
	named := pods[pod]
	name := cmp.Or(p.values.word("process.name"), who.word("process.name"))
	if name != "" {
		name = path.Base(name)
	}
	return pairs(processLabelNames, id, pci, uuid, p.pid, name, p.values.word("process.type"),
		who.word("user"), who.word("process.container"), cmp.Or(named.Name, pod), named.Namespace, who.word("process.slurm.job"))
}
