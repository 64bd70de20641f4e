// Package ranks says what no line says alone: that the ranks of a job stand at
// different places. It compares the signals of all ranks and adds its own; like the
// engine that calls it, it is pure.
package ranks

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/gpumedic/gpumedic"
)

// Compare returns the signals that follow from comparing ranks; it changes none.
//
//	nccl.mismatch        two ranks wait at one sequence number in different operations or sizes
//	nccl.late_rank       a rank has not entered the operation that the others wait for
//	nccl.behind_rank     a rank times out in an earlier operation than all others
//	nccl.silent_rank     all ranks but one report a timeout
//	nccl.version_differs ranks loaded different NCCL versions
//	job.uneven_steps     ranks have different numbers of batches
//	job.busy_rank        a rank was at work of its own while all others waited
//	job.busy_before_wait what a rank was busy with ended before the others began to wait
//	nccl.multi_node      NCCL runs on several hosts
//
// The evidence of an added signal is the line of the rank that stands apart.
func Compare(signals []gpumedic.Signal) []gpumedic.Signal {
	var out []gpumedic.Signal
	groups := groupOfRank(signals)
	out = append(out, mismatches(signals, groups)...)
	out = append(out, lateRanks(signals)...)
	out = append(out, behind(signals, groups)...)
	out = append(out, silentRank(signals)...)
	out = append(out, differing(signals, "nccl.version", "version", "nccl.version_differs", "version1_text", "version2_text")...)
	out = append(out, unevenSteps(signals)...)
	out = append(out, busyBefore(signals)...)
	out = append(out, busyRank(signals)...)
	out = append(out, hosts(signals)...)
	return out
}

// derived is a signal on the line of s.
func derived(s *gpumedic.Signal, kind string, level gpumedic.Level, fields map[string]string) gpumedic.Signal {
	d := *s
	d.Kind, d.Level, d.Fields, d.Count = kind, level, fields, 1
	d.Order.Part += 1000 // after what the line itself says
	return d
}

// rankOf is the rank that a signal is about, from framing or text.
func rankOf(s *gpumedic.Signal) (int, bool) {
	if s.Subject.Rank != nil {
		return *s.Subject.Rank, true
	}
	n, err := strconv.Atoi(s.Field("rank"))
	return n, err == nil
}

// groupOfRank finds the process group of ranks whose timeout line does not name it: the
// one group that their other lines name.
func groupOfRank(signals []gpumedic.Signal) map[int]string {
	out := map[int]string{}
	for i := range signals {
		r, ok := rankOf(&signals[i])
		pg := signals[i].Field("pg")
		if !ok || pg == "" {
			continue
		}
		if old, seen := out[r]; seen && old != pg {
			out[r] = "" // several: no telling
			continue
		}
		out[r] = pg
	}
	return out
}

// waiting is a rank that timed out in an operation.
type waiting struct {
	rank int
	s    *gpumedic.Signal
}

func mismatches(signals []gpumedic.Signal, groups map[int]string) []gpumedic.Signal {
	at := map[string][]waiting{} // by group and sequence number
	for i := range signals {
		s := &signals[i]
		r, ok := rankOf(s)
		if s.Kind != "nccl.watchdog_timeout" || !ok || s.Field("seq") == "" || s.Field("op") == "" {
			continue
		}
		pg := cmp.Or(s.Field("pg"), groups[r])
		at[pg+"/"+s.Field("seq")] = append(at[pg+"/"+s.Field("seq")], waiting{r, s})
	}
	var out []gpumedic.Signal
	for _, key := range sortedKeys(at) {
		odd, other, tie := apart(at[key])
		if odd == nil {
			continue
		}
		f := map[string]string{"detail": "watchdog", "seq": odd.s.Field("seq"), "op": odd.s.Field("op"), "op2": other.s.Field("op"),
			"numel_in": odd.s.Field("numel_in"), "numel_in2": other.s.Field("numel_in"),
			"rank1": strconv.Itoa(odd.rank), "rank2": strconv.Itoa(other.rank), "group_known": "yes"}
		if key[0] == '/' {
			f["group_known"] = "no" // ranks of different groups may share a number
		}
		d := derived(odd.s, "nccl.mismatch", gpumedic.LevelAbnormal, f)
		if tie { // as many on one side as on the other: nobody stands apart
			f["tie"], d.Subject.Rank, d.Subject.Process = "yes", nil, gpumedic.Process{}
		}
		out = append(out, d)
	}
	return out
}

// apart finds, among ranks at one sequence number, one of the fewer that do something
// else, and one of the most; tie says that both sides are as many.
func apart(list []waiting) (odd, other *waiting, tie bool) {
	does := map[string][]int{}
	for i, w := range list {
		what := w.s.Field("op")
		if sized[what] {
			what += " " + w.s.Field("numel_in")
		}
		does[what] = append(does[what], i)
	}
	if len(does) < 2 {
		return nil, nil, false
	}
	keys := sortedKeys(does)
	slices.SortStableFunc(keys, func(a, b string) int { return len(does[a]) - len(does[b]) })
	few, most := does[keys[0]], does[keys[len(keys)-1]]
	return &list[few[0]], &list[most[0]], len(few) == len(most)
}

