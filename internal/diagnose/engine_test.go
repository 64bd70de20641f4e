package diagnose

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
)

// small is a catalog with just enough relations to try the engine: a lost GPU, link
// errors before it, a memory error, an application fault, a late collective.
const small = `
gpu-lost|gpu|hardware|critical|reboot_node
triggers: [{signal: xid.79, strength: certain}]
supports: [{signal: pcie.aer.corrected, relation: upstream_port, before: 24h, min_count: 5, strength: moderate}]
explains: [{signal: xid.45, why: {en: clean-up}}, {signal: nccl.timeout, relation: any}, {fault: app-fault}, {fault: link-down}]
---
link-noise|gpu|hardware|warning|drain_and_diagnose
triggers: [{signal: pcie.aer.corrected, min_count: 10, strength: moderate}]
---
link-down|gpu|hardware|critical|reseat_or_check_pcie
triggers: [{signal: pcie.aer.fatal, strength: strong}]
---
memory-error|gpu|hardware|error|restart_app
triggers: [{signal: xid.94, strength: certain}]
explains: [{signal: xid.45, why: {en: clean-up}}, {signal: xid.43}, {signal: nccl.timeout, relation: any}]
actions: [{min_subjects: 3, action: check_power_cooling}]
---
app-fault|gpu|software|error|fix_app
triggers: [{signal: xid.43, strength: moderate}, {signal: xid.31, strength: strong}]
against: [{signal: xid.94, relation: same_node, strength: strong}]
explains: [{signal: nccl.timeout, relation: any}, {signal: job.exit, relation: any}]
---
late-collective|job|software|error|drain_and_diagnose
triggers: [{signal: nccl.timeout, strength: weak}]
`

func smallCatalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	fs := fstest.MapFS{"signals/none.yaml": {Data: []byte("family: none\nmatchers: []\n")},
		"readings/none.yaml": {Data: []byte("family: none\nrules: []\n")}}
	for _, part := range strings.Split(small, "---\n") {
		head, body, _ := strings.Cut(strings.TrimSpace(part), "\n")
		f := strings.Split(head, "|")
		fs["faults/"+f[0]+"/fault.yaml"] = &fstest.MapFile{Data: []byte(fmt.Sprintf(
			"id: %s\nscope: %s\nlayer: %s\nseverity: %s\naction: %s\nclass: x\ncomponent: y\ntitle: {en: %[1]s, zh: %[1]s}\n%[6]s\n",
			f[0], f[1], f[2], f[3], f[4], body))}
	}
	c, err := catalog.Load(fs)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var t0 = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

func sig(kind, gpu string, at time.Duration, line int, fields ...string) gpumedic.Signal {
	s := gpumedic.Signal{Kind: kind, Level: gpumedic.LevelAbnormal, Count: 1, Order: gpumedic.Order{Line: line},
		First:    gpumedic.Stamp{Time: t0.Add(at), Precision: time.Microsecond},
		Evidence: gpumedic.Evidence{Input: "kern.log", Line: line, Text: kind + " " + gpu}, Fields: map[string]string{}}
	s.Last = s.First
	s.Subject.GPU.PCI = gpu
	for i := 0; i+1 < len(fields); i += 2 {
		s.Fields[fields[i]] = fields[i+1]
	}
	return s
}

func fact(s gpumedic.Signal) gpumedic.Signal {
	s.Level = gpumedic.LevelFact
	return s
}

func conclude(c *catalog.Catalog, sigs ...gpumedic.Signal) Conclusion {
	e := New(c)
	for _, s := range sigs {
		e.Add(s)
	}
	return e.Conclude("en")
}

func names(c Conclusion) string {
	var out []string
	for _, f := range c.Findings {
		out = append(out, f.Fault+"@"+f.Subject.GPU.PCI+":"+f.Role)
	}
	return strings.Join(out, " ")
}

