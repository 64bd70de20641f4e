package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/metrics/names"
)

// TestPrometheusForm: what a check writes parses, keeps the rules for names, and is in the
// list that the daemon's exporter has, with the same help and type.
func TestPrometheusForm(t *testing.T) {
	zero, v := 0, 12.5
	row := GPU{Index: &zero, PCI: "0000:1a:00.0", UUID: "GPU-1", Name: `NVIDIA "H200" \ x`, State: "warning", MemoryUsed: &v, MemoryTotal: &v, Utilization: &v,
		Temperature: &v, Margin: &v, Power: &v, PowerLimit: &v, Gen: &v, GenMax: &v, Width: &v, WidthMax: &v, Corrected: &v, Uncorrected: &v, LinksUp: &v, LinksDown: &v}
	other := row
	other.Node = "b"
	n := &Node{Report: &gpumedic.Report{Findings: []gpumedic.Finding{{
		Fault: "row-remap-pending", Severity: "warning", Class: "hardware", Role: gpumedic.RoleRoot, Subject: gpumedic.Subject{GPU: gpumedic.GPU{PCI: row.PCI}},
		Also: []gpumedic.Subject{{GPU: gpumedic.GPU{PCI: row.PCI}}},
	}}}, GPUs: []GPU{row, other}}
	var b bytes.Buffer
	if err := WriteNode(&b, n, "prometheus", Options{}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	problems, err := promlint.New(&b).Lint()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	heads := regexp.MustCompile(`(?m)^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)$`).FindAllStringSubmatch(text, -1)
	if len(heads) < 19 {
		t.Errorf("%d metrics", len(heads))
	}
	for _, h := range heads {
		if f := names.Find(h[1]); f == nil || f.Help != h[2] || string(f.Type) != h[3] {
			t.Errorf("%s is not in the list as such: %v", h[1], f)
		}
	}
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		series, _, _ := strings.Cut(line, "} ")
		if seen[series] && !strings.HasPrefix(line, "#") {
			t.Errorf("twice: %s", line)
		}
		seen[series] = true
	}
	for _, want := range []string{
		`gpumedic_gpu_ecc_errors_total{gpu="0",pci="0000:1a:00.0",uuid="GPU-1",name="NVIDIA \"H200\" \\ x",node="b",kind="corrected",span="volatile"} 12.5`,
		`uuid="GPU-1",name="NVIDIA \"H200\" \\ x",node="",fault="row-remap-pending",severity="warning",class="hardware"} 1`,
		`gpumedic_gpu_utilization_ratio{gpu="0",pci="0000:1a:00.0",uuid="GPU-1",name="NVIDIA \"H200\" \\ x",node=""} 0.125`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}
