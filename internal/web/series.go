package web

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/report"
)

// Series are the readings of one GPU over time, in columns of equal length. A null is a
// step in which nothing was read.
type Series struct {
	Name   string       `json:"name"` // as the table of GPUs and the page name it
	GPU    gpumedic.GPU `json:"gpu"`
	Step   float64      `json:"step_s"`
	AtMS   []int64      `json:"at_ms"` // begin of each step, milliseconds since 1970
	Values Columns      `json:"values"`
}

// Columns are the values by measure. Of a step the utilisation is the mean, anything else
// the highest value, so that a short peak is not lost.
type Columns [measures][]float32

// MarshalJSON writes an object of arrays.
func (c Columns) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for m, name := range MeasureNames {
		if m > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendQuote(b, name)
		b = append(b, ':', '[')
		for i, v := range c[m] {
			if i > 0 {
				b = append(b, ',')
			}
			if math.IsNaN(float64(v)) {
				b = append(b, "null"...)
			} else {
				b = strconv.AppendFloat(b, math.Round(float64(v)*10)/10, 'f', -1, 64)
			}
		}
		b = append(b, ']')
	}
	return append(b, '}'), nil
}

// gpuName is how a GPU is called in addresses: what stays with the card first.
func gpuName(g *report.GPU) string {
	switch {
	case g.Serial != "" && g.UUID == "":
		return g.Serial
	case g.UUID != "":
		return g.UUID
	case g.PCI != "":
		return g.PCI
	case g.Index != nil:
		return strconv.Itoa(*g.Index)
	}
	return ""
}

func namesOf(g *report.GPU) gpumedic.GPU {
	return gpumedic.GPU{PCI: g.PCI, UUID: g.UUID, Serial: g.Serial, Index: g.Index}
}

// Read returns the series of the GPUs that a name is one of, all of them for "".
func (r *Rings) Read(name string, from, to time.Time, step time.Duration) []Series {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := []Series{}
	for _, g := range r.list {
		if name == "" || incident.NamesGPU(name, namesOf(&g.gpu)) {
			out = append(out, g.read(from, to, step))
		}
	}
	return out
}

func (g *ring) read(from, to time.Time, step time.Duration) Series {
	s := Series{Name: gpuName(&g.gpu), GPU: namesOf(&g.gpu), Step: step.Seconds(), AtMS: []int64{}}
	for m := range s.Values {
		s.Values[m] = []float32{}
	}
	n, start := g.next, 0
	if g.full {
		n, start = len(g.at), g.next
	}
	width := max(1, step.Milliseconds())
	var sum, read float64
	for k := range n {
		i := (start + k) % len(g.at)
		at := g.at[i]
		if at < from.UnixMilli() || at > to.UnixMilli() {
			continue
		}
		at -= at % width
		last := len(s.AtMS) - 1
		if last < 0 || at > s.AtMS[last] { // a clock set back stays in the step it was in
			s.AtMS, sum, read = append(s.AtMS, at), 0, 0
			last++
			for m := range s.Values {
				s.Values[m] = append(s.Values[m], float32(math.NaN()))
			}
		}
		for m, v := range g.values[i] {
			have := &s.Values[m][last]
			switch {
			case math.IsNaN(float64(v)):
			case m == Utilization:
				sum, read = sum+float64(v), read+1
				*have = float32(sum / read)
			case math.IsNaN(float64(*have)) || v > *have:
				*have = v
			}
		}
	}
	return s
}

// SeriesAnswer is the answer of the API.
type SeriesAnswer struct {
	Schema string   `json:"schema"`
	Series []Series `json:"series"`
}

const (
	shownSpan = time.Hour
	shownStep = 10 * time.Second
	maxPoints = 3600
)

// series answers GET /api/v1/series.
func (s *Server) series(w http.ResponseWriter, r *http.Request) {
	now := s.now()
	from, to, step := now.Add(-shownSpan), now, shownStep
	q := r.URL.Query()
	for _, p := range []struct {
		name string
		to   *time.Time
	}{{"from", &from}, {"to", &to}} {
		if v := q.Get(p.name); v != "" {
			t, err := time.Parse(time.RFC3339, v)
			if err != nil {
				s.problem(w, r, http.StatusBadRequest, "read "+p.name+": "+strconv.Quote(v)+" is no time of RFC 3339")
				return
			}
			*p.to = t
		}
	}
	if v := q.Get("step"); v != "" {
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || !(f >= 1 && f <= 3600) {
			s.problem(w, r, http.StatusBadRequest, "read step: "+strconv.Quote(v)+" is not a number of seconds from 1 to 3600")
			return
		}
		step = time.Duration(f * float64(time.Second))
	}
	if to.Sub(from)/step > maxPoints {
		s.problem(w, r, http.StatusBadRequest, "read step: more than "+strconv.Itoa(maxPoints)+" points")
		return
	}
	list := s.rings.Read(q.Get("gpu"), from, to, step)
	if len(list) == 0 && q.Get("gpu") != "" {
		s.problem(w, r, http.StatusNotFound, "find series: no GPU is called "+strconv.Quote(q.Get("gpu")))
		return
	}
	s.json(w, http.StatusOK, SeriesAnswer{"gpumedic.series/v1", list})
}
