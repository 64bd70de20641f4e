package metrics_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/metrics/metricstest"
	"github.com/gpumedic/gpumedic/internal/metrics/names"
)

const rulesFile = "../../deploy/prometheus/gpumedic.rules.yaml"

type rule struct {
	Alert       string
	Expr        string
	Labels      map[string]string
	Annotations map[string]string
}

func rules(t *testing.T) []rule {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	b, err := os.ReadFile(rulesFile)
	if err == nil {
		err = yaml.Unmarshal(b, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out []rule
	for _, g := range file.Groups {
		out = append(out, g.Rules...)
	}
	if len(out) < 40 {
		t.Fatalf("%d rules", len(out))
	}
	return out
}

var (
	metricName = regexp.MustCompile(`\b(gpumedic_\w+|DCGM_FI_\w+|process_\w+|up)\b(?:\{([^}]*)\})?`)
	matcher    = regexp.MustCompile(`(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
)

// queryProblems are the metrics and labels of a query that do not exist.
func queryProblems(query string) (problems []string) {
	found := metricName.FindAllStringSubmatch(query, -1)
	if len(found) == 0 {
		return []string{"no metric of ours"}
	}
	for _, m := range found {
		labels := []string{"job", "instance"}
		switch f := names.Find(m[1]); {
		case f != nil:
			labels = append(labels, f.AllLabels()...)
		case m[1] != "process_resident_memory_bytes" && m[1] != "process_cpu_seconds_total" && m[1] != "up":
			problems = append(problems, m[1]+" does not exist")
			continue
		}
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(labels, l[1]) {
				problems = append(problems, m[1]+" has no label "+l[1])
			}
		}
	}
	return problems
}

func TestQueryProblems(t *testing.T) {
	for query, want := range map[string]int{
		`gpumedic_gpu_up{gpu="0"} == 0`: 0, `gpumedic_gpu_upp == 0`: 1, `gpumedic_gpu_up{gpus="0"}`: 1, `sum(x)`: 1,
	} {
		if got := queryProblems(query); len(got) != want {
			t.Errorf("%s: %v", query, got)
		}
	}
}

// TestLabelsOfTargets: Prometheus gives every series the labels job and instance of the
// target, and renames a metric's own.
func TestLabelsOfTargets(t *testing.T) {
	for _, f := range slices.Concat(names.Families, names.DCGM) {
		for _, l := range f.AllLabels() {
			if l == "job" || l == "instance" {
				t.Errorf("%s has a label %s", f.Name, l)
			}
		}
	}
}

func TestRules(t *testing.T) {
	cat, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile(strings.Replace(rulesFile, ".rules.", ".rules_test.", 1))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range rules(t) {
		for _, p := range queryProblems(r.Expr) {
			t.Errorf("%s: %s", r.Alert, p)
		}
		if seen[r.Alert] {
			t.Errorf("%s: twice", r.Alert)
		}
		seen[r.Alert] = true
		if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
			t.Errorf("%s: severity %q", r.Alert, r.Labels["severity"])
		}
		for _, a := range []string{"summary", "description", "summary_zh", "description_zh", "runbook_url"} {
			if r.Annotations[a] == "" {
				t.Errorf("%s: no %s", r.Alert, a)
			}
		}
		page := strings.TrimPrefix(r.Annotations["runbook_url"], "https://github.com/gpumedic/gpumedic/blob/main/")
		page, _, _ = strings.Cut(page, "#")
		if fault := r.Labels["fault"]; fault != "" {
			if cat.Faults[fault] == nil || page != "docs/faults/"+fault+".md" {
				t.Errorf("%s: fault %s with page %s", r.Alert, fault, page)
			}
		}
		if _, err := os.Stat("../../" + page); err != nil && page != "docs/faults/{{ $labels.fault }}.md" {
			t.Errorf("%s: %v", r.Alert, err)
		}
		if !strings.Contains(string(tests), `alertname="`+r.Alert+`"`) {
			t.Errorf("%s has no test", r.Alert)
		}
	}
}

// TestEveryFaultHasAnAlert: an incident of any fault in the catalog has one alert of the
// right urgency.
func TestEveryFaultHasAnAlert(t *testing.T) {
	cat, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	all := rules(t)
	for _, f := range cat.Faults {
		if f.Severity == "info" {
			continue
		}
		var found []string
		for _, r := range all {
			if strings.HasPrefix(r.Alert, "GPUIncident") && selects(t, r.Expr, map[string]string{"severity": f.Severity, "class": f.Class}) {
				found = append(found, r.Labels["severity"])
			}
		}
		if len(found) != 1 || f.Severity == "critical" && found[0] != "critical" {
			t.Errorf("%s (%s, %s): alerts of severity %v", f.ID, f.Severity, f.Class, found)
		}
	}
	for _, r := range all {
		for _, m := range regexp.MustCompile(`gpumedic_incident\{fault=~"([^"]*)"`).FindAllStringSubmatch(r.Expr, -1) {
			for _, part := range strings.Split(m[1], "|") {
				re := regexp.MustCompile("^(?:" + part + ")$")
				if !slices.ContainsFunc(cat.FaultIDs(), re.MatchString) {
					t.Errorf("%s: no fault is called %s", r.Alert, part)
				}
			}
		}
	}
}

