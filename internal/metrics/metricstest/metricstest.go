// Package metricstest makes snapshots for tests: a node in the form that the live probes
// write, with a value for every reading that becomes a metric, so that a query of an
// alert or a panel that finds nothing is wrong.
package metricstest

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/metrics"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

// Readings parses a document of the live probes.
func Readings(document string) []section.Readings {
	sets, _ := section.Parse(section.TextOf(document))
	return sets
}

// PCI is the address of GPU i of a document.
func PCI(i int) string { return fmt.Sprintf("0000:%02x:00.0", 0x1a+i*0x10) }

// UUID is that of GPU i.
func UUID(i int) string { return fmt.Sprintf("GPU-5f3a9c1e-77d0-4b52-9a41-%012x", 0x100+i) }

// gpu is one GPU. Products differ in what they have; here each reading has a value. The
// verbs are the index.
const gpu = `index: %[1]d
minor: %[1]d
serial: 16542240%05[1]d
name: NVIDIA H200
architecture: hopper
brand: nvidia
vbios.version: 96.00.A5.00.01
inforom.image: G520.0231.00.04
gsp.version: 580.95.05
board.part_number: 699-2G520-0280-A00
gsp.mode: enabled
virtualization_mode: none
persistence_mode: enabled
compute_mode: default
pstate: P0
inforom.checksum: valid
mig.mode.current: disabled
mig.mode.pending: disabled
mig.devices: 0
ecc.mode.current: enabled
ecc.mode.pending: enabled
recovery_action: none
reset_required: no
memory.total.mib: 143771
memory.reserved.mib: 612
memory.used.mib: 101376
memory.free.mib: 41783
bar1.total.mib: 262144
bar1.used.mib: 42
bar1.free.mib: 262102
clocks.graphics.mhz: 1755
clocks.sm.mhz: 1755
clocks.memory.mhz: 3201
clocks.video.mhz: 1365
clocks.max.graphics.mhz: 1980
clocks.max.sm.mhz: 1980
clocks.max.memory.mhz: 3201
clocks.applications.graphics.mhz: 1980
clocks.applications.memory.mhz: 3201
fan.speed.percent: 40
power.draw.watts: 512.34
power.draw.average.watts: 508.1
power.draw.instant.watts: 515.02
power.limit.watts: 700
power.limit.enforced.watts: 700
power.limit.default.watts: 700
power.limit.min.watts: 200
power.limit.max.watts: 700
temperature.gpu.celsius: 57
temperature.memory.celsius: 64
temperature.memory.max_operating.celsius: 105
temperature.gpu.tlimit.celsius: 30
temperature.gpu.shutdown.celsius: 92
temperature.gpu.slowdown.celsius: 89
temperature.gpu.max_operating.celsius: 87
temperature.gpu.shutdown_tlimit.celsius: -8
temperature.gpu.slowdown_tlimit.celsius: -2
temperature.gpu.max_operating_tlimit.celsius: 0
utilization.gpu.percent: 87
utilization.memory.percent: 41
utilization.encoder.percent: 0
utilization.decoder.percent: 3
utilization.jpeg.percent: 0
utilization.ofa.percent: 0
clocks_event_reasons.gpu_idle: not active
clocks_event_reasons.applications_clocks_setting: not active
clocks_event_reasons.sw_power_cap: active
clocks_event_reasons.hw_slowdown: not active
clocks_event_reasons.sync_boost: not active
clocks_event_reasons.sw_thermal_slowdown: not active
clocks_event_reasons.hw_thermal_slowdown: not active
clocks_event_reasons.hw_power_brake_slowdown: not active
clocks_event_reasons.display_clock_setting: not active
clocks_event_reasons_counters.sw_power_cap.us: 81250000
clocks_event_reasons_counters.sync_boost.us: 0
clocks_event_reasons_counters.sw_thermal_slowdown.us: 1500000
clocks_event_reasons_counters.hw_thermal_slowdown.us: 0
clocks_event_reasons_counters.hw_power_brake_slowdown.us: 0
ecc.sram_threshold_exceeded: no
channel_repair_pending: no
tpc_repair_pending: no
unrepairable_memory: no
retired_pages.pending: no
retired_pages.single_bit: 0
retired_pages.double_bit: 0
remapped_rows.correctable: 1
remapped_rows.uncorrectable: 0
remapped_rows.correctable_inactive: 0
remapped_rows.uncorrectable_inactive: 0
remapped_rows.pending: no
remapped_rows.failure: no
remapped_rows.histogram.max: 767
remapped_rows.histogram.high: 1
remapped_rows.histogram.partial: 0
remapped_rows.histogram.low: 0
remapped_rows.histogram.none: 0
pcie.link.gen.current: 5
pcie.link.gen.max: 5
pcie.link.width.current: 16
pcie.link.width.max: 16
pcie.replays: 2
pcie.aer.correctable.total: 4
pcie.aer.nonfatal.total: 0
pcie.aer.fatal.total: 0
pci.driver: nvidia
nvlink.links.active: 18
nvlink.links.inactive: 0
fabric.state: completed
fabric.status: success
fabric.health.summary: healthy
processes.compute: 1
processes.graphics: 0
processes.mps: 0
`

