package metrics

import (
	"math"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"github.com/gpumedic/gpumedic/internal/metrics/names"
)

// writer gathers series by family. A family without a series does not appear.
type writer struct {
	families []*dto.MetricFamily
	byName   map[*names.Family]*dto.MetricFamily
}

func newWriter() *writer { return &writer{byName: map[*names.Family]*dto.MetricFamily{}} }

// add adds a series. The labels are kept and may be shared.
func (w *writer) add(f *names.Family, labels []*dto.LabelPair, v float64) {
	mf := w.byName[f]
	if mf == nil {
		t := dto.MetricType_GAUGE
		if f.Type == names.Counter {
			t = dto.MetricType_COUNTER
		}
		mf = &dto.MetricFamily{Name: &f.Name, Help: &f.Help, Type: &t}
		w.byName[f] = mf
		w.families = append(w.families, mf)
	}
	if f.Type == names.Counter {
		s := &counter{value: v}
		s.Label, s.Counter, s.counter.Value = labels, &s.counter, &s.value
		mf.Metric = append(mf.Metric, &s.Metric)
		return
	}
	s := &gauge{value: v}
	s.Label, s.Gauge, s.gauge.Value = labels, &s.gauge, &s.value
	mf.Metric = append(mf.Metric, &s.Metric)
}

// gauge and counter are a series in one piece: there are thousands.
type (
	gauge struct {
		dto.Metric
		gauge dto.Gauge
		value float64
	}
	counter struct {
		dto.Metric
		counter dto.Counter
		value   float64
	}
)

// readings adds the series of a family that follow from the values of one subject.
func (w *writer) readings(f *names.Family, values values, labels []*dto.LabelPair) {
	for i := range f.From {
		from := &f.From[i]
		if from.Set != nil {
			word := values.word(from.Keys[0])
			for _, s := range from.Set {
				if word != "" {
					w.add(f, with(labels, f.Labels, s), number(word == s))
				}
			}
			continue
		}
		if v, ok := values.number(from); ok {
			w.add(f, with(labels, f.Labels, from.Labels...), from.Value(v))
		}
	}
}

// values are the readings of one subject.
type values map[string]string

// word is a reading's text; "" when it is absent or could not be read.
func (v values) word(key string) string {
	return plain(v[key])
}

func plain(s string) string {
	if s == "N/A" || unreadable(s) {
		return ""
	}
	return s
}

// finite reads a number that is one.
func finite(s string) (float64, bool) {
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// number is the first of a series' readings that has a value.
func (v values) number(from *names.From) (float64, bool) {
	for _, key := range from.Keys {
		s := v.word(key)
		if other, ok := from.Words[""]; ok && s == "" && unreadable(v[key]) {
			return other, true // an error is one of the other words
		}
		if s == "" {
			continue
		}
		if from.Words != nil {
			n, ok := from.Words[s]
			if !ok {
				n, ok = from.Words[""] // any other word
			}
			if ok {
				return n, true
			}
			continue
		}
		if n, ok := finite(s); ok {
			return n, true
		}
	}
	return 0, false
}

// pairs are labels by name and value. An empty label is the same as none and is left out.
func pairs(labels []string, texts ...string) []*dto.LabelPair {
	return with(nil, labels, texts...)
}

// with adds labels to those that are shared, which it leaves as they are.
func with(shared []*dto.LabelPair, labels []string, texts ...string) []*dto.LabelPair {
	if len(texts) == 0 {
		return shared
	}
	out := append(make([]*dto.LabelPair, 0, len(shared)+len(texts)), shared...)
	made := make([]labelled, len(texts))
	for i, text := range texts {
		if text != "" {
			l := &made[i]
			l.text = strings.ToValidUTF8(cut(text), "?")
			l.Name, l.Value = &labels[i], &l.text
			out = append(out, &l.LabelPair)
		}
	}
	return out
}

type labelled struct {
	dto.LabelPair
	text string
}

// cut bounds a label: names of processes and pods come from outside.
func cut(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return s[:most]
}
