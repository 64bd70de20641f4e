package alert

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	rulefile "github.com/gpumedic/gpumedic/deploy/prometheus"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/promql"
)

const testRules = `
groups:
  - name: test
    rules:
      - alert: Hot
        expr: heat > 5
        for: 1m
        keep_firing_for: 2m
        labels: {severity: warning, fault: thermal-slowdown}
        annotations: {summary: 'GPU {{ $labels.gpu }} is hot: {{ $value }}', summary_zh: 'GPU {{ $labels.gpu }} 过热：{{ $value }}', description: 'd', description_zh: 'd'}
      - alert: Lost
        expr: increase(lost[10m]) > 0
        labels: {severity: critical}
        annotations: {summary: 'lost', summary_zh: '丢失'}
`

// bench plays the daemon: a sample of each each 15 seconds.
type bench struct {
	t        *testing.T
	rules    []Rule
	m        *promql.Memory
	b        *Book
	now      time.Time
	heat     float64
	gone     bool // the GPU gives no reading
	held     bool
	incident int64
	silence  int64
}

func newBench(t *testing.T) *bench {
	rules, err := Rules([]byte(testRules), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, rules: rules, m: NewMemory(rules), b: &Book{}, now: time.Unix(1_800_000_000, 0)}
}

// run lets time pass and writes what was told, with the seconds that had passed.
func (x *bench) run(d time.Duration) string {
	x.t.Helper()
	var out []string
	for end := x.now.Add(d); x.now.Before(end); {
		x.now = x.now.Add(15 * time.Second)
		if !x.gone {
			x.m.Add("heat", promql.MakeLabels([]promql.Label{{Name: "gpu", Value: "3"}}), x.now, x.heat)
		}
		x.m.End(x.now)
		tell, _, err := x.b.Step(x.rules, x.m, x.now, Situation{
			Held:     func(*Rule, *Alert) bool { return x.held },
			Incident: func(*Rule, *Alert) int64 { return x.incident },
			Silence:  func(*Alert) int64 { return x.silence },
		})
		if err != nil {
			x.t.Fatal(err)
		}
		for _, c := range tell {
			out = append(out, c.Alert.State+" "+c.Alert.Texts["zh"].Title+" after "+x.now.Sub(end.Add(-d)).String())
		}
	}
	return strings.Join(out, "; ")
}

func (x *bench) want(what, got, want string) {
	x.t.Helper()
	if got != want {
		x.t.Errorf("%s: told %q, want %q", what, got, want)
	}
}

func TestLife(t *testing.T) {
	x := newBench(t)
	x.want("cold", x.run(time.Minute), "")
	x.heat = 6
	x.want("too short", x.run(45*time.Second), "")
	x.heat = 1
	x.want("cold again", x.run(time.Minute), "")
	x.heat = 6
	x.want("hot", x.run(5*time.Minute), "firing GPU 3 过热：6 after 1m30s")
	x.heat = 1
	x.want("a dip", x.run(time.Minute), "")
	x.heat = 7
	x.want("hot after the dip", x.run(5*time.Minute), "")
	x.heat = 1
	x.want("over", x.run(5*time.Minute), "resolved GPU 3 过热：7 after 2m15s")
	if len(x.b.Active) != 0 || len(x.b.Past) != 1 || x.b.Past[0].ID != 1 {
		t.Errorf("%d active, past %+v", len(x.b.Active), x.b.Past)
	}
	x.heat = 6
	x.want("the second time", x.run(2*time.Minute), "firing GPU 3 过热：6 after 1m30s")
	if x.b.Active[0].ID != 2 {
		t.Errorf("number %d", x.b.Active[0].ID)
	}
	x.run(8 * 24 * time.Hour)
	if len(x.b.Past) != 0 {
		t.Error("an alert of last week is still kept")
	}
}

// TestUnknownIsNotHealthy: an alert whose readings end is not resolved by that.
func TestUnknownIsNotHealthy(t *testing.T) {
	x := newBench(t)
	x.heat = 6
	x.run(5 * time.Minute)
	x.gone, x.held = true, true
	x.want("unreadable", x.run(time.Hour), "")
	if a := x.b.Active; len(a) != 1 || !a[0].Held || a[0].State != Firing {
		t.Errorf("active: %+v", a)
	}
	x.gone, x.held, x.heat = false, false, 1
	x.want("readable and cold", x.run(3*time.Minute), "resolved GPU 3 过热：6 after 2m15s")
}

