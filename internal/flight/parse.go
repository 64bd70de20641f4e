package flight

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxDumps is how many dumps one input may hold, one behind the other.
const maxDumps = 4096

// Group is a process group as a dump describes it.
type Group struct {
	Name  string
	Desc  string
	Ranks []int // global, in the order of their ranks in the group
}

// Frame is one level of the stack that enqueued an operation, innermost first.
type Frame struct{ File, Line, Func string }

// Entry is one operation that was handed to NCCL.
type Entry struct {
	Record  int64
	Group   string
	Desc    string
	GroupID string
	Seq     int64
	Op      string
	State   string // scheduled, started, completed
	P2P     bool
	Sizes   string
	DType   string
	Created int64 // ns
	Timeout int64 // ms
	Frames  []Frame
}

// Done reports whether the operation is over.
func (e *Entry) Done() bool { return e.State == "completed" }

// Status is how far a group is, by the recorder's own count.
type Status struct{ Enqueued, Completed int64 }

// Dump is what one rank wrote.
type Dump struct {
	Version string
	NCCL    string
	Rank    int // -1 when neither content nor name tells
	Groups  map[string]Group
	Status  map[string]Status // by GroupID
	Entries []Entry
}

// Parse reads the dumps in data. hint is the rank that the input's name suggests, -1
// for none. On an error the dumps before it are returned too.
func Parse(data []byte, hint int) ([]*Dump, error) {
	var out []*Dump
	var err error
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' {
		out, err = parseJSON(trimmed)
	} else {
		out, err = parsePickles(data)
	}
	for _, d := range out {
		d.findRank()
	}
	if len(out) == 1 && hint >= 0 && out[0].Rank < 0 {
		out[0].Rank = hint
	}
	return out, err
}

func parsePickles(data []byte) (out []*Dump, err error) {
	for len(data) > 0 && len(out) < maxDumps {
		var v any
		if v, data, err = unpickle(data); err != nil {
			return out, err
		}
		d, ok := dumpOf(v)
		if !ok {
			return out, errors.New("read pickle: it is no dump of the flight recorder")
		}
		out = append(out, d)
		data = bytes.TrimLeft(data, "\r\n")
	}
	return out, nil
}

func parseJSON(data []byte) (out []*Dump, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	for len(out) < maxDumps {
		var v map[string]any
		if err := dec.Decode(&v); err != nil {
			if errors.Is(err, io.EOF) {
				return out, nil
			}
			return out, fmt.Errorf("read flight-recorder dump: %w", err)
		}
		d, ok := dumpOf(v)
		if !ok {
			return out, errors.New("read JSON: it is no dump of the flight recorder")
		}
		out = append(out, d)
	}
	return out, nil
}

// The two forms hold the same values in different clothes.

func fields(v any) map[string]any {
	switch m := v.(type) {
	case *dict:
		return m.m
	case map[string]any:
		return m
	}
	return nil
}

func items(v any) []any {
	switch l := v.(type) {
	case *list:
		return l.items
	case []any:
		return l
	}
	return nil
}

func text(v any) string {
	switch t := v.(type) {
	case string:
		return t
	case int64:
		return strconv.FormatInt(t, 10)
	case json.Number:
		return t.String()
	case bool:
		return strconv.FormatBool(t)
	}
	return ""
}

