package scan

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/flight"
	"github.com/gpumedic/gpumedic/internal/scan/traceback"
	"github.com/gpumedic/gpumedic/internal/source"
)

// maxDump bounds a flight-recorder dump: 20,000 operations with stacks take 40 MiB.
const maxDump = 256 << 20

// flight reads an input that is a dump of the flight recorder. Its signals are made
// when all dumps of the job are known.
func (x *input) flight(ctx context.Context) (gpumedic.InputInfo, []gpumedic.Signal) {
	var data []byte
	info := gpumedic.InputInfo{Name: x.src.Name, Kind: source.KindFlight, Problems: []string{}}
	for ctx.Err() == nil {
		b, err := x.rd.Next()
		if err != nil {
			break
		}
		if len(data)+len(b.Data) > maxDump {
			info.Problems = append(info.Problems, fmt.Sprintf("larger than %d MiB: no dump of one rank is", maxDump>>20))
			info.Incomplete = true
			break
		}
		data = append(data, b.Data...)
		x.rd.Free(b)
	}
	hint := -1
	if n := number(x.src.Hint.Rank); n != nil {
		hint = *n
	}
	var err error
	if x.dumps, err = flight.Parse(data, hint); err != nil {
		info.Problems = append(info.Problems, err.Error())
		info.Incomplete = true
	}
	info.Lines, info.Bytes = x.rd.Lines(), x.rd.Bytes()
	info.Problems = append(append([]string{}, x.rd.Problems()...), info.Problems...)
	info.Incomplete = info.Incomplete || x.rd.Incomplete() || ctx.Err() != nil
	return info, nil
}

// placed is a dump and the input that it came from.
type placed struct {
	*flight.Dump
	input int
	name  string
	part  int
}

// dumpSet is all dumps of a run.
type dumpSet []placed

func (s *dumpSet) add(input int, name string, dumps []*flight.Dump) {
	for i, d := range dumps {
		*s = append(*s, placed{d, input, name, i})
	}
}

// signals says of each rank where it is, and of the job who holds it up.
func (s dumpSet) signals() []gpumedic.Signal {
	if len(s) == 0 {
		return nil
	}
	dumps := make([]*flight.Dump, len(s))
	for i := range s {
		dumps[i] = s[i].Dump
	}
	v := flight.Compare(dumps)
	known := len(v.Late)+len(v.Mismatch) > 0
	var out []gpumedic.Signal
	for i := range s {
		out = append(out, s[i].own(known)...)
	}
	for _, l := range v.Late {
		f := map[string]string{"seq": itoa(l.Seq), "behind": itoa(l.Behind), "op": l.Op, "pg": l.Group, "pg_name": l.Desc, "waiting": ranks(l.Waiting), "waiting_count": strconv.Itoa(len(l.Waiting))}
		out = append(out, s.of(l.Rank).signal("flight.late_rank", gpumedic.LevelAbnormal, f, fmt.Sprintf(
			"rank %d has not reached %s %d of process group %s, in which %s wait", l.Rank, l.Op, l.Seq, groupText(l.Group, l.Desc), rankText(l.Waiting))))
	}
	for _, l := range v.Stalled {
		f := map[string]string{"seq": itoa(l.Seq), "behind": itoa(l.Behind), "op": l.Op, "pg": l.Group, "pg_name": l.Desc}
		out = append(out, s.of(l.Rank).signal("flight.stalled_rank", gpumedic.LevelNotice, f, fmt.Sprintf(
			"rank %d is still in %s %d of process group %s, which its peers have left", l.Rank, l.Op, l.Seq, groupText(l.Group, l.Desc))))
	}
	for _, m := range v.Mismatch {
		f := map[string]string{"seq": itoa(m.Seq), "what": m.What, "pg": m.Group, "pg_name": m.Desc, "ranks": ranks(m.Ranks), "ops": clip(strings.Join(m.Ops, "; "), 500)}
		sig := s.of(m.Ranks[0]).signal("flight.mismatch", gpumedic.LevelAbnormal, f, fmt.Sprintf(
			"at %d of process group %s ranks differ in %s: %s", m.Seq, groupText(m.Group, m.Desc), m.What, clip(strings.Join(m.Ops, "; "), 300)))
		sig.Subject.Rank = nil
		out = append(out, sig)
	}
	if len(v.Missing) > 0 && len(s) > 1 {
		f := map[string]string{"ranks": ranks(v.Missing), "missing_count": strconv.Itoa(len(v.Missing))}
		sig := s[0].signal("flight.missing", gpumedic.LevelFact, f, "no dump of "+rankText(v.Missing)+" was given")
		sig.Subject.Rank = nil
		out = append(out, sig)
	}
	return out
}