// sized are operations whose size must be equal on all ranks.
var sized = map[string]bool{"ALLREDUCE": true, "ALLREDUCE_COALESCED": true, "BROADCAST": true, "REDUCE": true,
	"_ALLGATHER_BASE": true, "_REDUCE_SCATTER_BASE": true}

// lateRanks: in one group, a rank is late when the last operation that it enqueued is
// the last one that the others completed: they wait for the next, in which it is not.
func lateRanks(signals []gpumedic.Signal) []gpumedic.Signal {
	type state struct {
		s         *gpumedic.Signal
		enq, done int
	}
	groups := map[string]map[int]state{}
	for i := range signals {
		s := &signals[i]
		r, ok := rankOf(s)
		enq, err1 := strconv.Atoi(s.Field("last_enqueued"))
		done, err2 := strconv.Atoi(s.Field("last_completed"))
		if s.Kind != "nccl.pg_status" || !ok || err1 != nil || err2 != nil {
			continue
		}
		pg := s.Field("pg")
		if groups[pg] == nil {
			groups[pg] = map[int]state{}
		}
		if old, seen := groups[pg][r]; !seen || enq > old.enq {
			groups[pg][r] = state{s, enq, done}
		}
	}
	var out []gpumedic.Signal
	for _, pg := range sortedKeys(groups) {
		least := -1 // last operation that all waiting ranks completed
		waits := 0
		for _, st := range groups[pg] {
			if st.enq > st.done {
				if waits++; least < 0 || st.done < least {
					least = st.done
				}
			}
		}
		if waits == 0 || least < 0 {
			continue
		}
		for _, r := range sortedKeys(groups[pg]) {
			st := groups[pg][r]
			if st.enq > least {
				continue
			}
			out = append(out, derived(st.s, "nccl.late_rank", gpumedic.LevelAbnormal, map[string]string{
				"rank": strconv.Itoa(r), "ranks": strconv.Itoa(r), "late": "yes", "pg": pg,
				"last_completed": strconv.Itoa(st.enq), "seq": strconv.Itoa(least + 1)}))
		}
	}
	return out
}

// behind: of the ranks of one group that timed out all but one stand at one sequence
// number, and that one at a lower. It stopped first, or left out an operation; one line
// cannot tell which. Where the group is not named, numbers compare only for the same
// operation of the same size: other operations may be those of other groups.
func behind(signals []gpumedic.Signal, groups map[int]string) []gpumedic.Signal {
	type state struct {
		s   *gpumedic.Signal
		seq int
	}
	byGroup := map[string]map[int]state{}
	for i := range signals {
		s := &signals[i]
		r, ok := rankOf(s)
		seq, err := strconv.Atoi(s.Field("seq"))
		if s.Kind != "nccl.watchdog_timeout" || !ok || err != nil {
			continue
		}
		pg := cmp.Or(s.Field("pg"), groups[r], "/"+s.Field("op")+" "+s.Field("numel_in"))
		if byGroup[pg] == nil {
			byGroup[pg] = map[int]state{}
		}
		if old, seen := byGroup[pg][r]; !seen || seq < old.seq {
			byGroup[pg][r] = state{s, seq}
		}
	}
	var out []gpumedic.Signal
	for _, pg := range sortedKeys(byGroup) {
		at := map[int][]int{} // ranks by sequence number
		for _, r := range sortedKeys(byGroup[pg]) {
			seq := byGroup[pg][r].seq
			at[seq] = append(at[seq], r)
		}
		seqs := sortedKeys(at)
		if len(seqs) != 2 || len(at[seqs[0]]) != 1 || len(at[seqs[1]]) < 2 {
			continue
		}
		r := at[seqs[0]][0]
		out = append(out, derived(byGroup[pg][r].s, "nccl.behind_rank", gpumedic.LevelAbnormal, map[string]string{
			"rank": strconv.Itoa(r), "seq": strconv.Itoa(seqs[0]), "seq2": strconv.Itoa(seqs[1]),
			"waiting_count": strconv.Itoa(len(at[seqs[1]]))}))
	}
	return out
}

// silentRank: of ranks 0 to n all but one report a timeout. It is the one to look at.
func silentRank(signals []gpumedic.Signal) []gpumedic.Signal {
	said := map[int]bool{}
	var first *gpumedic.Signal
	for i := range signals {
		s := &signals[i]
		if r, ok := rankOf(s); ok && s.Kind == "nccl.watchdog_timeout" {
			if said[r] = true; first == nil {
				first = s
			}
		}
	}
	r, ok := absent(said)
	if !ok || len(said) < 3 {
		return nil // the highest rank may be the silent one, but nothing tells how many there are
	}
	d := derived(first, "nccl.silent_rank", gpumedic.LevelNotice, map[string]string{"rank": strconv.Itoa(r), "waiting_count": strconv.Itoa(len(said))})
	d.Subject.Rank, d.Subject.Process = &r, gpumedic.Process{}
	return []gpumedic.Signal{d}
}

