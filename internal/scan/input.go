package scan

import (
	"context"
	"slices"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/flight"
	"github.com/gpumedic/gpumedic/internal/frame"
	"github.com/gpumedic/gpumedic/internal/scan/literal"
	"github.com/gpumedic/gpumedic/internal/scan/section"
	"github.com/gpumedic/gpumedic/internal/scan/traceback"
	"github.com/gpumedic/gpumedic/internal/series"
	"github.com/gpumedic/gpumedic/internal/source"
)

// input is the scan of one input.
type input struct {
	s    *Scanner
	num  int
	src  source.Input
	opts Options

	rd         *source.Reader
	kind       string // of the input, or of the section of one
	t          *text
	fr         *framed
	clk        frame.Clock
	known      []lineStamp // sampled, for First and Last of the input
	nextSample int64

	host  string // the first host named
	hosts bool   // there are several

	tb     *traceback.Reader
	tbNext int             // the next row that it has not seen
	over   bool            // all rows were read
	told   map[int]told    // by line: what abnormal signals say, near tracebacks
	ranks  map[string]bool // that prefixes in the text name, up to a few
	stated string          // rank by the process's environment, "several" for more

	curves series.Collector
	dumps  []*flight.Dump // when the input is of a flight recorder

	out      collapser
	cache    map[string]*outcome
	memoUse  []memoUse // by matcher
	kinds    map[kindKey]string
	pcis     map[string]string
	streams  map[string]string // names of writers, made once
	kindUses map[string]kindTriggers
	cacheLen int
	counted  map[string]*entry // who counts matches that are alike (again)
	used     []usedRecord      // taken by a join
	sets     []section.Readings
	sections [][2]int // first and last line of each
	skipTo   int      // rows before it were taken by a section

	// Scratch of one row, kept to save allocations.
	spans      []span
	mids       []int32
	marked     []int // by matcher: the span that last wanted it
	spanNo     int
	memo       []byte // what an outcome is remembered by
	decides    []byte // what of a match decides who counts it
	group      []byte // what overflow collapses by, and
	key        []byte // what equal signals share (name)
	msgs       []frame.Message
	done       []extent
	found      []*proto
	loans      []map[string]string // fields of matches, on loan until the next message
	lent       int
	protos     []*proto // the same of signals
	lentProtos int
	recent     []recentHit
	worked     outcome // of the last match in earnest (work)
	parts      []piece // of the message that it was of
	part       int     // signals made of this row

	dulls    int   // dull rows that were framed, up to firstDull
	nextDull int64 // where the next one will be
}

func (s *Scanner) newInput(num int, src source.Input, opts Options) *input {
	x := scanOf(s, num, src, opts)
	x.rd = src.Open(opts.Source)
	x.kind = x.rd.Kind()
	x.fr = newFramed(frame.New(frame.Options{Host: src.Node}), x.t)
	x.marked = make([]int, len(s.matchers))
	x.memoUse = make([]memoUse, len(s.matchers))
	return x
}

// scanOf makes a scan without what it reads from.
func scanOf(s *Scanner, num int, src source.Input, opts Options) *input {
	return &input{
		s: s, num: num, src: src, opts: opts, t: &text{}, tb: traceback.New(),
		cache: map[string]*outcome{}, kinds: map[kindKey]string{}, pcis: map[string]string{},
		streams: map[string]string{}, kindUses: map[string]kindTriggers{}, told: map[int]told{}, ranks: map[string]bool{},
	}
}

// run reads the whole input.
func (x *input) run(ctx context.Context) (gpumedic.InputInfo, []gpumedic.Signal) {
	defer x.rd.Close()
	switch x.kind {
	case source.KindFlight:
		return x.flight(ctx)
	case source.KindBugreport:
		return x.bugReport(ctx)
	}
	var f feed
	if workers := x.opts.Workers - 1; workers > 0 {
		f = newAhead(x.rd, x.s, x.fr.fr, workers)
	} else {
		f = &inTurn{rd: x.rd, x: newExaminer(x.s, nil)}
	}
	stopped := x.read(ctx, f, 0)
	return x.finish(stopped)
}

