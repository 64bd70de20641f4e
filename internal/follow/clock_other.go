//go:build !linux

package follow

import "time"

func monotonic() time.Duration { return 0 }
