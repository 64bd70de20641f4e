package scan

import (
	"bytes"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/frame"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

// sampleRows is how many rows at each end of an input are framed to learn its time.
const sampleRows = 64

// sampleStride is how much text passes between two samples within it.
const sampleStride = 1 << 20

// Window classes: occurrences before, in and after [Since, Until] are counted
// apart, so that a count never holds what the user left out.
const (
	inWindow byte = iota
	beforeWindow
	afterWindow
)

// windowClass places a stamp relative to Since and Until.
func (x *input) windowClass(st gpumedic.Stamp) byte {
	if x.opts.Since.IsZero() && x.opts.Until.IsZero() {
		return inWindow
	}
	return x.classOf(x.clk.Resolve(st))
}

func (x *input) classOf(st gpumedic.Stamp) byte {
	switch {
	case !st.Known():
		return inWindow
	case !x.opts.Since.IsZero() && st.Time.Before(x.opts.Since):
		return beforeWindow
	case !x.opts.Until.IsZero() && st.Time.After(x.opts.Until):
		return afterWindow
	}
	return inWindow
}

// sampleStart frames the first rows of the input, up to the first that has a time.
func (x *input) sampleStart() {
	for row := range sampleRows {
		msgs, ok := x.fr.at(row, 0)
		if !ok || x.note(msgs) {
			break
		}
	}
	x.nextSample = sampleStride
}

// sampleUpTo frames one row in every stride of text, hit or not, as far as the
// scan has come: they tell how boot time and wall clock go together and where a
// year ends. The places depend on the text alone, not on blocks.
func (x *input) sampleUpTo(b *block, upTo int) {
	for x.nextSample < b.Offset+int64(upTo) {
		at := int(x.nextSample - b.Offset)
		x.nextSample += sampleStride
		if at < 0 {
			continue
		}
		row := b.firstRow + bytes.Count(b.Data[:at], []byte{'\n'})
		if msgs, ok := x.fr.at(row, b.Offset+int64(at)); ok {
			x.note(msgs)
		}
	}
}

// sampleEnd frames the last rows of the input.
func (x *input) sampleEnd() {
	last := x.t.blocks[len(x.t.blocks)-1]
	for row := x.t.rows - 1; row >= max(0, x.t.rows-sampleRows); row-- {
		msgs, ok := x.fr.at(row, last.endOff())
		if !ok {
			return
		}
		if x.note(msgs) {
			return
		}
	}
}

// note keeps the stamps of messages and reports whether there were any.
func (x *input) note(msgs []frame.Message) bool {
	any := false
	for i := range msgs {
		if st := msgs[i].Stamp; st.Known() || st.HasMono {
			x.clk.Observe(st)
			x.known = append(x.known, st)
			any = true
		}
	}
	return any
}

// finish judges the readings, resolves all stamps and drops what lies outside of
// the time that was asked for.
func (x *input) finish(stopped error) (gpumedic.InputInfo, []gpumedic.Signal) {
	var out []gpumedic.Signal
	for _, sig := range append(x.out.sorted(), x.judged()...) {
		sig.First, sig.Last = x.clk.Resolve(sig.First), x.clk.Resolve(sig.Last)
		if d, ok := sig.Last.Sub(sig.First); ok && d < 0 {
			sig.First, sig.Last = sig.Last, sig.First
		}
		x.known = append(x.known, sig.First, sig.Last)
		if x.classOf(sig.First) == afterWindow || x.classOf(sig.Last) == beforeWindow {
			continue
		}
		out = append(out, sig)
	}
	info := gpumedic.InputInfo{Name: x.src.Name, Kind: x.rd.Kind(), Lines: x.rd.Lines(), Bytes: x.rd.Bytes(), Problems: []string{}}
	info.Problems = append(info.Problems, x.rd.Problems()...)
	if stopped != nil {
		info.Problems = append(info.Problems, "stopped early: only the first part was read")
	}
	info.First, info.Last = x.span64()
	return info, out
}

// judged turns the readings of tool output into signals.
func (x *input) judged() []gpumedic.Signal {
	if len(x.sets) == 0 {
		return nil
	}
	for i := range x.sets {
		if s := &x.sets[i].Subject; s.Node == "" || x.src.Node != "" {
			s.Node = x.src.Node
		}
	}
	sigs := section.Judge(x.s.cat.Readings, x.sets)
	for i := range sigs {
		s := &sigs[i]
		s.Evidence.Input = x.src.Name
		s.Order = gpumedic.Order{Input: x.num, Line: s.Evidence.Line, Part: 1000 + i}
		s.Count = max(s.Count, 1)
		if x.s.dec != nil && s.Fields == nil {
			s.Fields = map[string]string{}
		}
	}
	return sigs
}

// span64 is the earliest and the latest time known of the input, in RFC 3339.
func (x *input) span64() (first, last string) {
	var lo, hi time.Time
	for _, st := range x.known {
		if st = x.clk.Resolve(st); !st.Known() {
			continue
		}
		if lo.IsZero() || st.Time.Before(lo) {
			lo = st.Time
		}
		if st.Time.After(hi) {
			hi = st.Time
		}
	}
	if lo.IsZero() {
		return "", ""
	}
	return lo.UTC().Format(time.RFC3339Nano), hi.UTC().Format(time.RFC3339Nano)
}
