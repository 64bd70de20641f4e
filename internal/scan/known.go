package scan

import (
	"slices"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/frame"
	"github.com/gpumedic/gpumedic/internal/lazyre"
	"github.com/gpumedic/gpumedic/internal/scan/traceback"
)

// What a program's last words mean is often said by a matcher of a known message; the
// exception that carries them is then no news of its own. And a program may outlive a
// message that others die of. Which signals matter so is read from the faults:
//
//	triggers with a `where` on "known" are of a fault of last resort and do not count
//	what other triggers fit makes an exception of the same line known=yes
//	kinds of triggers with a `where` on "survived" have their lines watched: survived=yes
//	says that the program went on working

const (
	// bareException is the kind of an exception's line that no traceback belongs to.
	bareException = "job.error_line"
	knownField    = "known"
	survivedField = "survived"
	// maxTold bounds how many lines with abnormal signals are remembered.
	maxTold = 1 << 16
)

// told is what the abnormal signals of a line say.
type told uint8

const (
	abnormal   told = 1 << iota // something is out of order
	namesFault                  // and some fault is told by it
)

// uses are the triggers of the faults by the kind, or pattern of kinds, that they name.
type uses map[string][]trigger

type trigger struct {
	where    []fieldTest
	last     bool // of a fault of last resort
	survival bool // it matters whether the program lived on
}

type fieldTest struct {
	field string
	re    *lazyre.Regexp
	not   bool
}

func usesOf(c *catalog.Catalog) uses {
	out := uses{}
	for _, f := range c.Faults {
		last := slices.ContainsFunc(f.Triggers, func(c catalog.Clue) bool { _, asks := c.Where[knownField]; return asks })
		for i := range f.Triggers {
			t := trigger{last: last}
			for field, expr := range f.Triggers[i].Where {
				switch field {
				case survivedField:
					t.survival = true
				case knownField, "final": // told only later
				default:
					expr, not := strings.CutPrefix(expr, "!")
					t.where = append(t.where, fieldTest{field, lazyre.New(`(?i)^(?:` + expr + `)$`), not})
				}
			}
			for kind := range strings.SplitSeq(f.Triggers[i].Signal, "|") {
				kind = strings.TrimSpace(kind)
				out[kind] = append(out[kind], t)
			}
		}
	}
	return out
}

// of are the triggers of a kind.
func (u uses) of(kind string) []trigger {
	all := u[kind]
	for at, c := range kind { // "xid.*" and the like
		if c == '.' {
			all = append(slices.Clip(all), u[kind[:at]+".*"]...)
		}
	}
	return all
}

func (t *trigger) fits(sig *gpumedic.Signal) bool {
	for i := range t.where {
		if w := &t.where[i]; w.re.MatchString(sig.Fields[w.field]) == w.not {
			return false
		}
	}
	return true
}

// tell notes what the signals of a message say about an exception on its line, and
// has the writer of a line watched that may have been its last.
func (x *input) tell(p place, msg *frame.Message, found []*proto) {
	var said told
	near := x.tb.Active() || x.over // somebody will ask what was said here
	for _, pr := range found {
		if pr.sig.Kind == bareException {
			near = true
		}
	}
	for _, pr := range found {
		if pr.sig.Level < gpumedic.LevelAbnormal {
			continue
		}
		said |= abnormal
		of := x.triggers(pr.sig.Kind)
		if !near && !of.survival {
			continue
		}
		for _, t := range of.all {
			if !t.last && t.fits(&pr.sig) {
				said |= namesFault
			}
			if t.survival {
				x.watch(p, msg)
			}
		}
	}
	for _, pr := range found {
		if pr.sig.Kind != bareException {
			continue
		}
		if f := pr.entry.sig.Fields; f != nil && said&namesFault != 0 {
			f[knownField] = "yes"
		}
		x.watch(p, msg)
	}
	if said != 0 && len(x.told) < maxTold && (x.tb.Active() || x.over) {
		x.told[p.line] |= said
	}
}

// rematch tries the matchers on the whole message of an exception that a terminal's
// width has broken: what its first line gave alone counts already.
func (x *input) rematch(e *traceback.Exception) {
	from := e.At.From.(*tracedLine)
	class, _, ok := strings.Cut(from.msg.Text, ":")
	if !ok {
		return
	}
	msg := from.msg
	msg.Text = class + ": " + e.Message
	x.spanNo++
	x.mids = x.mids[:0]
	for _, h := range x.s.search.Find(nil, []byte(msg.Text)) {
		for _, m := range x.s.targets[h.ID].matchers {
			if x.marked[m] != x.spanNo && !x.given(x.s.matchers[m].Kind, e.At.No) {
				x.marked[m] = x.spanNo
				x.mids = append(x.mids, m)
			}
		}
	}
	slices.Sort(x.mids)
	x.message(place{line: e.At.No, text: []byte(from.raw)}, []frame.Message{msg}, 0)
}

// given reports whether a line has given a signal of a kind.
func (x *input) given(kind string, line int) bool {
	return slices.ContainsFunc(x.out.entries, func(e *entry) bool { return e.sig.Kind == kind && e.sig.Evidence.Line == line })
}

// watch follows what the writer of a message does next.
func (x *input) watch(p place, msg *frame.Message) {
	x.tbNext = max(x.tbNext, p.row+1)
	x.tb.Watch(traceback.Line{Stream: x.streamOf(msg), Text: msg.Text, No: p.line})
}

// kindTriggers are the triggers of a kind.
type kindTriggers struct {
	all      []trigger
	survival bool // of one of them
}

// triggers are those of a kind, remembered.
func (x *input) triggers(kind string) kindTriggers {
	k, ok := x.kindUses[kind]
	if !ok {
		k.all = x.s.uses.of(kind)
		k.survival = slices.ContainsFunc(k.all, func(t trigger) bool { return t.survival })
		if len(x.kindUses) < maxKnown {
			x.kindUses[kind] = k
		}
	}
	return k
}

// toldOf is what signals on the lines of an exception, and of those that led to it or
// followed from it, say.
func (x *input) toldOf(e *traceback.Exception) told {
	var all told
	for _, c := range e.Chain() {
		for _, no := range c.Lines {
			all |= x.told[no]
		}
	}
	return all
}

// outlived marks the signals whose program went on working behind them.
func (x *input) outlived() {
	lived := map[int]bool{}
	for _, no := range x.tb.Outlived() {
		lived[no] = true
	}
	for _, no := range x.curves.Ended() {
		delete(lived, no)
	}
	for _, e := range x.out.entries {
		if lived[e.seen] && x.asksSurvival(e.sig.Kind) {
			survived(&e.sig)
		}
	}
}

func (x *input) asksSurvival(kind string) bool {
	return x.triggers(kind).survival
}

// survived marks a signal that did not end its program: that is worth a look, no more. A
// CUDA error is: it stays with the process until that ends, whatever the program does
// next. Only a refusal of memory leaves nothing behind.
func survived(sig *gpumedic.Signal) {
	if strings.HasPrefix(sig.Kind, "cuda.") && sig.Kind != "cuda.2" {
		return
	}
	if sig.Fields == nil {
		sig.Fields = map[string]string{}
	}
	sig.Fields[survivedField] = "yes"
	sig.Level = min(sig.Level, gpumedic.LevelNotice)
}
