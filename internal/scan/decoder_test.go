package scan

import (
	"github.com/gpumedic/gpumedic/catalog"
	"github.com/gpumedic/gpumedic/internal/decode"
)

// testDecoder is the decoder that the program uses.
func testDecoder() Decoder { return decode.New(catalog.Tables()) }
