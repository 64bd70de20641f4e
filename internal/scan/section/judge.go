package section

import (
	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
)

// Judge applies the catalog's rules to all readings of one input. Evidence.Line is
// the Line of the decisive reading (absolute after Shift); Evidence.Input and Order
// are the caller's to fill.
func Judge(rules []catalog.ReadingRule, sets []Readings) []gpumedic.Signal { return nil }
