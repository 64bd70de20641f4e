package flight

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func dumpsOf(t *testing.T, dir string) []*Dump {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join("testdata", dir, "*"))
	var out []*Dump
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(data, -1)
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %d dumps, %v", f, len(got), err)
		}
		out = append(out, got...)
	}
	return out
}

// TestForms: pickle and JSON of one dump say the same.
func TestForms(t *testing.T) {
	d := dumpsOf(t, "healthy")
	if len(d) != 2 || len(d[0].Entries) != 41 {
		t.Fatalf("%d dumps, %d entries", len(d), len(d[0].Entries))
	}
	for i := range d[0].Entries {
		a, b := d[0].Entries[i], d[1].Entries[i]
		a.Frames, b.Frames = nil, nil
		if a.State != "completed" && a.State != "scheduled" {
			t.Errorf("state %q", a.State)
		}
		if a.Op != b.Op || a.Seq != b.Seq || a.Group != b.Group || a.Sizes != b.Sizes {
			t.Errorf("entry %d: %+v and %+v", i, a, b)
		}
	}
	if d[0].Version != "2.10" || d[0].NCCL != "2.28.9" || d[0].Rank != 0 {
		t.Errorf("got %s %s rank %d", d[0].Version, d[0].NCCL, d[0].Rank)
	}
}

// TestRanks: a dump tells whose it is without a name.
func TestRanks(t *testing.T) {
	for _, dir := range []string{"rank12", "ranks9and14"} {
		files, _ := filepath.Glob(filepath.Join("testdata", dir, "*"))
		for i, d := range dumpsOf(t, dir) {
			want, _ := strconv.Atoi(strings.TrimPrefix(filepath.Base(files[i]), "_dump_"))
			if d.Rank != want {
				t.Errorf("%s: rank %d", files[i], d.Rank)
			}
		}
	}
}

func late(v Verdict) (out []string) {
	for _, l := range v.Late {
		out = append(out, fmt.Sprintf("late %d %s %d %s %d waiting %v", l.Rank, l.Op, l.Seq, l.Desc, l.Behind, l.Waiting))
	}
	for _, s := range v.Stalled {
		out = append(out, fmt.Sprintf("stalled %d %s %d", s.Rank, s.Op, s.Seq))
	}
	for _, m := range v.Mismatch {
		out = append(out, fmt.Sprintf("mismatch %s %d %v", m.What, m.Seq, m.Ranks))
	}
	return out
}

func TestRecorded(t *testing.T) {
	for dir, want := range map[string][]string{
		"rank12": {
			"late 12 all_to_all 20537 EXPERT_MODEL_PARALLEL_GROUP 2 waiting [13 14 15]",
			"stalled 12 _all_gather_base 42806", "stalled 14 _all_gather_base 42806",
		},
		"ranks9and14": {
			"late 9 all_to_all 45265 EXPERT_MODEL_PARALLEL_GROUP 3 waiting [8 10 11 12 13 15]",
			"late 14 all_to_all 45265 EXPERT_MODEL_PARALLEL_GROUP 3 waiting [8 10 11 12 13 15]",
		},
		"healthy": nil,
	} {
		if d := cmp.Diff(want, late(Compare(dumpsOf(t, dir)))); d != "" {
			t.Errorf("%s (-want +got)\n%s", dir, d)
		}
	}
}

