package node

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic"
)

// versionOf is the driver version that a signal states, "" for other signals.
func versionOf(s *gpumedic.Signal) string {
	switch s.Kind {
	case "nvrm.driver_version", "nvrm.driver_loaded":
		return s.Field("version")
	case "smi.driver_version":
		return s.Field("driver")
	}
	return ""
}

// driverFaults are failures in which driver or firmware stop of themselves; those of the
// bus or of memory are no work of a release.
var driverFaults = []string{"xid.8", "xid.61", "xid.62", "xid.109", "xid.119", "xid.120"}

// driverSplit finds that just the nodes with one driver version fail: at least one of
// them does, all that fail have it, and at least one node has another version and is
// quiet. A node that stated several versions tells nothing.
func driverSplit(signals []gpumedic.Signal) []gpumedic.Signal {
	version, line := map[string]string{}, map[string]*gpumedic.Signal{}
	fails := map[string]bool{}
	for i := range signals {
		s := &signals[i]
		node := s.Subject.Node
		if node == "" {
			continue
		}
		fails[node] = fails[node] || slices.Contains(driverFaults, s.Kind)
		v := versionOf(s)
		if v == "" {
			continue
		}
		if old, ok := version[node]; ok && old != v {
			version[node] = "several"
			continue
		}
		version[node], line[node] = v, s
	}
	bad, quiet := map[string]bool{}, map[string]bool{}
	for node, v := range version {
		if v == "several" {
			return nil
		}
		if fails[node] {
			bad[v] = true
		} else {
			quiet[v] = true
		}
	}
	for node := range fails {
		if fails[node] && version[node] == "" {
			return nil // a failing node of unknown version
		}
	}
	failing, silent := 0, 0
	for node := range version {
		if fails[node] {
			failing++
		} else {
			silent++
		}
	}
	others := slices.Sorted(maps.Keys(quiet))
	if len(bad) != 1 || len(others) == 0 {
		return nil
	}
	var out []gpumedic.Signal
	for _, node := range slices.Sorted(maps.Keys(version)) {
		v := version[node]
		if quiet[v] {
			if bad[v] {
				return nil // a quiet node has it too
			}
			continue
		}
		d := derived(line[node], "driver.version_fails_alone", gpumedic.LevelFact,
			map[string]string{
				"version": v, "other_versions": strings.Join(others, ", "), "failing_count": strconv.Itoa(failing), "quiet_count": strconv.Itoa(silent)})
		d.First, d.Last = gpumedic.Stamp{}, gpumedic.Stamp{} // it holds for the whole time, not for that line's
		out = append(out, d)
	}
	return out
}
