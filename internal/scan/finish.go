package scan

import (
	"bytes"
	"slices"
	"sort"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/scan/section"
	"github.com/gpumedic/gpumedic/internal/source"
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
func (x *input) windowClass(line int, st gpumedic.Stamp) byte {
	if x.opts.Since.IsZero() && x.opts.Until.IsZero() {
		return inWindow
	}
	return x.classOf(x.clk.ResolveAt(line, st))
}

func (x *input) classOf(st gpumedic.Stamp) byte {
	if !st.Known() {
		return inWindow
	}
	at := st.Time
	if at.Year() <= 1 { // the input never says its year: the one nearest to the window
		ref := x.opts.Since
		if ref.IsZero() {
			ref = x.opts.Until
		}
		near := at.AddDate(ref.Year()-at.Year(), 0, 0)
		for _, d := range []int{-1, 1} {
			if t := near.AddDate(d, 0, 0); t.Sub(ref).Abs() < near.Sub(ref).Abs() {
				near = t
			}
		}
		at = near
	}
	switch {
	case !x.opts.Since.IsZero() && at.Before(x.opts.Since):
		return beforeWindow
	case !x.opts.Until.IsZero() && at.After(x.opts.Until):
		return afterWindow
	}
	return inWindow
}

// sampleStart frames the first rows of the input, up to the first that has a time
// with its year.
func (x *input) sampleStart() {
	for row := range sampleRows {
		if ok, timed := x.note(row, 0); !ok || timed {
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
		x.note(row, b.Offset+int64(at))
	}
}

// sampleEnd frames the last rows of the input.
func (x *input) sampleEnd() {
	last := x.t.blocks[len(x.t.blocks)-1]
	for row := x.t.rows - 1; row >= max(0, x.t.rows-sampleRows); row-- {
		if ok, timed := x.note(row, last.endOff()); !ok || timed {
			return
		}
	}
}

// lineStamp is a stamp and the line that it stands on.
type lineStamp struct {
	line int
	st   gpumedic.Stamp
}

// note keeps the stamps of a row: whether the row is there, and whether it states a
// time in full.
func (x *input) note(row int, from int64) (ok, timed bool) {
	r, ok := x.t.row(row, from, lookAhead)
	if !ok {
		return false, false
	}
	msgs, ok := x.fr.at(row, from)
	for i := range msgs {
		x.seeHost(msgs[i].Host)
		x.seeRank(&msgs[i])
		if st := msgs[i].Stamp; st.Known() || st.HasMono {
			x.clk.Observe(r.line, st)
			x.known = append(x.known, lineStamp{r.line, st})
			timed = timed || st.Known() && st.Assumed&gpumedic.AssumedYear == 0
		}
	}
	return ok, timed
}

// finish judges the readings, resolves all stamps and drops what lies outside of
// the time that was asked for.
func (x *input) finish(stopped error) (gpumedic.InputInfo, []gpumedic.Signal) {
	x.complete()
	out := x.settled()
	return x.info(stopped), out
}

// complete adds the signals that only the whole tells, and fills in what stamps lack.
func (x *input) complete() {
	x.exceptions()
	x.curveSignals()
	x.hintRank()
	for _, e := range x.out.entries {
		e.resolve(&x.clk)
		x.known = append(x.known, lineStamp{e.sig.Evidence.Line, e.sig.First}, lineStamp{e.lastLine, e.sig.Last})
	}
	x.nearTimes()
}

// settled judges the readings and gives all signals of the time that was asked for.
func (x *input) settled() []gpumedic.Signal {
	judged := x.judged()
	only := x.onlyHost()
	out := append(x.merge(x.out.sorted(), judged), judged...)
	for i := range out {
		if s := &out[i].Subject; s.Node == "" {
			s.Node = only
		}
	}
	return slices.DeleteFunc(out, func(s gpumedic.Signal) bool {
		return x.classOf(s.First) == afterWindow || x.classOf(s.Last) == beforeWindow
	})
}

// info says what was read.
func (x *input) info(stopped error) gpumedic.InputInfo {
	info := gpumedic.InputInfo{Name: x.src.Name, Kind: x.kind, Lines: x.rd.Lines(), Bytes: x.rd.Bytes(), Problems: []string{}, Incomplete: x.rd.Incomplete() || stopped != nil}
	info.Problems = append(info.Problems, x.rd.Problems()...)
	if stopped != nil {
		info.Problems = append(info.Problems, "stopped early: only the first part was read")
	}
	info.First, info.Last = x.timeSpan()
	return info
}

// nearTimes gives the signals of a job's log that state no time (tracebacks mostly) the
// times between which their line was written. A log without any time stays so.
func (x *input) nearTimes() {
	if k := x.kind; k != source.KindJoblog && k != source.KindUnknown {
		return
	}
	var timed []lineStamp
	for _, k := range x.known {
		if st := x.clk.ResolveAt(k.line, k.st); st.Known() {
			timed = append(timed, lineStamp{k.line, st})
		}
	}
	slices.SortStableFunc(timed, func(a, b lineStamp) int { return a.line - b.line })
	for _, e := range x.out.entries {
		s := &e.sig
		if s.First.Known() || s.First.HasMono {
			continue
		}
		if i := sort.Search(len(timed), func(i int) bool { return timed[i].line > s.Evidence.Line }); i > 0 {
			s.Near[0] = timed[i-1].st
		}
		last := max(s.Evidence.Line, e.seen, e.lastLine)
		if i := sort.Search(len(timed), func(i int) bool { return timed[i].line >= last }); i < len(timed) {
			s.Near[1] = timed[i].st
		}
	}
}

// merge leaves out of sigs what a judged reading of the same section says better:
// the reading knows which GPU its table is about. What the matcher's fields say
// more goes to the nearest such reading.
func (x *input) merge(sigs, judged []gpumedic.Signal) []gpumedic.Signal {
	return slices.DeleteFunc(sigs, func(s gpumedic.Signal) bool {
		best := -1
		lo, hi := x.sectionAt(s.Evidence.Line)
		for i := range judged {
			if j := &judged[i]; j.Kind == s.Kind && lo <= j.Evidence.Line && j.Evidence.Line <= hi &&
				(best < 0 || distance(j, &s) < distance(&judged[best], &s)) {
				best = i
			}
		}
		if best < 0 {
			return false
		}
		j := &judged[best]
		if j.Fields == nil {
			j.Fields = map[string]string{}
		}
		for k, v := range s.Fields {
			if j.Fields[k] == "" {
				j.Fields[k] = v
			}
		}
		return true
	})
}

func distance(a, b *gpumedic.Signal) int {
	d := a.Evidence.Line - b.Evidence.Line
	return max(d, -d)
}

// sectionAt is the first and last line of the section that a line is in; a line in none
// is by itself. Sections are in order and do not overlap.
func (x *input) sectionAt(line int) (first, last int) {
	i := sort.Search(len(x.sections), func(i int) bool { return x.sections[i][1] >= line })
	if i < len(x.sections) && x.sections[i][0] <= line {
		return x.sections[i][0], x.sections[i][1]
	}
	return line, line
}

// seeHost notes whose log this is.
func (x *input) seeHost(host string) {
	switch {
	case host == "" || host == x.host:
	case x.host == "":
		x.host = host
	default:
		x.hosts = true
	}
}

// onlyHost is the host of a system log that names just one: what it says without a
// name (tool output, raw kernel lines) is of the same machine. Job logs gather
// output of many and are not completed.
func (x *input) onlyHost() string {
	switch k := x.kind; {
	case x.hosts, k != source.KindKernlog && k != source.KindJournal && k != source.KindBugreport:
		return x.src.Node
	}
	return x.host
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

// timeSpan is the earliest and the latest time known of the input, in RFC 3339.
func (x *input) timeSpan() (first, last string) {
	var lo, hi time.Time
	for _, k := range x.known {
		st := x.clk.ResolveAt(k.line, k.st)
		if !st.Known() || st.Time.Year() <= 1 { // no year is known: no date to give
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
