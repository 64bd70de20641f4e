package scan

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/frame"
	"github.com/gpumedic/gpumedic/internal/lazyre"
	"github.com/gpumedic/gpumedic/internal/scan/traceback"
	"github.com/gpumedic/gpumedic/internal/source"
)

// tracedLine is what the scan keeps of a line that it gave to the traceback reader.
type tracedLine struct {
	msg frame.Message
	raw string
}

// follow gives the reader of tracebacks the rows before upTo that it has not seen,
// while one is open. Other rows cost nothing.
func (x *input) follow(b *block, upTo int) {
	if !x.tb.Active() {
		return
	}
	for row := max(x.tbNext, b.firstRow); row < upTo && x.tb.Active(); row++ {
		x.trace(row, b.Offset+int64(b.index()[row-b.firstRow]), b.line(row))
	}
}

// trace gives it one row.
func (x *input) trace(row int, off int64, line int) {
	if row < x.tbNext {
		return
	}
	x.tbNext = row + 1
	r, ok := x.t.row(row, off, lookAhead)
	if !ok {
		return
	}
	msgs, _ := x.fr.at(row, off)
	for i := range msgs {
		m := &msgs[i]
		x.seeRank(m)
		l := traceback.Line{Stream: x.streamOf(m), Text: m.Text, Indent: m.Indent, No: line}
		if n := strings.LastIndexByte(l.Text, '\r'); n >= 0 { // a terminal shows what came last
			l.Text = l.Text[n+1:]
		}
		from := func() *tracedLine {
			t := &tracedLine{*m, string(r.text[:min(len(r.text), longRow)])}
			t.msg.Text = l.Text
			return t
		}
		if !strings.Contains(l.Text, `\n  File "`) {
			if x.tb.Next(l) { // lines of other writers are not copied
				l.From = from()
				x.tb.Take(l)
			}
			continue
		}
		whole := l.Text
		l.From = from()
		for part := range strings.SplitSeq(whole, `\n`) { // somebody logged the text's escapes
			l.Text = strings.TrimLeft(part, " ")
			l.Indent = len(part) - len(l.Text)
			x.tb.Add(l)
		}
	}
}

// streamOf names the writer of a message: lines of one process share it.
func (x *input) streamOf(m *frame.Message) string {
	b := x.memo[:0]
	for _, s := range [...]string{m.Host, m.Pod, m.Container, m.Ident, m.RankKind, m.Rank, m.Task} {
		b = append(append(b, s...), 0)
	}
	x.memo = strconv.AppendInt(b, int64(m.PID), 10)
	name, ok := x.streams[string(x.memo)]
	if !ok {
		name = string(x.memo)
		if len(x.streams) < maxKnown {
			x.streams[name] = name
		}
	}
	return name
}

// exceptions turns what the reader of tracebacks found into signals, and tells the
// signals of the same lines where in the code they came from.
func (x *input) exceptions() {
	byLine := map[int]*traceback.Exception{}
	ended := x.curves.Ended()
	all := x.tb.Finish()
	x.over = true
	for _, e := range all {
		if e.Wrapped {
			x.rematch(e)
		}
	}
	for i, e := range all {
		e.Final = e.Final || slices.Contains(ended, e.At.No) // what lives on is another run
		x.exception(e, i)
		for _, no := range e.Lines {
			if have := byLine[no]; have == nil || have.User.File == "" {
				byLine[no] = e
			}
		}
	}
	defer x.outlived() // what no traceback speaks of
	for _, entry := range x.out.entries {
		if e := byLine[entry.sig.Evidence.Line]; e != nil && !strings.HasPrefix(entry.sig.Kind, "py.") {
			locate(&entry.sig, e)
		}
	}
}

// locate adds the place in the code to a signal of an exception's line.
func locate(sig *gpumedic.Signal, e *traceback.Exception) {
	if sig.Subject.Location == "" {
		sig.Subject.Location = e.User.At()
	}
	traced(&sig.Subject, e)
	if sig.Fields == nil {
		sig.Fields = map[string]string{}
	}
	for k, v := range map[string]string{"code": e.User.Code, "func": e.User.Func, "lib": e.Lib, "cause": e.Cause, "final": gpumedic.YesNo(e.Ended())} {
		if v != "" && sig.Fields[k] == "" {
			sig.Fields[k] = v
		}
	}
	if !e.Ended() {
		survived(sig)
	}
}

// traced adds who wrote a traceback, where its last line does not say: a logger may
// put its prefix before the first line alone.
func traced(s *gpumedic.Subject, e *traceback.Exception) {
	head := &e.Head.From.(*tracedLine).msg
	for _, rank := range []string{e.At.From.(*tracedLine).msg.Rank, e.Rank, head.Rank} {
		if s.Rank == nil {
			s.Rank = number(rank)
		}
	}
	if s.Process.PID == 0 && head.Ident == "" {
		s.Process.PID = head.PID
	}
	if s.Node == "" {
		s.Node = head.Host
	}
}

