// Package probe takes readings from the machine it runs on: the GPUs through NVML, the
// PCI bus, the host. A probe judges nothing. It writes what it read as a readings
// document, a plain text that internal/scan/section reads like the output of any other
// tool, so that live and recorded readings take the same path to a finding:
//
//	NVML, sysfs, procfs ──► probe ──► document ──► scan ──► signals ──► engine
//	                                     │
//	                                     └──► check --record DIR, tickets, tests
//
// Three answers are kept apart for each reading: a value, absent (the product or the
// driver has no such thing, with the reason) and unknown (it should be there and could
// not be read, with the error). Unknown is never healthy.
//
// The document:
//
//	# gpumedic readings 1
//	[node]
//	driver.version: 580.159.04
//	[gpu 0000:0a:00.0]
//	remapped_rows.pending: yes
//	fan.speed.percent: N/A  # nvmlDeviceGetFanSpeed: not supported
//	memory.used.mib: unknown error  # nvmlDeviceGetMemoryInfo: timeout
//
// The names of readings are those of docs/readings.md.
package probe
