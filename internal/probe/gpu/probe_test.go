package gpu_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/child"
)

const patient = 30 * time.Second // a deadline that no healthy call comes near to

// pci is the address that the fake gives its GPU.
func pci(index int) string { return fmt.Sprintf("0000:%02x:00.0", 0x0a+0x10*index) }

// TestScenarios goes the whole way for each scenario: the real loader opens the fake
// library in a child, the document is read back and judged with the program's catalog.
// All abnormal signals are named: there must be no other.
func TestScenarios(t *testing.T) {
	all := func(kind string, n int) (out []string) {
		for i := range n {
			out = append(out, kind+" "+pci(i))
		}
		return out
	}
	on := func(index int, kinds ...string) (out []string) {
		for _, k := range kinds {
			out = append(out, k+" "+pci(index))
		}
		return out
	}
	scenarios := map[string][]string{
		"healthy":          nil,
		"one":              nil,
		"h200":             nil,
		"sixteen":          nil,
		"gen-idle":         nil,
		"mig":              nil,
		"mig-unprivileged": nil,
		"hidden":           nil,
		"gen-degraded":     on(3, "smi.pcie_gen_degraded"),
		"width-degraded":   on(5, "smi.pcie_width_degraded"),
		"remap-pending":    on(2, "smi.remap_pending"),
		"remap-failed":     on(2, "smi.remap_failure"),
		"ecc":              on(6, "smi.ecc_uncorrected_volatile"),
		"sram-threshold":   on(1, "smi.sram_threshold"),
		"repair-pending":   on(1, "smi.channel_repair_pending", "smi.tpc_repair_pending"),
		"retired":          on(9, "smi.retired_limit", "smi.retired_pending"),
		"thermal":          on(4, "smi.clock_low", "smi.hw_slowdown", "smi.hw_thermal", "smi.temp_over_slowdown"),
		"power-brake":      on(0, "smi.clock_low", "smi.hw_power_brake", "smi.hw_slowdown"),
		"recovery":         on(7, "smi.recovery_action"),
		"recovery-old":     on(7, "smi.reset_required"),
		"inforom":          on(7, "smi.inforom_corrupt"),
		"lost":             on(3, "smi.gpu_lost"),
		"lost-handle":      {"smi.gpu_lost node"}, // its address is known only from /proc
		"reset-required":   {"smi.reset_required node"},
		"unreadable":       on(3, "smi.err_value"),
		"fabric-waits":     all("smi.fabric_in_progress", 8),
		"fabric-failed":    on(2, "smi.fabric_failed"),
		"fabric-unhealthy": on(2, "smi.fabric_unhealthy"),
		"link-down":        on(1, "smi.nvlink_inactive"),
		"link-errors":      on(1, "smi.nvlink_errors"),
		"link-errors-old":  on(1, "smi.nvlink_errors"),
		"blackwell":        on(3, "smi.nvlink_errors"),
		"mig-empty":        on(0, "smi.mig_no_devices"),
		"power-cable":      {"nvrm.power_cables node"}, // as lost-handle
		"no-gpu":           {"smi.no_devices node"},
		"not-loaded":       {"smi.no_driver node"},
		"mismatch":         {"nvml.version_mismatch node"},
		"no-permission":    {"nvml.init_failed node"},
		"blocked":          {"nvml.init_failed node"},
		"unknown-init":     {"nvml.unknown_error node"},
		"irq":              {"nvml.init_failed node"},
	}
	for name, want := range scenarios {
		t.Run(name, func(t *testing.T) {
			var r child.Runner
			c := check(t, &r, "now", name, "full", patient)
			if c.err != nil {
				t.Fatal(c.err)
			}
			slices.Sort(want)
			if got := abnormal(t, c.sets); !slices.Equal(got, want) {
				t.Errorf("signals\n%s\nwant\n%s\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), c.doc)
			}
		})
	}
	files, _ := filepath.Glob("testdata/scenarios/*.txt")
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".txt")
		if _, ok := scenarios[name]; !ok && !strings.HasPrefix(name, "hang-") {
			t.Errorf("scenario %s is not tested", name)
		}
	}
}