// selects reports whether the matchers of an expression hold for labels.
func selects(t *testing.T, expr string, labels map[string]string) bool {
	t.Helper()
	for _, m := range matcher.FindAllStringSubmatch(expr, -1) {
		v, known := labels[m[1]]
		if !known {
			continue
		}
		re := regexp.MustCompile("^(?:" + m[3] + ")$")
		if re.MatchString(v) == strings.HasPrefix(m[2], "!") {
			return false
		}
	}
	return true
}

// TestXidsOfRules: the codes of the alert are in the table and none is marked as the
// program's own doing first.
func TestXidsOfRules(t *testing.T) {
	table, err := os.ReadFile("../../catalog/tables/xid.tsv")
	if err != nil {
		t.Fatal(err)
	}
	classes := map[string]string{}
	for line := range strings.Lines(string(table)) {
		if c := strings.Split(line, "\t"); len(c) > 3 {
			classes[c[0]] = c[2]
		}
	}
	for _, r := range rules(t) {
		if r.Alert != "GPUXid" {
			continue
		}
		m := regexp.MustCompile(`code=~"([^"]*)"`).FindStringSubmatch(r.Expr)
		for _, code := range strings.Split(m[1], "|") {
			if c := classes[code]; c == "" || strings.HasPrefix(c, "application") || strings.HasPrefix(c, "unused") {
				t.Errorf("Xid %s is of class %q", code, c)
			}
		}
	}
}

func TestRulesFire(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: prometheus)")
	}
	cmd := exec.Command(tool, "test", "rules", "gpumedic.rules_test.yaml")
	cmd.Dir = filepath.Dir(rulesFile)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestDashboard(t *testing.T) {
	d, err := metricstest.ReadDashboard("../../deploy/grafana/gpumedic.json")
	if err != nil {
		t.Fatal(err)
	}
	if d.SchemaVersion < 39 || d.UID == "" || len(d.Panels) < 40 {
		t.Errorf("schema %d, uid %q, %d panels", d.SchemaVersion, d.UID, len(d.Panels))
	}
	if v := d.Templating.List[0]; v.Name != "datasource" || v.Type != "datasource" {
		t.Errorf("the first variable is %s of type %s", v.Name, v.Type)
	}
	ids, used := map[int]bool{}, map[string]string{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s: id %d twice", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				at := fmt.Sprint(x, ",", y)
				if used[at] != "" || x > 23 {
					t.Errorf("%s lies on %s at %s", p.Title, used[at], at)
				}
				used[at] = p.Title
			}
		}
		if p.Type != "row" && (len(p.Targets) == 0 || p.Datasource.UID != "${datasource}") {
			t.Errorf("%s: %d queries of data source %q", p.Title, len(p.Targets), p.Datasource.UID)
		}
	}
	queries := d.Queries()
	for _, q := range queries {
		for _, p := range queryProblems(q.Expr) {
			t.Errorf("%s: %s", q.Panel, p)
		}
	}
	parse(t, queries)
}

// parse lets promtool read the queries, as rules.
func parse(t *testing.T, queries []metricstest.Query) {
	t.Helper()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: prometheus)")
	}
	type record struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var records []record
	for i, q := range queries {
		records = append(records, record{fmt.Sprintf("panel:%d", i), q.Expr})
	}
	b, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "panels", "rules": records}}}) // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "panels.yaml")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(tool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
