// Package metrics shows a node's GPUs to Prometheus, from a snapshot that the daemon
// took: a scrape never calls the driver, so that a hanging driver makes the numbers old
// and not the scrape slow.
//
// [Exporter.Update] stores a snapshot and costs nothing more. The first scrape after it
// turns readings into series by the table of package names; later scrapes of the same
// snapshot only write them. Readings that are absent or could not be read have no
// series: a 0 would be a statement. When the snapshot is older than Options.MaxAge,
// everything that was read disappears, gpumedic_up is 0, and what gpumedic knows by
// itself stays: sources, incidents, Xids counted, its own costs.
//
// The series are built here and not by a collector in a registry. A registry takes every
// series through a channel and hashes its labels at every scrape; these are unique by
// the way they are made, and a test lets a registry check them. The number of series is
// bounded: GPUs and their readings are few, and processes and incidents have limits.
package metrics