// of is the dump of a rank, the last one as Compare has it.
func (s dumpSet) of(rank int) placed {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i].Rank == rank {
			return s[i]
		}
	}
	return s[0]
}

// own says where one rank is: its last operation, and the first that is not over.
func (p placed) own(explained bool) []gpumedic.Signal {
	var last, open *flight.Entry
	pending := 0
	for i := range p.Entries {
		e := &p.Entries[i]
		if last == nil || e.Record >= last.Record {
			last = e
		}
		if e.Done() {
			continue
		}
		pending++
		switch {
		case open == nil, open.P2P && !e.P2P:
			open = e
		case open.P2P == e.P2P && e.Record < open.Record:
			open = e
		}
	}
	if last == nil {
		return []gpumedic.Signal{p.signal("flight.last", gpumedic.LevelFact, map[string]string{"version": p.Version, "nccl": p.NCCL}, "the dump lists no operation")}
	}
	f := p.fields(last)
	f["version"], f["nccl"] = p.Version, p.NCCL
	out := []gpumedic.Signal{p.signal("flight.last", gpumedic.LevelFact, f, "last: "+entryText(last))}
	if open != nil {
		f := p.fields(open)
		f["open_count"] = strconv.Itoa(pending)
		level := gpumedic.LevelAbnormal
		if explained {
			level = gpumedic.LevelNotice
		}
		sig := p.signal("flight.incomplete", level, f, "not over: "+entryText(open))
		sig.Subject.Location = f["location"]
		if open.Created > 0 {
			sig.First = gpumedic.Stamp{Time: time.Unix(0, open.Created).UTC(), Precision: time.Nanosecond}
			sig.Last = sig.First
		}
		out = append(out, sig)
	}
	return out
}

func (p placed) fields(e *flight.Entry) map[string]string {
	f := map[string]string{"seq": itoa(e.Seq), "op": e.Op, "state": e.State, "pg": e.Group, "pg_name": e.Desc, "sizes": e.Sizes, "dtype": e.DType}
	if e.Timeout > 0 {
		f["timeout_ms"] = itoa(e.Timeout)
	}
	stack := make([]traceback.Frame, len(e.Frames))
	for i, fr := range e.Frames { // the recorder writes the innermost first
		stack[len(stack)-1-i] = traceback.Frame{File: fr.File, Line: fr.Line, Func: fr.Func}
	}
	u := traceback.UserFrame(stack)
	f["location"], f["func"] = u.At(), u.Func
	return f
}

func (p placed) signal(kind string, level gpumedic.Level, f map[string]string, words string) gpumedic.Signal {
	for k, v := range f {
		if v == "" {
			delete(f, k)
		}
	}
	sig := gpumedic.Signal{Kind: kind, Level: level, Count: 1, Fields: f, Evidence: gpumedic.Evidence{Input: p.name, Text: words},
		Order: gpumedic.Order{Input: p.input, Part: p.part}}
	if p.Rank >= 0 {
		rank := p.Rank
		sig.Subject.Rank = &rank
		f["rank"] = strconv.Itoa(rank)
	}
	return sig
}

func entryText(e *flight.Entry) string {
	return fmt.Sprintf("%s %d, %s, process group %s", e.Op, e.Seq, e.State, groupText(e.Group, e.Desc))
}

func groupText(name, desc string) string {
	if desc == "" || desc == name {
		return name
	}
	return name + " (" + desc + ")"
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func ranks(list []int) string {
	var b strings.Builder
	for i, r := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(r))
	}
	return clip(b.String(), 500)
}

func rankText(list []int) string {
	if len(list) == 1 {
		return "rank " + strconv.Itoa(list[0])
	}
	return "ranks " + ranks(list)
}

// hintNodes gives the signals of job logs that name no host the one that their path
// suggests. It helps only to tell several inputs apart, and only while no line names
// real hosts: "node0" of a file and "gpu17" of the kernel may be one machine.
func hintNodes(inputs []source.Input, res Result) {
	var names []string
	for _, in := range inputs {
		if n := in.Hint.Node; n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if len(names) < 2 {
		return
	}
	for i := range res.Signals {
		if n := res.Signals[i].Subject.Node; n != "" && !slices.Contains(names, n) {
			return
		}
	}
	for i := range res.Signals {
		s := &res.Signals[i]
		if s.Subject.Node == "" {
			s.Subject.Node = inputs[s.Order.Input].Hint.Node
		}
	}
}
