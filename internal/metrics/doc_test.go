package metrics_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic/internal/golden"
	"github.com/gpumedic/gpumedic/internal/metrics/names"
)

const docFile = "../../docs/metrics.md"

// TestDoc: the tables of docs/metrics.md are the list, the text around them is written by
// hand. -update writes the tables.
func TestDoc(t *testing.T) {
	doc, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	want := doc
	for _, part := range []struct {
		name string
		list []*names.Family
	}{{"metrics", names.Families}, {"dcgm", names.DCGM}} {
		want = fill(t, want, part.name, metricTable(part.list))
	}
	var alerts strings.Builder
	alerts.WriteString("| alert | severity | says |\n|---|---|---|\n")
	for _, r := range rules(t) {
		fmt.Fprintf(&alerts, "| `%s` | %s | %s |\n", r.Alert, r.Labels["severity"], plainText(r.Annotations["summary"]))
	}
	want = fill(t, want, "alerts", alerts.String())
	golden.Check(t, docFile, want)
}

// plainText replaces the variables of an alert's text by their names.
func plainText(s string) string {
	s = regexp.MustCompile(`\{\{ (?:or )?\$labels\.(\w+)[^}]*\}\}`).ReplaceAllString(s, "<$1>")
	s = regexp.MustCompile(`\{\{ \$value[^}]*\}\}`).ReplaceAllString(s, "<value>")
	return strings.NewReplacer("<", "*", ">", "*", " (*pci*)", "").Replace(s)
}

func fill(t *testing.T, doc []byte, name, text string) []byte {
	t.Helper()
	begin, end := []byte("<!-- "+name+" -->\n"), []byte("<!-- end of "+name+" -->")
	i, j := bytes.Index(doc, begin), bytes.Index(doc, end)
	if i < 0 || j < i {
		t.Fatalf("%s has no place for %s", docFile, name)
	}
	i += len(begin)
	return append(append(append([]byte{}, doc[:i]...), text...), doc[j:]...)
}

func metricTable(list []*names.Family) string {
	var b strings.Builder
	b.WriteString("| metric | type | labels | meaning | readings |\n|---|---|---|---|---|\n")
	for _, f := range list {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", f.Name, f.Type, labelCell(f), f.Help, readingCell(f))
	}
	return b.String()
}

func labelCell(f *names.Family) string {
	first := map[names.Scope]string{names.GPU: "GPU", names.MIG: "MIG", names.Process: "process", names.Port: "device, port"}[f.Scope]
	var parts []string
	if first != "" {
		parts = append(parts, first)
	}
	if len(f.Labels) > 0 && !strings.HasPrefix(f.Name, "DCGM_") {
		parts = append(parts, "`"+strings.Join(f.Labels, "`, `")+"`")
	}
	return strings.Join(parts, ", ")
}

// readingCell names the readings; many that differ in one word stand as a pattern.
func readingCell(f *names.Family) string {
	var keys []string
	for _, from := range f.From {
		keys = append(keys, from.Keys...)
	}
	if len(keys) > 3 {
		head, tail := common(keys), common(reversed(keys))
		keys = []string{head + "…" + reversed([]string{tail})[0]}
	}
	if len(keys) == 0 {
		return ""
	}
	return "`" + strings.Join(keys, "`, `") + "`"
}

func common(list []string) string {
	p := list[0]
	for _, s := range list {
		for !strings.HasPrefix(s, p) {
			p = p[:len(p)-1]
		}
	}
	return p
}

func reversed(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		b := []byte(s)
		for x, y := 0, len(b)-1; x < y; x, y = x+1, y-1 {
			b[x], b[y] = b[y], b[x]
		}
		out[i] = string(b)
	}
	return out
}

// TestReadingsOfMetricsAreDocumented: a metric shows readings that docs/readings.md has.
func TestReadingsOfMetricsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/readings.md")
	if err != nil {
		t.Fatal(err)
	}
	var known []*regexp.Regexp
	for _, m := range regexp.MustCompile("`([a-z<][^` ]*)`").FindAllStringSubmatch(string(doc), -1) {
		src := regexp.QuoteMeta(strings.ReplaceAll(m[1], `\|`, "|"))
		src = regexp.MustCompile(`<([^>]*)>`).ReplaceAllStringFunc(src, func(s string) string {
			inside := strings.ReplaceAll(s[1:len(s)-1], `\|`, "|")
			if strings.Contains(inside, "|") && !strings.Contains(inside, "…") {
				return "(?:" + inside + ")"
			}
			return "[a-z0-9_.]+"
		})
		known = append(known, regexp.MustCompile("^"+src+"$"))
	}
	documented := func(key string) bool {
		for _, re := range known {
			if re.MatchString(key) {
				return true
			}
		}
		return false
	}
	if documented("utilization.gpus.percent") {
		t.Fatal("the test knows what is not there")
	}
	for _, list := range [][]*names.Family{names.Families, names.DCGM} {
		for _, f := range list {
			for _, from := range f.From {
				for _, key := range from.Keys {
					if !documented(key) {
						t.Errorf("%s: reading %s is not in docs/readings.md", f.Name, key)
					}
				}
			}
		}
	}
}
