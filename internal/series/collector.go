package series

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/lazyre"
)

const (
	// maxRanks bounds the ranks of one input whose curves are kept.
	maxRanks = 256
	// wentOn is how many points after a refusal show that it did not end the run.
	wentOn = 20
	// noRank stands for lines whose rank is not known.
	noRank = -1
)

// Collector gathers the curves of one input. The zero value is ready. It is not safe
// for concurrent use.
type Collector struct {
	ranks map[int]*run
	order []int
}

// run is what one rank writes.
type run struct {
	loss, valLoss, norm, scale curve
	memory, peak               curve
	memoryKey                  string
	offset, lastStep, steps    float64 // steps since the last resume
	sawStep                    bool
	firstStep                  float64
	counted                    float64
	earlier                    float64 // steps before the first resume

	resumed, oom, eval mark
	stepsAtOOM         float64
	evalAtOOM          mark
	total              float64 // of the card, in bytes
	batches            []batchPoint

	seen    int  // lines that may bear points
	after   int  // of them after the refusal
	fresh   bool // what follows the refusal is another run, from the start
	pending mark
}

// batchPoint is a memory peak at a batch size.
type batchPoint struct {
	batch, bytes float64
	at           mark
}

var (
	oomRE    = lazyre.New(`(?i)(?:\b(?:CUDA|HIP|XPU|MPS backend) (?:error: )?out of memory(?:\. Tried| \(|\.?\s*$)|CUDA_ERROR_OUT_OF_MEMORY|OutOfMemoryError: \S|\bRESOURCE_EXHAUSTED: Out of memory|OOM when allocating tensor)`)
	caughtRE = lazyre.New(`(?i)\b(?:skipping (?:this |the )?batch|retrying|trying (?:a )?(?:smaller|with|batch)|(?:decreas|reduc)(?:ing|ed) (?:the )?batch)`)
	totalRE  = lazyre.New(`(?:(\d[\d,]*(?:\.\d+)?) ([KMGT])iB total capacity|total capaci?ty of (\d[\d,]*(?:\.\d+)?) ([KMGT])iB)`)
	resumeRE = lazyre.New(`(?i)(?:\bresum(?:e|ing)(?: training| run)? from\b|\bresume(?:d|_from\w*)?\s*[=:]\s*["']?(?:true\b|[\w./~-]*/[\w./-]+)|\b(?:loaded|restor(?:ing|ed)) (?:the |model |states? |optimizer )*(?:from )?(?:the )?(?:checkpoint|ckpt)\b)`)
	evalRE   = lazyre.New(`(?i)(?:\brunning evaluation\b|\bevaluat(?:ing|ion)\b(?: on|:| \d|\s*$|\.\.\.)|\bvalidat(?:ing\b|ion (?:dataloader|sanity|loop|epoch|step|:|\d))|\bvalidation\s*\.\.\.)`)
	notRunRE = lazyre.New(`(?i)(?:eval_batch_size|evaluation_strategy|eval_steps|eval_strategy|namespace\(|\bargs\b|config)`)
)

// Line takes one message. rank is negative where the input does not tell.
func (c *Collector) Line(text string, rank, line int) {
	if rank < 0 {
		rank = noRank
	}
	r := c.ranks[rank]
	if r == nil {
		if len(c.ranks) >= maxRanks {
			return
		}
		if c.ranks == nil {
			c.ranks = map[int]*run{}
		}
		r = &run{}
		c.ranks[rank] = r
		c.order = append(c.order, rank)
	}
	r.line(text, line)
}

func (r *run) line(text string, line int) {
	if len(text) > longestLine {
		text = text[:longestLine]
	}
	low := lower(text)
	if r.event(text, low, line) {
		return
	}
	// A curve keeps some hundred points: of a very long log only every 2nd, 4th, … line
	// is read, those with a NaN and the last one always.
	if r.seen++; r.seen > 2*fullLines {
		if every := 1 << (bits.Len(uint(r.seen/fullLines)) - 1); r.seen%every != 0 && !nonFiniteWord(low) {
			r.pending = mark{line: line, text: text, ok: true}
			r.counted++
			return
		}
	}
	r.pending = mark{}
	r.read(text, low, line)
}

// fullLines is the number of lines of a rank that are all read.
const fullLines = 4096

// nonFiniteWord reports whether "nan" or "inf" stands as a word of its own.
func nonFiniteWord(low string) bool {
	for _, w := range [...]string{"nan", "inf"} {
		for from := 0; ; {
			i := strings.Index(low[from:], w)
			if i < 0 {
				break
			}
			at := from + i
			from = at + len(w)
			if (at == 0 || !isWord(low[at-1])) && (from == len(low) || !isWord(low[from])) {
				return true
			}
		}
	}
	return false
}