// TestToldOnce: what an incident tells is not told again, also not when the incident
// comes a moment later; it is told when nothing else does.
func TestToldOnce(t *testing.T) {
	x := newBench(t)
	x.heat, x.incident = 6, 7
	x.want("with an incident", x.run(time.Hour), "")
	if a := x.b.Active[0]; a.State != Firing || a.Incident != 7 {
		t.Errorf("%+v", a)
	}
	x.incident = 0
	x.want("the incident is another one", x.run(time.Minute), "firing GPU 3 过热：6 after 15s")
	x.heat = 1
	x.run(5 * time.Minute)
	x.heat, x.silence = 6, 3
	x.want("silenced", x.run(time.Hour), "")
	x.silence = 0
	x.want("the silence is over", x.run(time.Minute), "firing GPU 3 过热：6 after 15s")
	x = newBench(t)
	x.heat = 6
	x.run(75 * time.Second) // it fires
	if x.b.Active[0].State != Firing {
		t.Fatalf("%+v", x.b.Active[0])
	}
	x.incident = 8
	x.want("the incident of the same reading", x.run(time.Hour), "")
	x.heat = 1
	x.want("and its end", x.run(time.Hour), "")
}

// TestRestart: a restart neither resolves nor repeats.
func TestRestart(t *testing.T) {
	x := newBench(t)
	x.m.Add("lost", nil, x.now, 0)
	x.run(30 * time.Second)
	x.m.Add("lost", nil, x.now.Add(time.Second), 4)
	x.heat = 6
	x.want("both", x.run(2*time.Minute), "firing 丢失 after 30s; firing GPU 3 过热：6 after 1m30s")
	restart := func(down time.Duration) {
		doc, err := json.Marshal(x.b)
		if err != nil {
			t.Fatal(err)
		}
		past, err := x.m.Save()
		if err != nil {
			t.Fatal(err)
		}
		x.b, x.m = &Book{}, NewMemory(x.rules)
		if err := json.Unmarshal(doc, x.b); err != nil {
			t.Fatal(err)
		}
		if err := x.m.Restore(past); err != nil {
			t.Fatal(err)
		}
		x.now = x.now.Add(down)
	}
	restart(3 * time.Minute)
	x.want("after a restart", x.run(time.Minute), "")
	x.heat = 1
	x.want("cold", x.run(20*time.Minute), "resolved GPU 3 过热：6 after 2m15s; resolved 丢失 after 3m30s")
	x.heat = 6
	x.run(30 * time.Second)
	restart(time.Minute)
	x.want("pending goes on", x.run(time.Minute), "firing GPU 3 过热：6 after 30s")
	x.heat = 1
	x.run(10 * time.Minute)
	x.heat = 6
	x.run(30 * time.Second)
	restart(2 * time.Hour)
	x.want("pending of long ago begins anew", x.run(time.Minute+15*time.Second), "")
}

func TestClockBack(t *testing.T) {
	x := newBench(t)
	x.heat = 6
	x.run(30 * time.Second)
	x.now = x.now.Add(-time.Hour)
	x.m.Back(time.Hour)
	x.want("spans stay", x.run(2*time.Minute), "firing GPU 3 过热：6 after 1m15s")
}

func TestCovers(t *testing.T) {
	cat, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := Rules(rulefile.Rules, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		rule, gpu, fault, pci string
		closed                time.Duration // 0: open
		want                  bool
	}{
		{"GPUOverheat", "0000:1a:00.0", "gpu-overheat", "0000:1a:00.0", 0, true},
		{"GPUOverheat", "0000:1a:00.0", "gpu-overheat", "0000:1b:00.0", 0, false},
		{"GPUThermalSlowdown", "0000:1a:00.0", "gpu-overheat", "0000:1a:00.0", 0, true}, // follows from it
		{"GPUOverheat", "0000:1a:00.0", "thermal-slowdown", "0000:1a:00.0", 0, false},   // worse than that
		{"GPUNotAnswering", "0000:1a:00.0", "gpu-fell-off-bus", "0000:1a:00.0", 0, true},
		{"GPUMissing", "", "gpu-fell-off-bus", "0000:1a:00.0", 0, true},
		{"GPUUncorrectableECC", "0000:1a:00.0", "row-remap-failure", "0000:1a:00.0", 0, true},
		{"GPUNeedsRecovery", "0000:1a:00.0", "gsp-crash", "0000:1a:00.0", 0, true},
		{"GPUMemoryFullAndRefused", "0000:1a:00.0", "gpu-oom-other-process", "0000:1a:00.0", 0, true}, // the rule asks for it
		{"GPUMemoryFullAndIdle", "0000:1a:00.0", "gpu-oom-other-process", "0000:1a:00.0", 0, false},
		{"GpumedicSourceUnhealthy", "", "gpu-fell-off-bus", "0000:1a:00.0", 0, false},
		{"GPUUncorrectableECC", "0000:1a:00.0", "ecc-uncorrectable", "0000:1a:00.0", time.Minute, true}, // mended while it fires
		{"GPUUncorrectableECC", "0000:1a:00.0", "ecc-uncorrectable", "0000:1a:00.0", -time.Minute, false},
	} {
		var r *Rule
		for i := range rules {
			if rules[i].Name == c.rule {
				r = &rules[i]
			}
		}
		if r == nil {
			t.Fatalf("no rule %s", c.rule)
		}
		a := &Alert{Name: r.Name, Fault: r.Labels["fault"], Since: now, Labels: promql.MakeLabels([]promql.Label{{Name: "pci", Value: c.gpu}})}
		i := &incident.Incident{Fault: c.fault, State: incident.Open, Subject: gpumedic.Subject{GPU: gpumedic.GPU{PCI: c.pci}}}
		if c.closed != 0 {
			i.State, i.Closed = incident.Closed, now.Add(c.closed)
		}
		if got := Covers(r, a, i, cat.Faults); got != c.want {
			t.Errorf("%s of %q by %s of %q: %v", c.rule, c.gpu, c.fault, c.pci, got)
		}
	}
}

