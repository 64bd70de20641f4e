package ranks

import (
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
)

// rankSig makes a signal from "kind rank=1 seq=2 …"; in= names its input.
func rankSig(n int, text string) gpumedic.Signal {
	f := strings.Fields(text)
	s := gpumedic.Signal{Kind: f[0], Count: 1, Level: gpumedic.LevelAbnormal, Fields: map[string]string{}, Order: gpumedic.Order{Line: n}}
	s.Evidence = gpumedic.Evidence{Input: "a.log", Line: n}
	for _, kv := range f[1:] {
		k, v, _ := strings.Cut(kv, "=")
		if k == "in" {
			s.Evidence.Input = v
			continue
		}
		s.Fields[k] = v
	}
	return s
}

func TestCompareRanks(t *testing.T) {
	const w = "nccl.watchdog_timeout "
	for _, c := range []struct {
		name string
		in   []string
		want string // "kind field=value", "" for none
	}{
		{"other operation at one number", []string{w + "rank=0 seq=96 op=BROADCAST numel_in=1", w + "rank=1 seq=96 op=ALLREDUCE numel_in=4", w + "rank=2 seq=96 op=ALLREDUCE numel_in=4"},
			"nccl.mismatch rank1=0 op=BROADCAST op2=ALLREDUCE group_known=no"},
		{"other size", []string{w + "pg=0 rank=0 seq=9 op=ALLREDUCE numel_in=8", w + "pg=0 rank=1 seq=9 op=ALLREDUCE numel_in=4", w + "pg=0 rank=2 seq=9 op=ALLREDUCE numel_in=4"},
			"nccl.mismatch rank1=0 group_known=yes"},
		{"a tie blames nobody", []string{w + "rank=0 seq=9 op=ALLREDUCE", w + "rank=1 seq=9 op=BROADCAST"}, "nccl.mismatch rank= tie=yes"},
		{"sizes may differ", []string{w + "rank=0 seq=9 op=ALLTOALL numel_in=8", w + "rank=1 seq=9 op=ALLTOALL numel_in=4"}, ""},
		{"another group", []string{w + "pg=1 rank=0 seq=9 op=ALLREDUCE", w + "pg=2 rank=1 seq=9 op=BROADCAST"}, ""},
		{"group from the status line", []string{w + "rank=0 seq=9 op=ALLREDUCE", "nccl.pg_status pg=1 rank=0 last_enqueued=9 last_completed=8", w + "rank=1 seq=9 op=BROADCAST", "nccl.pg_status pg=2 rank=1 last_enqueued=9 last_completed=8"}, ""},
		{"late rank", []string{"nccl.pg_status pg=0 rank=0 last_enqueued=12 last_completed=10", "nccl.pg_status pg=0 rank=1 last_enqueued=10 last_completed=10", "nccl.pg_status pg=0 rank=2 last_enqueued=11 last_completed=10"},
			"nccl.late_rank rank=1 seq=11"},
		{"nobody late", []string{"nccl.pg_status pg=0 rank=0 last_enqueued=12 last_completed=10", "nccl.pg_status pg=0 rank=1 last_enqueued=11 last_completed=10"}, ""},
		{"first collective", []string{"nccl.pg_status pg=0 rank=0 last_enqueued=1 last_completed=-1", "nccl.pg_status pg=0 rank=1 last_enqueued=1 last_completed=-1"}, ""},
		{"one is silent", []string{w + "rank=0 seq=9 op=ALLREDUCE", w + "rank=1 seq=9 op=ALLREDUCE", w + "rank=3 seq=9 op=ALLREDUCE"}, "nccl.silent_rank rank=2"},
		{"one is at work", []string{"job.busy activity=data rank=0", w + "rank=1 seq=1 op=ALLREDUCE", w + "rank=2 seq=1 op=ALLREDUCE"}, "job.busy_rank activity=data"},
		{"the silent one is at work", []string{"job.busy activity=data", w + "rank=1 seq=1 op=ALLREDUCE", w + "rank=2 seq=1 op=ALLREDUCE", w + "rank=3 seq=1 op=ALLREDUCE"}, "job.busy_rank activity=data"},
		{"it went on to train", []string{"job.busy activity=data rank=0", "series.progress steps=9", w + "rank=1 seq=9 op=ALLREDUCE", w + "rank=2 seq=9 op=ALLREDUCE"}, ""},
		{"those at work wait too", []string{"job.busy activity=data rank=1", w + "rank=1 seq=1 op=ALLREDUCE", w + "rank=2 seq=1 op=ALLREDUCE"}, ""},
		{"other loops have other lengths", []string{"job.batches steps=9 loop=a rank=0", "job.batches steps=8 loop=b rank=1"}, ""},
		{"one loop, other lengths", []string{"job.batches steps=9 loop=a rank=0", "job.batches steps=8 loop=a rank=1"}, "job.uneven_steps rank=1 fewest_count=8"},
		{"one is behind", []string{w + "rank=0 seq=9 op=ALLREDUCE", w + "rank=1 seq=8 op=ALLREDUCE", w + "rank=2 seq=9 op=ALLREDUCE"}, "nccl.behind_rank rank=1"},
		{"one is behind in a known group", []string{w + "rank=0 seq=9 op=ALLREDUCE pg=0", w + "rank=1 seq=8 op=ALLGATHER pg=0", w + "rank=2 seq=9 op=ALLREDUCE pg=0"}, "nccl.behind_rank rank=1"},
		{"other operations may be other groups", []string{w + "rank=0 seq=9 op=ALLREDUCE", w + "rank=1 seq=8 op=ALLGATHER", w + "rank=2 seq=9 op=ALLREDUCE"}, ""},
		{"two of four are behind", []string{w + "rank=0 seq=9 op=ALLREDUCE", w + "rank=1 seq=8 op=ALLREDUCE", w + "rank=2 seq=9 op=ALLREDUCE", w + "rank=3 seq=8 op=ALLREDUCE"}, ""},
		{"two are silent", []string{w + "rank=0 seq=9 op=ALLREDUCE", w + "rank=3 seq=9 op=ALLREDUCE"}, ""},
		{"versions differ", []string{"nccl.version version=2.18.5 in=n0", "nccl.version version=2.20.3 in=n1"}, "nccl.version_differs version1_text=2.18.5 version2_text=2.20.3"},
		{"two versions in one process", []string{"nccl.version version=2.18.5", "nccl.version version=2.20.3"}, ""},
		{"steps differ", []string{"job.batches rank=0 steps=413", "job.batches rank=1 steps=412"}, "job.uneven_steps rank=1 fewest_count=412 most_count=413"},
		{"steps equal", []string{"job.batches rank=0 steps=413", "job.batches rank=1 steps=413"}, ""},
		{"nothing", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var in []gpumedic.Signal
			for n, l := range c.in {
				in = append(in, rankSig(n+1, l))
			}
			got := Compare(in)
			if c.want == "" {
				if len(got) > 0 {
					t.Fatalf("got %s %v, want none", got[0].Kind, got[0].Fields)
				}
				return
			}
			f := strings.Fields(c.want)
			for _, g := range got {
				if g.Kind != f[0] {
					continue
				}
				for _, kv := range f[1:] {
					if k, v, _ := strings.Cut(kv, "="); g.Fields[k] != v {
						t.Errorf("%s is %q, want %q", k, g.Fields[k], v)
					}
				}
				return
			}
			t.Fatalf("got %v, want %s", got, f[0])
		})
	}
}

