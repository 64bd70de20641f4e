package burn

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic/internal/child"
	"github.com/gpumedic/gpumedic/internal/probe"
)

func TestWhatCountersRoseBy(t *testing.T) {
	w := Watch{
		Before: map[string]string{
			"ecc.corrected.volatile.total": "2", "ecc.corrected.volatile.dram": "2", "ecc.corrected.aggregate.total": "40", "ecc.uncorrected.volatile.total": "0",
			"pcie.replays": "7", "remapped_rows.correctable": "0", "remapped_rows.histogram.max": "0", "power.draw.watts": "70", "nvlink.errors.crc_flit": "N/A", "ecc.mode.current": "enabled",
		},
		After: map[string]string{
			"ecc.corrected.volatile.total": "9", "ecc.corrected.volatile.dram": "9", "ecc.corrected.aggregate.total": "47", "ecc.uncorrected.volatile.total": "0",
			"pcie.replays": "9", "remapped_rows.correctable": "1", "remapped_rows.histogram.max": "5", "power.draw.watts": "700", "nvlink.errors.crc_flit": "3", "ecc.mode.current": "enabled",
		},
	}
	d := w.Delta()
	for key, want := range map[string]int64{"ecc.corrected.volatile.total": 7, "pcie.replays": 2, "remapped_rows.correctable": 1} {
		if d[key] != want {
			t.Errorf("%s rose by %d, want %d", key, d[key], want)
		}
	}
	for _, key := range []string{"power.draw.watts", "remapped_rows.histogram.max", "nvlink.errors.crc_flit", "ecc.uncorrected.volatile.total"} {
		if n, ok := d[key]; ok {
			t.Errorf("%s is told to have risen by %d", key, n)
		}
	}
	if total(d, "ecc.corrected.", "volatile") != 7 || total(d, "ecc.uncorrected.", "volatile") != 0 {
		t.Errorf("totals of %v", d)
	}
	delete(d, "ecc.corrected.volatile.total")
	if total(d, "ecc.corrected.", "volatile") != 7 {
		t.Error("without a total the parts are not taken")
	}
}

func TestLoadLeavesOutTheEnds(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var w Watch
	for i := range 21 {
		s := probe.Sample{At: at.Add(time.Duration(i) * 250 * time.Millisecond), Power: 600, SMClock: 1800, Temperature: 60}
		if i < 2 || i > 18 {
			s = probe.Sample{At: s.At, Power: 80, SMClock: 300, Temperature: 30, Reasons: []string{"applications_clocks_setting"}}
		}
		if i > 5 {
			s.Reasons = append(s.Reasons, "sw_power_cap")
		}
		if i == 10 {
			s.Reasons = append(s.Reasons, "hw_slowdown") // once is no state
		}
		w.Samples = append(w.Samples, s)
	}
	l := w.Load()
	if l.Power != 600 || l.SMClock != 1800 || l.Temperature != 60 || fmt.Sprint(l.Reasons) != "[sw_power_cap]" {
		t.Errorf("%+v", l)
	}
	if p := w.Between(at, at.Add(time.Second)); p.Samples == 0 || p.Samples == l.Samples {
		t.Errorf("the first second: %+v", p)
	}
	if n := (&Watch{}).Load().Samples; n != 0 {
		t.Errorf("%d samples of none", n)
	}
}

func TestLinkRate(t *testing.T) {
	for _, c := range []struct {
		gen, width int
		want       string
	}{{1, 16, "4.0"}, {3, 16, "15.8"}, {4, 8, "15.8"}, {5, 16, "63.0"}, {6, 16, "121.0"}, {0, 16, "0.0"}, {9, 16, "0.0"}, {5, 0, "0.0"}} {
		if got := fmt.Sprintf("%.1f", LinkRate(c.gen, c.width)); got != c.want {
			t.Errorf("generation %d, %d lanes: %s GB/s, want %s", c.gen, c.width, got, c.want)
		}
	}
}

