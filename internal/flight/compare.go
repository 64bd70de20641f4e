package flight

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Late is a rank that others wait for and that waits for nobody.
type Late struct {
	Rank    int
	Group   string
	Desc    string
	Seq     int64 // the number that it has not reached
	Behind  int64
	Op      string // what the others are in
	Waiting []int
	Since   int64 // ns: when the first of them began to wait
}

// Stalled is a rank whose operations do not end though its peers' did.
type Stalled struct {
	Rank        int
	Group, Desc string
	Seq         int64
	Op          string
	Behind      int64
}

// Mismatch is one number of a group at which ranks run different operations.
type Mismatch struct {
	Group, Desc string
	Seq         int64
	Ranks       []int
	Ops         []string // what differs, by rank
	What        string   // op, dtype or size; order for waits in a circle
}

// Verdict is what the dumps of a job say together.
type Verdict struct {
	Late     []Late
	Stalled  []Stalled
	Mismatch []Mismatch
	Missing  []int // ranks of the groups whose dumps were not given
}

// member is how far a rank is in one group.
type member struct {
	enqueued, completed int64
	pending             *Entry // the first operation that is not over
	at                  map[int64]*Entry
}

// Compare lays the dumps of several ranks side by side. Dumps without a rank are left
// out; of several dumps of one rank the last counts.
func Compare(dumps []*Dump) Verdict {
	by := map[int]*Dump{}
	for _, d := range dumps {
		if d.Rank >= 0 {
			by[d.Rank] = d
		}
	}
	var v Verdict
	if len(by) < 2 {
		return v
	}
	waits := map[int]map[int]bool{} // rank → whom it waits for
	late, stuck := map[int]Late{}, map[int]Stalled{}
	entries := entriesOf(by)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		g, members, p2p := gather(by, name, entries[name])
		if p2p || len(members) < 2 {
			continue // sends and receives number each pair apart
		}
		v.Mismatch = append(v.Mismatch, mismatches(g, members)...)
		for r, m := range ordered(members) {
			if s, ok := stalled(g, r, m, members); ok && s.Behind > stuck[r].Behind {
				stuck[r] = s
			}
		}
		for l, m := range ordered(members) {
			if found, ok := lateIn(g, l, m, members, waits); ok {
				if old, ok := late[l]; !ok || found.before(old) {
					late[l] = found
				}
			}
		}
	}
	v.Late, v.Mismatch = sinks(late, waits, v.Mismatch)
	for _, s := range ordered(stuck) {
		v.Stalled = append(v.Stalled, s)
	}
	v.Missing = missing(by)
	return v
}

// before chooses which of several groups to name for one rank: the one in which most
// wait, then the one in which they have waited longest.
func (l Late) before(o Late) bool {
	if len(l.Waiting) != len(o.Waiting) {
		return len(l.Waiting) > len(o.Waiting)
	}
	return l.Since < o.Since
}