func TestSilenced(t *testing.T) {
	a := &Alert{Name: "GPUOverheat", Fault: "gpu-overheat", Labels: promql.MakeLabels([]promql.Label{{Name: "gpu", Value: "3"}, {Name: "pci", Value: "0000:1a:00.0"}})}
	plain := &Alert{Name: "GPUMaintenanceDue"}
	for _, c := range []struct {
		x        incident.Silence
		a        *Alert
		silenced bool
	}{
		{incident.Silence{Fault: "gpu-overheat"}, a, true},
		{incident.Silence{Fault: "gpu-*"}, a, true},
		{incident.Silence{Fault: "GPUOver*"}, a, true},
		{incident.Silence{Fault: "ecc-*"}, a, false},
		{incident.Silence{GPU: "3"}, a, true},
		{incident.Silence{GPU: "0000:1a:00.0", Node: "n*"}, a, true},
		{incident.Silence{GPU: "4"}, a, false},
		{incident.Silence{Node: "m"}, a, false},
		{incident.Silence{Fault: "*"}, plain, true},
		{incident.Silence{Fault: "GPUMaintenanceDue"}, plain, true},
		{incident.Silence{GPU: "3"}, plain, false},
	} {
		if got := Silenced(c.a, &c.x, "n1"); got != c.silenced {
			t.Errorf("%s by %+v: %v", c.a.Name, c.x, got)
		}
	}
}

func TestParse(t *testing.T) {
	one := func(rule string) string { return "groups: [{name: g, rules: [" + rule + "]}]" }
	for _, bad := range []string{
		"{", one("{alert: A, expr: x}"), one("{alert: A, expr: 'x >', labels: {severity: info}}"), one("{alert: A, exp: x, labels: {severity: info}}"),
		one("{alert: A, expr: x, for: long, labels: {severity: info}}"), one("{expr: x, labels: {severity: info}}"),
		one("{alert: A, expr: x, labels: {severity: info}}, {alert: A, expr: x, labels: {severity: info}}"),
		one("{alert: A, expr: x, labels: {severity: info, a: '{{ $value }}'}}"),
		one("{alert: A, expr: x, labels: {severity: info}, annotations: {summary: '{{ query x }}'}}"),
		one("{alert: A, expr: x, labels: {severity: info}, annotations: {summary: '{{ $value'}}"),
		one("{alert: A, expr: x, labels: {severity: info}, annotations: {summary: '{{ $value | shout }}'}}"),
		one("{alert: A, expr: x, labels: {severity: info}, annotations: {summary: '{{ or $labels.x y }}'}}"),
	} {
		if r, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%s is read as %+v", bad, r)
		}
	}
	all, err := Parse(rulefile.Rules)
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]bool{}
	for _, r := range all {
		groups[r.Group] = true
	}
	for _, g := range toldOtherwise {
		if !groups[g] {
			t.Errorf("the rule file has no group %s", g)
		}
	}
	own, err := Rules(rulefile.Rules, []string{"GPUOverheat"})
	if err != nil || len(own) < 35 || len(own) >= len(all) {
		t.Errorf("%d of %d rules, %v", len(own), len(all), err)
	}
	for _, r := range own {
		if r.Name == "GPUOverheat" || r.Name == "GPUIncidentCritical" {
			t.Errorf("%s was to be left out", r.Name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(testRules))
	f.Fuzz(func(t *testing.T, text []byte) {
		rules, err := Parse(text)
		if err != nil {
			return
		}
		for i := range rules {
			rules[i].Annotations(promql.Sample{Value: 1})
		}
	})
}
