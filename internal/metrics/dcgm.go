package metrics

import (
	"cmp"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/metrics/names"
)

// dcgm writes the GPUs once more, under the names and labels of dcgm-exporter.
func (e *Exporter) dcgm(w *writer, n *node, s *Snapshot) {
	labels := make([][]*dto.LabelPair, len(n.cards))
	for i, c := range n.cards {
		labels[i] = e.dcgmLabels(n, c, s.Pods)
	}
	for _, f := range names.DCGM {
		for i, c := range n.cards {
			if c.values.word("uuid") == "" {
				continue // DCGM has only the GPUs that the driver has
			}
			switch f {
			case names.DCGMReasons:
				if mask, ok := reasonMask(c.values); ok {
					w.add(f, labels[i], float64(mask))
				}
			case names.DCGMXid:
				if s.Xids != nil {
					w.add(f, labels[i], float64(lastXid(c.gpu, s.Xids)))
				}
			default:
				w.dcgmReading(f, c.values, labels[i])
			}
		}
	}
}

// dcgmReading is readings for a family whose labels are all given already.
func (w *writer) dcgmReading(f *names.Family, v values, labels []*dto.LabelPair) {
	for i := range f.From {
		if x, ok := v.number(&f.From[i]); ok {
			w.add(f, labels, f.From[i].Value(x))
		}
	}
}

func (e *Exporter) dcgmLabels(n *node, c *card, pods map[string]Pod) []*dto.LabelPair {
	device := ""
	if i := index(c.gpu); i != "" {
		device = "nvidia" + i // by the index, as dcgm-exporter does, and not by the minor number
	}
	container, namespace, pod := onlyUser(n, c, pods)
	return pairs(names.DCGMLabels, index(c.gpu), c.gpu.UUID, dcgmPCI(c.gpu.PCI), device, c.values.word("name"), e.opts.Hostname,
		n.values.word("driver.version"), container, namespace, pod)
}

// dcgmPCI is the driver's own spelling: eight digits of domain, capital letters.
func dcgmPCI(pci string) string {
	domain, rest, ok := strings.Cut(pci, ":")
	if !ok {
		return pci
	}
	return strings.ToUpper(strings.Repeat("0", max(8-len(domain), 0)) + domain + ":" + rest)
}

// onlyUser is the pod and container on a GPU when all its processes are of one. DCGM's
// labels have room for one.
func onlyUser(n *node, c *card, pods map[string]Pod) (container, namespace, pod string) {
	found := false
	for _, p := range n.procs {
		if !c.gpu.Same(p.gpu) {
			continue
		}
		who := n.who[p.pid]
		named := pods[who.pod]
		named.Name = cmp.Or(named.Name, who.pod)
		if found && (named.Name != pod || named.Namespace != namespace || who.container != container) {
			return "", "", ""
		}
		found, container, namespace, pod = true, who.container, named.Namespace, named.Name
	}
	return container, namespace, pod
}

func reasonMask(v values) (mask uint64, ok bool) {
	for name, bit := range names.ReasonBits {
		switch v.word("clocks_event_reasons." + name) {
		case "active":
			mask, ok = mask|bit, true
		case "not active":
			ok = true
		}
	}
	return mask, ok
}

func lastXid(g gpumedic.GPU, list []Xid) int {
	code, last := 0, time.Time{}
	for _, x := range list {
		if g.Same(x.GPU) && (code == 0 || x.Last.After(last)) {
			code, last = x.Code, x.Last
		}
	}
	return code
}
