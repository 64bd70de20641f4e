// Package names is the one list of the metrics that gpumedic writes: name, unit, help,
// type, labels, and the readings that a metric shows. The daemon's exporter, `check
// --format prometheus`, docs/metrics.md, the alert rules and the dashboard all use it;
// tests fail when one of them names a metric that is not here.
//
// It is data and imports nothing, so that writing a check's answer costs no more than
// before there was an exporter.
//
// Rules for names: gpumedic_ first; base units (bytes, seconds, celsius, watts, hertz);
// shares are ratios from 0 to 1; counters end in _total. What is about a GPU carries the
// labels of [GPULabels]. Names are only ever added.
package names
