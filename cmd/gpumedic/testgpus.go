package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/burn"
	"github.com/gpumedic/gpumedic/internal/probe"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

// A testGPU is a GPU that may be tested.
type testGPU struct {
	burn.Identity
	index   *int
	others  []string // processes on it
	refused string   // why it is not tested
}

// choose lists the GPUs, from NVML and from CUDA, and picks those that are to be tested. A
// GPU that NVML lists and CUDA does not is tested too: the test will say what is wrong.
func (s *session) choose(ctx context.Context) ([]testGPU, error) {
	cuda, failed := burn.List(ctx, s.runner, s.f.call)
	all := fromReadings(s.before)
	hidden := os.Getenv("CUDA_VISIBLE_DEVICES") != "" // by the job's scheduler, for a reason
	if hidden && len(s.f.gpus) == 0 && failed == nil {
		all = slices.DeleteFunc(all, func(g testGPU) bool {
			return !slices.ContainsFunc(cuda, func(d burn.Identity) bool { return d.PCI == g.PCI })
		})
	}
	for i, d := range cuda {
		at := slices.IndexFunc(all, func(g testGPU) bool { return g.PCI == d.PCI })
		if at < 0 {
			all = append(all, testGPU{index: &i})
			at = len(all) - 1
		}
		all[at].Identity = d
	}
	if len(all) == 0 {
		err := errors.New("find GPUs: none")
		if failed != nil {
			err = fmt.Errorf("find GPUs: %s", failed.Text)
		}
		return nil, hinted{err, "gpumedic check reads what the driver and the PCI bus say", gpumedic.ExitUnknown}
	}
	if len(s.f.gpus) > 0 {
		var picked []testGPU
		for _, name := range s.f.gpus {
			g, err := pick(all, name)
			if err != nil {
				return nil, err
			}
			if !slices.ContainsFunc(picked, func(p testGPU) bool { return p.PCI == g.PCI }) {
				picked = append(picked, g)
			}
		}
		all = picked
	}
	for i := range all {
		if len(all[i].others) > 0 && !s.f.shared {
			all[i].refused = burn.InUse(all[i].others)
		}
	}
	return all, nil
}

// pick finds a GPU by PCI address, index or UUID.
func pick(all []testGPU, name string) (testGPU, error) {
	want, err := gpumedic.ParseGPU(name)
	if err != nil {
		return testGPU{}, usage(err, "nvidia-smi -L lists the GPUs")
	}
	for _, g := range all {
		if want.Same(gpumedic.GPU{PCI: g.PCI, UUID: g.UUID, Index: g.index}) {
			return g, nil
		}
	}
	return testGPU{}, usage(fmt.Errorf("find GPU %s: not among the %d that were found", name, len(all)), "nvidia-smi -L lists the GPUs; CUDA_VISIBLE_DEVICES hides some")
}

func readingsOf(doc []byte) []section.Readings {
	if len(doc) == 0 {
		return nil
	}
	sets, _ := section.Parse(section.TextOf(string(doc)))
	return sets
}

// fromReadings are the GPUs of a probe's document and the processes on them. Graphics
// processes alone (a desktop) count as well: a test would starve them.
func fromReadings(doc []byte) []testGPU {
	var out []testGPU
	sets := readingsOf(doc)
	for i := range sets {
		r := &sets[i]
		if r.Subject.GPU.PCI == "" || r.Values["process.pid"].Value != "" || r.Subject.Process.PID != 0 {
			continue
		}
		if slices.ContainsFunc(out, func(g testGPU) bool { return g.PCI == r.Subject.GPU.PCI }) {
			continue
		}
		out = append(out, testGPU{
			Identity: burn.Identity{PCI: r.Subject.GPU.PCI, UUID: r.Subject.GPU.UUID, Name: r.Values["name"].Value},
			index:    r.Subject.GPU.Index,
		})
	}
	for i := range sets {
		r := &sets[i]
		pid := r.Subject.Process.PID
		if n, err := strconv.Atoi(r.Values["process.pid"].Value); err == nil {
			pid = n
		}
		if pid == 0 || pid == os.Getpid() {
			continue
		}
		for k := range out {
			if out[k].PCI == r.Subject.GPU.PCI {
				out[k].others = append(out[k].others, processText(r.Values["process.name"].Value, pid))
			}
		}
	}
	return out
}

// processText names a process; one of another PID namespace has no name here.
func processText(name string, pid int) string {
	if name == "" || name == "N/A" {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("%s (%d)", name, pid)
}

// watchOf is what the driver said of one GPU around its test.
func watchOf(before, after []byte, samples []probe.Sample, o *burn.Outcome) burn.Watch {
	w := burn.Watch{Before: valuesOf(before, o.GPU.PCI), After: valuesOf(after, o.GPU.PCI)}
	for _, s := range samples { // all GPUs are sampled as long as one is tested
		if !s.At.Before(o.Begun) && !s.At.After(o.Ended) {
			w.Samples = append(w.Samples, s)
		}
	}
	return w
}

func valuesOf(doc []byte, pci string) map[string]string {
	out := map[string]string{}
	for _, r := range readingsOf(doc) {
		if r.Subject.GPU.PCI != pci || r.Subject.Process.PID != 0 {
			continue
		}
		for key, v := range r.Values {
			out[key] = v.Value
		}
	}
	return out
}

// limitsOf is what the product and its link can do.
func limitsOf(o *burn.Outcome) burn.Limits {
	var l burn.Limits
	if p := catalog.MemoryBandwidth(o.GPU.Name); p != nil {
		l.Memory = float64(p.GBs)
	}
	num := func(key string) int {
		n, _ := strconv.Atoi(o.Watch.Before[key])
		return n
	}
	l.Link = burn.LinkRate(num("pcie.link.gen.max"), num("pcie.link.width.max"))
	return l
}