const node = `# gpumedic readings 1
[node]
nvml.status: ok
driver.version: 580.95.05
nvml.version: 580.95.05
cuda.version: 13.0
driver.branch: 580
driver.branch.supported: yes
kernel_module.flavor: open
attached_gpus: %[1]d
pci.gpus: %[1]d
pci.gpus.usable: %[1]d
expected.gpus: %[1]d
holders: %[2]d
service.fabricmanager.running: yes
service.persistenced.running: yes
service.imex.running: no
service.hostengine.running: no
service.mps.running: no
host.oom_kills: 3
host.edac.ce: 1
host.edac.ue: 0
host.mce.exceptions: 0
[nic mlx5_0/1]
ib.device: mlx5_0
ib.port: 1
ib.state: active
ib.rate.gbps: 400
`

// Document is a node with GPUs and processes on them.
func Document(gpus, processes int) string {
	var b strings.Builder
	fmt.Fprintf(&b, node, gpus, processes)
	for i := range gpus {
		fmt.Fprintf(&b, "[gpu %s]\npci: %[1]s\nuuid: %s\n", PCI(i), UUID(i))
		fmt.Fprintf(&b, gpu, i)
		for _, kind := range []string{"corrected", "uncorrected"} {
			for _, span := range []string{"volatile", "aggregate"} {
				fmt.Fprintf(&b, "ecc.%s.%s.total: 5\n", kind, span)
				for _, part := range []string{"dram", "sram", "sram.parity", "sram.secded", "register_file", "l1_cache", "l2_cache", "cbu", "texture_memory"} {
					fmt.Fprintf(&b, "ecc.%s.%s.%s: 1\n", kind, span, part)
				}
			}
		}
		for _, e := range []string{"replay", "recovery", "crc", "crc_flit", "ecc", "link_recovery", "link_recovery_ok", "link_recovery_failed", "effective", "symbol", "packet"} {
			fmt.Fprintf(&b, "nvlink.errors.%s: 0\n", e)
		}
	}
	if gpus > 0 {
		fmt.Fprintf(&b, "[mig MIG-0a1b2c3d-1111-5222-8333-444455556666]\npci: %s\nmig.uuid: MIG-0a1b2c3d-1111-5222-8333-444455556666\nmig.index: 0\n"+
			"mig.gpu_instance: 1\nmig.compute_instance: 0\nmig.profile: 1g.18gb\nmig.memory.total.mib: 16384\nmig.memory.used.mib: 20\n", PCI(0))
	}
	for i := range processes {
		pid := 40000 + i
		fmt.Fprintf(&b, "[process %d %s]\nprocess.pid: %[1]d\npci: %[2]s\nprocess.type: C\nprocess.name: /usr/bin/python3\nprocess.used_memory.mib: %[3]d\n"+
			"process.utilization.gpu.percent: 20\n", pid, PCI(i%max(gpus, 1)), 500+i)
		fmt.Fprintf(&b, "[process %d]\nprocess.pid: %[1]d\nprocess.name: python3\nuser: alice\nprocess.container: 4f1d2c3b4a59\n"+
			"process.pod: 7e1a0c52-0b7e-4a55-9a6c-0c5f2a1b9d3e\nprocess.slurm.job: %d\n", pid, 7000+i)
	}
	return b.String()
}

