package alert

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	rulefile "github.com/gpumedic/gpumedic/deploy/prometheus"
	"github.com/gpumedic/gpumedic/internal/metrics/names"
	"github.com/gpumedic/gpumedic/internal/promql"
)

// series is an input series of a promtool test.
type series struct {
	Series string `yaml:"series"`
	Values string `yaml:"values"`
}

// points reads promtool's notation of values: 1, _, stale, 1x3, 1+2x3, 1-2x3. NaN stands for
// no sample, an infinity for the end of the series.
func (s series) points(t *testing.T) (out []string) {
	t.Helper()
	form := regexp.MustCompile(`^(-?[0-9.]+)(?:([+-][0-9.]+))?x([0-9]+)$`)
	for _, word := range strings.Fields(s.Values) {
		if rest, ok := strings.CutPrefix(word, "_x"); ok {
			n, err := strconv.Atoi(rest)
			if err != nil {
				t.Fatalf("%s: %s", s.Values, word)
			}
			out = append(out, slices.Repeat([]string{"_"}, n)...)
			continue
		}
		m := form.FindStringSubmatch(word)
		if m == nil {
			out = append(out, word)
			continue
		}
		v, _ := strconv.ParseFloat(m[1], 64)
		step, _ := strconv.ParseFloat(m[2], 64)
		n, _ := strconv.Atoi(m[3])
		for i := range n + 1 {
			out = append(out, strconv.FormatFloat(v+float64(i)*step, 'g', -1, 64))
		}
	}
	return out
}

var labelForm = regexp.MustCompile(`(\w+)="([^"]*)"`)

func (s series) names() (string, promql.Labels) {
	name, rest, _ := strings.Cut(s.Series, "{")
	var list []promql.Label
	for _, m := range labelForm.FindAllStringSubmatch(rest, -1) {
		list = append(list, promql.Label{Name: m[1], Value: m[2]})
	}
	return name, promql.MakeLabels(list)
}

// play feeds series to the rules and evaluates each minute, as promtool does.
func play(t *testing.T, rules []Rule, in []series, interval time.Duration, until time.Duration, each func(at time.Duration, b *Book)) {
	t.Helper()
	start := time.UnixMilli(0)
	m, b := NewMemory(rules), &Book{}
	nobody := Situation{
		Held:     func(*Rule, *Alert) bool { return false },
		Incident: func(*Rule, *Alert) int64 { return 0 },
		Silence:  func(*Alert) int64 { return 0 },
	}
	points, name, labels := make([][]string, len(in)), make([]string, len(in)), make([]promql.Labels, len(in))
	for i := range in {
		points[i] = in[i].points(t)
		name[i], labels[i] = in[i].names()
	}
	done := 0
	for at := time.Duration(0); at <= until; at += time.Minute {
		for ; time.Duration(done)*interval <= at; done++ {
			when := start.Add(time.Duration(done) * interval)
			ends := map[string]bool{}
			for i := range in {
				if done >= len(points[i]) || points[i][done] == "_" {
					continue
				}
				if points[i][done] == "stale" {
					ends[name[i]+labels[i].Key()] = true
					continue
				}
				v, err := strconv.ParseFloat(points[i][done], 64)
				if err != nil {
					t.Fatal(err)
				}
				m.Add(name[i], labels[i], when, v)
			}
			if len(ends) > 0 {
				m.EndOf(when, func(name string, l promql.Labels) bool { return ends[name+l.Key()] })
			}
		}
		if _, _, err := b.Step(rules, m, start.Add(at), nobody); err != nil {
			t.Fatalf("at %s: %v", at, err)
		}
		each(at, b)
	}
}

func allRules(t *testing.T) []Rule {
	t.Helper()
	rules, err := Parse(rulefile.Rules)
	if err != nil {
		t.Fatal(err)
	}
	if len(rules) < 40 {
		t.Fatalf("%d rules", len(rules))
	}
	return rules
}