func isWord(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

func (r *run) read(text, low string, line int) {
	p, ok := parse(text, low)
	if !ok {
		return
	}
	if r.oom.ok && r.after == 0 && r.startsAnew(&p) {
		r.fresh = true
	}
	if r.oom.ok && !r.fresh {
		r.after++
	}
	step := r.place(&p)
	add := func(c *curve, v value) {
		if v.ok {
			c.add(step, v.v, line, text)
		}
	}
	add(&r.loss, p.loss)
	add(&r.valLoss, p.valLoss)
	add(&r.norm, p.norm)
	add(&r.scale, p.scale)
	if r.fresh { // the memory of this run is not that of the other
		p.memory, p.peak = value{}, value{}
	}
	if p.memory.ok && (r.memoryKey == "" || r.memoryKey == p.memoryKey) {
		r.memoryKey = p.memoryKey
		add(&r.memory, p.memory)
	}
	add(&r.peak, p.peak)
	if p.loss.ok && (!r.eval.ok || p.hasStep) {
		r.eval = mark{} // training goes on
	}
	r.noteBatch(&p, mark{line: line, text: text, ok: true})
}

// event reads lines that are no points: the refusal, a resume, an evaluation.
func (r *run) event(text, low string, line int) bool {
	if !hasAny(low, "memory", "oom", "resum", "load", "restor", "evaluat", "validat") {
		return false
	}
	m := mark{line: line, text: text, ok: true}
	switch {
	case hasAny(low, "memory", "oom") && oomRE.MatchString(text):
		if caughtRE.MatchString(text) {
			return true // the program itself deals with it
		}
		if !r.oom.ok {
			r.oom, r.stepsAtOOM, r.evalAtOOM = m, r.counted, r.eval
		}
		if t := totalRE.FindStringSubmatch(text); t != nil {
			if n, ok := bytesOf(t[1]+t[3], t[2]+t[4], "", ""); ok {
				r.total = n
			}
		}
		return true
	case hasAny(low, "resum", "load", "restor") && resumeRE.MatchString(text):
		if !r.oom.ok {
			if !r.resumed.ok {
				r.earlier = r.counted
			}
			r.resumed, r.counted = m, 0
		}
		return true
	case hasAny(low, "evaluat", "validat") && evalRE.MatchString(text) && !lossRE.MatchString(text) && !notRunRE.MatchString(text):
		if !r.oom.ok {
			r.eval = m
		}
		return true
	}
	return false
}

// place gives a point its step on one axis: counters that start anew with each epoch
// are strung together, and lines without a step follow each other.
func (r *run) place(p *point) float64 {
	if !p.hasStep {
		if p.loss.ok {
			r.counted++
		}
		if r.sawStep {
			return r.offset + r.lastStep
		}
		r.steps++
		return r.steps
	}
	if !r.sawStep {
		r.firstStep = p.step
	}
	if r.sawStep && p.step < r.lastStep {
		r.offset += r.lastStep + 1 - p.step
	}
	if !r.sawStep || p.step != r.lastStep {
		r.counted++
	}
	r.sawStep, r.lastStep = true, p.step
	return r.offset + p.step
}

// startsAnew reports whether the first point behind a refusal is of another run, whose
// text follows in the same input: a program that goes on does not count from the start
// again, least of all one that had resumed.
func (r *run) startsAnew(p *point) bool {
	switch {
	case !p.hasStep:
		return false
	case r.sawStep:
		return p.step <= r.firstStep && p.step < r.lastStep
	}
	return r.resumed.ok && p.step <= 1
}

// Ended are the lines of refusals of memory behind which another run starts.
func (c *Collector) Ended() []int {
	var out []int
	for _, r := range c.ranks {
		if r.fresh {
			out = append(out, r.oom.line)
		}
	}
	return out
}

func (r *run) noteBatch(p *point, at mark) {
	n := p.peak
	if !n.ok {
		n = p.memory
	}
	if !p.batch.ok || !n.ok || p.batch.v <= 0 || p.hasStep && p.batch.v == p.step || len(r.batches) >= 256 {
		return
	}
	r.batches = append(r.batches, batchPoint{p.batch.v, n.v, at})
}

// Signals judges what was seen, in order of rank of first appearance.
func (c *Collector) Signals() []gpumedic.Signal {
	var out []gpumedic.Signal
	for _, r := range c.ranks {
		if m := r.pending; m.ok {
			r.pending = mark{}
			r.read(m.text, lower(m.text), m.line)
		}
	}
	shared := c.sharedEvents()
	for _, rank := range c.order {
		r := c.ranks[rank]
		for _, s := range r.judge(shared) {
			if rank != noRank {
				n := rank
				s.Subject.Rank = &n
			}
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b gpumedic.Signal) int { return a.Evidence.Line - b.Evidence.Line })
	return out
}

// events of the input as a whole: the rank that fails is often not the one that logs.
type events struct {
	oom, resumed mark
	stepsAtOOM   float64
	evalAtOOM    mark
	total        float64
}

func (c *Collector) sharedEvents() events {
	var e events
	for _, rank := range c.order {
		r := c.ranks[rank]
		if r.after > wentOn {
			r.oom = mark{} // it was dealt with
		}
		if r.oom.ok && (!e.oom.ok || r.oom.line < e.oom.line) {
			e.oom = r.oom
		}
		if r.resumed.ok && !e.resumed.ok {
			e.resumed = r.resumed
		}
		e.total = math.Max(e.total, r.total)
	}
	for _, rank := range c.order {
		r := c.ranks[rank]
		if n := r.counted; r.oom.ok {
			e.stepsAtOOM = math.Max(e.stepsAtOOM, r.stepsAtOOM)
		} else {
			e.stepsAtOOM = math.Max(e.stepsAtOOM, n)
		}
		switch {
		case e.evalAtOOM.ok:
		case r.evalAtOOM.ok:
			e.evalAtOOM = r.evalAtOOM
		case !r.oom.ok && r.eval.ok && r.eval.line < e.oom.line:
			e.evalAtOOM = r.eval
		}
	}
	return e
}

// signal makes a signal whose evidence is a mark.
func signal(kind string, level gpumedic.Level, at mark, fields map[string]string) gpumedic.Signal {
	return gpumedic.Signal{Kind: kind, Level: level, Fields: fields, Count: 1,
		Evidence: gpumedic.Evidence{Line: at.line, Text: at.text, Mark: [2]int{0, len(at.text)}}}
}

func integer(v float64) string { return strconv.FormatFloat(math.Round(v), 'f', -1, 64) }

// figure prints a value with up to six significant digits.
func figure(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
