package source

import (
	"bytes"
	"compress/gzip"
	"testing"
)

func TestHintOf(t *testing.T) {
	f := func(path, kind, rank, node string) {
		t.Helper()
		if h := HintOf(path); h != (Hint{Rank: rank, RankKind: kind, Node: node}) {
			t.Errorf("hint of %s: %+v", path, h)
		}
	}
	f("logs/rank_3.log", "global", "3", "")
	f("rank12.log.gz", "global", "12", "")
	f("train-rank-03.txt", "global", "3", "")
	f("local_rank_2.err", "local", "2", "")
	f("node1_gpu2.out", "local", "2", "node1")
	f("input-node0.log", "", "", "node0")
	f("run/attempt_0/3/stderr.log", "local", "3", "")
	f("run/attempt_1/0/error.json", "local", "0", "")
	f("slurm-123_4.out", "task", "4", "")
	f("slurm-48213-gpu07.out", "", "", "gpu07")
	f("worker-3/stdout.log", "task", "3", "")
	f("out/1/rank.3/stdout", "global", "3", "")
	f("nccl_trace_rank_3", "global", "3", "")
	f("_dump_14", "global", "14", "")
	f("node2/rank_9.log", "global", "9", "node2")
	// Nothing is to be read from these.
	f("train.log", "", "", "")
	f("syslog.3", "", "", "")
	f("dmesg-gpu417.log", "", "", "")
	f("frank3.log", "", "", "")
	f("pagerank_5x.log", "", "", "")
	f("slurm-48213.out", "", "", "")
	f("ranking.log", "", "", "")
	f("stdin", "", "", "")
}

func TestIncomplete(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(bytes.Repeat([]byte("a line of text\n"), 1000))
	_ = w.Close()
	for _, c := range []struct {
		name string
		data []byte
		want bool
	}{
		{"text", []byte("a\nb\n"), false},
		{"empty", nil, false},
		{"a long line", bytes.Repeat([]byte("x"), 3000), false},
		{"gzip", packed.Bytes(), false},
		{"truncated gzip", packed.Bytes()[:packed.Len()-20], true},
		{"binary", bytes.Repeat([]byte{1, 2, 3, 0xff}, 100), true},
		{"zstd", []byte("\x28\xb5\x2f\xfd rest"), true},
	} {
		_, r, _ := readAll(t, FromBytes("x", c.data), Options{MaxLine: 1024})
		if r.Incomplete() != c.want {
			t.Errorf("%s: incomplete %v, problems %q", c.name, r.Incomplete(), r.Problems())
		}
	}
	if in := broken("x", "", "permission denied"); !in.Incomplete {
		t.Error("what cannot be opened is incomplete")
	}
}
