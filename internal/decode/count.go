package decode

import (
	"strconv"

	"github.com/gpumedic/gpumedic"
)

// count compares what was found with what was expected. As many as expected, or a
// machine that is said to have one or two, is no finding.
func (d *Decoder) count(f *fields) {
	found, err1 := strconv.Atoi(f.sig.Fields["found"])
	expected, err2 := strconv.Atoi(f.sig.Fields["expected"])
	switch {
	case err1 != nil || err2 != nil:
		f.set("relation", "unknown")
	case found < expected && expected > 1:
		f.set("relation", "low")
		return
	default:
		f.set("relation", "ok")
	}
	f.sig.Level = gpumedic.LevelFact
}
