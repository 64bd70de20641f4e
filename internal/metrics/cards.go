package metrics

import (
	"cmp"
	"slices"
	"strconv"

	dto "github.com/prometheus/client_model/go"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/metrics/names"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

func unreadable(s string) bool { return section.Unreadable(s) }

// card is one GPU with all that was read of it.
type card struct {
	gpu    gpumedic.GPU
	values values
	labels []*dto.LabelPair
}

// node are the readings of a snapshot, sorted by what they are about.
type node struct {
	values values // of the node itself
	cards  []*card
	mig    []values
	ports  []values
	procs  []*process
	who    map[string]owner // by the process number
	seen   []seenGPU        // GPUs of earlier snapshots
}

func sortOut(sets []section.Readings) *node {
	n := &node{values: values{}}
	var procs []*section.Readings
	for i := range sets {
		s := &sets[i]
		switch {
		case s.Values["process.pid"].Value != "":
			procs = append(procs, s)
		case s.Values["mig.uuid"].Value != "" || s.Subject.GPU.MIG != "":
			n.mig = append(n.mig, add(values{}, s))
		case !s.Subject.GPU.IsZero():
			c := n.card(s.Subject.GPU)
			add(c.values, s)
		case s.Values["ib.device"].Value != "":
			n.ports = append(n.ports, add(values{}, s))
		case s.Subject.Port == "" && s.Subject.NVSwitch == "":
			add(n.values, s)
		}
	}
	n.procs, n.who = gather(procs)
	for _, c := range n.cards {
		for _, total := range names.ECC.From {
			if v, ok := section.ECCTotal(c.values.word, total.Labels[0], total.Labels[1]); ok {
				c.values[total.Keys[0]] = strconv.FormatFloat(v, 'f', -1, 64)
			}
		}
		c.labels = gpuLabels(c.gpu, c.values.word("name"))
	}
	slices.SortStableFunc(n.cards, func(a, b *card) int {
		return cmp.Or(cmp.Compare(place(a.gpu.Index), place(b.gpu.Index)), cmp.Compare(a.gpu.PCI, b.gpu.PCI))
	})
	return n
}

// add takes the readings of a set; what was known first stays, unless it was nothing.
func add(to values, s *section.Readings) values {
	for k, r := range s.Values {
		if old, ok := to[k]; !ok || old == "N/A" {
			to[k] = r.Value
		}
	}
	return to
}

// card is the card that a GPU's names mean, a new one when none does.
func (n *node) card(g gpumedic.GPU) *card {
	if c := n.known(g); c != nil {
		c.gpu.Join(g)
		return c
	}
	c := &card{gpu: g, values: values{}}
	n.cards = append(n.cards, c)
	return c
}

func (n *node) known(g gpumedic.GPU) *card {
	for _, c := range n.cards {
		if c.gpu.Same(g) {
			return c
		}
	}
	return nil
}

// labelsOf are the labels of a GPU that something else than its readings names.
func (n *node) labelsOf(g gpumedic.GPU) []*dto.LabelPair {
	if c := n.known(g); c != nil {
		return c.labels
	}
	for _, s := range n.seen {
		if s.gpu.Same(g) {
			return s.labels()
		}
	}
	return gpuLabels(g, "")
}

func gpuLabels(g gpumedic.GPU, name string) []*dto.LabelPair {
	return pairs(names.GPULabels, index(g), g.PCI, g.UUID, name)
}

func index(g gpumedic.GPU) string {
	if g.Index == nil {
		return ""
	}
	return strconv.Itoa(*g.Index)
}

func place(index *int) int {
	if index == nil {
		return 1 << 20
	}
	return *index
}