// TestQuickDecidesAlike: leaving readings out must not change the verdict, but for what
// only a slow read of flash memory tells.
func TestQuickDecidesAlike(t *testing.T) {
	for _, name := range []string{"healthy", "gen-degraded", "width-degraded", "remap-pending", "remap-failed", "ecc", "sram-threshold", "retired", "thermal",
		"power-brake", "recovery", "lost", "link-down", "link-errors", "fabric-waits", "mig"} {
		var r child.Runner
		full, quick := check(t, &r, "now", name, "full", patient), check(t, &r, "now", name, "quick", patient)
		if full.err != nil || quick.err != nil {
			t.Fatal(full.err, quick.err)
		}
		if a, b := abnormal(t, full.sets), abnormal(t, quick.sets); !slices.Equal(a, b) {
			t.Errorf("%s: full %v, quick %v", name, a, b)
		}
		if len(quick.doc) >= len(full.doc) {
			t.Errorf("%s: quick reads as much as full", name)
		}
	}
}

// TestValues compares readings with what nvidia-smi would show of the same GPU.
func TestValues(t *testing.T) {
	f := func(library, scenario string, index int, want map[string]string) {
		t.Helper()
		var r child.Runner
		c := check(t, &r, library, scenario, "full", patient)
		if c.err != nil {
			t.Fatal(c.err)
		}
		for key, v := range want {
			if got := c.value(index, key); got != v {
				t.Errorf("%s, %s: %s is %q, want %q", library, scenario, key, got, v)
			}
		}
	}
	f("now", "healthy", -1, map[string]string{
		"nvml.status": "ok", "driver.version": "580.95.05", "nvml.version": "580.95.05", "cuda.version": "13.0", "attached_gpus": "8",
	})
	f("now", "healthy", 7, map[string]string{
		"pci": "0000:7a:00.0", "minor": "7", "name": "NVIDIA H100 80GB HBM3", "architecture": "hopper", "persistence_mode": "enabled",
		"memory.total.mib": "81559", "memory.reserved.mib": "480", "memory.used.mib": "60012", "power.draw.watts": "698.12", "power.limit.watts": "700",
		"power.draw.average.watts": "697.88", "temperature.gpu.celsius": "61", "temperature.gpu.tlimit.celsius": "26",
		"temperature.gpu.shutdown_tlimit.celsius": "-8", "temperature.gpu.slowdown_tlimit.celsius": "-2", "temperature.memory.celsius": "68",
		"temperature.gpu.shutdown.celsius":              "", // the margin is there
		"clocks_event_reasons.sw_power_cap":             "active",
		"clocks_event_reasons.gpu_idle":                 "not active",
		"clocks_event_reasons_counters.sw_power_cap.us": "48120337",
		"fan.speed.percent":                             "N/A", "recovery_action": "none", "fabric.state": "completed", "fabric.status": "success", "fabric.health.summary": "healthy",
		"fabric.health.bandwidth": "full", "fabric.health.route_unhealthy": "false", "fabric.health.incorrect_configuration": "none",
		"nvlink.links.active": "18", "nvlink.links.inactive": "0", "nvlink.version": "4.0", "nvlink.remote.type": "switch", "nvlink.remote.pci": "0000:c4:00.0",
		"nvlink.errors.replay": "0", "remapped_rows.histogram.max": "2560", "inforom.checksum": "valid", "pstate": "P0", "gsp.mode": "enabled",
	})
	f("now", "sixteen", 15, map[string]string{
		"temperature.gpu.shutdown.celsius": "90", "temperature.gpu.slowdown.celsius": "87", "temperature.memory.max_operating.celsius": "85",
		"temperature.gpu.tlimit.celsius": "N/A", "temperature.gpu.max_operating_tlimit.celsius": "N/A", "retired_pages.single_bit": "1",
		"retired_pages.pending": "no", "remapped_rows.pending": "N/A", "recovery_action": "N/A", "reset_required": "no", "mig.mode.current": "N/A",
		"nvlink.version": "2.2", "nvlink.errors.crc": "0",
	})
	f("now", "link-errors", 1, map[string]string{"nvlink.errors.recovery": "12", "nvlink.errors.replay": "340", "nvlink.errors.crc": "0"})
	f("now", "link-down", 1, map[string]string{"nvlink.links.active": "16", "nvlink.links.inactive": "2", "nvlink.links.down": "4,7"})
	f("now", "blackwell", 3, map[string]string{"nvlink.errors.link_recovery": "2", "nvlink.errors.link_recovery_failed": "1", "nvlink.errors.packet": "0", "nvlink.errors.symbol": "164160", "nvlink.errors.crc": ""})
	f("now", "unreadable", 3, map[string]string{"memory.total.mib": "unknown error", "clocks.sm.mhz": "unknown error", "pstate": "P0"})
	f("now", "lost", 3, map[string]string{"status": "gpu is lost", "name": "NVIDIA H100 80GB HBM3", "memory.total.mib": ""})
	f("now", "hidden", 1, map[string]string{"status": "N/A"})
	f("now", "fabric-failed", 2, map[string]string{"fabric.status": "nvml_error_unknown (999)", "fabric.health.bandwidth": "full", "fabric.health.summary": ""})
	f("now", "mig", 0, map[string]string{"mig.mode.current": "enabled", "mig.devices": "2", "utilization.gpu.percent": "N/A", "remapped_rows.failure": "N/A"})
	// A driver that lacks what came later gives what it has, and says why of the rest.
	f("old", "healthy", -1, map[string]string{"cuda.version": "13.0", "attached_gpus": "8"})
	f("old", "healthy", 0, map[string]string{
		"memory.total.mib": "81559", "memory.used.mib": "60492", "memory.reserved.mib": "N/A", "clocks_event_reasons.sw_power_cap": "active",
		"remapped_rows.pending": "no", "remapped_rows.correctable_inactive": "N/A", "temperature.gpu.celsius": "61", "gsp.version": "N/A",
		"ecc.sram_threshold_exceeded": "N/A", "fabric.state": "N/A", "temperature.gpu.tlimit.celsius": "N/A",
	})
}

