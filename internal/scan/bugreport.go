package scan

import (
	"context"
	"slices"
	"sort"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/frame"
	"github.com/gpumedic/gpumedic/internal/scan/traceback"
)

// A file of nvidia-bug-report.sh is many sources in one: the kernel's ring buffer, the
// logs of three boots, the output of tools, files of /proc and /sys. Each section is
// scanned by itself, with a clock, an origin and a kind of its own, so that no record,
// traceback or year runs from one into the next. What they say together is put together
// once a report: readings are judged, seconds since boot get the wall clock that another
// section knows, and what several sections copy from one event counts once.
//
// Two reports in one file are of two machines, or of two days.

// bugReport is what the sections of one report say together.
type bugReport struct {
	*input
	whole *input // of all reports in the file
	byKey map[string][]*entry
	order []string // keys as they came
	dmesg map[*entry]bool
}

// copySlack is how far the times of copies of one event may be apart: loggers lag.
const copySlack = 5 * time.Second

// bugReport reads the whole input.
func (x *input) bugReport(ctx context.Context) (gpumedic.InputInfo, []gpumedic.Signal) {
	cut := &cutter{rd: x.rd, x: newExaminer(x.s, nil)}
	var out []gpumedic.Signal
	var parts []gpumedic.SectionInfo
	var stopped error
	r := x.newReport()
	for cut.begin() {
		p := cut.part
		if p.kind == kindHeader && len(parts) > 0 {
			out = append(out, r.settle(cut)...)
			r = x.newReport()
		}
		if p.kind == kindAbsent || p.kind == kindBinary {
			cut.skip()
		} else {
			y := x.child(p, cut.report.host)
			if stopped = y.read(ctx, cut, cut.past); stopped != nil {
				break
			}
			x.spanNo = y.spanNo
			r.absorb(y, p, cut.report.day)
		}
		if p.kind != kindAbsent {
			parts = append(parts, gpumedic.SectionInfo{Name: p.name, Kind: p.kind, Line: p.line, Lines: cut.rows})
		}
	}
	out = append(out, r.settle(cut)...)
	for i := range out {
		out[i].Evidence.Section = sectionOf(parts, out[i].Evidence.Line)
	}
	info := x.info(stopped)
	info.Sections = parts
	if stopped == nil && !cut.report.complete && !x.rd.Incomplete() { // else it is said already why
		info.Incomplete = true
		info.Problems = append(info.Problems, "bug report has no end: nvidia-bug-report.sh was stopped or hangs, or the file was cut; what it would have told is not known")
	}
	return info, out
}

// sectionOf is the name of the section that a line is in.
func sectionOf(parts []gpumedic.SectionInfo, line int) string {
	i := sort.Search(len(parts), func(i int) bool { return parts[i].Line > line }) - 1
	if i < 0 {
		return ""
	}
	return parts[i].Name
}

// newReport makes what gathers the sections of a report.
func (x *input) newReport() *bugReport {
	return &bugReport{
		input: &input{s: x.s, num: x.num, src: x.src, opts: x.opts, rd: x.rd, kind: x.kind, tb: traceback.New(), ranks: map[string]bool{}},
		whole: x, byKey: map[string][]*entry{}, dmesg: map[*entry]bool{},
	}
}

// child makes the scan of a section.
func (x *input) child(p part, host string) *input {
	y := scanOf(x.s, x.num, x.src, x.opts)
	y.rd, y.kind = x.rd, p.kind
	y.marked, y.memoUse, y.spanNo = x.marked, make([]memoUse, len(x.s.matchers)), x.spanNo
	if x.src.Node != "" {
		host = x.src.Node
	}
	y.fr = newFramed(frame.New(frame.Options{Host: host, Origin: p.origin}), y.t)
	return y
}

// absorb takes what a section told.
func (r *bugReport) absorb(y *input, p part, day time.Time) {
	y.tellYear(day)
	y.complete()
	keys := make(map[*entry]string, len(y.out.byKey))
	for k, e := range y.out.byKey {
		keys[e] = k
	}
	for _, e := range y.out.entries {
		r.out.entries = append(r.out.entries, e)
		k, ok := keys[e]
		if !ok {
			continue
		}
		if r.byKey[k] == nil {
			r.order = append(r.order, k)
		}
		r.byKey[k] = append(r.byKey[k], e)
		r.dmesg[e] = p.origin == frame.Kernel
	}
	slices.SortStableFunc(y.known, func(a, b lineStamp) int { return a.line - b.line })
	for _, k := range y.known {
		st := y.clk.ResolveAt(k.line, k.st)
		if st.HasMono {
			r.clk.Observe(k.line, st)
		}
		r.whole.known = append(r.whole.known, lineStamp{k.line, st})
	}
	r.sets = append(r.sets, y.sets...)
	r.sections = append(r.sections, y.sections...)
}

// tellYear gives the years of a log that states none: its last line is not younger than
// the report.
func (y *input) tellYear(day time.Time) {
	var last lineStamp
	for _, k := range y.known {
		if k.st.Known() && k.line >= last.line {
			last = k
		}
	}
	if day.IsZero() || last.st.Assumed&gpumedic.AssumedYear == 0 {
		return
	}
	st := last.st
	st.Time = st.Time.AddDate(day.Year()-st.Time.Year(), 0, 0)
	if st.Time.After(day.AddDate(0, 0, 2)) {
		st.Time = st.Time.AddDate(-1, 0, 0)
	}
	st.Assumed &^= gpumedic.AssumedYear
	y.clk.Observe(last.line, st)
}

// settle judges what the sections say together.
func (r *bugReport) settle(cut *cutter) []gpumedic.Signal {
	if host := cut.report.host; r.src.Node == "" {
		r.src.Node, r.host = host, host
	}
	for _, e := range r.out.entries {
		e.resolve(&r.clk)
	}
	gone := map[*entry]bool{}
	for _, key := range r.order {
		list := r.byKey[key]
		for i, e := range list {
			for _, o := range list[i+1:] {
				if !gone[e] && !gone[o] && r.copies(e, o) {
					gone[join(e, o)] = true
				}
			}
		}
	}
	r.out.entries = slices.DeleteFunc(r.out.entries, func(e *entry) bool { return gone[e] })
	return r.settled()
}

// copies says whether two sections tell of the same occurrences. Of the ring buffer,
// whose times may be unknown, the logs of this boot hold a copy.
func (r *bugReport) copies(a, b *entry) bool {
	s, t := &a.sig, &b.sig
	after, ok1 := t.First.Sub(s.Last)
	before, ok2 := s.First.Sub(t.Last)
	if ok1 && ok2 {
		return after <= copySlack && before <= copySlack
	}
	return r.dmesg[a] != r.dmesg[b]
}

// join counts the occurrences of two copies once, in the one that says more of its
// time, and returns the other.
func join(a, b *entry) (gone *entry) {
	if !a.sig.First.Known() && b.sig.First.Known() {
		a, b = b, a
	}
	a.sig.Count = max(a.sig.Count, b.sig.Count)
	if d, ok := b.sig.First.Sub(a.sig.First); ok && d < -copySlack {
		a.sig.First = b.sig.First
	}
	if d, ok := b.sig.Last.Sub(a.sig.Last); ok && d > copySlack {
		a.sig.Last = b.sig.Last
	}
	return b
}