func number(v any) int64 {
	n, err := strconv.ParseInt(text(v), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

const (
	maxEntries = 1 << 18
	maxFrames  = 64
	maxMembers = 1 << 20 // in all groups together: a pickle may name one list many times
)

// dumpOf reads a decoded dump; ok is false for anything else.
func dumpOf(v any) (d *Dump, ok bool) {
	top := fields(v)
	entries, has := top["entries"]
	if top == nil || !has || top["version"] == nil && top["pg_config"] == nil {
		return nil, false
	}
	d = &Dump{Version: text(top["version"]), Rank: -1, Groups: map[string]Group{}, Status: map[string]Status{}}
	if d.NCCL = text(top["nccl_version"]); d.NCCL == "" {
		d.NCCL = text(top["comm_lib_version"])
	}
	groups, left := fields(top["pg_config"]), maxMembers
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		f := fields(groups[name])
		g := Group{Name: name, Desc: text(f["desc"])}
		if left > 0 {
			g.Ranks = ranksOf(text(f["ranks"]))
			left -= len(g.Ranks)
		}
		d.Groups[name] = g
	}
	for id, s := range fields(top["pg_status"]) {
		f := fields(s)
		d.Status[id] = Status{number(f["last_enqueued_collective"]), number(f["last_completed_collective"])}
	}
	for _, e := range items(entries) {
		if len(d.Entries) == maxEntries {
			break
		}
		if f := fields(e); f != nil {
			d.Entries = append(d.Entries, entryOf(f))
		}
	}
	return d, true
}

func entryOf(f map[string]any) Entry {
	e := Entry{
		Record: number(f["record_id"]), GroupID: text(f["pg_id"]), Seq: number(f["collective_seq_id"]), State: text(f["state"]),
		Op: strings.TrimPrefix(text(f["profiling_name"]), "nccl:"), Created: number(f["time_created_ns"]), Timeout: number(f["timeout_ms"]),
		Sizes: sizes(f["input_sizes"]),
	}
	if f["collective_seq_id"] == nil { // the first versions
		e.Seq = number(f["seq_id"])
	}
	if dt := items(f["input_dtypes"]); len(dt) > 0 {
		e.DType = text(dt[0])
	}
	if b, ok := f["is_p2p"].(bool); ok {
		e.P2P = b
	}
	if e.P2P || strings.HasPrefix(e.Op, "send ") || strings.HasPrefix(e.Op, "recv ") {
		e.P2P = true
		if n := number(f["p2p_seq_id"]); n > 0 {
			e.Seq = n
		}
	}
	pg := items(f["process_group"])
	if len(pg) > 0 {
		e.Group = text(pg[0])
	}
	if len(pg) > 1 {
		e.Desc = text(pg[1])
	}
	if e.Group == "" {
		e.Group = e.GroupID
	}
	for _, fr := range items(f["frames"]) {
		if len(e.Frames) == maxFrames {
			break
		}
		m := fields(fr)
		e.Frames = append(e.Frames, Frame{File: text(m["filename"]), Line: text(m["line"]), Func: text(m["name"])})
	}
	return e
}

// sizes words the shapes of tensors: "[[4096, 1], [8]]".
func sizes(v any) string {
	var b strings.Builder
	for i, t := range items(v) {
		if i == 8 {
			b.WriteString(" …")
			break
		}
		if i > 0 {
			b.WriteString(" ")
		}
		b.WriteByte('[')
		for j, n := range items(t) {
			if j == 16 {
				break
			}
			if j > 0 {
				b.WriteString(", ")
			}
			b.WriteString(text(n))
		}
		b.WriteByte(']')
	}
	return b.String()
}

// ranksOf reads "[0, 1, 4]".
func ranksOf(s string) []int {
	var out []int
	for f := range strings.FieldsFuncSeq(strings.Trim(s, "[]"), func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(f)
		if err != nil || len(out) == 1<<17 {
			return out
		}
		out = append(out, n)
	}
	return out
}

// findRank works out whose dump it is: it is a member of all groups that it lists, and
// names itself in its sends and receives.
func (d *Dump) findRank() {
	for i := range d.Entries {
		e := &d.Entries[i]
		from, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(e.Op, "send "), "recv "), "->")
		if !ok {
			from, _, ok = strings.Cut(strings.TrimPrefix(e.Op, "recv "), "<-")
		}
		n, err := strconv.Atoi(from)
		if g := d.Groups[e.Group]; e.P2P && ok && err == nil && n >= 0 && n < len(g.Ranks) && len(g.Ranks) > 1 {
			d.Rank = g.Ranks[n]
			return
		}
	}
	count, lists := map[int]int{}, 0
	for _, g := range d.Groups {
		if len(g.Ranks) == 0 {
			continue
		}
		lists++
		for _, r := range g.Ranks {
			count[r]++
		}
	}
	only := -1
	for r, n := range count {
		if n == lists {
			if only >= 0 {
				return
			}
			only = r
		}
	}
	d.Rank = only
}