func TestRootCauses(t *testing.T) {
	cat := smallCatalog(t)
	const a, b = "0000:3b:00.0", "0000:5d:00.0"
	port := func(s gpumedic.Signal, p string, n int) gpumedic.Signal {
		s.Subject.Port, s.Count = p, n
		return s
	}
	for _, tc := range []struct {
		name, want, unexplained string
		sigs                    []gpumedic.Signal
	}{
		{"nothing", "", "", nil},
		{"a lost GPU explains clean-up and the collective", "gpu-lost@" + a + ":root_cause", "",
			[]gpumedic.Signal{sig("xid.79", a, 0, 1), sig("xid.45", a, time.Second, 2), sig("nccl.timeout", "", 30*time.Minute, 3)}},
		{"clean-up alone stays unexplained", "", "xid.45", []gpumedic.Signal{sig("xid.45", a, 0, 1)}},
		{"memory error outranks the program it hit", "memory-error@" + a + ":root_cause", "",
			[]gpumedic.Signal{sig("xid.94", a, 0, 1), sig("xid.43", a, time.Second, 2), sig("xid.45", a, time.Second, 3)}},
		{"two GPUs, two faults", "memory-error@" + a + ":root_cause app-fault@" + b + ":root_cause", "",
			[]gpumedic.Signal{sig("xid.94", a, 0, 1), sig("xid.31", b, 3*time.Hour, 2)}},
		{"one moment, several GPUs: one finding", "gpu-lost@" + a + ":root_cause", "",
			[]gpumedic.Signal{sig("xid.79", b, time.Microsecond, 1), sig("xid.79", a, 2*time.Microsecond, 2)}},
		{"a port error belongs to the GPU lost in that moment", "gpu-lost@" + a + ":root_cause", "",
			[]gpumedic.Signal{sig("xid.79", a, 0, 1), port(sig("pcie.aer.fatal", "", time.Second, 2), "0000:3a:00.0", 1)}},
		{"few corrected errors are no fault", "", "pcie.aer.corrected",
			[]gpumedic.Signal{port(sig("pcie.aer.corrected", "", 0, 1), "0000:3a:00.0", 3)}},
		{"many are", "link-noise@0000:3a:00.0:root_cause", "",
			[]gpumedic.Signal{port(sig("pcie.aer.corrected", "", 0, 1), "0000:3a:00.0", 30)}},
		{"unknown Xid is unknown", "", "xid.999", []gpumedic.Signal{sig("xid.999", a, 0, 1)}},
		{"a late clean-up is not this fault's", "gpu-lost@" + a + ":root_cause", "xid.45",
			[]gpumedic.Signal{sig("xid.79", a, 0, 1), sig("xid.45", a, 48*time.Hour, 2)}},
		{"a lost GPU before the last boot is not today's cause", "app-fault@" + b + ":root_cause gpu-lost@" + a + ":incidental", "",
			[]gpumedic.Signal{sig("xid.79", a, 0, 1), fact(sig("kernel.reboot", "", 48*time.Hour, 2)), sig("xid.31", b, 96*time.Hour, 3)}},
		{"without a boot in between it may be", "gpu-lost@" + a + ":root_cause app-fault@" + b + ":root_cause", "",
			[]gpumedic.Signal{sig("xid.79", a, 0, 1), sig("xid.31", b, 96*time.Hour, 3)}},
		{"a consequence of a consequence", "gpu-lost@" + a + ":root_cause", "",
			[]gpumedic.Signal{sig("xid.79", a, 0, 1), sig("xid.31", a, time.Second, 2), sig("job.exit", "", time.Minute, 3)}},
		{"the driver names the cause", "gpu-lost@" + a + ":root_cause", "",
			[]gpumedic.Signal{sig("xid.79", a, 0, 1), sig("xid.44", a, 0, 2, "caused_by", "79")}},
		{"the recovery verdict belongs to the fault", "memory-error@" + a + ":root_cause", "",
			[]gpumedic.Signal{sig("xid.94", a, 0, 1), sig("xid.154", a, 0, 2, "recovery", "drain_reset"),
				sig("xid.154", b, 0, 3, "recovery", "drain_p2p")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := conclude(cat, tc.sigs...)
			if got := names(c); got != tc.want {
				t.Errorf("findings %q, want %q", got, tc.want)
			}
			var un []string
			for _, u := range c.Unexplained {
				un = append(un, u.Signal)
			}
			if got := strings.Join(un, " "); got != tc.unexplained {
				t.Errorf("unexplained %q, want %q", got, tc.unexplained)
			}
		})
	}
}

func TestAction(t *testing.T) {
	cat := smallCatalog(t)
	const a = "0000:3b:00.0"
	one := func(c Conclusion) string { return c.Findings[0].Action }
	if got := one(conclude(cat, sig("xid.94", a, 0, 1))); got != "restart_app" {
		t.Errorf("default action is %s", got)
	}
	if got := one(conclude(cat, sig("xid.94", a, 0, 1), sig("xid.154", a, 0, 2, "recovery", "reboot"))); got != "reboot_node" {
		t.Errorf("the driver's verdict gives %s", got)
	}
	if got := one(conclude(cat, sig("xid.94", a, 0, 1), sig("xid.94", a, time.Hour, 9, "pid", "2"))); got != "reset_gpu" {
		t.Errorf("the second occurrence gives %s", got)
	}
	if got := one(conclude(cat, sig("xid.94", a, 0, 1), sig("xid.94", "0000:5d:00.0", 1, 2), sig("xid.94", "0000:5e:00.0", 2, 3))); got != "check_power_cooling" {
		t.Errorf("three GPUs together give %s", got)
	}
	if got := one(conclude(cat, sig("xid.31", a, 0, 1), sig("xid.154", a, 0, 2, "recovery", "reset"))); got != "fix_app" {
		t.Errorf("a program's fault gives %s: a reset does not mend it", got)
	}
}

