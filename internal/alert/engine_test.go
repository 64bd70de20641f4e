package alert

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
	rulefile "github.com/gpumedic/gpumedic/deploy/prometheus"
	"github.com/gpumedic/gpumedic/internal/golden"
	"github.com/gpumedic/gpumedic/internal/incident"
	"github.com/gpumedic/gpumedic/internal/offline"
	"github.com/gpumedic/gpumedic/internal/promql"
	"github.com/gpumedic/gpumedic/internal/source"
)

// conditions are readings under which a rule's metric is in the alert's state: changes of
// the node's or the first GPU's readings in the document of a healthy node. A rule without
// readings is about the daemon itself.
var conditions = map[string]string{
	"GpumedicAbsent": "", "GpumedicTargetAbsent": "", "GpumedicReadingsOld": "", "GpumedicSourceUnhealthy": "", "GpumedicEventsLost": "",
	"GpumedicNotificationsFail": "", "GpumedicNotificationsLost": "",
	"GPUDriverCallStuck":        "probe.timeout: nvmlDeviceGetName\nprobe.timeout.seconds: 12",
	"GPUNotAnswering":           "gpu.lost: yes",
	"GPUMissing":                "node attached_gpus: 7\nnode pci.gpus: 8\nnode pci.gpus.usable: 8\nnode expected.gpus: 8",
	"GPUDriverUnusable":         "node nvml.status: driver not loaded\nnode pci.gpus: 8\nnode driver.loaded: no",
	"GPUNeedsRecovery":          "recovery_action: reset",
	"GPUReadingsFail":           "temperature.gpu.celsius: ERROR: unknown error",
	"GPUUncorrectableECC":       "ecc.uncorrected.volatile.total: 3\necc.uncorrected.volatile.dram: 3",
	"GPUCorrectedECCRise":       "ecc.corrected.volatile.total: 5000\necc.corrected.volatile.dram: 5000",
	"GPURowRemapPending":        "remapped_rows.pending: yes",
	"GPURowRemapFailure":        "remapped_rows.failure: yes",
	"GPURowRemapBanksExhausted": "remapped_rows.histogram.none: 2",
	"GPUUnrepairableMemory":     "unrepairable_memory: yes",
	"GPUPageRetirementPending":  "retired_pages.pending: yes",
	"GPURepairPending":          "channel_repair_pending: yes",
	"GPUSRAMThreshold":          "ecc.sram_threshold_exceeded: yes",
	"GPUPCIeWidthDegraded":      "pcie.link.width.current: 8",
	"GPUPCIeSpeedDegraded":      "pcie.link.gen.current: 1\nutilization.gpu.percent: 98",
	"GPUPCIeErrors":             "pcie.aer.fatal.total: 2",
	"GPUNVLinkDown":             "nvlink.links.active: 17\nnvlink.links.inactive: 1",
	"GPUNVLinkErrors":           "nvlink.errors.recovery: 12\nnvlink.errors.crc: 100",
	"GPUFabricNotReady":         "fabric.state: in progress",
	"NetworkPortDown":           "port ib.state: down",
	"GPUOverheat":               "temperature.gpu.tlimit.celsius: -3\ntemperature.gpu.slowdown_tlimit.celsius: -2",
	"GPUTemperatureMarginLow":   "temperature.gpu.tlimit.celsius: 3",
	"GPUThermalSlowdown":        "clocks_event_reasons.hw_thermal_slowdown: active",
	"GPUPowerBrake":             "clocks_event_reasons.hw_power_brake_slowdown: active",
	"GPUMemoryFullAndRefused":   "memory.used.mib: 80000",
	"GPUMemoryFullAndGrowing":   "memory.used.mib: 80000",
	"GPUMemoryFullAndIdle":      "memory.used.mib: 80000\nutilization.gpu.percent: 0",
	"HostMemoryErrors":          "node host.edac.ue: 1\nnode host.mce.exceptions: 1",
	"HostOOMKill":               "node host.oom_kills: 2",
	"GPUMaintenanceDue":         "",
	"GPUDriverUnsupported":      "node driver.branch.supported: no",
}

// diagnoser is the engine with the embedded catalog.
func diagnoser(t *testing.T) (*offline.Diagnoser, *catalog.Catalog) {
	t.Helper()
	cat, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	d, err := offline.New(cat)
	if err != nil {
		t.Fatal(err)
	}
	return d, cat
}