// Snapshot is a node in use, with an incident, an Xid, a finding, sources and maintenance.
func Snapshot(now time.Time, gpus, processes int) metrics.Snapshot {
	zero := 0
	first := gpumedic.Subject{GPU: gpumedic.GPU{PCI: PCI(0), Index: &zero}}
	oom := gpumedic.Finding{Fault: "gpu-oom-capacity", Severity: gpumedic.SeverityError, Class: "resource", Action: "reduce_memory",
		Role: gpumedic.RoleRoot, Layer: "software", Subject: first}
	oom.Subject.Process = gpumedic.Process{PID: 40000, Name: "python3"}
	return metrics.Snapshot{
		Taken:    now,
		Readings: Readings(Document(gpus, processes)),
		Findings: []gpumedic.Finding{{Fault: "row-remap-pending", Severity: gpumedic.SeverityWarning, Class: "hardware", Subject: first}},
		Incidents: []metrics.Incident{
			{ID: "i-1", State: "open", Start: now.Add(-10 * time.Minute), Occurrences: 2, Finding: oom, Pod: "train-0", Job: "7000"},
			{ID: "i-2", State: "verifying", Start: now.Add(-20 * time.Minute), Occurrences: 1, Finding: gpumedic.Finding{
				Fault: "gpu-fell-off-bus", Severity: gpumedic.SeverityCritical, Class: "interconnect", Action: "reboot_node", Layer: "hardware", Subject: first}},
			{ID: "i-3", State: "open", Start: now.Add(-30 * time.Minute), Occurrences: 1, Silenced: true, Finding: gpumedic.Finding{
				Fault: "pcie-link-degraded", Severity: gpumedic.SeverityWarning, Class: "interconnect", Action: "reseat_or_check_pcie", Layer: "hardware", Subject: first}},
		},
		Opened: map[string]uint64{"gpu-oom-capacity": 2, "gpu-fell-off-bus": 1},
		Xids:   []metrics.Xid{{GPU: first.GPU, Code: 79, Count: 1, Last: now.Add(-20 * time.Minute)}},
		Sources: []metrics.Source{
			{Name: "nvml", Healthy: true, LastSuccess: now, LastDuration: 40 * time.Millisecond, Duration: 90 * time.Second, Probes: 2000, Errors: 1},
			{Name: "kmsg", Healthy: true, LastSuccess: now, LastDuration: time.Millisecond, Duration: time.Second, Probes: 1, Events: 120},
		},
		Maintenance: []metrics.Maintenance{{Task: "memory-test", Due: now.Add(72 * time.Hour), LastDone: now.Add(-27 * 24 * time.Hour)}},
		Alerts:      []metrics.Alert{{Name: "GPUMemoryFullAndIdle", State: "firing", Severity: "info", Count: 2}, {Name: "GPUOverheat", State: "pending", Severity: "critical", Count: 1}},
		Channels:    []metrics.Channel{{Name: "oncall", Waiting: 1, Delivered: 12, Lost: 0, Failing: 2}},
		Pods:        map[string]metrics.Pod{"7e1a0c52-0b7e-4a55-9a6c-0c5f2a1b9d3e": {Namespace: "training", Name: "train-0"}},
	}
}