func TestResultIsNeverBetterThanWhatWasDone(t *testing.T) {
	done := &Memory{Free: 100 << 20, Tested: 99 << 20, Verified: 1}
	for _, c := range []struct {
		name, result, why string
		o                 Outcome
	}{
		{"all done", Pass, "", Outcome{Memory: done, Done: true}},
		{"nothing begun", NotRun, "ended before", Outcome{}},
		{"done, but nothing compared", NotRun, "nothing was tested", Outcome{Memory: &Memory{}, Done: true}},
		{"half of the memory", Incomplete, "only 50 of 100 MiB", Outcome{Memory: &Memory{Free: 100 << 20, Tested: 50 << 20, Verified: 1}, Done: true}},
		{"interrupted", Incomplete, "interrupted", Outcome{Memory: done, Interrupted: true}},
		{"a hang", Incomplete, "gave up on cuEventSynchronize after 60 s", Outcome{Memory: done, Stuck: &child.Stuck{Call: "cuEventSynchronize", For: time.Minute}}},
		{"refused", NotRun, "in use", Outcome{Refused: "in use"}},
		{"a driver error", Incomplete, "lost", Outcome{Memory: done, Failure: &Failure{Text: "lost"}}},
		{"errors, then a hang", Fail, "", Outcome{Memory: &Memory{Verified: 1, Errors: counts{Words: 1}}, Stuck: &child.Stuck{}}},
	} {
		c.o.Test = TaskMemory
		if r, why := c.o.Result(); r != c.result || !strings.Contains(why, c.why) {
			t.Errorf("%s: %s %q, want %s %q", c.name, r, why, c.result, c.why)
		}
	}
	if r, _ := (&Outcome{Test: TaskStress, Done: true, Stress: &Stress{Paths: []Path{{Launches: 3, NaNs: 1}}}}).Result(); r != Fail {
		t.Errorf("a NaN is %s", r)
	}
}

func TestDocumentOfAnOutcome(t *testing.T) {
	o := &Outcome{
		Test: TaskMemory, GPU: Identity{PCI: "0000:0a:00.0", UUID: "GPU-1", Name: "NVIDIA H200"},
		Memory: &Memory{Mode: ModeFull, Total: 1000 << 20, Free: 990 << 20, Tested: 990 << 20, Verified: 5e9, Passes: 9, Errors: counts{Words: 3, Single: 3, Bits: 3}},
		Class:  &Class{Kind: ClassStuck, Bits: []int{5}, First: 0x10, Last: 0x20}, Done: true,
		Watch: Watch{
			Before: map[string]string{"memory.total.mib": "1024", "ecc.corrected.volatile.total": "0"}, After: map[string]string{"ecc.corrected.volatile.total": "4"},
			Samples: []probe.Sample{{Power: 400, SMClock: 1900, LinkGen: 5, LinkWidth: 16}},
		},
	}
	var b bytes.Buffer
	if err := Write(probe.NewWriter(&b), []*Outcome{o}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"[gpu 0000:0a:00.0]", "memtest.result: fail", "memtest.errors: 3", "memtest.class: stuck_bit", "memtest.bits: 5", "memtest.first: 0x10",
		"memtest.tested.percent: 96.68", "test.delta.ecc.corrected: 4", "test.delta.ecc.uncorrected: 0", "power.draw.watts: 400", "pcie.link.width.current: 16",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	for _, l := range []string{"en", "zh"} {
		facts := strings.Join(o.Facts(l), "\n")
		if strings.Contains(facts, "%!") || !strings.Contains(facts, "96.68") || !strings.Contains(facts, "0x10") {
			t.Errorf("%s: %s", l, facts)
		}
	}
}

// FuzzCollector: what a worker writes may be cut off anywhere, or be no event at all.
func FuzzCollector(f *testing.F) {
	f.Add([]byte(`{"gpu":{"pci":"0000:0a:00.0"}}`+"\n"+`{"progress":{"share":0.5}}`+"\n"), 7)
	f.Add([]byte(`{"records":[{"offset":1}]}`+"\n"+`{"done":true}`+"\n"), 1)
	f.Add([]byte("panic: x\n\n{"), 3)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		whole, parts := &Outcome{Test: TaskMemory}, &Outcome{Test: TaskMemory}
		w, p := &collector{take: whole.take}, &collector{take: parts.take}
		_, _ = w.Write(data)
		if cut = max(1, cut%16); true {
			for rest := data; len(rest) > 0; {
				n := min(cut, len(rest))
				_, _ = p.Write(rest[:n])
				rest = rest[n:]
			}
		}
		a, _ := whole.Result()
		b, _ := parts.Result()
		if a != b || len(whole.Records) != len(parts.Records) || whole.Done != parts.Done {
			t.Errorf("in pieces of %d: %s, whole: %s", cut, b, a)
		}
		_ = whole.Facts("en")
	})
}
