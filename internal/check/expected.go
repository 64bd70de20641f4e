package check

import (
	"bytes"

	"github.com/gpumedic/gpumedic/internal/probe"
)

// Expected is a readings document of what the user expects of the node: the number of
// GPUs (negative: nobody said) and those of a baseline (nil: none).
func Expected(gpus int, b *Baseline) []byte {
	var doc bytes.Buffer
	writeExpected(probe.NewWriter(&doc), gpus, b)
	return doc.Bytes()
}