// read scans what a feed brings; before it, so many bytes of the input were read.
func (x *input) read(ctx context.Context, f feed, before int64) (stopped error) {
	x.t.feed = f
	defer f.close()
	var last *block
	for b := x.t.after(nil); b != nil; b = x.t.after(b) {
		if stopped = ctx.Err(); stopped != nil {
			break
		}
		if last == nil {
			x.sampleStart()
			x.statedRank()
		}
		x.block(b)
		last = b
		if x.opts.Progress != nil {
			x.opts.Progress(Progress{Input: x.num, Name: x.src.Name, Bytes: before + b.endOff(), Signals: len(x.out.entries)})
		}
	}
	if last != nil && stopped == nil {
		x.sampleEnd()
	}
	return stopped
}

// block handles the candidate rows of a block.
func (x *input) block(b *block) {
	f := b.found
	for i := range f.rows {
		c := &f.rows[i]
		row := b.firstRow + c.row
		x.sampleUpTo(b, c.start)
		x.follow(b, row)
		x.row(b, row, c, f.hits[c.hits[0]:c.hits[1]])
	}
	x.sampleUpTo(b, len(b.Data))
	x.follow(b, b.firstRow+b.Rows)
}

// row handles one candidate row.
func (x *input) row(b *block, row int, c *candidate, hits []literal.Hit) {
	line, off := trimEOL(b.Data[c.start:c.end]), b.Offset+int64(c.start)
	for _, h := range hits {
		if row >= x.skipTo && x.s.targets[h.ID].section {
			x.section(row, off, b.line(row))
			break
		}
	}
	for _, h := range hits {
		if x.s.targets[h.ID].trace || x.tb.Active() {
			x.trace(row, off, b.line(row))
			break
		}
	}
	if c.dull && x.spare(off) {
		return
	}
	x.part = 0
	x.spans = spans(x.spans[:0], line, c.start, off, hits)
	whole := len(x.spans) == 1 && len(x.spans[0].text) == len(line)
	for _, sp := range x.spans {
		var msgs []frame.Message
		if whole {
			msgs = x.fr.whole(row, off, line)
		} else {
			msgs = x.fr.frame(nil, row, sp.off, sp.text)
		}
		x.span(place{row: row, off: sp.off, line: b.line(row), text: sp.text, rowOff: off}, msgs, sp.hits)
	}
}

// place is where a message stands.
type place struct {
	row    int
	off    int64 // of text
	rowOff int64 // of the row
	line   int
	text   []byte // the line, or its part, as it stands in the input
	msg    int    // number of the message in its row
}

// span tries the matchers whose literals stand in a span on its messages.
func (x *input) span(p place, msgs []frame.Message, hits []literal.Hit) {
	x.spanNo++
	x.mids = x.mids[:0]
	repeat, curve := false, false
	for _, h := range hits {
		t := &x.s.targets[h.ID]
		repeat, curve = repeat || t.repeat, curve || t.curve
		for _, m := range t.matchers {
			if x.marked[m] != x.spanNo {
				x.marked[m] = x.spanNo
				x.mids = append(x.mids, m)
			}
		}
	}
	slices.Sort(x.mids)
	x.msgs = append(x.msgs[:0], msgs...) // the ring may turn while a join looks ahead
	msgs = x.msgs
	for i := range msgs {
		x.seeHost(msgs[i].Host)
		x.seeRank(&msgs[i])
		x.clk.Observe(p.line, msgs[i].Stamp)
		if repeat && x.repeated(p, &msgs[i]) {
			continue
		}
		if curve && msgs[i].Origin != frame.Kernel {
			x.curves.Line(msgs[i].Text, x.rankOf(&msgs[i]), p.line)
		}
		p.msg = i
		before := x.part
		if x.message(p, msgs, i); x.part == before {
			x.unread(p, &msgs[i])
		}
	}
}

// section hands a row to the parsers of tool output. The rows that it takes begin
// no further section; matchers still see them, since tools print messages too.
func (x *input) section(row int, off int64, line int) {
	raw := lines{t: x.t, row: row, off: off}
	sets, n, searched := x.tool(row, off, true)
	if !searched {
		if sets, n = section.Parse(raw); n <= 0 {
			sets, n, _ = x.tool(row, off, false)
		}
	}
	if n <= 0 {
		return
	}
	for i := range sets {
		sets[i].Shift(line)
	}
	x.sets = append(x.sets, sets...)
	x.sections = append(x.sections, [2]int{line, line + n - 1})
	x.skipTo = row + n
}