// TestOldDriverIsNoFault: what a driver does not know yet is absent.
func TestOldDriverIsNoFault(t *testing.T) {
	var r child.Runner
	c := check(t, &r, "old", "healthy", "full", patient)
	if got := abnormal(t, c.sets); c.err != nil || len(got) > 0 {
		t.Errorf("signals %v, error %v", got, c.err)
	}
	if !strings.Contains(c.doc, "ecc.sram_threshold_exceeded: N/A  # nvmlDeviceGetSramEccErrorStatus: not in this driver version") {
		t.Errorf("no reason given:\n%s", c.doc)
	}
	if c = check(t, &r, "old", "remap-pending", "full", patient); !slices.Equal(abnormal(t, c.sets), []string{"smi.remap_pending " + pci(2)}) {
		t.Errorf("signals %v", abnormal(t, c.sets))
	}
}

// TestProcesses: one process on two GPUs has readings for each; another's name is not
// known here.
func TestProcesses(t *testing.T) {
	healthy, err := filepath.Abs("testdata/scenarios/healthy.txt")
	if err != nil {
		t.Fatal(err)
	}
	scenario := filepath.Join(t.TempDir(), "processes.txt")
	text := fmt.Sprintf("include=%s\ngpu.0.proc.compute=%d:1002\ngpu.1.proc.compute=%d:2004,4000000:77\ngpu.1.proc.graphics=%d:2004\ngpu.2.proc.compute=4000001:-1\ngpu.3.proc.compute=%s\n",
		healthy, os.Getpid(), os.Getpid(), os.Getpid(), strings.TrimSuffix(strings.Repeat("5:1,", 50), ","))
	if err := os.WriteFile(scenario, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, library := range []string{"now", "old"} {
		var r child.Runner
		c := check(t, &r, library, scenario, "full", patient)
		if c.err != nil {
			t.Fatal(c.err)
		}
		var got []string
		for _, s := range c.sets {
			if v := s.Values; v["process.pid"].Value != "" {
				got = append(got, fmt.Sprintf("%d %s %s %s %t", s.Subject.Process.PID, s.Subject.GPU.PCI, v["process.type"].Value, v["process.used_memory.mib"].Value, v["process.name"].Value == os.Args[0]))
			}
		}
		want := []string{
			fmt.Sprintf("%d %s c 1002 true", os.Getpid(), pci(0)), fmt.Sprintf("%d %s c+g 2004 true", os.Getpid(), pci(1)),
			"4000000 " + pci(1) + " c 77 false", "4000001 " + pci(2) + " c N/A false", "5 " + pci(3) + " c 1 false",
		}
		if library == "now" && !slices.Equal(got, want) {
			t.Errorf("%v\nwant %v", got, want)
		}
		if library == "old" && (len(got) < 4 || got[1] != want[1]) {
			t.Errorf("old driver: %v", got)
		}
		if n := c.value(1, "processes.compute"); n != "2" {
			t.Errorf("%s: processes.compute %q", library, n)
		}
	}
}

func TestMIGInstances(t *testing.T) {
	var r child.Runner
	c := check(t, &r, "now", "mig", "full", patient)
	var got []string
	for _, s := range c.sets {
		if v := s.Values; v["mig.uuid"].Value != "" {
			got = append(got, strings.Join([]string{s.Subject.GPU.PCI, v["mig.uuid"].Value, v["mig.profile"].Value, v["mig.gpu_instance"].Value, v["mig.memory.used.mib"].Value}, " "))
		}
	}
	want := []string{pci(0) + " MIG-6f2f7b1e-0c3d-5c0e-9a11-3f4e5d6c7b8a 3g.40gb 1 11", pci(0) + " MIG-0aa1bb2c-3dd4-5ee5-8ff6-7a7b8c8d9e9f 1g.10gb 9 9000"}
	if !slices.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	unprivileged := check(t, &r, "now", "mig-unprivileged", "full", patient)
	if !strings.Contains(unprivileged.doc, "process.pid: 999998\n") || unprivileged.value(0, "processes.compute") != "1" || unprivileged.value(0, "processes.graphics") != "0" {
		t.Errorf("a user who may not see the whole GPU:\n%s", unprivileged.doc)
	}
	facts := signals(t, c.sets, func(s gpumedic.Signal) bool { return s.Kind == "smi.mig_device" })
	if !slices.Equal(facts, []string{"smi.mig_device " + pci(0)}) {
		t.Errorf("facts %v", facts)
	}
}

// TestHangingCalls: the call is named, with its GPU; what was read before is there; the
// verdict is a timeout and the deadline is kept, which only a generous bound can test.
func TestHangingCalls(t *testing.T) {
	for _, c := range []struct {
		scenario, mode, call, about string
		has, hasNot                 string // readings before and after the call
	}{
		{"hang-init", "quick", "nvmlInit_v2", "node", "driver.loaded: ", "nvml.status"},
		{"hang-handle", "quick", "nvmlDeviceGetHandleByIndex_v2 index 6", "node", "attached_gpus: 8", "[gpu"},
		{"hang-memory", "quick", "nvmlDeviceGetMemoryInfo_v2 " + pci(2), pci(2), "[gpu " + pci(2) + "]", "[gpu " + pci(3) + "]"},
		{"hang-memory", "full", "nvmlDeviceGetMemoryInfo_v2 " + pci(2), pci(2), "[gpu " + pci(2) + "]", "[gpu " + pci(3) + "]"},
		{"hang-links", "quick", "nvmlDeviceGetFieldValues " + pci(5), pci(5), "[gpu " + pci(5) + "]", "[gpu " + pci(6) + "]"},
		{"hang-shutdown", "quick", "nvmlShutdown", "node", "[gpu " + pci(7) + "]", "\x00"},
	} {
		t.Run(c.scenario+" "+c.mode, func(t *testing.T) {
			var r child.Runner
			got := check(t, &r, "now", c.scenario, c.mode, time.Second)
			if !errors.Is(got.err, child.ErrStuck) || got.stuck == nil || got.stuck.Call != c.call {
				t.Fatalf("error %v, stuck %+v", got.err, got.stuck)
			}
			if !strings.Contains(got.doc, c.has) || strings.Contains(got.doc, c.hasNot) {
				t.Errorf("read before the call:\n%s", got.doc)
			}
			if s := abnormal(t, got.sets); !slices.Equal(s, []string{"probe.timeout " + c.about}) {
				t.Errorf("signals %v", s)
			}
			t.Logf("given up after %.2f s with a deadline of 1 s", got.took.Seconds())
			if os.Getenv("GPUMEDIC_TEST_TIMES") != "" && got.took > 1500*time.Millisecond {
				t.Errorf("took %v", got.took)
			}
		})
	}
}

// TestLibraryMissing: without a driver that is a fact, not a fault.
func TestLibraryMissing(t *testing.T) {
	var r child.Runner
	empty := t.TempDir()
	t.Setenv("LD_LIBRARY_PATH", empty)
	c := check(t, &r, "none", "healthy", "quick", patient)
	if c.err != nil {
		t.Fatal(c.err)
	}
	switch status := c.value(-1, "nvml.status"); status {
	case "library not found":
	case "ok":
		t.Skip("this machine has a real NVML")
	default:
		t.Errorf("nvml.status %q\n%s", status, c.doc)
	}
	if got := abnormal(t, c.sets); c.value(-1, "driver.loaded") == "no" && len(got) > 0 {
		t.Errorf("signals %v", got)
	}
	broken := filepath.Join(libraries, "broken")
	if err := os.MkdirAll(broken, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "libnvidia-ml.so.1"), []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c = check(t, &r, "broken", "healthy", "quick", patient); c.value(-1, "nvml.status") != "library cannot be loaded" {
		t.Errorf("a broken library:\n%s", c.doc)
	}
}

// TestReadingsAreDocumented: what the probe writes stands in docs/readings.md.
func TestReadingsAreDocumented(t *testing.T) {
	used := map[string]bool{}
	for _, scenario := range []string{"healthy", "sixteen", "mig", "blackwell", "lost-handle", "inforom", "link-down", "hang-memory", "not-loaded"} {
		var r child.Runner
		for _, s := range check(t, &r, "now", scenario, "full", 2*time.Second).sets {
			for key := range s.Values {
				used[key] = true
			}
		}
	}
	if len(used) < 100 {
		t.Errorf("only %d names", len(used))
	}
	doc, err := os.ReadFile("../../../docs/readings.md")
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, m := range regexp.MustCompile("`([a-z][^` ]*)`").FindAllStringSubmatch(string(doc), -1) {
		name := regexp.QuoteMeta(strings.ReplaceAll(m[1], `\|`, "|"))
		known = append(known, regexp.MustCompile(`<[^>]*>`).ReplaceAllString(name, `[a-z0-9_./-]+`))
	}
	documented := regexp.MustCompile("^(?:" + strings.Join(known, "|") + ")$")
	for key := range used {
		if !documented.MatchString(key) {
			t.Errorf("%s is not in docs/readings.md", key)
		}
	}
}
