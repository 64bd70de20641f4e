package check

import (
	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/offline"
	"github.com/gpumedic/gpumedic/internal/report"
	"github.com/gpumedic/gpumedic/internal/scan/section"
)

// Standing is how a node stands by an answer that the daemon has already: its latest
// readings and what the engine concluded from them and the logs.
func Standing(r *gpumedic.Report, readings []section.Readings) *report.Node {
	r.Inputs = []gpumedic.InputInfo{{Name: "readings", Kind: "readings", Lines: len(readings), Problems: []string{}}}
	n := view(&offline.Examination{Report: r, Signals: len(readings), Readings: [][]section.Readings{readings}})
	conclude(n, Options{ExpectGPUs: -1, Live: true})
	return n
}

// Table is one row for each GPU of the readings.
func Table(readings []section.Readings) []report.GPU { return table([][]section.Readings{readings}) }
