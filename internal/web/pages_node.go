package web

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/incident/show"
	"github.com/gpumedic/gpumedic/internal/incident/store"
	"github.com/gpumedic/gpumedic/internal/report"
)

// gpuRow is a GPU with its charts.
type gpuRow struct {
	report.GPU
	Key    string // name in addresses
	Label  string // "GPU 3"
	Charts []Chart
}

type nodeData struct {
	Open     []*incident.Incident // worst first
	More     int                  // that are not shown
	StoreErr string
	StoreTip string
	Alerts   *Alerts // nil: the daemon evaluates no rules
	GPUs     []gpuRow
	Sources  []Source
	Late     bool
}

// openShown is how many open incidents the first page shows.
const openShown = 6

func (s *Server) pageNode(w http.ResponseWriter, r *http.Request) {
	v := s.view(r, "node", "Node")
	d := nodeData{Sources: s.Backend.Sources(), GPUs: s.rows(v)}
	if a := s.Backend.Alerts(); a.Enabled {
		d.Alerts = &a
	}
	list, err := s.Backend.List(r.Context(), store.Filter{})
	if err != nil {
		_, hint := statusOf(err)
		d.StoreErr, d.StoreTip = err.Error(), word(v.Lang, hint)
	}
	d.Open = show.WorstFirst(list)
	if len(d.Open) > openShown+1 {
		d.More = len(d.Open) - openShown
		d.Open = d.Open[:openShown]
	}
	d.Late = v.Node.Report != nil && v.Now.Sub(v.Node.Read) > late(v.Node)
	v.Data = d
	s.render(w, http.StatusOK, v)
}

// rows are the GPUs of the table, each with its charts of the last hour.
func (s *Server) rows(v *view) []gpuRow {
	if v.Node.Report == nil {
		return nil
	}
	series := s.rings.Read("", v.Now.Add(-shownSpan), v.Now, shownStep)
	var out []gpuRow
	for _, g := range v.Node.Report.GPUs {
		out = append(out, s.row(v, g, series))
	}
	return out
}

func (s *Server) row(v *view, g report.GPU, series []Series) gpuRow {
	row := gpuRow{GPU: g, Key: gpuName(&g), Label: label(&g)}
	var mine *Series
	if n := slices.IndexFunc(series, func(x Series) bool { return incident.SameGPU(x.GPU, namesOf(&g)) }); n >= 0 {
		mine = &series[n]
	}
	row.Charts = charts(v.Lang, &g, mine, v.Now)
	return row
}

func label(g *report.GPU) string {
	if g.Index != nil {
		return "GPU " + strconv.Itoa(*g.Index)
	}
	return "GPU " + firstOf(shortPCI(g.PCI), g.UUID, g.Serial, "?")
}

type gpuData struct {
	gpuRow
	Open  []*incident.Incident
	Table []tableRow
}

// tableRow is a row of the charts as figures.
type tableRow struct {
	At      time.Time
	Figures []string
}

func (s *Server) pageGPU(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	v := s.view(r, "gpu", "GPU")
	for _, g := range gpusOf(v.Node).GPUs {
		if !incident.NamesGPU(name, namesOf(&g)) {
			continue
		}
		d := gpuData{gpuRow: s.row(v, g, s.rings.Read(name, v.Now.Add(-shownSpan), v.Now, shownStep))}
		v.Title = d.Label
		for _, x := range s.rings.Read(name, v.Now.Add(-shownSpan), v.Now, 5*time.Minute) {
			d.Table = figures(&x)
		}
		list, err := s.Backend.List(r.Context(), store.Filter{})
		if err != nil {
			s.fail(w, r, err)
			return
		}
		list = slices.DeleteFunc(list, func(i *incident.Incident) bool { return !incident.SameGPU(i.Subject.GPU, namesOf(&g)) })
		d.Open = show.WorstFirst(list)
		v.Data = d
		s.render(w, http.StatusOK, v)
		return
	}
	s.fail(w, r, notFound("find GPU: none is called "+strconv.Quote(name)))
}

// figures are a series as a table, the latest first.
func figures(x *Series) []tableRow {
	var out []tableRow
	for i := len(x.AtMS) - 1; i >= 0; i-- {
		row := tableRow{At: time.UnixMilli(x.AtMS[i])}
		for _, m := range shown {
			f := float64(x.Values[m.index][i])
			row.Figures = append(row.Figures, figure(&f, m.scale))
		}
		out = append(out, row)
	}
	return out
}
