package diagnose

import (
	"fmt"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/node"
)

// alignClocks moves the signals of hosts whose clocks are shown to differ to the time of
// the reference host, so that first and last compare across hosts, and notes it. Reports
// show the times as the inputs state them.
func (w *world) alignClocks() {
	for _, c := range node.Clocks(w.signals) {
		if w.ahead == nil {
			w.ahead = map[string]time.Duration{}
		}
		w.ahead[c.Host] = c.Ahead
		ahead, word := c.Ahead, text(w.lang, "ahead of", "快")
		if ahead < 0 {
			ahead, word = -ahead, text(w.lang, "behind", "慢")
		}
		events := "an event that both note"
		if c.Events > 1 {
			events = fmt.Sprintf("%d events that both note", c.Events)
		}
		en := fmt.Sprintf("the clock of %s is about %s %s that of %s (by %s): times were compared accordingly", c.Host, ahead.Round(time.Second), word, c.Ref, events)
		zh := fmt.Sprintf("%s 的时钟比 %s %s约 %s（由 %d 个共同事件估计），比较先后时已作校正", c.Host, c.Ref, word, ahead.Round(time.Second), c.Events)
		w.notes = append(w.notes, text(w.lang, en, zh))
	}
	for i := range w.signals {
		s := &w.signals[i]
		if d := w.ahead[node.HostOf(s)]; d != 0 {
			for _, st := range []*gpumedic.Stamp{&s.First, &s.Last, &s.Near[0], &s.Near[1]} {
				if st.Known() {
					st.Time = st.Time.Add(-d)
				}
			}
		}
	}
}

// stated is a stamp of a signal as its input states it.
func (w *world) stated(s *gpumedic.Signal, st gpumedic.Stamp) gpumedic.Stamp {
	if st.Known() {
		st.Time = st.Time.Add(w.ahead[node.HostOf(s)])
	}
	return st
}