// ordered ranges over what belongs to ranks, by rank.
func ordered[T any](m map[int]T) func(func(int, T) bool) {
	return func(yield func(int, T) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

// entriesOf sorts the operations by group and rank.
func entriesOf(by map[int]*Dump) map[string]map[int][]*Entry {
	out := map[string]map[int][]*Entry{}
	for r, d := range by {
		for i := range d.Entries {
			e := &d.Entries[i]
			if out[e.Group] == nil {
				out[e.Group] = map[int][]*Entry{}
			}
			out[e.Group][r] = append(out[e.Group][r], e)
		}
	}
	return out
}

// gather finds how far each member of a group is. A member without an entry is known
// by the counters, whose ids its peers tell.
func gather(by map[int]*Dump, name string, entries map[int][]*Entry) (Group, map[int]*member, bool) {
	g := Group{Name: name}
	ids := map[string]bool{}
	p2p := false
	members := map[int]*member{}
	for r, d := range ordered(by) {
		if have, ok := d.Groups[name]; ok && len(have.Ranks) > len(g.Ranks) {
			g = have
		}
		m := &member{enqueued: -1, completed: -1, at: map[int64]*Entry{}}
		for _, e := range entries[r] {
			p2p = p2p || e.P2P
			ids[e.GroupID] = true
			if g.Desc == "" {
				g.Desc = e.Desc
			}
			m.at[e.Seq] = e
			m.enqueued = max(m.enqueued, e.Seq)
			if e.Done() {
				m.completed = max(m.completed, e.Seq)
			} else if m.pending == nil || e.Seq < m.pending.Seq {
				m.pending = e
			}
		}
		if len(m.at) > 0 || slices.Contains(g.Ranks, r) || slices.Contains(d.Groups[name].Ranks, r) {
			members[r] = m
		}
	}
	if len(ids) == 1 {
		for id := range ids {
			for r, m := range members {
				if s, ok := by[r].Status[id]; ok && s.Enqueued > 0 {
					m.enqueued, m.completed = max(m.enqueued, s.Enqueued), max(m.completed, s.Completed)
				}
			}
		}
	}
	return g, members, p2p
}

// lateIn reports whether l has not reached an operation that a peer is in.
func lateIn(g Group, l int, m *member, members map[int]*member, waits map[int]map[int]bool) (Late, bool) {
	out := Late{Rank: l, Group: g.Name, Desc: g.Desc, Seq: m.enqueued + 1}
	var most int64
	for r, peer := range ordered(members) {
		if peer.pending == nil || r == l || peer.enqueued <= m.enqueued {
			continue
		}
		at := peer.pending
		if at.Seq <= m.enqueued { // its first open one was reached, a later one was not
			at = peer.at[m.enqueued+1]
			if at == nil || at.Done() {
				continue
			}
		}
		if m.enqueued < 0 { // nothing is known of l in this group: it is not where peers are
			out.Seq = at.Seq
		}
		if out.Op == "" || at.Seq == out.Seq {
			out.Op = at.Op
		}
		if out.Since == 0 || at.Created < out.Since {
			out.Since = at.Created
		}
		most = max(most, peer.enqueued)
		out.Waiting = append(out.Waiting, r)
		if waits[r] == nil {
			waits[r] = map[int]bool{}
		}
		waits[r][l] = true
	}
	out.Behind = most - out.Seq + 1
	return out, len(out.Waiting) > 0
}

// sinks keeps of the late ranks those that wait for nobody. When all wait for each
// other the order of their operations differs, and that is a mismatch.
func sinks(late map[int]Late, waits map[int]map[int]bool, mm []Mismatch) ([]Late, []Mismatch) {
	var out []Late
	for r, l := range ordered(late) {
		if len(waits[r]) == 0 {
			out = append(out, l)
		}
	}
	if len(out) == 0 && len(late) > 0 && len(mm) == 0 {
		m := Mismatch{What: "order"}
		for r, l := range ordered(late) {
			if m.Group == "" {
				m.Group, m.Desc, m.Seq = l.Group, l.Desc, l.Seq
			}
			m.Ranks = append(m.Ranks, r)
			m.Ops = append(m.Ops, fmt.Sprintf("%d: not in %s %d of group %s", r, l.Op, l.Seq, l.Group))
		}
		mm = append(mm, m)
	}
	return out, mm
}

// stalled reports whether r is still in an operation that a peer has left: all had
// arrived, and r's own device does not get on.
func stalled(g Group, r int, m *member, members map[int]*member) (Stalled, bool) {
	if m.pending == nil {
		return Stalled{}, false
	}
	ahead := int64(0)
	for p, peer := range members {
		if p != r {
			ahead = max(ahead, peer.completed-m.pending.Seq+1)
		}
	}
	const enough = 3 // the recorder sees ends late: one or two mean nothing
	return Stalled{Rank: r, Group: g.Name, Desc: g.Desc, Seq: m.pending.Seq, Op: m.pending.Op, Behind: ahead}, ahead >= enough
}

// sameSize are the operations whose inputs have one size on all ranks.
var sameSize = map[string]bool{"all_reduce": true, "broadcast": true, "_all_gather_base": true, "_reduce_scatter_base": true, "reduce": true}

// mismatches finds the first number of a group at which ranks differ.
func mismatches(g Group, members map[int]*member) []Mismatch {
	seqs := map[int64]bool{}
	for _, m := range members {
		for s := range m.at {
			seqs[s] = true
		}
	}
	order := slices.Sorted(maps.Keys(members))
	for _, s := range slices.Sorted(maps.Keys(seqs)) {
		for _, what := range []string{"op", "dtype", "size"} {
			differ, first := false, ""
			var ranks []int
			for _, r := range order {
				val, ok := compared(members[r].at[s], what)
				if !ok {
					continue
				}
				if len(ranks) == 0 {
					first = val
				}
				differ = differ || val != first
				ranks = append(ranks, r)
			}
			if !differ {
				continue
			}
			m := Mismatch{Group: g.Name, Desc: g.Desc, Seq: s, What: what, Ranks: ranks}
			for _, r := range ranks {
				e := members[r].at[s]
				m.Ops = append(m.Ops, fmt.Sprintf("%d: %s %s", r, e.Op, e.Sizes))
			}
			return []Mismatch{m}
		}
	}
	return nil
}

// compared is what of an operation must be equal on all ranks; ok is false where there
// is nothing to compare.
func compared(e *Entry, what string) (val string, ok bool) {
	if e == nil || strings.Contains(e.Op, "coalesced") {
		return "", false
	}
	switch what {
	case "dtype":
		return e.DType, true
	case "size":
		return e.Sizes, sameSize[e.Op]
	}
	return e.Op, true
}

// missing are the ranks of all groups whose dumps were not given.
func missing(by map[int]*Dump) []int {
	seen := map[int]bool{}
	var out []int
	for _, d := range ordered(by) {
		for _, g := range d.Groups {
			for _, r := range g.Ranks {
				if by[r] == nil && !seen[r] {
					seen[r] = true
					out = append(out, r)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}