// anySignals draws a small incident with all relations of the small catalog.
func anySignals(t *rapid.T) []gpumedic.Signal {
	gpus := []string{"0000:3b:00.0", "0000:5d:00.0", ""}
	kinds := []string{"xid.79", "xid.94", "xid.45", "xid.43", "xid.31", "nccl.timeout", "pcie.aer.corrected", "pcie.aer.fatal", "xid.999", "xid.154"}
	n := rapid.IntRange(0, 12).Draw(t, "n")
	out := make([]gpumedic.Signal, n)
	for i := range out {
		k := rapid.SampledFrom(kinds).Draw(t, "kind")
		s := sig(k, rapid.SampledFrom(gpus).Draw(t, "gpu"), time.Duration(rapid.IntRange(0, 7200).Draw(t, "at"))*time.Second, i+1)
		s.Count = rapid.IntRange(1, 20).Draw(t, "count")
		if strings.HasPrefix(k, "pcie") {
			s.Subject.Port = rapid.SampledFrom([]string{"0000:3a:00.0", "0000:00:02.0"}).Draw(t, "port")
			s.Subject.GPU.PCI = ""
		}
		if k == "xid.154" {
			s.Fields["recovery"] = rapid.SampledFrom([]string{"reset", "none", "drain_p2p"}).Draw(t, "recovery")
		}
		if rapid.Bool().Draw(t, "untimed") {
			s.First, s.Last = gpumedic.Stamp{}, gpumedic.Stamp{}
		}
		out[i] = s
	}
	return out
}

func TestAnyOrderGivesOneAnswer(t *testing.T) {
	cat := smallCatalog(t)
	rapid.Check(t, func(t *rapid.T) {
		sigs := anySignals(t)
		want := conclude(cat, sigs...)
		got := conclude(cat, rapid.Permutation(sigs).Draw(t, "order")...)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("order changed the answer:\n%s", d)
		}
	})
}

func TestIncrementalEqualsOffline(t *testing.T) {
	cat := smallCatalog(t)
	rapid.Check(t, func(t *rapid.T) {
		sigs := anySignals(t)
		want := conclude(cat, sigs...)
		e := New(cat)
		var got Conclusion
		for _, s := range sigs { // one occurrence at a time, concluding after each
			n := s.Count
			s.Count = 1
			for range n {
				e.Add(s)
			}
			got = e.Conclude("en")
		}
		if len(sigs) == 0 {
			got = e.Conclude("en")
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("incremental differs from offline:\n%s", d)
		}
	})
}

func TestNoiseDoesNotMoveTheRoot(t *testing.T) {
	cat := smallCatalog(t)
	rapid.Check(t, func(t *rapid.T) {
		sigs := anySignals(t)
		want := names(conclude(cat, sigs...))
		for i := range rapid.IntRange(1, 5).Draw(t, "noise") {
			s := sig("kernel.suppressed", "", time.Duration(rapid.IntRange(0, 7200).Draw(t, "at"))*time.Second, 100+i)
			s.Level = gpumedic.LevelFact
			sigs = append(sigs, s)
		}
		if got := names(conclude(cat, sigs...)); got != want {
			t.Fatalf("with noise %q, without %q", got, want)
		}
	})
}

func TestRepeatsDoNotMoveTheRoot(t *testing.T) {
	cat := smallCatalog(t)
	rapid.Check(t, func(t *rapid.T) {
		sigs := anySignals(t)
		for i := range sigs { // thresholds on counts are meant to react; leave them out
			if strings.HasPrefix(sigs[i].Kind, "pcie") {
				sigs[i].Count = 50
			}
		}
		want := names(conclude(cat, sigs...))
		if got := names(conclude(cat, append(append([]gpumedic.Signal{}, sigs...), sigs...)...)); got != want {
			t.Fatalf("read twice %q, once %q", got, want)
		}
	})
}

func TestNothingAbnormalIsLost(t *testing.T) {
	cat := smallCatalog(t)
	rapid.Check(t, func(t *rapid.T) {
		sigs := anySignals(t)
		c := conclude(cat, sigs...)
		seen := map[string]bool{}
		for _, f := range c.Findings {
			for _, e := range f.Evidence {
				seen[e.Signal] = true
			}
			for _, x := range f.Consequences {
				seen[x.Signal] = true
			}
		}
		for _, u := range c.Unexplained {
			seen[u.Signal] = true
		}
		for _, s := range sigs {
			if !seen[s.Kind] {
				t.Fatalf("signal %s appears nowhere in the report", s.Kind)
			}
		}
	})
}