// Work that ended before the wait began is told apart from work during it.
func TestBusyBefore(t *testing.T) {
	at := func(min int) gpumedic.Stamp {
		return gpumedic.Stamp{Time: time.Date(2026, 1, 2, 10, min, 0, 0, time.UTC)}
	}
	timeout := rankSig(9, "nccl.watchdog_timeout rank=3 seq=50 op=ALLREDUCE ran_ms=600000")
	timeout.First, timeout.Last = at(30), at(30)
	for _, c := range []struct {
		min  int
		want bool
	}{{5, true}, {18, true}, {19, false}, {25, false}} {
		busy := rankSig(1, "job.busy activity=checkpoint")
		busy.First, busy.Last = at(0), at(c.min)
		got := Compare([]gpumedic.Signal{busy, timeout})
		if have := len(got) == 1 && got[0].Kind == "job.busy_before_wait"; have != c.want {
			t.Errorf("busy until minute %d, wait from minute 20: got %v, want %v", c.min, got, c.want)
		}
	}
	if got := Compare([]gpumedic.Signal{rankSig(1, "job.busy activity=checkpoint"), timeout}); len(got) > 0 {
		t.Errorf("without a time nobody can tell, got %v", got)
	}
}

func TestHosts(t *testing.T) {
	one := []gpumedic.Signal{rankSig(1, "nccl.interface nccl_host=a"), rankSig(2, "nccl.interface nccl_host=a")}
	if got := Compare(one); len(got) > 0 {
		t.Errorf("one host: got %v", got)
	}
	two := append(one, rankSig(3, "nccl.warn nccl_host=b"))
	if got := Compare(two); len(got) != 1 || got[0].Kind != "nccl.multi_node" {
		t.Errorf("two hosts: got %v", got)
	}
}
