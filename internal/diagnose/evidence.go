package diagnose

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
)

func (w *world) count(h *hypothesis) int {
	n := 0
	for _, i := range h.triggers {
		n += w.signals[i].Count
	}
	return n
}

// span is the first and last moment of the evidence, RFC 3339; "" where the input does
// not give a full date.
func (w *world) span(h *hypothesis) (first, last string) {
	var lo, hi gpumedic.Stamp
	for _, i := range slices.Sorted(maps.Keys(h.owned)) {
		s := &w.signals[i]
		first, last := w.stated(s, s.First), w.stated(s, s.Last)
		if first.Dated() && (!lo.Known() || first.Time.Before(lo.Time)) {
			lo = first
		}
		if last.Dated() && (!hi.Known() || last.Time.After(hi.Time)) {
			hi = last
		}
	}
	return formatStamp(lo), formatStamp(hi)
}

// formatStamp prints a stamp as RFC 3339 with the precision that the input had, "" when
// it has no full date.
func formatStamp(s gpumedic.Stamp) string {
	if !s.Dated() {
		return ""
	}
	layout := time.RFC3339
	switch {
	case s.Precision > 0 && s.Precision < time.Millisecond:
		layout = "2006-01-02T15:04:05.000000Z07:00"
	case s.Precision > 0 && s.Precision < time.Second:
		layout = "2006-01-02T15:04:05.000Z07:00"
	}
	return s.Time.Format(layout)
}

// clockText is a stamp as a person reads it: "Feb 11 16:38:52", or seconds since boot;
// "" when the input gave no time.
func clockText(s gpumedic.Stamp) string {
	switch {
	case s.Known():
		return s.Time.Format("Jan _2 15:04:05")
	case s.HasMono:
		return strconv.FormatFloat(s.Mono.Seconds(), 'f', 6, 64) + " s"
	}
	return ""
}

// spanText is how long a run of equal signals lasted, "" for one occurrence.
func spanText(s *gpumedic.Signal) string {
	if s.Count < 2 {
		return ""
	}
	d, ok := s.Last.Sub(s.First)
	if !ok || d < time.Millisecond {
		return ""
	}
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes()+0.5)) + " min"
	}
	return strconv.FormatFloat(d.Hours(), 'f', 1, 64) + " h"
}

func (w *world) evidence(h *hypothesis) []gpumedic.EvidenceOut {
	out := []gpumedic.EvidenceOut{}
	notes := map[int]string{}
	for _, i := range h.triggers {
		notes[i] = h.strength[i].clue.Why.In(w.lang)
	}
	for _, m := range h.merged {
		for _, i := range m.triggers {
			notes[i] = m.strength[i].clue.Why.In(w.lang)
		}
	}
	for _, c := range h.supports {
		for _, i := range c.signals {
			if notes[i] == "" {
				notes[i] = c.clue.Why.In(w.lang)
			}
		}
	}
	for _, i := range slices.SortedFunc(maps.Keys(h.owned), w.compare) {
		s := &w.signals[i]
		note := notes[i]
		if note == "" {
			note = s.Field("meaning_" + w.lang)
		}
		out = append(out, gpumedic.EvidenceOut{Input: s.Evidence.Input, Line: s.Evidence.Line, Section: s.Evidence.Section, Signal: s.Kind,
			Text: s.Evidence.Text, Count: s.Count, First: formatStamp(w.stated(s, s.First)), Last: formatStamp(w.stated(s, s.Last)),
			At: clockText(w.stated(s, s.First)), Span: spanText(s),
			Mark: s.Evidence.Mark, Msg: s.Evidence.Msg, Rank: s.Subject.Rank, Node: s.Subject.Node, Note: note, Fields: s.Fields})
	}
	return out
}

func (w *world) consequences(h *hypothesis) []gpumedic.Consequence {
	out := []gpumedic.Consequence{}
	for _, i := range slices.SortedFunc(maps.Keys(h.why), w.compare) {
		s := &w.signals[i]
		if h.owned[i] || s.Level == gpumedic.LevelFact {
			continue
		}
		c := gpumedic.Consequence{Signal: s.Kind, Input: s.Evidence.Input, Line: s.Evidence.Line, Section: s.Evidence.Section, Text: s.Evidence.Text,
			Mark: s.Evidence.Mark, Msg: s.Evidence.Msg, Rank: s.Subject.Rank, Node: s.Subject.Node, Count: s.Count, Why: h.why[i]}
		if d, ok := s.First.Sub(w.anchor(h).First); ok {
			sec := math.Round(d.Seconds()*1000) / 1000
			c.After = &sec
		}
		out = append(out, c)
	}
	return out
}

// figures are the numbers that the evidence states, by field names that end in a unit:
// those of the triggers first, then of what supports them.
func (w *world) figures(h *hypothesis) map[string]any {
	out := map[string]any{}
	list := append([]int{}, h.triggers...)
	for _, c := range h.supports {
		list = append(list, c.signals...)
	}
	for n := range h.rule.needs {
		list = append(list, w.hits(h, &h.rule.needs[n])...)
	}
	for _, i := range list {
		for k, v := range w.signals[i].Fields {
			if _, dup := out[k]; dup || !hasUnit(k) {
				continue
			}
			if n, err := strconv.ParseFloat(v, 64); err == nil && !math.IsInf(n, 0) && !math.IsNaN(n) {
				out[k] = n
			}
		}
	}
	return out
}

func hasUnit(k string) bool {
	for _, u := range []string{"_bytes", "_kb", "_mib", "_gib", "_s", "_ms", "_w", "_watts", "_celsius", "_mhz", "_gtps", "_gbps", "_percent", "_count", "_tokens"} {
		if strings.HasSuffix(k, u) {
			return true
		}
	}
	return false
}