// differing compares a field of one kind between ranks, nodes or inputs.
func differing(signals []gpumedic.Signal, kind, field, gives, one, two string) []gpumedic.Signal {
	var a *gpumedic.Signal
	for i := range signals {
		s := &signals[i]
		if s.Kind != kind || s.Field(field) == "" {
			continue
		}
		if a == nil {
			a = s
			continue
		}
		if s.Field(field) != a.Field(field) && elsewhere(a, s) {
			return []gpumedic.Signal{derived(s, gives, gpumedic.LevelNotice, map[string]string{one: a.Field(field), two: s.Field(field)})}
		}
	}
	return nil
}

// elsewhere: certainly two different processes.
func elsewhere(a, b *gpumedic.Signal) bool {
	ra, oka := rankOf(a)
	rb, okb := rankOf(b)
	return oka && okb && ra != rb || a.Subject.Node != "" && b.Subject.Node != "" && a.Subject.Node != b.Subject.Node ||
		a.Evidence.Input != b.Evidence.Input
}

// step is how many batches a rank says it has.
type step struct {
	n int
	s *gpumedic.Signal
}

// unevenSteps: the rank with the fewest batches, when they differ.
func unevenSteps(signals []gpumedic.Signal) []gpumedic.Signal {
	loops := map[string]map[int]step{} // by what is counted
	for i := range signals {
		s := &signals[i]
		n, err := strconv.Atoi(s.Field("steps"))
		if r, ok := rankOf(s); ok && err == nil && s.Kind == "job.batches" {
			byRank := loops[s.Field("loop")]
			if byRank == nil {
				byRank = map[int]step{}
				loops[s.Field("loop")] = byRank
			}
			if _, seen := byRank[r]; !seen {
				byRank[r] = step{n, s}
			}
		}
	}
	for _, loop := range sortedKeys(loops) {
		if d := uneven(loops[loop]); d != nil {
			return []gpumedic.Signal{*d}
		}
	}
	return nil
}

// uneven compares the numbers of batches of one loop.
func uneven(byRank map[int]step) *gpumedic.Signal {
	least, most := -1, -1
	for _, r := range sortedKeys(byRank) {
		if least < 0 || byRank[r].n < byRank[least].n {
			least = r
		}
		if most < 0 || byRank[r].n > byRank[most].n {
			most = r
		}
	}
	if least < 0 || byRank[least].n == byRank[most].n {
		return nil
	}
	d := derived(byRank[least].s, "job.uneven_steps", gpumedic.LevelNotice, map[string]string{
		"rank": strconv.Itoa(least), "fewest_count": strconv.Itoa(byRank[least].n), "most_count": strconv.Itoa(byRank[most].n),
		"rank2": strconv.Itoa(most)})
	return &d
}

// startSlack is how long before the wait a rank may have begun to be busy: the others
// finish their step first.
const startSlack = 90 * time.Second

// busyBefore: the ranks waited from the timeout back by the time that the collective
// ran. Work of another rank that is not part of that time explains nothing.
func busyBefore(signals []gpumedic.Signal) []gpumedic.Signal {
	var busy []*gpumedic.Signal
	for i := range signals {
		if signals[i].Kind == "job.busy" {
			busy = append(busy, &signals[i])
		}
	}
	var over *gpumedic.Signal
	for i := range signals {
		s := &signals[i]
		ran, err := strconv.ParseFloat(s.Field("ran_ms"), 64)
		if s.Kind != "nccl.watchdog_timeout" || err != nil {
			continue
		}
		wait := time.Duration(ran)*time.Millisecond + startSlack
		for _, b := range busy {
			ago, ok := s.First.Sub(b.Last)
			if !ok || ago <= wait {
				return nil // in the wait, or nobody can tell
			}
			over = b
		}
	}
	if over == nil {
		return nil
	}
	return []gpumedic.Signal{derived(over, "job.busy_before_wait", gpumedic.LevelFact, map[string]string{"activity": over.Field("activity")})}
}

// hosts counts the hosts in NCCL's own prefixes.
func hosts(signals []gpumedic.Signal) []gpumedic.Signal {
	seen := map[string]bool{}
	for i := range signals {
		s := &signals[i]
		if h := s.Field("nccl_host"); h != "" && !seen[h] {
			if seen[h] = true; len(seen) == 2 {
				return []gpumedic.Signal{derived(s, "nccl.multi_node", gpumedic.LevelFact, map[string]string{})}
			}
		}
	}
	return nil
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
