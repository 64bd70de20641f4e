//go:build !amd64

package literal

const (
	vectors     = false
	kernelAhead = 0
)

func probeFilter(*[1 << filterBits]uint32, []byte, *[stretch]int32) (n, done int) {
	panic("no kernel on this machine")
}

func (t *teddy) probe([]byte, *[stretch]int32) (n, done int) { panic("no kernel on this machine") }