// TestWhatTheEngineTells writes down which alerts are an incident by the engine already:
// those are told as the incident. The rest would be lost without the rules.
func TestWhatTheEngineTells(t *testing.T) {
	d, cat := diagnoser(t)
	healthy, err := os.ReadFile("../watch/testdata/full.readings")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Parse(rulefile.Rules)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| alert | severity | for | told by |\n|---|---|---|---|\n")
	for i := range all {
		r := &all[i]
		told := ""
		change, known := conditions[r.Name]
		switch {
		case slices.Contains(toldOtherwise, r.Group):
			told = "not evaluated by the daemon"
		case !known:
			t.Errorf("%s has no condition here", r.Name)
		case change == "":
			told = "the alert"
		default:
			told = "the alert"
			if len(r.incidents) > 0 {
				told = "the incident that it asks for"
			} else if faults := covering(t, d, cat, r, changed(t, string(healthy), change)); len(faults) > 0 {
				told = "incident `" + strings.Join(faults, "`, `") + "`"
			}
		}
		wait := "–"
		if r.For > 0 {
			wait = fmt.Sprint(int(r.For.Minutes()), " min")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Name, r.Labels["severity"], wait, told)
	}
	const path = "../../docs/alerts.md"
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	table := regexp.MustCompile(`(?s)(<!-- rules -->\n).*(<!-- end of rules -->)`)
	if !table.Match(doc) {
		t.Fatal("the page has no place for the rules")
	}
	golden.Check(t, path, table.ReplaceAll(doc, []byte("${1}"+strings.ReplaceAll(b.String(), "$", "$$")+"${2}")))
}

// changed puts other readings into a document.
func changed(t *testing.T, doc, change string) string {
	t.Helper()
	for line := range strings.SplitSeq(change, "\n") {
		section := "[gpu 0000:0a:00.0]\n"
		for _, p := range []string{"node", "port"} {
			if rest, ok := strings.CutPrefix(line, p+" "); ok {
				line, section = rest, map[string]string{"node": "[node]\n[node]\n", "port": "[port mlx5_0/1]\nib.device: mlx5_0\nib.port: 1\n"}[p]
			}
		}
		key, _, _ := strings.Cut(line, ": ")
		begin := strings.Index(doc, section)
		if begin < 0 {
			doc += section
			begin = strings.Index(doc, section)
		}
		begin += len(section)
		end := len(doc)
		if n := strings.Index(doc[begin:], "\n["); n >= 0 {
			end = begin + n + 1
		}
		part := regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(key)+`: .*\n`).ReplaceAllString(doc[begin:end], "")
		doc = doc[:begin] + line + "\n" + part + doc[end:]
	}
	return doc
}

// covering are the faults that the engine concludes and that cover the alert.
func covering(t *testing.T, d *offline.Diagnoser, cat *catalog.Catalog, r *Rule, doc string) (out []string) {
	t.Helper()
	rep, err := d.Run(t.Context(), []source.Input{source.FromBytes("readings", []byte(doc))}, offline.Options{Lang: "en"})
	if err != nil {
		t.Fatal(err)
	}
	a := &Alert{Name: r.Name, Fault: r.Labels["fault"], Since: time.Unix(0, 0), Labels: promql.MakeLabels([]promql.Label{{Name: "pci", Value: "0000:0a:00.0"}})}
	if !strings.HasPrefix(r.Name, "GPU") || slices.Contains([]string{"GPUDriverCallStuck", "GPUMissing", "GPUDriverUnusable"}, r.Name) {
		a.Labels = nil
	}
	for i := range rep.Findings {
		f := &rep.Findings[i]
		if f.Role == gpumedic.RoleIncidental {
			continue
		}
		if Covers(r, a, &incident.Incident{Fault: f.Fault, Subject: f.Subject, Also: f.Also, State: incident.Open}, cat.Faults) {
			out = append(out, f.Fault)
		} else if f.Severity != "info" {
			t.Logf("%s: not covered by %s of %s", r.Name, f.Fault, f.Subject.GPU)
		}
	}
	return out
}

// TestXidsAreIncidents: the group that the daemon leaves out loses nothing. Every Xid of
// its rule is a finding of the engine.
func TestXidsAreIncidents(t *testing.T) {
	d, _ := diagnoser(t)
	expr := ruleTexts(t)["GPUXid"]["expr"].(string)
	codes := strings.Split(regexp.MustCompile(`code=~"([^"]*)"`).FindStringSubmatch(expr)[1], "|")
	if len(codes) < 10 {
		t.Fatal(codes)
	}
	for _, code := range codes {
		line := "Dec  1 10:00:00 n1 kernel: NVRM: Xid (PCI:0000:0a:00): " + code + ", pid=7, name=train, something happened\n"
		rep, err := d.Run(t.Context(), []source.Input{source.FromBytes("log", []byte(line))}, offline.Options{Lang: "en"})
		if err != nil {
			t.Fatal(err)
		}
		if len(rep.Findings)+len(rep.Unexplained) == 0 {
			t.Errorf("Xid %s is nothing to the engine", code)
		}
	}
}