// TestRulesTest runs the tests that promtool runs, with the daemon's evaluation.
func TestRulesTest(t *testing.T) {
	var file struct {
		Tests []struct {
			Name        string
			Interval    string
			InputSeries []series `yaml:"input_series"`
			Exprs       []struct {
				Expr string
				At   string `yaml:"eval_time"`
				Want []struct {
					Labels string
					Value  float64
				} `yaml:"exp_samples"`
			} `yaml:"promql_expr_test"`
		}
	}
	text, err := os.ReadFile("../../deploy/prometheus/gpumedic.rules_test.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil || len(file.Tests) < 40 {
		t.Fatalf("%d tests, %v", len(file.Tests), err)
	}
	form := regexp.MustCompile(`^count by \(instance\) \(ALERTS\{alertname="(\w+)", alertstate="firing"\}\)$`)
	rules := allRules(t)
	for _, c := range file.Tests {
		interval, err := promql.ParseDuration(c.Interval)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range c.Exprs {
			m := form.FindStringSubmatch(x.Expr)
			at, err := promql.ParseDuration(x.At)
			if m == nil || err != nil {
				t.Fatalf("%s: %s at %s is not understood", c.Name, x.Expr, x.At)
			}
			want := map[string]float64{}
			for _, w := range x.Want {
				_, l := series{Series: w.Labels}.names()
				want[l.Get("instance")] = w.Value
			}
			got := map[string]float64{}
			play(t, rules, c.InputSeries, interval, at, func(now time.Duration, b *Book) {
				for _, a := range b.Active {
					if now == at && a.Name == m[1] && a.State == Firing {
						got[a.Labels.Get("instance")]++
					}
				}
			})
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s at %s: %v, want %v", c.Name, x.At, got, want)
			}
		}
	}
}

// The samples of invented series lie so that none is at the edge of a span: Prometheus
// counted the left edge until version 3 and does not since.
const (
	inventedEvery = 59 * time.Second
	inventedUntil = 62 * time.Minute
)

// invent makes series for all that a rule asks for: values at and around its limits,
// counters that are reset, gaps, series that end and begin again.
func invent(r *Rule, text string, rnd *rand.Rand) []series {
	limits, still := []float64{0, 1, 2}, false
	switch seed := rnd.IntN(4); {
	case seed == 0: // states: yes and no alone
		limits, text = limits[:2], ""
	case seed == 1: // what lasts for an hour
		still = true
	}
	for _, m := range regexp.MustCompile(`[^\w.]([0-9.]+)\b`).FindAllStringSubmatch(text, -1) {
		if v, err := strconv.ParseFloat(m[1], 64); err == nil {
			limits = append(limits, v, v+1, v*1.2, v*100)
		}
	}
	wanted := map[string][]promql.Matcher{} // by metric
	var metrics []string
	for _, s := range promql.Selectors(r.Expr) {
		if !slices.Contains(metrics, s.Name) {
			metrics = append(metrics, s.Name)
		}
		wanted[s.Name] = append(wanted[s.Name], s.Matchers...)
	}
	var out []series
	for _, metric := range metrics {
		f := names.Find(metric)
		seen := map[string]bool{}
		for range 14 {
			gpu := rnd.IntN(3)
			var labels []string
			for _, l := range append([]string{"instance", "job"}, f.AllLabels()...) {
				v := map[string]string{"instance": fmt.Sprint("n", rnd.IntN(2)), "job": "gpumedic", "gpu": fmt.Sprint(gpu),
					"pci": fmt.Sprintf("0000:0%d:00.0", gpu), "uuid": fmt.Sprint("GPU-", gpu), "name": "NVIDIA H200"}[l]
				for _, m := range wanted[metric] {
					if m.Name == l && (v == "" || rnd.IntN(2) == 0) {
						v = rndOf(rnd, strings.Split(strings.NewReplacer(".*", "x", "-.", "-").Replace(m.Value), "|"))
						if rnd.IntN(5) == 0 {
							v = "other"
						}
					}
				}
				if v == "" && l != "silenced" {
					v = "some"
				}
				if v != "" {
					labels = append(labels, l+`="`+v+`"`)
				}
			}
			key := metric + "{" + strings.Join(labels, ",") + "}"
			if !seen[key] && !(rnd.IntN(3) == 0 && len(seen) > 3) {
				seen[key] = true
				out = append(out, series{key, values(rnd, limits, still, f.Type == names.Counter)})
			}
		}
	}
	return out
}

func rndOf[T any](rnd *rand.Rand, list []T) T { return list[rnd.IntN(len(list))] }