// exception makes a signal of an exception.
func (x *input) exception(e *traceback.Exception, i int) {
	from, last := e.At.From.(*tracedLine), e.Last.From.(*tracedLine)
	sig := gpumedic.Signal{Kind: "py.exception", Level: gpumedic.LevelNotice, Count: e.Count, Fields: map[string]string{}}
	if e.Fatal {
		sig.Kind = "py.fatal"
	}
	for k, v := range map[string]string{
		"type": e.Type, "module": e.Module, "message": clip(e.Message, 500), "thread": e.Thread, "lib": e.Lib,
		"file": e.User.File, "line": e.User.Line, "func": e.User.Func, "code": e.User.Code, "raised": e.Raised.At(),
		"cause": e.Cause, "led_to": e.LedTo, "final": gpumedic.YesNo(e.Final), "chained": gpumedic.YesNo(e.Chained),
	} {
		if v != "" {
			sig.Fields[k] = v
		}
	}
	if e.Truncated {
		sig.Fields["truncated"] = "yes"
	}
	switch said := x.toldOf(e); {
	case said&namesFault != 0:
		sig.Fields[knownField] = "yes"
	case said&abnormal == 0 && e.Final: // nobody else says that the program ended
		sig.Level = gpumedic.LevelAbnormal
	}
	x.fillPlace(&sig.Subject, &from.msg)
	traced(&sig.Subject, e)
	sig.Subject.Location = e.User.At()
	sig.First, sig.Last = from.msg.Stamp, last.msg.Stamp
	sig.Evidence = gpumedic.Evidence{Input: x.src.Name, Line: e.At.No, Text: from.raw, Mark: markOf(from)}
	sig.Order = gpumedic.Order{Input: x.num, Line: e.At.No, Part: 2000 + i}
	x.out.entries = append(x.out.entries, &entry{sig: sig, lastLine: e.Last.No})
}

func markOf(l *tracedLine) [2]int {
	at := l.msg.Off
	if at < 0 || at+len(l.msg.Text) > len(l.raw) || l.raw[at:at+len(l.msg.Text)] != l.msg.Text {
		at = strings.Index(l.raw, l.msg.Text)
	}
	if at < 0 || l.msg.Text == "" {
		return [2]int{}
	}
	return [2]int{at, at + len(l.msg.Text)}
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return string(bytes.ToValidUTF8([]byte(s[:n]), nil)) + "…"
}

// curveSignals judges the figures of training steps.
func (x *input) curveSignals() {
	for i, sig := range x.curves.Signals() {
		sig.Evidence.Input = x.src.Name
		sig.Order = gpumedic.Order{Input: x.num, Line: sig.Evidence.Line, Part: 1<<20 + i}
		x.out.entries = append(x.out.entries, &entry{sig: sig, lastLine: sig.Evidence.Line})
	}
}

// rankOf is the rank of a message as a number, negative when it names none.
func (x *input) rankOf(m *frame.Message) int {
	if n := number(m.Rank); n != nil {
		return *n
	}
	return -1
}

// maxRanks is how many ranks of a text are remembered: two are enough to know that
// it is not of one rank.
const maxRanks = 2

var envRank = lazyre.New(`(?:^|[^\w$])(?:RANK|SLURM_PROCID|OMPI_COMM_WORLD_RANK|PMI_RANK)=(\d{1,6})\b`)

// statedRank looks for the environment of the process in the first rows: a log that
// begins with "RANK=3" and names no other is of that rank.
func (x *input) statedRank() {
	for row := range sampleRows {
		r, ok := x.t.row(row, 0, lookAhead)
		if !ok {
			return
		}
		for _, m := range envRank.FindAllStringSubmatch(string(r.text[:min(len(r.text), 1024)]), 4) {
			if x.stated != "" && x.stated != m[1] {
				x.stated = "several"
				return
			}
			x.stated = m[1]
		}
	}
}

func (x *input) seeRank(m *frame.Message) {
	if m.Rank != "" && len(x.ranks) < maxRanks {
		x.ranks[m.Rank] = true
	}
}

// hintRank gives the signals that name no rank the one of the input: what the text
// names elsewhere, when that is one rank only, or what its path suggests.
func (x *input) hintRank() {
	rank := x.src.Hint.Rank
	if number(x.stated) != nil {
		rank = x.stated
	}
	if k := x.kind; rank == "" || k != source.KindJoblog && k != source.KindUnknown || len(x.ranks) >= maxRanks {
		return
	}
	for r := range x.ranks {
		if x.src.Hint.Rank != "" {
			rank = r
		}
	}
	for _, e := range x.out.entries {
		if e.sig.Subject.Rank == nil {
			e.sig.Subject.Rank = number(rank)
		}
	}
}
