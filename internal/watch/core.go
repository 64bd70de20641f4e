package watch

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/decode"
	"github.com/gpumedic/gpumedic/internal/diagnose"
	"github.com/gpumedic/gpumedic/internal/follow"
	"github.com/gpumedic/gpumedic/internal/scan"
	"github.com/gpumedic/gpumedic/internal/source"
)

// core turns what the sources said into one answer: events of the window and the latest
// readings, judged by the engine of every other verb. It belongs to the loop alone.
type core struct {
	lang     string
	node     string
	scanner  *scan.Scanner
	engine   *diagnose.Engine
	window   *window
	readings *readings
	run      string
	orders   map[string]int // place of an input among the others

	answer    diagnose.Conclusion
	concluded [4]uint64 // counters of window and readings at the last answer
	took      time.Duration
	xids      map[xidKey]*xidCount
}

type xidKey struct {
	gpu  string
	code int
}

// xidCount counts one code on one GPU since the start.
type xidCount struct {
	gpu   gpumedic.GPU
	count uint64
	last  time.Time
}

func newCore(cat *catalog.Catalog, node, lang string, span time.Duration) (*core, error) {
	s, err := scan.New(cat, decode.New(cat.Tables()))
	if err != nil {
		return nil, err
	}
	return &core{
		lang: lang, node: node, scanner: s, engine: diagnose.New(cat),
		window: newWindow(span), readings: newReadings(cat.Readings, node),
		orders: map[string]int{}, xids: map[xidKey]*xidCount{},
	}, nil
}

// chunkBlock is the block in which a chunk is read: chunks are small.
const chunkBlock = 64 << 10

// take reads the lines of a chunk into the window.
func (c *core) take(ctx context.Context, ch follow.Chunk) error {
	in := source.FromBytes(ch.Input, ch.Text)
	res, err := c.scanner.Scan(ctx, []source.Input{in}, scan.Options{Source: source.Options{BlockSize: chunkBlock}})
	if err != nil {
		return err
	}
	order, ok := c.orders[ch.Input]
	if !ok {
		order = len(c.orders)
		c.orders[ch.Input] = order
	}
	own := ch.Input == follow.KernelInput || ch.Input == follow.JournalInput
	for _, s := range res.Signals {
		s.Evidence.Line += ch.First - 1
		s.Order.Input, s.Order.Line = order, s.Order.Line+ch.First-1
		if s.Subject.Node == "" && own {
			s.Subject.Node = c.node
		}
		c.countXid(&s)
		c.window.add(s)
	}
	return nil
}

func (c *core) countXid(s *gpumedic.Signal) {
	if !gpumedic.KindMatches("xid.*", s.Kind) {
		return
	}
	code, err := strconv.Atoi(s.Kind[len("xid."):])
	if err != nil {
		return
	}
	k := xidKey{s.Subject.GPU.String(), code}
	x := c.xids[k]
	if x == nil {
		if len(c.xids) >= maxSignals {
			return
		}
		x = &xidCount{gpu: s.Subject.GPU}
		c.xids[k] = x
	}
	x.count += uint64(max(s.Count, 1))
	if s.Last.Dated() && s.Last.Time.After(x.last) {
		x.last = s.Last.Time
	}
}

// What an answer would change.
type urgency int

const (
	nothing urgency = iota
	figures         // only measured figures differ
	counts          // known events came again
	news            // something is there that was not, or is gone
)

// pending says what has changed since the last answer.
func (c *core) pending() urgency {
	switch w, r, at := c.window, c.readings, c.concluded; {
	case w.news != at[0] || r.news != at[2]:
		return news
	case w.more != at[1]:
		return counts
	case r.more != at[3]:
		return figures
	}
	return nothing
}

// conclude asks the engine about all that is known.
func (c *core) conclude() {
	begun := time.Now()
	e := c.engine.Empty()
	for _, s := range c.window.signals() {
		s.Fields = maps.Clone(s.Fields)
		e.Add(s)
	}
	for _, key := range slices.Sorted(maps.Keys(c.readings.signals)) {
		s := *c.readings.signals[key]
		s.Fields = maps.Clone(s.Fields)
		e.Add(s)
	}
	c.answer = e.Conclude(c.lang)
	c.concluded = [4]uint64{c.window.news, c.window.more, c.readings.news, c.readings.more}
	c.took = time.Since(begun)
}