// values are one series. The versions of Prometheus differ in how they extrapolate a
// counter that is near zero behind a gap: a counter here is either far from zero, or
// begins there and has no gaps.
func values(rnd *rand.Rand, limits []float64, still, counter bool) string {
	out := []string{"_"}
	if still && !counter {
		return "_ " + strconv.FormatFloat(rndOf(rnd, limits), 'f', -1, 64) + "x70"
	}
	v, gaps := rndOf(rnd, limits), true
	if counter {
		if v, gaps = 1e9, rnd.IntN(2) == 0; !gaps {
			v = 0
		}
		out = append(out, strconv.FormatFloat(v, 'f', -1, 64))
	}
	for len(out) < int(inventedUntil/inventedEvery)+1 {
		n := 1 + rnd.IntN(14)
		if rnd.IntN(6) == 0 {
			n += 60
		}
		what := rnd.IntN(8)
		switch {
		case what == 0 && gaps:
			out = append(out, slices.Repeat([]string{"_"}, 1+rnd.IntN(8))...)
			continue
		case what == 1 && gaps:
			out = append(append(out, "stale"), slices.Repeat([]string{"_"}, rnd.IntN(16))...)
			continue
		case counter && what == 2 && !gaps:
			v = 0
		case counter:
			v += rndOf(rnd, limits) * float64(rnd.IntN(3))
		default:
			v = rndOf(rnd, limits)
		}
		step := rndOf(rnd, []float64{0, 0, 0, 1, 0.01, 40})
		for range n {
			out = append(out, strconv.FormatFloat(v, 'f', -1, 64))
			v += step
		}
	}
	return strings.Join(out, " ")
}

// ruleTexts are the rules as they stand in the file, by name.
func ruleTexts(t *testing.T) map[string]map[string]any {
	t.Helper()
	var f struct {
		Groups []struct{ Rules []map[string]any }
	}
	if err := yaml.Unmarshal(rulefile.Rules, &f); err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for _, g := range f.Groups {
		for _, r := range g.Rules {
			out[r["alert"].(string)] = r
		}
	}
	return out
}

type wantAlert struct {
	Labels      map[string]string `yaml:"exp_labels"`
	Annotations map[string]string `yaml:"exp_annotations"`
}

type wantAt struct {
	At     string      `yaml:"eval_time"`
	Name   string      `yaml:"alertname"`
	Alerts []wantAlert `yaml:"exp_alerts"`
}

type wantTest struct {
	Interval string   `yaml:"interval"`
	Series   []series `yaml:"input_series"`
	Alerts   []wantAt `yaml:"alert_rule_test"`
}

// TestAsPrometheus: for every rule and series that are invented for it, promtool finds the
// same alerts firing as the daemon, with the same labels and texts.
func TestAsPrometheus(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: prometheus)")
	}
	texts := ruleTexts(t)
	dir := t.TempDir()
	write := func(name string, v any) string {
		text, err := yaml.Dump(v)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	args := []string{"test", "rules"}
	fired := map[string]int{}
	rules := allRules(t)
	for i := range rules {
		r := &rules[i]
		var tests []wantTest
		for seed := range uint64(6) {
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			c := wantTest{Interval: "59s", Series: invent(r, texts[r.Name]["expr"].(string), rnd)}
			play(t, rules[i:i+1], c.Series, inventedEvery, inventedUntil, func(at time.Duration, b *Book) {
				w := wantAt{At: fmt.Sprint(int(at.Minutes()), "m"), Name: r.Name}
				for _, a := range b.Active {
					if a.State == Firing {
						fired[r.Name]++
						w.Alerts = append(w.Alerts, expected(a))
					}
				}
				if at%(2*time.Minute) == 0 {
					c.Alerts = append(c.Alerts, w)
				}
			})
			tests = append(tests, c)
		}
		if fired[r.Name] == 0 && r.Name != "GpumedicAbsent" { // of which the series there are enough
			t.Errorf("%s never fired: the invented series do not try it", r.Name)
		}
		file := write(r.Name+".rules", map[string]any{"groups": []any{map[string]any{"name": "one", "rules": []any{texts[r.Name]}}}})
		args = append(args, write(r.Name+".test", map[string]any{"rule_files": []string{file}, "evaluation_interval": "1m", "tests": tests}))
	}
	if out, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
		out = out[max(0, bytes.Index(out, []byte("FAILED"))):]
		t.Errorf("%v\n%s", err, out[:min(len(out), 6000)])
	}
}

func expected(a *Alert) wantAlert {
	l := map[string]string{}
	for _, x := range a.Labels {
		if x.Name != "alertname" {
			l[x.Name] = x.Value
		}
	}
	return wantAlert{l, map[string]string{"summary": a.Texts["en"].Title, "description": a.Texts["en"].More,
		"summary_zh": a.Texts["zh"].Title, "description_zh": a.Texts["zh"].More, "runbook_url": a.URL}}
}
