package node

import (
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
)

func TestClocks(t *testing.T) {
	t0 := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	at := func(node, kind string, after time.Duration, kv ...string) gpumedic.Signal {
		s := gpumedic.Signal{Kind: kind, Fields: map[string]string{}, First: gpumedic.Stamp{Time: t0.Add(after)}}
		s.Subject.Node = node
		for i := 0; i+1 < len(kv); i += 2 {
			s.Fields[kv[i]] = kv[i+1]
		}
		return s
	}
	const ahead = 3*time.Minute + 12*time.Second
	for _, c := range []struct {
		name  string
		in    []gpumedic.Signal
		ahead time.Duration // of host b, 0 for none
		n     int
	}{
		{"one rendezvous", []gpumedic.Signal{at("a", "torch.rdzv_complete", 0, "master", "m"), at("b", "torch.rdzv_complete", ahead, "master", "m")}, ahead, 1},
		{"several communicators", []gpumedic.Signal{at("a", "nccl.init_done", 0, "comm_id", "0x1"), at("b", "nccl.init_done", ahead, "comm_id", "0x1"),
			at("a", "nccl.init_done", time.Minute, "comm_id", "0x2"), at("b", "nccl.init_done", ahead+time.Minute+time.Second, "comm_id", "0x2")}, ahead + time.Second, 2},
		{"too little to matter", []gpumedic.Signal{at("a", "torch.rdzv_complete", 0, "master", "m"), at("b", "torch.rdzv_complete", 9*time.Second, "master", "m")}, 0, 0},
		{"other rendezvous", []gpumedic.Signal{at("a", "torch.rdzv_complete", 0, "master", "m"), at("b", "torch.rdzv_complete", ahead, "master", "x")}, 0, 0},
		{"events that disagree", []gpumedic.Signal{at("a", "nccl.init_done", 0, "comm_id", "0x1"), at("b", "nccl.init_done", ahead, "comm_id", "0x1"),
			at("a", "nccl.init_done", 0, "comm_id", "0x2"), at("b", "nccl.init_done", 2*ahead, "comm_id", "0x2")}, 0, 0},
		{"a timeout is no shared moment", []gpumedic.Signal{at("a", "nccl.watchdog_timeout", 0, "seq", "9"), at("b", "nccl.watchdog_timeout", ahead, "seq", "9")}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Clocks(c.in)
			switch {
			case c.ahead == 0 && len(got) > 0, c.ahead != 0 && len(got) != 1:
				t.Fatalf("clocks %+v", got)
			case c.ahead != 0 && (got[0].Host != "b" || got[0].Ahead != c.ahead || got[0].Events != c.n):
				t.Errorf("%+v, want b ahead by %v from %d", got[0], c.ahead, c.n)
			}
		})
	}
}
