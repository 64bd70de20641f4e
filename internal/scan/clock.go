package scan

import "github.com/gpumedic/gpumedic"

// clock fills in what stamps lack, from all stamps of one input.
type clock interface {
	Observe(gpumedic.Stamp)
	Resolve(gpumedic.Stamp) gpumedic.Stamp
}

type noClock struct{}

func (noClock) Observe(gpumedic.Stamp)                  {}
func (noClock) Resolve(s gpumedic.Stamp) gpumedic.Stamp { return s }

func newClock(Options) clock { return noClock{} }
