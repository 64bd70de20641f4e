package metrics

import (
	"cmp"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"github.com/gpumedic/gpumedic/internal/metrics/names"
)

// Exporter answers scrapes from the last snapshot. It is a prometheus.Gatherer.
type Exporter struct {
	opts Options
	reg  *prometheus.Registry

	mu    sync.Mutex
	snap  *Snapshot
	built *built // nil: the snapshot was not looked at yet
	seen  []seenGPU
}

// built are the series of a snapshot: those that were read, and those that stay when the
// readings are too old.
type built struct{ read, known []*dto.MetricFamily }

// New makes an Exporter without a snapshot, with the costs of this process.
func New(o Options) *Exporter {
	e := &Exporter{opts: o.withDefaults(), reg: prometheus.NewRegistry()}
	e.reg.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewGoCollector())
	return e
}

// Registry takes further metrics of the daemon. Their names must not be in package names.
func (e *Exporter) Registry() *prometheus.Registry { return e.reg }

// Update replaces the snapshot.
func (e *Exporter) Update(s Snapshot) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.snap, e.built = &s, nil
}

// SetMaxAge changes how old the readings may be.
func (e *Exporter) SetMaxAge(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opts.MaxAge = d
}

// Gather gives all series of this moment, sorted by name.
func (e *Exporter) Gather() ([]*dto.MetricFamily, error) {
	// What the registry could gather beside an error is still an answer.
	out, err := e.reg.Gather()
	out = append(out, e.families()...)
	slices.SortFunc(out, func(a, b *dto.MetricFamily) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return out, err
}

// Own gives the series of the snapshot, unsorted, without those of the process.
func (e *Exporter) Own() []*dto.MetricFamily { return e.families() }

func (e *Exporter) families() []*dto.MetricFamily {
	e.mu.Lock()
	defer e.mu.Unlock()
	w := newWriter()
	w.add(names.BuildInfo, pairs(names.BuildInfo.Labels, e.opts.Version, e.opts.Catalog, runtime.Version()), 1)
	if e.snap == nil {
		w.add(names.Alive, nil, 0)
		return w.families
	}
	if e.built == nil {
		e.built = e.build(e.snap)
	}
	fresh := false
	if !e.snap.Taken.IsZero() {
		age := max(e.opts.Now().Sub(e.snap.Taken), 0)
		fresh = age <= e.opts.MaxAge
		w.add(names.SnapshotAge, nil, age.Seconds())
		w.add(names.SnapshotTime, nil, unix(e.snap.Taken))
	}
	w.add(names.Alive, nil, number(fresh))
	out := append(w.families, e.built.known...)
	if fresh {
		out = append(out, e.built.read...)
	}
	return out
}

// Handler serves what a gatherer gives, as text or OpenMetrics, as the client asks. With
// DCGM's names it is always text: OpenMetrics wants _total behind every counter, and some
// of theirs have none.
//
// promhttp compresses at gzip's default level, which took 38 % of a scrape; at the fastest
// level the answer is a little longer.
func Handler(g prometheus.Gatherer) http.Handler {
	e, ok := g.(*Exporter)
	h := promhttp.HandlerFor(g, promhttp.HandlerOpts{
		ErrorHandling:      promhttp.ContinueOnError,
		EnableOpenMetrics:  !ok || !e.opts.DCGM,
		DisableCompression: true,
	})
	fast, err := gzhttp.NewWrapper(gzhttp.CompressionLevel(gzip.BestSpeed))
	if err != nil {
		return h // a level that is none: the compiler knows the constant, so never
	}
	return fast(h)
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