// job is a made-up JSON dump: group 0 of all ranks, entries "op seq state".
func job(ranks string, entries ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"version":"2.10","pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"%s"}},"entries":[`, ranks)
	for i, e := range entries {
		f := strings.Fields(e)
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"record_id":%d,"pg_id":0,"process_group":["0","default_pg"],"collective_seq_id":%s,"profiling_name":"nccl:%s","state":"%s","input_sizes":[[%s]],"time_created_ns":%d}`, i, f[1], f[0], f[2], f[3], i+1)
	}
	return b.String() + "]}"
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name  string
		dumps []string
		want  []string
	}{
		{"one has not come", []string{
			job("[0, 1, 2]", "all_reduce 4 completed 8", "all_reduce 5 scheduled 8"),
			job("[0, 1, 2]", "all_reduce 4 completed 8", "all_reduce 5 scheduled 8"),
			job("[0, 1, 2]", "all_reduce 4 completed 8"),
		}, []string{"late 2 all_reduce 5 default_pg 1 waiting [0 1]"}},
		{"all are in it", []string{job("[0, 1]", "all_reduce 5 started 8"), job("[0, 1]", "all_reduce 5 scheduled 8")}, nil},
		{"all are done", []string{job("[0, 1]", "all_reduce 5 completed 8"), job("[0, 1]", "all_reduce 5 completed 8")}, nil},
		{"other operation", []string{job("[0, 1]", "all_reduce 5 scheduled 8"), job("[0, 1]", "broadcast 5 scheduled 8")}, []string{"mismatch op 5 [0 1]"}},
		{"other size", []string{job("[0, 1]", "all_reduce 5 scheduled 8"), job("[0, 1]", "all_reduce 5 scheduled 16")}, []string{"mismatch size 5 [0 1]"}},
		{"sizes that may differ", []string{job("[0, 1]", "all_to_all 5 scheduled 8"), job("[0, 1]", "all_to_all 5 scheduled 16")}, nil},
		{"one dump alone", []string{job("[0, 1]", "all_reduce 5 scheduled 8")}, nil},
	} {
		var dumps []*Dump
		for i, text := range c.dumps {
			got, err := Parse([]byte(text), i)
			if err != nil {
				t.Fatal(err)
			}
			dumps = append(dumps, got...)
		}
		if d := cmp.Diff(c.want, late(Compare(dumps))); d != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, d)
		}
	}
	// A circle: each waits for the other in another group.
	a, _ := Parse([]byte(`{"version":"1","entries":[{"process_group":["a"],"pg_id":1,"collective_seq_id":1,"profiling_name":"nccl:all_reduce","state":"scheduled"}],"pg_config":{"a":{"ranks":"[0, 1]"},"b":{"ranks":"[0, 1]"}}}`), 0)
	b, _ := Parse([]byte(`{"version":"1","entries":[{"process_group":["b"],"pg_id":2,"collective_seq_id":1,"profiling_name":"nccl:all_reduce","state":"scheduled"}],"pg_config":{"a":{"ranks":"[0, 1]"},"b":{"ranks":"[0, 1]"}}}`), 1)
	if got := late(Compare(append(a, b...))); len(got) != 1 || got[0] != "mismatch order 1 [0 1]" {
		t.Errorf("a circle: %q", got)
	}
}

// TestConcatenated: dumps one behind the other, as `cat` makes them, are all read.
func TestConcatenated(t *testing.T) {
	files, _ := filepath.Glob("testdata/rank12/*")
	var all []byte
	for _, f := range files {
		data, _ := os.ReadFile(f)
		all = append(all, data...)
	}
	got, err := Parse(all, 3)
	if err != nil || len(got) != 16 {
		t.Fatalf("%d dumps, %v", len(got), err)
	}
	if v := Compare(got); len(v.Late) != 1 || v.Late[0].Rank != 12 {
		t.Errorf("got %+v", v.Late)
	}
	two, err := Parse([]byte(job("[0, 1]", "all_reduce 5 scheduled 8")+"\n"+job("[0, 1]", "all_reduce 5 scheduled 8")), -1)
	if err != nil || len(two) != 2 {
		t.Errorf("%d JSON dumps, %v", len(two), err)
	}
}

// TestHostile: what would run code, grow without end or is damaged is refused.
func TestHostile(t *testing.T) {
	deep := append([]byte("\x80\x02"), bytes.Repeat([]byte("("), 10_000)...)
	nested := append([]byte("\x80\x02"), bytes.Repeat([]byte("]"), maxStack+10)...)
	memo := []byte("\x80\x02N")
	for i := range maxMemo + 10 {
		memo = append(memo, 'r', byte(i), byte(i>>8), byte(i>>16), byte(i>>24))
	}
	// Each level holds the one below twice: 2^64 values when somebody walks them.
	laughs := []byte("\x80\x02]q\x00")
	for i := range byte(64) {
		laughs = append(laughs, ']', 'q', i+1, '(', 'h', i, 'h', i, 'e')
	}
	loop := []byte("\x80\x02}q\x00(X\x07\x00\x00\x00entriesh\x00X\x07\x00\x00\x00versionh\x00u.")
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"system", []byte("cposix\nsystem\n(S'echo hi'\ntR."), "GLOBAL"},
		{"stack global", []byte("\x80\x04\x8c\x02os\x8c\x06system\x93."), "STACK_GLOBAL"},
		{"reduce", []byte("\x80\x02N)R."), "REDUCE"},
		{"build", []byte("\x80\x02}}b."), "BUILD"},
		{"object", []byte("\x80\x02(cx\ny\noN."), "GLOBAL"},
		{"persistent", []byte("\x80\x02NQ."), "BINPERSID"},
		{"extension", []byte("\x80\x02\x82\x01."), "EXT1"},
		{"text opcode", []byte("S'x'\n."), "none of plain data"},
		{"protocol", []byte("\x80\x09N."), "protocol 9"},
		{"deep", deep, "deeper"},
		{"nested", nested, "deeper"},
		{"memo", memo, "deeper"},
		{"laughs", append(laughs, '.'), "no dump"},
		{"loop", loop, ""},
		{"long text", []byte("\x80\x02X\xff\xff\xff\x7fabc"), "ends early"},
		{"longer text", []byte("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff"), "ends early"},
		{"big number", append(append([]byte("\x80\x02\x8a\x20"), bytes.Repeat([]byte{1}, 32)...), '.'), "64 bits"},
		{"unknown reference", []byte("\x80\x02h\x07."), "refers to object 7"},
		{"cut off", []byte("\x80\x02}q\x00(X\x07"), "ends early"},
		{"no dump", []byte("\x80\x02}."), "no dump"},
		{"odd pairs", []byte("\x80\x02}(Nu."), "without a container"},
		{"list as key", []byte("\x80\x02}(]Nu."), "neither text"},
	} {
		_, err := Parse(c.data, -1)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func FuzzPickle(f *testing.F) {
	for _, name := range []string{"testdata/healthy/nccl_trace_rank_0", "testdata/ranks9and14/_dump_9"} {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x07entries\x94]\x94u."))
	f.Fuzz(func(_ *testing.T, data []byte) {
		dumps, _ := Parse(data, 1)
		Compare(dumps)
	})
}

func FuzzJSON(f *testing.F) {
	f.Add(job("[0, 1]", "all_reduce 5 scheduled 8"))
	f.Add(`{"entries":[{"frames":[{"name":1}],"process_group":"x"}],"version":{}}{"entries":3,"pg_config":[]}`)
	f.Fuzz(func(_ *testing.T, text string) {
		dumps, _ := Parse([]byte(text), 0)
		more, _ := Parse([]byte(text), 1)
		Compare(append(dumps, more...))
	})
}
